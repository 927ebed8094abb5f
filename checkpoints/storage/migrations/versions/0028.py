"""PostgreSQL without the foreign keys to messages, parent segments and messages' threads: imports and erasures pay for each row."""

from alembic import op

revision = "0028"
down_revision = "0027"
kind = "expand"
_FOREIGN_KEYS = {
    "segment": "segment_parent_fkey",
    "message": "message_thread_id_fkey",
    "branch": "branch_head_id_fkey",
    "checkpoint": "checkpoint_message_id_fkey",
}
# For each of five tables. Together they are less than the second after which PostgreSQL looks for a deadlock: a server's
# transaction that holds one of them and waits for another is never the one that is given up.
_MAX_LOCK_MS = 150


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    usual = op.get_bind().exec_driver_sql("SHOW lock_timeout").scalar()
    op.execute(f"SET LOCAL lock_timeout = {_MAX_LOCK_MS}")
    op.execute("LOCK TABLE thread, segment, message, branch, checkpoint IN ACCESS EXCLUSIVE MODE")
    op.execute(f"SET LOCAL lock_timeout = '{usual}'")
    for table, name in _FOREIGN_KEYS.items():
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
