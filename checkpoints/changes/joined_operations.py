"""Steps of a run that are recorded in one operation: most of a graph's steps write no message."""

from ..operation import Operation, OperationKind, RowChange
from ..storage import operation_rows
from .transaction import Transaction

_JOINING_KINDS = (OperationKind.APPEND, OperationKind.EDIT)


def record_step(transaction: Transaction, kind: OperationKind, result: str | None) -> None:
    """Record the change as a part of the run's newest operation, unless both of them move the head.

    The thread's version rises with each message.
    """
    newest = operation_rows.select_operation(transaction.connection, transaction.thread.id, transaction.thread.version)
    if kind is not OperationKind.APPEND or newest is None or not _can_join(newest, transaction):
        transaction.run_body(kind, lambda _: result)
        return
    changes = join_changes([*newest.changes, *transaction.changes])
    operation_rows.update_changes(transaction.connection, newest, changes, result)


def _can_join(newest: Operation, transaction: Transaction) -> bool:
    is_same_run = newest.undo_group is not None and newest.undo_group == transaction.caller.undo_group
    is_open = newest.kind in _JOINING_KINDS and not newest.undone and not newest.damaged
    return is_same_run and is_open and not (_moves_head(newest.changes) and _moves_head(transaction.changes))


def _moves_head(changes: list[RowChange] | tuple[RowChange, ...]) -> bool:
    return any("head_id" in change.after for change in changes)


def join_changes(changes: list[RowChange]) -> tuple[RowChange, ...]:
    """Return one change of each row: its columns before the first change, and after the last."""
    joined: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        first = joined.get((change.table, change.id))
        before, after = (
            (change.before | first.before, first.after | change.after) if first else (change.before, change.after)
        )
        joined[change.table, change.id] = RowChange(change.table, change.id, before, after)
    return tuple(joined.values())
