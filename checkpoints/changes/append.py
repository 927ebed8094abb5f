"""Append messages to a thread, after the head or after another message."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..rows import checkpoint_rows, state_rows, thread_rows
from ..values.model import UNTITLED, NewMessage, Node
from ..values.names import clean_name
from ..values.operation import OperationKind
from ..values.operation_detail import NO_DETAIL, OperationDetail
from .alternatives import check_room_after
from .transaction import ChangeBody, Transaction

# The place after the head, wherever it stands. No message can have this id.
HEAD: Final = "(head)"


def choose_append_kind(after: str | None, *, is_empty: bool) -> OperationKind:
    """Return the kind of a change that adds messages after a place, or only moves the head there for another answer."""
    if after == HEAD:
        return OperationKind.APPEND
    return OperationKind.RETRY if is_empty else OperationKind.EDIT


def make_append(
    messages: Sequence[NewMessage],
    after: str | None,
    title: str,
    run_id: str | None,
    *,
    detail: OperationDetail | None = None,
    begins_turn: bool = False,
) -> ChangeBody:
    """Build the change that writes messages after a message and moves the head to the last of them. With `begins_turn`,
    a graph begins there with its values at rest."""

    def append_messages(transaction: Transaction) -> str | None:
        place = (
            transaction.head
            if after == HEAD
            else thread_rows.select_node(transaction.connection, after, transaction.thread.id)
        )
        if clean_name(title) and transaction.thread.title == UNTITLED:
            transaction.update_row("thread", transaction.thread.id, title=clean_name(title))
        # Another answer: its run must not fail once the answer exists.
        if not messages and after != HEAD:
            check_room_after(transaction.connection, transaction.thread, place)
        nodes = transaction.add_messages(place, messages, run_id=run_id)
        transaction.detail = detail or transaction.detail
        if transaction.detail is None and after != HEAD:
            old, new = transaction.trace_current_path(), transaction.trace_path(nodes[-1] if nodes else place)
            if removed := checkpoint_rows.count_removal(
                transaction.connection, transaction.thread, old, new, ()
            ).checkpoints:
                transaction.detail = OperationDetail(checkpoints=removed)
        end = nodes[-1] if nodes else place
        if after == HEAD or not begins_turn:
            transaction.move_head(end)
        elif _begin_turn(transaction, end, place):
            transaction.detail = replace(transaction.detail or NO_DETAIL, begins_earlier=True)
        return nodes[-1].id if nodes else None

    return append_messages


def _begin_turn(transaction: Transaction, node: Node | None, place: Node | None) -> bool:
    """Move the head to the start of a turn, with the graph's newest state at rest before it.

    If the node is the place itself, its question is answered again. Return whether an earlier turn there did not end,
    so the state is older than the last state there.
    """
    if not transaction.loaded.has_states or transaction.head == place:
        transaction.move_head(node)
        return False
    path, length = transaction.trace_path(place), place.depth + (node != place) if place else 0
    resting = state_rows.find_resting_state(transaction.connection, path, length)
    transaction.stand_at(node, resting)
    return resting != state_rows.find_nearest_state(transaction.connection, path, length)
