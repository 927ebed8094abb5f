"""Tables as earlier revisions had them."""

import sqlalchemy as sa

_KEY = "thread_id, namespace, checkpoint_id, task_id, position, resumed"
_IN_SQLITE = (
    "CREATE TABLE earlier (thread_id TEXT, namespace TEXT, checkpoint_id BLOB, task_id TEXT, position INTEGER, "
    f"resumed BOOLEAN, task_path TEXT, channel TEXT, type TEXT, bytes BLOB, PRIMARY KEY ({_KEY})) WITHOUT ROWID",
    f"INSERT INTO earlier SELECT {_KEY}, task_path, channel, type, bytes FROM state_write",
    "DROP TABLE state_write",
    "ALTER TABLE earlier RENAME TO state_write",
)
_IN_POSTGRESQL = (f"ALTER TABLE state_write DROP COLUMN late, ADD PRIMARY KEY ({_KEY})",)


def drop_late_writes(connection: sa.Connection) -> None:
    """Make the tables as they were before revision 0034."""
    connection.exec_driver_sql("DROP TABLE default_instructions")
    for statement in _IN_SQLITE if connection.dialect.name == "sqlite" else _IN_POSTGRESQL:
        connection.exec_driver_sql(statement)
