"""The search folds letters that Unicode does not decompose, such as ı, ø and ł: where any stands, all entries are made again."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
# A server of the version before would write entries with other words.
kind = "contract"
_LETTERS = "ÆÐØÞæðøþĐđĦħıŁłŒœŦŧǢǣǼǽǾǿȷᴭᶞℏꟸꟹ"


def upgrade() -> None:
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    operator, pattern = ("GLOB", f"*[{_LETTERS}]*") if is_sqlite else ("~", f"[{_LETTERS}]")
    with_letters = [
        f"SELECT 1 FROM {table} WHERE {column} {operator} :pattern LIMIT 1"  # noqa: S608  (names of this file)
        for table, column in (("checkpoint", "name"), ("checkpoint", "description"), ("message", "body"))
    ]
    # The texts of attached files are bytes, which are not looked through.
    with_texts = "SELECT 1 FROM file WHERE media_type LIKE 'text/%' AND :pattern <> '' LIMIT 1"
    if not any(connection.execute(sa.text(query), {"pattern": pattern}).first() for query in (with_texts, *with_letters)):
        return
    if is_sqlite:
        op.execute("INSERT INTO search_words (search_words) VALUES ('delete-all')")
        op.execute("DELETE FROM search_entry")
    else:
        op.execute("TRUNCATE search_entry")
    op.execute("DELETE FROM search_pending")
    op.execute("INSERT INTO search_pending (segment, depth) SELECT id, 0 FROM segment")
