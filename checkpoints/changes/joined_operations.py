"""Join steps of a run in a single operation, so they are undone together."""

from collections.abc import Sequence
from dataclasses import replace

from ..rows import operation_rows, thread_counters
from ..values.operation import Operation, OperationKind, RowChange
from .transaction import Transaction

_JOINING_KINDS = (OperationKind.APPEND, OperationKind.EDIT)


def record_step(
    transaction: Transaction, kind: OperationKind, result: str | None, newest: Operation | None = None
) -> Operation:
    """Record the change as a part of the run's newest operation, and return it. Pass `newest` if it is known.

    The versions of the thread and of the operation rise with each message.
    """
    connection, thread = transaction.connection, transaction.thread
    newest = newest or operation_rows.select_operation(connection, thread.id, thread.version)
    if kind is not OperationKind.APPEND or newest is None or not _can_join(newest, transaction):
        return transaction.apply_and_record(kind, lambda _: result).operation
    is_next = _moves_head(newest.changes) and _moves_head(transaction.changes)
    version = thread_counters.raise_version(connection, thread, transaction.now) if is_next else newest.version
    changes = join_changes([*newest.changes, *transaction.changes])
    detail = replace(newest.detail, joined=newest.detail.joined + version - newest.version)
    joined = replace(newest, version=version, changes=changes, result=result or newest.result, detail=detail)
    operation_rows.replace_operation(connection, newest, joined)
    return joined


def _can_join(newest: Operation, transaction: Transaction) -> bool:
    """Return whether a step belongs to an operation. Operations that set the title, and edits, keep their version."""
    is_same_run = newest.undo_group is not None and newest.undo_group == transaction.caller.undo_group
    is_open = newest.kind in _JOINING_KINDS and not newest.undone and not newest.damaged
    is_plain = newest.kind is OperationKind.APPEND and newest.actor == transaction.caller.actor
    is_plain = is_plain and all(change.table == "branch" for change in newest.changes)
    is_next = _moves_head(newest.changes) and _moves_head(transaction.changes)
    return is_same_run and is_open and (is_plain or not is_next)


def _moves_head(changes: Sequence[RowChange]) -> bool:
    return any("head_id" in change.after for change in changes)


def join_changes(changes: list[RowChange]) -> tuple[RowChange, ...]:
    """Merge changes by row: the columns before the first change, and after the last."""
    joined: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        first = joined.get((change.table, change.id))
        before, after = (
            (change.before | first.before, first.after | change.after) if first else (change.before, change.after)
        )
        joined[change.table, change.id] = RowChange(change.table, change.id, before, after)
    return tuple(joined.values())
