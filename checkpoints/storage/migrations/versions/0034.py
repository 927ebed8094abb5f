"""Writes may come after the state that holds their values: such a write is kept with that state, and marked."""

from alembic import op

revision = "0034"
down_revision = "0033"
# A server of the version before would take late writes for the open ones of their state.
kind = "contract"

_KEY = "thread_id, namespace, checkpoint_id, task_id, position, resumed"
_IN_SQLITE = f"""
CREATE TABLE state_write_before AS SELECT * FROM state_write;
DROP TABLE state_write;
CREATE TABLE state_write (
    thread_id TEXT NOT NULL, namespace TEXT NOT NULL, checkpoint_id BLOB NOT NULL, task_id TEXT NOT NULL,
    position INTEGER NOT NULL, resumed BOOLEAN NOT NULL, late BOOLEAN NOT NULL, task_path TEXT NOT NULL,
    channel TEXT NOT NULL, type TEXT NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY ({_KEY}, late)
) WITHOUT ROWID;
INSERT INTO state_write SELECT {_KEY}, 0, task_path, channel, type, bytes FROM state_write_before;
DROP TABLE state_write_before
"""
_IN_POSTGRESQL = f"""
ALTER TABLE state_write ADD COLUMN late BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE state_write ALTER COLUMN late DROP DEFAULT, DROP CONSTRAINT state_write_pkey, ADD PRIMARY KEY ({_KEY}, late)
"""


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in (_IN_SQLITE if is_sqlite else _IN_POSTGRESQL).split(";\n"):
        op.execute(statement)
