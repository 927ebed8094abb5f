"""SQLite's file in fewer bytes: small tables are trees of their keys, hashes are bytes, and few entries have a checkpoint."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
kind = "expand"
_TREES = (
    *("alembic_version", "branch", "operation", "thread_member", "tag", "thread_tag", "usage", "long_request"),
    *("person", "invitation", "session", "sign_in_counter", "identity", "share"),
)
_UNIQUE_CHECKPOINT = ", CONSTRAINT uq_search_entry_checkpoint_id UNIQUE (checkpoint_id)"
_INDEX_OF_CHECKPOINTS = (
    "CREATE UNIQUE INDEX uq_search_entry_checkpoint_id ON search_entry (checkpoint_id) WHERE checkpoint_id IS NOT NULL"
)


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in _TREES:
        _rebuild(table, _read_definition(table) + " WITHOUT ROWID")
    definition = " ".join(_read_definition("search_entry").split())
    shorter = definition.replace(_UNIQUE_CHECKPOINT, "")
    assert shorter != definition
    _rebuild("search_entry", shorter)
    op.execute(_INDEX_OF_CHECKPOINTS)
    _shorten_hashes()


def _read_definition(table: str) -> str:
    query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
    return str(op.get_bind().scalar(sa.text(query), {"name": table}))


def _rebuild(table: str, definition: str) -> None:
    """Replace a table by one of another definition, with its rows and indexes."""
    connection = op.get_bind()
    query = "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = :name AND sql IS NOT NULL"
    indexes = connection.scalars(sa.text(query), {"name": table}).all()
    columns = definition[definition.index("(") :]
    for statement in (
        f"CREATE TABLE new_table {columns}",
        f"INSERT INTO new_table SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE new_table RENAME TO {table}",
        *indexes,
    ):
        connection.exec_driver_sql(statement)


def _shorten_hashes() -> None:
    """Store the 32 bytes of each message's hash in place of 71 letters. One of another form is damaged, and stays."""
    connection = op.get_bind()
    raw = connection.connection.driver_connection
    raw.create_function("bytes_of_hash", 1, _read_hash, deterministic=True)
    connection.exec_driver_sql("UPDATE message SET hash = bytes_of_hash(hash) WHERE typeof(hash) = 'text' AND length(hash) = 71")
    raw.create_function("bytes_of_hash", 1, None)


def _read_hash(text: str) -> str | bytes:
    name, _, digits = text.partition(":")
    is_hash = name == "sha256" and len(digits) == 64 and not set(digits) - set("0123456789abcdef")
    return bytes.fromhex(digits) if is_hash else text
