"""The reach of undo and redo."""

from collections.abc import Sequence

import sqlalchemy as sa

from ..rows import operation_rows
from ..values.operation import Operation, OperationKind


def list_revertible_operations(connection: sa.Connection, thread_id: str) -> list[Operation]:
    """Return the operations undo can undo, now or later, and the undos redo can reverse, newest first."""
    found: list[Operation] = []
    # True while only undo and redo follow.
    is_newest = True
    for operation in operation_rows.select_operations(connection, thread_id):
        if operation.kind is OperationKind.ERASE:
            break
        is_undo = operation.kind is OperationKind.UNDO
        is_ordinary = not is_undo and operation.kind is not OperationKind.REDO
        is_newest = is_newest and not is_ordinary
        if not operation.undone and (is_ordinary or (is_undo and is_newest)):
            found.append(operation)
    return found


def collect_references(operations: Sequence[Operation]) -> tuple[set[str], set[str], set[str]]:
    """Return the ids of messages, branches and checkpoints needed to undo these operations."""
    messages, branches, checkpoints = set[str](), set[str](), set[str]()
    for change in (change for operation in operations for change in operation.changes):
        for values in (change.before, change.after):
            messages.update(filter(None, [values.get("head_id"), values.get("message_id")]))
            branches.update(filter(None, [values.get("branch_id")]))
        if change.table != "thread":
            (branches if change.table == "branch" else checkpoints).add(change.id)
    return messages, branches, checkpoints


def collect_states(operations: Sequence[Operation]) -> set[int]:
    """Return the states needed to undo these operations."""
    changes = [change for operation in operations for change in operation.changes]
    found = {values.get("state_id") for change in changes for values in (change.before, change.after)}
    return {number for number in found if number is not None}
