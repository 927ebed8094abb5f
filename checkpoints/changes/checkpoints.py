"""Save, describe and delete checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import SystemMessage

from ..rows import message_rows, state_rows, thread_rows
from ..storage.ownership import find_person
from ..values import serde
from ..values.errors import NothingToSaveError
from ..values.limits import MAX_DESCRIPTION_CHARS
from ..values.model import Checkpoint, Json, NewMessage, Node
from ..values.names import clean_name
from ..values.operation_detail import OperationDetail
from .transaction import Transaction

_STATE_NOTE = NewMessage(serde.to_body(SystemMessage("The state of the graph was saved here.")))


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint to save. An empty name becomes the next default name."""

    name: str
    description: str
    tokens: int | None
    extra: Json


@dataclass(frozen=True, slots=True)
class NewState:
    """A state to save in place of the head: the first `kept` messages of the path, followed by new messages."""

    kept: int
    messages: Sequence[NewMessage]


def save_head(transaction: Transaction, new: NewCheckpoint, state: NewState | None) -> str:
    """Save a checkpoint of the head, after moving the head to `state` if given. Raises `NothingToSaveError` without
    messages.

    Every checkpoint is at a message. A graph that writes no messages gets a note for each checkpoint.
    """
    if state is not None:
        _move_to_state(transaction, state)
    elif transaction.state_id is not None and _has_only_notes(transaction):
        (note,) = transaction.add_messages(transaction.head, [_STATE_NOTE])
        state_rows.place_state(transaction.connection, transaction.state_id, note)
        transaction.stand_at(note, transaction.state_id)
    if transaction.head is None:
        raise NothingToSaveError
    return _add_checkpoint(transaction, new, transaction.head)


def _has_only_notes(transaction: Transaction) -> bool:
    """Return whether a conversation has no messages except the notes of its checkpoints."""
    if transaction.head is None:
        return True
    newest = message_rows.select_messages(transaction.connection, transaction.trace_current_path(), last=1)
    return [each.body for each in newest] == [_STATE_NOTE.body]


def save_message(transaction: Transaction, new: NewCheckpoint, message_id: str) -> str:
    """Save a checkpoint of an earlier message on the path. No head moves."""
    thread, path = transaction.thread, transaction.trace_current_path()
    node = thread_rows.select_path_node(transaction.connection, thread, path, message_id)
    assert node is not None
    return _add_checkpoint(transaction, new, node)


def _add_checkpoint(transaction: Transaction, new: NewCheckpoint, node: Node) -> str:
    checkpoint = Checkpoint(
        id="",
        name=serde.sanitize_text(new.name),
        timestamp=thread_rows.to_time(transaction.now),
        message_count=node.depth + 1,
        description=serde.sanitize_text(new.description),
        created_by=transaction.caller.actor,
        tokens=new.tokens,
        node=node,
        extra=new.extra,
        person=find_person(transaction.connection),
    )
    saved = transaction.add_checkpoint(checkpoint)
    transaction.detail = OperationDetail(name=saved.name)
    return saved.id


def _move_to_state(transaction: Transaction, state: NewState) -> None:
    head = transaction.head
    length = head.depth + 1 if head else 0
    if state.messages or state.kept != length:
        parent = head if state.kept == length else _select_node_at_depth(transaction, state.kept - 1)
        transaction.detach_and_move([parent, *transaction.add_messages(parent, state.messages)][-1])


def _select_node_at_depth(transaction: Transaction, depth: int) -> Node | None:
    """Return the current path's node at this depth. -1 gives None."""
    path = transaction.trace_current_path()
    found = message_rows.select_messages(transaction.connection, path, last=1, before=depth + 1)
    return Node(found[0].id, found[0].segment, found[0].depth) if found else None


def change_checkpoint(
    transaction: Transaction, checkpoint_id: str, name: str | None, description: str | None, pinned: bool | None
) -> str:
    """Set a checkpoint's name, description and pin. None and an empty name change nothing."""
    target = transaction.find_checkpoint(checkpoint_id)
    after: Json = {} if pinned is None else {"pinned": pinned}
    if new_name := clean_name(name or ""):
        after["name"] = new_name
    if description is not None:
        after["description"] = serde.sanitize_text(description)[:MAX_DESCRIPTION_CHARS]
    transaction.detail = OperationDetail(
        subject="checkpoint", name=target.name, new_name=new_name if new_name != target.name else "", pinned=pinned
    )
    transaction.update_row("checkpoint", target.id, **after)
    return target.id


def hide_checkpoint(transaction: Transaction, checkpoint_id: str) -> str:
    """Remove a checkpoint from the list."""
    target = transaction.find_checkpoint(checkpoint_id)
    transaction.detail = OperationDetail(subject="checkpoint", name=target.name)
    transaction.update_row("checkpoint", target.id, deleted_at=transaction.now)
    return target.id


def hide_checkpoints(transaction: Transaction) -> None:
    """Remove all checkpoints visible on the current branch from the list."""
    transaction.detail = OperationDetail(subject="checkpoints")
    shown = [checkpoint.id for checkpoint in transaction.select_visible_checkpoints()]
    transaction.update_rows("checkpoint", shown, deleted_at=transaction.now)
