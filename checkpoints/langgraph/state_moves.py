"""Move a conversation to a new state of its graph. Undo reverts the move with the run."""

from ..changes.joined_operations import record_step
from ..changes.transaction import Transaction
from ..rows.state_rows import StoredState
from ..values import history
from ..values.model import UNTITLED
from ..values.names import clean_name
from ..values.operation import Operation, OperationKind
from ..values.operation_detail import OperationDetail
from .message_paths import KnownPaths, MessagePath


def move_to_state(
    change: Transaction, state: StoredState, path: MessagePath | None, paths: KnownPaths, newest: Operation | None
) -> Operation:
    """Move the conversation to a new state. `path` holds its messages if they are in the tree.

    If a graph replaces messages, checkpoints on the old path stay listed as detached. A run that continues from an
    older state leaves the later states, like a restore.
    """
    head, kind = state.message, OperationKind.APPEND
    goes_on = state.parent == change.state_id
    if change.head is not None and not history.continues(head, change.head) and change.head not in change.trace_path(head):
        kind = OperationKind.EDIT
        if goes_on and path is not None:
            replaced = _count_replaced(_load_current_path(change, paths), path)
            change.detail = OperationDetail(messages=replaced, subject=None if replaced else "draft")
    if change.thread.deleted:
        # A LangGraph program begins anew with a deleted id.
        change.update_row("thread", change.thread.id, deleted_at=None)
    if change.thread.title == UNTITLED and (title := _find_title(path)):
        change.update_row("thread", change.thread.id, title=title)
    if goes_on:
        change.detach_and_move(head, state.number)
    else:
        change.stand_at(head, state.number)
    return record_step(change, kind, head.id if head else None, newest)


def _load_current_path(change: Transaction, paths: KnownPaths) -> MessagePath:
    assert change.head is not None
    return paths.load_path(change.connection, change.thread.id, change.head.id, change.head.depth + 1)


def _count_replaced(old: MessagePath, new: MessagePath) -> int:
    """Count the old messages, up to the last question, that the new path changed or dropped.

    Messages after the question belong to the turn itself: drafts nobody has seen as answers.
    """
    last = max((place for place, each in enumerate(old.messages) if each.type == "human"), default=-1)
    kept = {each.id: each for each in new.messages}
    return sum(kept.get(each.id) != each for each in old.messages[: last + 1])


def _find_title(path: MessagePath | None) -> str:
    asked = next((message for message in path.messages if message.type == "human"), None) if path else None
    return clean_name(str(asked.text)) if asked else ""
