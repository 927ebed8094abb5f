"""The operations of a thread: its changes, the next undo and redo, and the origin that they record."""

from collections.abc import Sequence

import sqlalchemy as sa

from .changes import undo
from .rows import operation_rows
from .storage import schema
from .storage.database import Database
from .storage.ownership import sees_thread
from .values.operation import USER, Operation, OperationKind

_USER_TURN_KINDS = (OperationKind.APPEND, OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE)


class OperationReader:
    """The reads of operations."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_operations(self, thread_id: str, *, last: int | None = None, abridged: bool = False) -> Sequence[Operation]:
        """Return the changes of a thread, newest first; only the `last` ones, when given. Abridged: without changed rows."""
        with self.database.begin_read() as connection:
            return operation_rows.select_operations(connection, thread_id, limit=last, abridged=abridged)

    def get_operation(self, thread_id: str, version: int, *, abridged: bool = False) -> Operation | None:
        """Return the change that made this version of a thread."""
        is_wanted = schema.operation.c.version == version
        with self.database.begin_read() as connection:
            found = operation_rows.select_operations(connection, thread_id, is_wanted, abridged=abridged)
            return found[0] if found else None

    def get_last_operation(self, thread_id: str) -> Operation | None:
        """Return the newest change of a thread, abridged, also of a deleted one; None if there is none."""
        with self.database.begin_read() as connection:
            if not sees_thread(connection, thread_id):
                return None
            found = operation_rows.select_operations(connection, thread_id, limit=1, abridged=True)
            return found[0] if found else None

    def find_undoable(self, thread_id: str) -> Operation | None:
        """Return the change that `undo` would undo, if any, abridged."""
        with self.database.begin_read() as connection:
            return undo.select_undoable(connection, thread_id, abridged=True)

    def find_redoable(self, thread_id: str) -> Operation | None:
        """Return the undo that `redo` would reverse, if any, abridged."""
        with self.database.begin_read() as connection:
            return undo.select_redoable(connection, thread_id, abridged=True)

    def count_agent_moves(self, thread_id: str) -> int:
        """Count the agent's moves of the head since the user's last message, over any number of runs."""
        table = schema.operation.c
        of_thread = (table.thread_id == thread_id, table.undone_by.is_(None))
        is_user_message = (table.actor == USER.actor, table.kind.in_(_USER_TURN_KINDS))
        last_message = (
            sa.select(sa.func.coalesce(sa.func.max(table.version), 0)).where(*of_thread, *is_user_message).scalar_subquery()
        )
        is_move = (table.kind.in_((OperationKind.GOTO, OperationKind.REWIND)), table.version > last_message)
        with self.database.begin_read() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(*of_thread, *is_move)) or 0

    def list_origins(self, thread_id: str) -> set[OperationKind]:
        """Return how messages from elsewhere came into a thread: by import, or as a fork of another thread."""
        table = schema.operation.c
        is_origin = sa.or_(table.kind == OperationKind.IMPORT, table.result == thread_id)
        origins = sa.select(table.kind).where(
            table.thread_id == thread_id, is_origin, table.kind.in_((OperationKind.IMPORT, OperationKind.FORK))
        )
        with self.database.begin_read() as connection:
            return {OperationKind(kind) for kind in connection.scalars(origins)}
