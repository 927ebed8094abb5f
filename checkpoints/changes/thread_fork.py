"""The content of a new conversation that begins as a path of another one."""

from collections.abc import Mapping

from ..rows import checkpoint_rows, copies, message_rows, search_index, state_rows, thread_rows
from ..values.history import Path
from ..values.model import Node, Thread
from ..values.operation_detail import OperationDetail
from .state_fork import StateFork
from .transaction import Transaction


def copy_path(transaction: Transaction, source: Thread, path: Path, *, with_states: bool) -> str:
    """Copy a path of another conversation, the checkpoints on it, and its tags, into this new one.

    Equal paths have equal hashes: nothing is read or hashed here. A damaged message has a damaged copy.
    """
    nodes = _copy_messages(transaction, path) if path.length else []
    states = StateFork(transaction, source, path, nodes)
    head_state = _find_head_state(transaction, source, path)
    saved = checkpoint_rows.select_checkpoint_states(transaction.connection, source.id)
    if nodes and with_states and source.owner == transaction.thread.owner:  # the values of a graph stay their owner's
        states.copy_states({number for number in (head_state, *saved.values()) if number is not None})
    _copy_checkpoints(transaction, source, path, nodes, {each: states.find_copy(number) for each, number in saved.items()})
    transaction.stand_at(nodes[-1] if nodes else None, states.find_copy(head_state))
    if source.tags:  # which a member does not see
        transaction.update_row("thread", transaction.thread.id, tags=list(source.tags))
    transaction.detail = OperationDetail(subject="thread", name=source.title)
    transaction.record_insert("thread", transaction.thread.id)
    return transaction.thread.id


def _copy_messages(transaction: Transaction, path: Path) -> list[Node]:
    """Raises `DamagedMessageError` when the database has lost a message of the path."""
    segment = transaction.add_segment(None)
    nodes = [Node(transaction.new_id(), segment, depth) for depth in range(path.length)]
    if copies.copy_messages(transaction.connection, transaction.thread.id, path.places, nodes) < path.length:
        raise message_rows.find_damage(transaction.connection, path)
    search_index.add_copies(transaction.connection, [node.place for node in nodes])
    return nodes


def _find_head_state(transaction: Transaction, source: Thread, path: Path) -> int | None:
    """Return the state where the source stands, or would after a restore to the end of the path."""
    head = thread_rows.select_node(transaction.connection, source.head_id, source.id)
    if head is not None and head in path and head.depth + 1 == path.length:
        return source.state_id
    return state_rows.find_state(transaction.connection, path)


def _copy_checkpoints(
    transaction: Transaction, source: Thread, path: Path, nodes: list[Node], states: Mapping[str, int | None]
) -> None:
    places = checkpoint_rows.select_checkpoint_places(transaction.connection, source.id)
    shown = [(checkpoint_id, depth) for checkpoint_id, segment, depth in places if depth <= path.last.get(segment, -1)]
    if not shown:
        return
    first = transaction.reserve_positions(len(shown))
    listed = [
        (checkpoint_id, transaction.new_id(), position, nodes[depth].id, states.get(checkpoint_id))
        for position, (checkpoint_id, depth) in enumerate(shown, first)
    ]
    thread = transaction.thread
    own = {"thread_id": thread.id, "branch_id": thread.branch_id, "segment": nodes[0].segment}
    common = {**own, "detached": False}
    copies.copy_checkpoints(transaction.connection, listed, common)
    for _, new_id, *_ in listed:
        transaction.record_insert("checkpoint", new_id)
