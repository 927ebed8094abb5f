"""Writing the states of a document. They name the values and the messages that its import has written."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from ..changes.transaction import Transaction
from ..rows import state_rows, value_rows
from ..rows.state_inserts import StateBatch, StateDraft
from ..rows.state_rows import StateName, StoredState
from ..values.graph_state import Reference, SplitBody, join_runs, list_paths, read_kind
from ..values.model import Node
from .import_contents import StateContents
from .waymark import StatePart


@dataclass
class StateWriting:
    """Writes the states of a document, each of them once."""

    transaction: Transaction
    nodes: Mapping[str, Node]  # of the document's messages, by the ids there
    _written: dict[tuple[str, str], StateName] = field(default_factory=dict)  # by namespace and id
    _numbers: Sequence[int] = ()  # of the document's values
    _breaks: Sequence[int] = ()  # up to each of them: those that do not follow the one before

    def find_number(self, state: str | None) -> int | None:
        """Return the number of one of the graph's own states."""
        found = None if state is None else self._written.get(("", state))
        return found.number if found else None

    def write_states(self, contents: StateContents) -> None:
        """Write the states. One that the conversation has already is used if it is about the same messages."""
        if not contents.parts:
            return
        stored = self._select_stored_states({part.id for part in contents.parts})
        self._numbers = value_rows.insert_many_values(
            self.transaction.connection, contents.values, self.transaction.thread.id
        )
        self._breaks = [*accumulate((after != before + 1 for before, after in pairwise(self._numbers)), initial=0)]
        batch = StateBatch.reserve(self.transaction.connection, len(contents.parts))
        for part, split in zip(contents.parts, contents.bodies, strict=True):
            known = stored.get((part.namespace, part.id))
            state = self._add_state(part, split, batch) if known is None else known
            if known is None or self._names_same_messages(part, known):
                self._written[part.namespace, part.id] = state
        batch.write()

    def _select_stored_states(self, ids: Collection[str]) -> Mapping[tuple[str, str], StoredState]:
        """Return the states with these ids that the conversation has, by namespace and id."""
        if not self.transaction.loaded.has_states:
            return {}
        return state_rows.select_named_states(self.transaction.connection, self.transaction.thread.id, ids)

    def _add_state(self, part: StatePart, split: SplitBody, batch: StateBatch) -> StateName:
        message = self.nodes[part.message] if part.message else None
        parent = self._written.get((part.namespace, part.parent or ""))
        place = (self.transaction.thread.id, part.namespace, part.id)
        draft = StateDraft(*place, parent, None if parent else part.parent, part.run_id, message, is_input=False)
        count = len(part.values)
        rest = [*map(self._translate, split.rest[:count]), *split.rest[count:]]
        return batch.add_state(draft, split.shape, split.write_leaves(rest))

    def _names_same_messages(self, part: StatePart, stored: StoredState) -> bool:
        references = {name: self._translate(reference) for name, reference in part.values.items()}
        return {*list_paths(stored.body["values"])} == {*list_paths(references)}

    def _translate(self, reference: Reference) -> Any:
        match read_kind(reference):
            case "d":
                return ["d", self._translate(reference[1])]
            case "m":
                node = self.nodes[reference[1]] if reference[1] is not None else None
                return ["m", node.id if node else None, node.depth + 1 if node else 0]
            case "v":
                return ["v", self._numbers[reference[1]]]
            case "r":
                return ["r", self._translate_runs(reference[1])]
        return reference

    def _translate_runs(self, runs: Sequence[Sequence[int]]) -> list[list[int]]:
        if all(self._breaks[first] == self._breaks[last] for first, last in runs):
            return [[self._numbers[first], self._numbers[last]] for first, last in runs]
        return join_runs(self._numbers[place] for first, last in runs for place in range(first, last + 1))
