"""Undo and redo of operations.

A thread's operations form a stack. Undo reverts the newest operation still in effect. Redo reverts the newest undo, as
long as nothing else was done since. Both restore the columns recorded by `Transaction`, and are themselves recorded
(`Transaction.apply_and_record`), so nothing is ever forgotten.

Both skip the app's own operations: the judge's checkpoints, and a model's title. These would come between a person and
the change to undo. They come and go with their run, and the title with the first message, which wrote the same row.
"""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from ..rows import operation_rows, thread_rows
from ..storage import schema
from ..values.errors import DamagedOperationError, NothingToUndoError
from ..values.operation import Operation, OperationKind, RowChange
from .preconditions import BACKGROUND_ACTORS
from .transaction import Transaction

_columns = schema.operation.c
# These columns of branches and checkpoints name messages.
_NAMES_OF_MESSAGES = ("head_id", "message_id")
_AGENT_MOVES = (OperationKind.GOTO, OperationKind.REWIND)
_ORDINARY = _columns.kind.not_in((OperationKind.UNDO, OperationKind.REDO))
_IN_FOREGROUND = _columns.actor.not_in(BACKGROUND_ACTORS)
_FOREGROUND = sa.and_(_ORDINARY, _IN_FOREGROUND)


def select_undoable(
    connection: sa.Connection, thread_id: str, *, up_to: int | None = None, abridged: bool = False
) -> Operation | None:
    """Return the newest operation not undone, at most at version `up_to`. An erasure ends the reach of undo."""
    conditions = [_FOREGROUND, _columns.undone_by.is_(None), *([] if up_to is None else [_columns.version <= up_to])]
    newest = _select_newest(connection, thread_id, *conditions, abridged=abridged)
    return None if newest and newest.kind is OperationKind.ERASE else newest


def select_redoable(connection: sa.Connection, thread_id: str, *, abridged: bool = False) -> Operation | None:
    """Return the newest undo not reverted, unless another change followed it."""
    is_undo = (_columns.kind == OperationKind.UNDO, _columns.undone_by.is_(None))
    undo = _select_newest(connection, thread_id, *is_undo, abridged=abridged)
    ordinary = _select_newest(connection, thread_id, _FOREGROUND, abridged=True)
    return undo if undo and ordinary and undo.version > ordinary.version else None


def is_newest_undo(connection: sa.Connection, thread_id: str) -> bool:
    """Return whether the newest operation, ignoring the app's own, is an undo."""
    newest = _select_newest(connection, thread_id, _IN_FOREGROUND, abridged=True)
    return newest is not None and newest.kind is OperationKind.UNDO


def apply_undo(transaction: Transaction) -> None:
    """Undo the newest operation the caller saw, with its group. Only the app's own operations are newer (see
    `check_caller`)."""
    seen = transaction.caller.expected_version
    newest = select_undoable(transaction.connection, transaction.thread.id, up_to=seen)
    if newest is None:
        raise NothingToUndoError("undo")
    for operation in _select_undo_group(transaction.connection, newest):
        _revert_operation(transaction, operation)
        _set_undone_by(transaction, operation)
    transaction.target = newest.version


def apply_redo(transaction: Transaction) -> None:
    newest = select_redoable(transaction.connection, transaction.thread.id)
    if newest is None:
        raise NothingToUndoError("redo")
    _revert_operation(transaction, newest)
    undone = (_columns.thread_id == transaction.thread.id, _columns.undone_by == newest.version)
    transaction.connection.execute(sa.update(schema.operation).where(*undone).values(undone_by=None))
    _set_undone_by(transaction, newest)
    transaction.target = newest.version


def _revert_operation(transaction: Transaction, operation: Operation) -> None:
    reverted = [done.inverse for done in reversed(operation.intact.changes)]
    _require_messages(transaction, operation, reverted)
    try:
        transaction.write_changes(reverted)
    except (sa.exc.NoResultFound, sa.exc.IntegrityError) as error:
        # The operation names a missing row.
        raise DamagedOperationError(operation.thread_id, operation.version) from error


def _require_messages(transaction: Transaction, operation: Operation, changes: Iterable[RowChange]) -> None:
    """Refuse to move a head or checkpoint to a missing message. Raises `DamagedOperationError`."""
    named = (change.after.get(name) for change in changes for name in _NAMES_OF_MESSAGES)
    wanted = {message_id for message_id in named if message_id is not None}
    if wanted - thread_rows.select_nodes(transaction.connection, wanted).keys():
        raise DamagedOperationError(operation.thread_id, operation.version)


def _select_newest(
    connection: sa.Connection, thread_id: str, *conditions: sa.ColumnElement[bool], abridged: bool = False
) -> Operation | None:
    found = operation_rows.select_operations(connection, thread_id, *conditions, limit=1, abridged=abridged)
    return found[0] if found else None


def _select_undo_group(connection: sa.Connection, operation: Operation) -> Sequence[Operation]:
    """Return the operations undone together with this operation, newest first.

    Changes made by others in between stay, unless they touch the same rows, which could not be restored otherwise. An
    agent's move is undone with the messages after it, but not with messages the run had written before.
    """
    if operation.undo_group is None:
        return [operation]
    taken: list[Operation] = []
    touched: set[tuple[str, str]] = set()
    standing = (_columns.thread_id == operation.thread_id, _ORDINARY, _columns.undone_by.is_(None))
    own = (*standing, _columns.grouped == operation.undo_group)
    moved = sa.select(sa.func.max(_columns.version)).where(*own, _columns.kind.in_(_AGENT_MOVES)).scalar_subquery()
    first = sa.func.coalesce(moved, sa.select(sa.func.min(_columns.version)).where(*own).scalar_subquery())
    for done in reversed(
        operation_rows.select_operations(connection, operation.thread_id, *standing, _columns.version >= first)
    ):
        places = {(change.table, change.id) for change in done.changes}
        if done.kind is OperationKind.ERASE:
            taken, touched = [], set()
        elif done.undo_group == operation.undo_group or places & touched:
            taken.append(done)
            touched |= places
    return taken[::-1]


def _set_undone_by(transaction: Transaction, operation: Operation) -> None:
    place = (_columns.thread_id == operation.thread_id, _columns.version == operation.version)
    transaction.connection.execute(
        sa.update(schema.operation).where(*place).values(undone_by=transaction.thread.version + 1)
    )
