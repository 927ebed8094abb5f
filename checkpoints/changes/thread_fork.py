"""The content of a new conversation that begins as a path of another one."""

from collections.abc import Mapping, Sequence
from functools import partial

import sqlalchemy as sa

from ..rows import (
    checkpoint_rows,
    copies,
    message_rows,
    operation_rows,
    search_index,
    state_rows,
    thread_rows,
    write_rows,
)
from ..values.history import Path
from ..values.model import Node, Thread
from ..values.operation import Operation
from ..values.operation_detail import OperationDetail
from ..values.standing_runs import HEAD, StandingRuns
from .state_fork import StateFork
from .transaction import Transaction


def copy_path(
    transaction: Transaction, source: Thread, path: Path, *, with_states: bool, checkpoint_id: str | None = None
) -> str:
    """Copy a path of another conversation, the checkpoints on it, and its tags, into this new one.

    Equal paths have equal hashes: nothing is read or hashed here. A damaged message has a damaged copy.
    """
    nodes = _copy_messages(transaction, path) if path.length else []
    states = StateFork(transaction, source, path, nodes)
    head_state, is_standing = _find_head_state(transaction, source, path, checkpoint_id)
    saved = checkpoint_rows.select_checkpoint_states(transaction.connection, source.id)
    if nodes and with_states and source.owner == transaction.thread.owner:  # the values of a graph stay their owner's
        states.copy_states({number for number in (head_state, *saved.values()) if number is not None})
    copied = {each: states.find_copy(number) for each, number in saved.items()}
    new_ids = _copy_checkpoints(transaction, source, path, nodes, copied)
    transaction.stand_at(nodes[-1] if nodes else None, states.find_copy(head_state))
    if source.tags:  # which a member does not see
        transaction.update_row("thread", transaction.thread.id, tags=list(source.tags))
    begun = {HEAD: (head_state, checkpoint_id)} if is_standing else {}
    begun |= {new_ids[each]: (number, each) for each, number in saved.items() if each in new_ids}
    standing = _find_standing(transaction, source, begun)
    transaction.detail = OperationDetail(subject="thread", name=source.title, standing=standing)
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


def _find_head_state(
    transaction: Transaction, source: Thread, path: Path, checkpoint_id: str | None
) -> tuple[int | None, bool]:
    """Return the state of a checkpoint there, where the source stands, or would after a restore to the end of the path.

    The second value is false for the last one: no answers to a graph stand there.
    """
    connection = transaction.connection
    at = path.segments[0] if path.segments else None
    saved = state_rows.find_saved_state(connection, source.id, checkpoint_id, at)
    if saved is not None:
        return saved, True
    head = thread_rows.select_node(transaction.connection, source.head_id, source.id)
    if head is not None and head in path and head.depth + 1 == path.length:
        return source.state_id, True
    return state_rows.find_state(connection, path), False


def _copy_checkpoints(
    transaction: Transaction, source: Thread, path: Path, nodes: list[Node], states: Mapping[str, int | None]
) -> dict[str, str]:
    """Return the ids of the copies."""
    places = checkpoint_rows.select_checkpoint_places(transaction.connection, source.id)
    shown = [(checkpoint_id, depth) for checkpoint_id, segment, depth in places if depth <= path.last.get(segment, -1)]
    if not shown:
        return {}
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
    return {checkpoint_id: new_id for checkpoint_id, new_id, *_ in listed}


def _find_standing(
    transaction: Transaction, source: Thread, begun: Mapping[str, tuple[int | None, str | None]]
) -> dict[str, Sequence[str]]:
    """Return the runs that stand at states which asked a person, named by the ids of the copies.

    The others are the numbers of the states, and the checkpoints that were saved there; None where the source stands.
    """
    asking = write_rows.select_asking_states(transaction.connection, source.id) if begun else ()
    list_last = partial(_list_operations, transaction.connection, source.id)
    found = {
        name: StandingRuns.find(list_last, source.branch_id, saved_id)[0].ids
        for name, (number, saved_id) in begun.items()
        if number in asking
    }
    return {name: ids for name, ids in found.items() if ids}


def _list_operations(connection: sa.Connection, thread_id: str, count: int) -> Sequence[Operation]:
    return operation_rows.select_operations(connection, thread_id, limit=count)
