"""Writing the states of a document. They name the values and the messages that its import has written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from ..changes.transaction import Transaction
from ..graph_state import Reference, join_runs, list_paths, read_kind
from ..model import Json, Node
from ..storage import state_rows, value_rows
from ..storage.state_batches import StateBatch
from ..storage.state_rows import StateDraft, StoredState
from ..storage.value_rows import Value
from .state_values import StoredValue, can_convert, parse_text
from .waymark import Document, StatePart


def prepare_values(doc: Document) -> list[StoredValue]:
    """Return the document's values as they are stored. It needs no database."""
    return [parse_text(part.json, "")[0] for part in doc.state_values] if can_convert else []


@dataclass
class StateWriting:
    """Writes the states of a document, each of them once."""

    transaction: Transaction
    nodes: Mapping[str, Node]  # of the document's messages, by the ids there
    _written: dict[tuple[str, str], StoredState] = field(default_factory=dict)  # by namespace and id
    _numbers: Sequence[int] = ()  # of the document's values
    _breaks: Sequence[int] = ()  # up to each of them: those that do not follow the one before

    def find_number(self, state: str | None) -> int | None:
        """Return the number of one of the graph's own states."""
        found = None if state is None else self._written.get(("", state))
        return found.number if found else None

    def write_states(self, doc: Document, values: Sequence[StoredValue]) -> None:
        """Write the states. One that the conversation has already is used if it is about the same messages."""
        if len(values) < len(doc.state_values):
            return
        new = [Value.of(*value) for value in values]
        self._numbers = value_rows.insert_many_values(self.transaction.connection, new)
        self._breaks = [*accumulate((after != before + 1 for before, after in pairwise(self._numbers)), initial=0)]
        batch = StateBatch.reserve(self.transaction.connection, len(doc.states))
        stored = self._read_stored_states(doc)
        for part in doc.states:
            self._add_state(part, stored.get((part.namespace, part.id)), batch)
        batch.write()

    def _read_stored_states(self, doc: Document) -> Mapping[tuple[str, str], StoredState]:
        """Return the states of the document that the conversation has, by namespace and id."""
        if not self.transaction.loaded.has_states:
            return {}
        ids = {part.id for part in doc.states}
        return state_rows.select_named_states(self.transaction.connection, self.transaction.thread.id, ids)

    def _add_state(self, part: StatePart, stored: StoredState | None, batch: StateBatch) -> None:
        references = {name: self._translate(reference) for name, reference in part.values.items()}
        if stored is None:
            message = self.nodes[part.message] if part.message else None
            parent = self._written.get((part.namespace, part.parent or ""))
            place = (self.transaction.thread.id, part.namespace, part.id)
            draft = StateDraft(*place, parent, None if parent else part.parent, part.run_id, message, is_input=False)
            stored = batch.add_state(draft, _make_state_body(part, references))
        elif {*list_paths(stored.body["values"])} != {*list_paths(references)}:
            return
        self._written[part.namespace, part.id] = stored

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


def _make_state_body(part: StatePart, values: Mapping[str, Reference]) -> Json:
    return {
        "v": part.v,
        "ts": part.ts,
        "values": values,
        "versions": part.versions,
        "seen": part.seen,
        "updated": part.updated,
        "metadata": {"source": part.source, "step": part.step, "parents": part.parents, "run_id": part.run_id},
        "resumed": part.resumed,
    }
