"""Taking operations back, and bringing them back.

The operations of a thread are a stack: undo takes back the newest one that stands, redo takes back the newest undo as
long as nothing else was done since. Both put noted columns back and are recorded themselves: nothing is ever forgotten.

What the judge saves by itself is passed over by both: it would come between a person and what they mean to take back. It
goes and comes with the run that it belongs to.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from checkpoints import rows, schema
from checkpoints.changing import Changing
from checkpoints.errors import DamagedOperationError, NothingToUndoError
from checkpoints.model import Operation, OperationKind

_table = schema.operation.c
_MOVES = (OperationKind.GOTO, OperationKind.REWIND)
_ORDINARY = _table.kind.not_in((OperationKind.UNDO, OperationKind.REDO))
_MEANT = sa.and_(_ORDINARY, _table.actor != "judge")  # somebody did it in the foreground


def undoable(connection: sa.Connection, thread_id: str) -> Operation | None:
    """The newest operation that stands. What stood before an erasure is out of reach."""
    newest = _newest(connection, thread_id, _MEANT, _table.undone_by.is_(None))
    return None if newest and newest.kind is OperationKind.ERASE else newest


def redoable(connection: sa.Connection, thread_id: str) -> Operation | None:
    """The newest undo that stands, if nothing else was done since."""
    undo = _newest(connection, thread_id, _table.kind == OperationKind.UNDO, _table.undone_by.is_(None))
    ordinary = _newest(connection, thread_id, _MEANT)
    return undo if undo and ordinary and undo.version > ordinary.version else None


def take_back(change: Changing) -> None:
    """The body of an undo."""
    newest = undoable(change.connection, change.thread.id)
    if newest is None:
        raise NothingToUndoError("undo")
    for operation in _group(change.connection, newest):
        _put_back(change, operation)
        _mark(change, operation)
    change.target = newest.version


def bring_back(change: Changing) -> None:
    """The body of a redo."""
    newest = redoable(change.connection, change.thread.id)
    if newest is None:
        raise NothingToUndoError("redo")
    _put_back(change, newest)
    undone = (_table.thread_id == change.thread.id, _table.undone_by == newest.version)
    change.connection.execute(sa.update(schema.operation).where(*undone).values(undone_by=None))
    _mark(change, newest)
    change.target = newest.version


def _put_back(change: Changing, operation: Operation) -> None:
    try:
        for done in reversed(operation.intact.changes):
            change.put(done.inverse)
    except (sa.exc.NoResultFound, sa.exc.IntegrityError) as error:  # it names a row that is not there
        raise DamagedOperationError(operation.thread_id, operation.version) from error


def _newest(connection: sa.Connection, thread_id: str, *conditions: sa.ColumnElement[bool]) -> Operation | None:
    query = sa.select(schema.operation).where(_table.thread_id == thread_id, *conditions)
    row = connection.execute(query.order_by(_table.version.desc()).limit(1)).one_or_none()
    return rows.to_operation(row) if row else None


def _group(connection: sa.Connection, operation: Operation) -> Sequence[Operation]:
    """The operations that are undone together with this one, the newest first.

    What somebody else did in between stays, unless it was done to the same rows: those could not be put back otherwise.
    A move of the agent is taken back with what it wrote after it, and not with what the run had written before.
    """
    if operation.group is None:
        return [operation]
    taken: list[Operation] = []
    touched: set[tuple[str, str]] = set()
    standing = (_table.thread_id == operation.thread_id, _ORDINARY, _table.undone_by.is_(None))
    own = (*standing, _table.grouped == operation.group)
    moved = sa.select(sa.func.max(_table.version)).where(*own, _table.kind.in_(_MOVES)).scalar_subquery()
    first = sa.func.coalesce(moved, sa.select(sa.func.min(_table.version)).where(*own).scalar_subquery())
    for done in reversed(rows.operations(connection, operation.thread_id, *standing, _table.version >= first)):
        places = {(change.table, change.id) for change in done.changes}
        if done.kind is OperationKind.ERASE:
            taken, touched = [], set()
        elif done.group == operation.group or places & touched:
            taken.append(done)
            touched |= places
    return taken[::-1]


def _mark(change: Changing, operation: Operation) -> None:
    place = (_table.thread_id == operation.thread_id, _table.version == operation.version)
    change.connection.execute(sa.update(schema.operation).where(*place).values(undone_by=change.thread.version + 1))
