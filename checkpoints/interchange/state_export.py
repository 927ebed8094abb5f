"""The states of a graph in an export: those of its messages, branches and checkpoints, all above them, and their subgraphs'.

The format cannot carry everything. A value that is not plain JSON is left out of its state, and a state is left out that
would go on without something that it needs.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter
from pydantic_core import to_json

from ..rows import operation_rows, state_rows, value_rows
from ..rows.state_choice import StateChoice, choose_states
from ..rows.state_rows import StoredState
from ..values import serde
from ..values.errors import DamagedStateError
from ..values.graph_state import (
    ENTRYPOINT_CHANNELS,
    INPUT_CHANNEL,
    TASKS_CHANNEL,
    Reference,
    list_paths,
    list_value_runs,
    read_kind,
    unwrap_snapshot,
)
from ..values.limits import MAX_DOCUMENT_BYTES
from ..values.model import Branch, Checkpoint, Json
from .state_checks import OWN_PREFIX
from .state_values import can_convert
from .subgraph_states import SubgraphChoice
from .typed_values import write_stored
from .waiting_steps import StepReader, WaitingStep
from .waymark import StatePart

_STATE = TypeAdapter(StatePart)
_DELTA_COUNTERS = "counters_since_delta_snapshot"  # in the metadata: steps whose writes a DeltaChannel is rebuilt from


@dataclass
class StateExport:
    """States of a conversation as parts of a document."""

    thread_id: str
    message_ids: Collection[str]  # in the document
    parts: list[Json] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)
    writes: list[Json] = field(default_factory=list)  # of steps that wait
    _ids: dict[int, str] = field(default_factory=dict)  # by number
    _own_runs: dict[int, str] = field(default_factory=dict)  # of the states of open subgraphs, by number
    _starting: set[tuple[str, str]] = field(default_factory=set)  # states that go on with their input, by namespace and id
    _numbers: list[int] = field(default_factory=list)  # of the values, ascending

    def find_id(self, number: int | None) -> str | None:
        return None if number is None else self._ids.get(number)

    def attach_to(
        self, document: Json, original: Json, branches: Sequence[Branch], checkpoints: Sequence[Checkpoint]
    ) -> Json:
        """Return a document with the states, and where its branches and checkpoints stand among them.

        The messages of `original` may have other ids in it.
        """
        if not self.parts:
            return document
        ids = {old["id"]: new["id"] for old, new in zip(original["messages"], document["messages"], strict=True)}
        states = [_rename_messages(part, ids) for part in self.parts]
        places = {"branches": [b.state_id for b in branches], "checkpoints": [c.state_id for c in checkpoints]}
        holders = {
            name: [
                part if (found := self.find_id(number)) is None else {**part, "state": found}
                for part, number in zip(document[name], numbers, strict=True)
            ]
            for name, numbers in places.items()
        }
        written = {"state_writes": self.writes} if self.writes else {}
        return {**document, **holders, "states": states, "state_values": self.values, **written}

    def read_states(self, steps: StepReader, named: Collection[int]) -> None:
        """Read the states of the messages, and these, with all above them."""
        connection = steps.connection
        outline = state_rows.select_outline(connection, self.thread_id)
        if not outline or not can_convert:
            return
        undone = operation_rows.select_undone_groups(connection, self.thread_id)
        choice = choose_states(outline, self.message_ids, named, undone)
        found = [state for state in state_rows.select_states(connection, self.thread_id) if self._is_wanted(state, choice)]
        roots = _select_without_gaps(found, {*choice.messages, *named})
        read = (steps.read_step(root) for root in roots if root.number in named)
        waiting = [step for step in read if step is not None]
        below = SubgraphChoice(found, named, undone, steps.find_left_runs).choose(roots, waiting)
        chosen = below.union(root.number for root in roots)
        states = [state for state in found if state.number in chosen]
        self._own_runs = {number: step.root.run_id for step in waiting for number in step.below}
        self._starting = _list_starting(states, waiting)
        runs = {run for state in states for run in list_value_runs(self._list_values(state))}  # states share most of them
        numbers = {number for first, last in runs for number in range(first, last + 1)}
        try:
            self._read_values(connection, numbers)
        except DamagedStateError:
            return
        for state in states:
            # Without its input, a function would end at its message with nothing.
            is_whole = self._list_values(state).keys() >= state.body["values"].keys() & {INPUT_CHANNEL}
            self._add_state(state, choice.messages.get(state.number) if is_whole else None)
        for step in waiting:
            if {step.root.number, *step.below} <= self._ids.keys():
                self.writes += step.writes

    def _is_wanted(self, state: StoredState, choice: StateChoice) -> bool:
        if not (state.namespace or state.number in choice.numbers) or state.body["metadata"].get(_DELTA_COUNTERS):
            return False
        return all(each is None or each in self.message_ids for each, _ in list_paths(self._list_values(state)))

    def _list_values(self, state: StoredState) -> Mapping[str, Reference]:
        """Return the values of a state that count: an input that it goes on with, and LangGraph's lists with items."""
        takes_input = (state.namespace, state.checkpoint_id) in self._starting
        return {
            name: reference
            for name, reference in state.body["values"].items()
            if (takes_input if name == INPUT_CHANNEL else not _is_empty(name, reference))
        }

    def _read_values(self, connection: sa.Connection, numbers: Collection[int]) -> None:
        """Read values as texts. Raises `DamagedStateError` for damaged ones, and for more than any document holds."""
        if value_rows.sum_sizes(connection, numbers, self.thread_id) > MAX_DOCUMENT_BYTES:
            raise DamagedStateError(self.thread_id, "values")
        for number, stored in sorted(value_rows.select_values(connection, numbers, self.thread_id).items()):
            if (value := write_stored(*stored)) is not None:
                self._numbers.append(number)
                self.values.append(value)

    def _add_state(self, state: StoredState, message_id: str | None) -> None:
        body, metadata = state.body, state.body["metadata"]
        values = {name: self._translate(each) for name, each in self._list_values(state).items()}
        left_out = sorted(name for name, reference in values.items() if reference is _LOST)
        part: Json = {
            "id": state.checkpoint_id,
            "namespace": state.namespace,
            "parent": state.parent_id,
            "run_id": self._own_runs.get(state.number, state.run_id),
            "message": message_id,
            "v": body["v"],
            "ts": body["ts"],
            "source": metadata.get("source"),
            "step": metadata.get("step"),
            "parents": metadata.get("parents", {}),
            "updated": body["updated"],
            "resumed": body["resumed"] and state.number not in self._own_runs,
            "versions": body["versions"],
            "seen": body["seen"],
            "values": {name: reference for name, reference in values.items() if reference is not _LOST},
            "left_out": left_out,
        }
        own = {name for name in values if name.startswith(OWN_PREFIX)}.difference(ENTRYPOINT_CHANNELS)
        if own - {INPUT_CHANNEL, TASKS_CHANNEL} or values.get(TASKS_CHANNEL) is _LOST:
            return
        if state.namespace and values.get(INPUT_CHANNEL) is _LOST:  # the node around the subgraph hands it over again
            return
        try:
            _STATE.validate_json(to_json(part))
        except ValueError:  # the format cannot carry it
            return
        self.parts.append(part)
        self._ids[state.number] = state.checkpoint_id

    def _translate(self, reference: Reference) -> Any:
        """Return a reference with places in this document; `_LOST` for one to a value that is not in it."""
        match read_kind(reference):
            case "d":
                below = self._translate(reference[1])
                return _LOST if below is _LOST else ["d", below]
            case "m":
                return ["m", reference[1]]
            case "v":
                place = self._find_run(reference[1], reference[1])
                return _LOST if place is None else ["v", place[0]]
            case "r":
                places = [self._find_run(first, last) for first, last in reference[1]]
                return _LOST if None in places else ["r", _join_places([place for place in places if place is not None])]
        return reference if _is_json_scalar(reference) else _LOST

    def _find_run(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the first and the last place of a run of values; None where one of them is not in the document."""
        start = bisect_left(self._numbers, first)
        end = start + last - first
        is_there = end < len(self._numbers) and (self._numbers[start], self._numbers[end]) == (first, last)
        return (start, end) if is_there else None


def _join_places(runs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return runs of places, with those joined that follow one another."""
    joined: list[list[int]] = []
    for first, last in runs:
        if joined and joined[-1][1] + 1 == first:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    return joined


def _select_without_gaps(states: Sequence[StoredState], wanted: set[int]) -> list[StoredState]:
    """Return the graph's own wanted states, and those above them up to a gap."""
    linked: set[int | None] = {*wanted}
    for state in reversed(states):
        if state.number in linked:
            linked.add(state.parent)
    return [state for state in states if state.number in linked and not state.namespace]


def _list_starting(states: Sequence[StoredState], waiting: Sequence[WaitingStep]) -> set[tuple[str, str]]:
    """Return the states whose tasks wait, and the newest of each subgraph. In a function, all tasks begin with the input."""
    parents = {state.parent for state in states}
    newest = {(each.namespace, each.checkpoint_id) for each in states if each.namespace and each.number not in parents}
    return newest.union((each["namespace"], each["state"]) for step in waiting for each in step.writes)


def leave_out_states(document: Json) -> Json:
    """Return a document without its states."""
    holders = {
        name: [{key: value for key, value in part.items() if key != "state"} for part in document[name]]
        for name in ("branches", "checkpoints")
    }
    left = {key: value for key, value in document.items() if key not in ("states", "state_values", "state_writes")}
    return {**left, **holders, "thread": {**document["thread"], "without_states": True}}


def _rename_messages(part: Json, ids: Mapping[str, str]) -> Json:
    """Return a state with other ids of messages."""

    def rename(reference: Reference) -> Reference:
        match read_kind(reference):
            case "d":
                return ["d", rename(reference[1])]
            case "m":
                return ["m", ids.get(reference[1])]
        return reference

    values = {name: rename(reference) for name, reference in part["values"].items()}
    return {**part, "message": ids.get(part["message"]), "values": values}


_LOST: Any = object()
_MAX_INTEGER = 2**63


def _is_json_scalar(scalar: Any) -> bool:
    """Return whether every reader of JSON takes this scalar."""
    match scalar:
        case float():
            return isfinite(scalar)
        case int():
            return abs(scalar) < _MAX_INTEGER
        case str():
            return serde.sanitize_text(scalar) == scalar
    return scalar is None


def _is_empty(name: str, reference: Reference) -> bool:
    """Return whether a channel of LangGraph's own has nothing."""
    return name.startswith(OWN_PREFIX) and unwrap_snapshot(reference) in (None, ["r", []])
