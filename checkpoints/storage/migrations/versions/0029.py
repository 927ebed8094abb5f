"""On SQLite, the search's entries have a mark of their owner: where people sign in, all of them are made again."""

from alembic import op

revision = "0029"
down_revision = "0028"
kind = "expand"
_OF_OTHERS = "SELECT 1 FROM thread WHERE owner <> 'local' LIMIT 1"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite" or connection.exec_driver_sql(_OF_OTHERS).first() is None:
        return
    op.execute("INSERT INTO search_words (search_words) VALUES ('delete-all')")
    op.execute("DELETE FROM search_entry")
    op.execute("DELETE FROM search_pending")
    op.execute("INSERT INTO search_pending (segment, depth) SELECT id, 0 FROM segment")
