"""Fill a new conversation that begins as a path of another conversation."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..rows import (
    checkpoint_rows,
    copies,
    message_rows,
    search_index,
    state_rows,
    thread_rows,
    write_rows,
)
from ..rows.standing_checkpoints import list_last_operations
from ..rows.state_choice import choose_states
from ..rows.state_inserts import StateBatch, StateDraft, split_draft
from ..rows.state_rows import StateName, StoredState
from ..values.graph_state import Reference, list_paths, read_kind
from ..values.history import Path
from ..values.model import Node, Thread
from ..values.operation_detail import OperationDetail
from ..values.standing_runs import HEAD, StandingRuns
from .transaction import Transaction


@dataclass
class StateFork:
    """Copies the states of a path's messages and checkpoints, with the states above them and those of their subgraphs.

    `nodes` are the copied messages by depth. `_copied` is keyed by the original's number, and `_messages` by the
    original's id. `_roots` holds LangGraph's ids of the graph's own copied states.
    """

    transaction: Transaction
    source: Thread
    path: Path
    nodes: Sequence[Node]
    _copied: dict[int, StateName] = field(default_factory=dict)
    _roots: set[str] = field(default_factory=set)
    _messages: dict[str, Node] = field(default_factory=dict)

    def copy_states(self, named: Collection[int]) -> None:
        """Copy the states of the path, and the `named` states. Damaged states, and states with other messages, are
        left out."""
        connection = self.transaction.connection
        outline = state_rows.select_outline(connection, self.source.id)
        if not outline:
            return
        self._map_messages({row.message_id for row in outline if row.message_id})
        choice = choose_states(outline, self._messages.keys(), named)
        placed = {number: self._messages[message_id] for number, message_id in choice.messages.items()}
        states = state_rows.select_states(connection, self.source.id)
        wanted = [state for state in states if state.number in choice.numbers or state.namespace]
        batch = StateBatch.reserve(connection, len(wanted))
        for state in wanted:
            self._copy_state(state, placed.get(state.number), choice.numbers, batch)
        batch.write()
        keys = [(each.namespace, each.checkpoint_id) for each in self._copied.values()]
        write_rows.copy_writes(connection, self.source.id, self.transaction.thread.id, keys)

    def find_copy(self, number: int | None) -> int | None:
        found = None if number is None else self._copied.get(number)
        return found.number if found else None

    def _map_messages(self, message_ids: set[str]) -> None:
        """Find the copies of the messages that are on the path."""
        found = thread_rows.select_nodes(self.transaction.connection, message_ids - self._messages.keys())
        self._messages |= {each: self.nodes[node.depth] for each, node in found.items() if node in self.path}

    def _copy_state(self, state: StoredState, message: Node | None, chosen: Collection[int], batch: StateBatch) -> None:
        body = state.body
        if state.namespace and not self._is_below(state, chosen):
            return
        named = {each for each, _ in list_paths(body["values"]) if each is not None}
        self._map_messages(named)
        if not named <= self._messages.keys():
            return
        values = {name: self._rename(reference) for name, reference in body["values"].items()}
        parent = None if state.parent is None else self._copied.get(state.parent)
        place = (self.transaction.thread.id, state.namespace, state.checkpoint_id)
        parent_id = None if parent else state.parent_id
        draft = StateDraft(*place, parent, parent_id, state.run_id, message, is_input=False)
        split = split_draft(draft, {**body, "values": values})
        self._copied[state.number] = batch.add_state(draft, split.shape, split.write_leaves(split.rest))
        if not state.namespace:
            self._roots.add(state.checkpoint_id)

    def _is_below(self, state: StoredState, chosen: Collection[int]) -> bool:
        """Return whether a subgraph's state was reached from a copied state, or by a run that ended with a chosen state."""
        if state.body["metadata"].get("parents", {}).get("") in self._roots:
            return True
        return state.body["begun_at"] is not None and state_rows.find_run(self.transaction.connection, state)[1] in chosen

    def _rename(self, reference: Reference) -> Any:
        match read_kind(reference):
            case "d":
                return ["d", self._rename(reference[1])]
            case "m":
                copy = self._messages.get(reference[1])
                return ["m", copy.id if copy else None, reference[2]]
        return reference


def copy_path(
    transaction: Transaction, source: Thread, path: Path, *, with_states: bool, checkpoint_id: str | None = None
) -> str:
    """Copy a path of another conversation into this new conversation, with the checkpoints on it and its tags.

    Equal paths have equal hashes, so nothing is read or hashed. A damaged message gets a damaged copy.
    """
    nodes = _copy_messages(transaction, path) if path.length else []
    states = StateFork(transaction, source, path, nodes)
    head_state, is_standing = _find_head_state(transaction, source, path, checkpoint_id)
    saved = checkpoint_rows.select_checkpoint_states(transaction.connection, source.id)
    # A graph's values stay with their owner.
    if nodes and with_states and source.owner == transaction.thread.owner:
        states.copy_states({number for number in (head_state, *saved.values()) if number is not None})
    copied = {each: states.find_copy(number) for each, number in saved.items()}
    new_ids = _copy_checkpoints(transaction, source, path, nodes, copied)
    transaction.stand_at(nodes[-1] if nodes else None, states.find_copy(head_state))
    # A member does not see the source's tags.
    if source.tags:
        transaction.update_row("thread", transaction.thread.id, tags=list(source.tags))
    begun = {HEAD: (head_state, checkpoint_id)} if is_standing else {}
    begun |= {new_ids[each]: (number, each) for each, number in saved.items() if each in new_ids}
    standing = _find_standing(transaction, source, begun)
    transaction.detail = OperationDetail(subject="thread", name=source.title, standing=standing)
    transaction.record_insert("thread", transaction.thread.id)
    return transaction.thread.id


def _copy_messages(transaction: Transaction, path: Path) -> list[Node]:
    """Copy the messages of a path. Raises `DamagedMessageError` if the database has lost a message."""
    segment = transaction.add_segment(None)
    nodes = [Node(transaction.new_id(), segment, depth) for depth in range(path.length)]
    if copies.copy_messages(transaction.connection, transaction.thread.id, path.places, nodes) < path.length:
        raise message_rows.find_damage(transaction.connection, path)
    search_index.add_copies(transaction.connection, segment)
    return nodes


def _find_head_state(
    transaction: Transaction, source: Thread, path: Path, checkpoint_id: str | None
) -> tuple[int | None, bool]:
    """Return the state of a checkpoint there, or of the source's head, or of a restore to the end of the path.

    The second value is false in the last case, where no answers to a graph count.
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
    """Copy the checkpoints of a path. Return the ids of the copies by original."""
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
    """Return the runs behind states that asked a person, by the ids of the copies.

    `begun` gives the state's number, and the checkpoint saved there or None for the source's head.
    """
    asking = write_rows.select_asking_states(transaction.connection, source.id) if begun else ()
    list_last = partial(list_last_operations, transaction.connection, source.id)
    found = {
        name: StandingRuns.find(list_last, source.branch_id, saved_id)[0].ids
        for name, (number, saved_id) in begun.items()
        if number in asking
    }
    return {name: ids for name, ids in found.items() if ids}
