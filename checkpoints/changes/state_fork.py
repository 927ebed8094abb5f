"""The states of a graph in a conversation that begins as a path of another one.

Values are shared, since states name them by number. Messages have other ids in the copy, so each state is written anew.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..rows import state_rows, thread_rows, write_rows
from ..rows.state_choice import choose_states
from ..rows.state_inserts import StateBatch, StateDraft, split_draft
from ..rows.state_rows import StateName, StoredState
from ..values.graph_state import Reference, list_paths, read_kind
from ..values.history import Path
from ..values.model import Node, Thread
from .transaction import Transaction


@dataclass
class StateFork:
    """Copies the states that a path's messages and checkpoints stand on, those above them, and those of their subgraphs."""

    transaction: Transaction
    source: Thread
    path: Path
    nodes: Sequence[Node]  # of the copy, by depth
    _copied: dict[int, StateName] = field(default_factory=dict)  # by the number of the original
    _roots: set[str] = field(default_factory=set)  # LangGraph's ids of the graph's own states that are copied
    _messages: dict[str, Node] = field(default_factory=dict)  # the copies, by the ids of the originals

    def copy_states(self, named: Collection[int]) -> None:
        """Copy the states of the path, and these. A damaged state is left out, and so is one that names other messages."""
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
        """Return the copy of a state."""
        found = None if number is None else self._copied.get(number)
        return found.number if found else None

    def _map_messages(self, message_ids: set[str]) -> None:
        """Find the copies of those of these messages that are on the path."""
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
        """Return whether a subgraph's state was reached from a copied one, or by a run that ended with one of these."""
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
