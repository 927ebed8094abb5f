"""Row-level security on PostgreSQL, and the tokens that people used by day."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0018"
_EVERYBODY = "current_setting('waymark.everybody', true) = 'on'"
_OF_OWNER = f"owner = current_setting('waymark.owner', true) OR {_EVERYBODY}"
# The conversations that the transaction has named are compared first: the function looks each other one up. A subquery would
# read all conversations for each statement: PostgreSQL hashes it.
_OF_THREAD = (
    f"{_EVERYBODY} OR thread_id = ANY (string_to_array(current_setting('waymark.threads', true), ',')) OR owns_thread(thread_id)"
)
_OWNS_THREAD = (
    "CREATE FUNCTION owns_thread(wanted text) RETURNS boolean LANGUAGE plpgsql STABLE AS "
    "$$ BEGIN RETURN EXISTS (SELECT FROM thread WHERE thread.id = wanted); END $$"  # by the policy of `thread`
)
_OF_FILE = f"hash = ANY (string_to_array(current_setting('waymark.files', true), ',')) OR {_EVERYBODY}"
_TABLES_OF_OWNERS = ("thread", "saved_prompt", "tag", "channel_value")
_TABLES_OF_THREADS = (
    *("segment", "message", "branch", "checkpoint", "operation", "state", "state_write", "run", "candidate", "rerun"),
    "thread_tag",
)


def upgrade() -> None:
    op.add_column("channel_value", sa.Column("owner", sa.Text()))
    if op.get_bind().dialect.name == "postgresql":
        _protect_rows()


def _protect_rows() -> None:
    op.execute("ALTER TABLE channel_value ALTER owner SET DEFAULT nullif(current_setting('waymark.owner', true), '')")
    for table in _TABLES_OF_OWNERS:
        _add_policy(table, _OF_OWNER)
    op.execute(f"ALTER POLICY owned ON channel_value USING (owner IS NULL OR {_OF_OWNER})")  # older than this revision
    op.execute(_OWNS_THREAD)
    for table in _TABLES_OF_THREADS:
        _add_policy(table, _OF_THREAD)
    _add_policy("file", _OF_FILE)
    for table in ("person", "invitation"):
        _add_policy(table, _EVERYBODY)


def _add_policy(table: str, condition: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # it binds the owner of the tables, who Waymark is
    op.execute(f"CREATE POLICY owned ON {table} USING ({condition})")
