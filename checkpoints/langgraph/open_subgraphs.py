"""Subgraphs in an unfinished step, waiting for a person. The graph itself has nothing of them yet."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..rows import state_rows, value_rows
from ..rows.state_rows import StoredState
from ..storage import schema
from ..storage.database import Database
from ..values.graph_state import Reference, is_own_channel, is_resting, read_kind, unwrap_snapshot
from .channel_values import list_numbers, unwrap_value
from .message_paths import KnownPaths
from .state_reads import StateReader
from .state_selection import iterate_ancestors, select_standing_state, select_state_below

ChooseWrites = Callable[[Sequence[PendingWrite]], Sequence[PendingWrite]]
# The limit applies to a step.
MAX_OPEN_SUBGRAPHS = 50
_INTERRUPT = "__interrupt__"
_state = schema.state.c


@dataclass(frozen=True, slots=True)
class SubgraphWork:
    """The messages written by a subgraph since its input. `path` are the names of the nodes around it.

    `interrupt_ids` belong to its questions, including questions of its own subgraphs.
    """

    path: Sequence[str]
    messages: Sequence[BaseMessage]
    interrupt_ids: frozenset[str]


def read_open_subgraphs(
    database: Database,
    serde: SerializerProtocol,
    thread_id: str,
    *,
    run_ids: Collection[str] | None = None,
    choose_writes: ChooseWrites = list,
) -> list[SubgraphWork]:
    """Return the work of the open subgraphs at the conversation's current state.

    With `run_ids`, a person went back, so additions by other runs do not count. `choose_writes` selects the valid
    writes among the tasks' writes since a state.
    """
    with database.begin_read() as connection:
        standing = select_standing_state(connection, thread_id)
        if standing is None:
            return []
        reader = _WorkReader(connection, serde, StateReader(serde, KnownPaths()), choose_writes)
        return [reader.read_work(state) for state in select_open_subgraphs(connection, standing, run_ids=run_ids)]


def list_open_subgraphs(
    database: Database, thread_id: str, state_id: int | None, *, run_ids: Collection[str] | None = None
) -> dict[str, tuple[Sequence[str], int]]:
    """Return the paths and states of open subgraphs in the step after a state, by namespace."""
    with database.begin_read() as connection:
        root = state_rows.select_numbered_state(connection, state_id)
        if root is None or root.thread_id != thread_id:
            return {}
        found = select_open_subgraphs(connection, root, run_ids=run_ids)
    return {state.namespace: (list_path(state.namespace), state.number) for state in found}


def select_open_subgraphs(
    connection: sa.Connection, root: StoredState, *, run_ids: Collection[str] | None
) -> list[StoredState]:
    """Return the newest state of each subgraph in the step after a state, unless all of them have ended."""
    found = select_step_subgraphs(connection, root, run_ids=run_ids)
    return found if any(not is_resting(state.body["values"]) for state in found) else []


def select_step_subgraphs(
    connection: sa.Connection, root: StoredState, *, run_ids: Collection[str] | None
) -> list[StoredState]:
    """Return the newest state of each subgraph in the step after a state.

    With `run_ids`, states of other runs do not count, see `select_state_below`.
    """
    below = (_state.thread_id == root.thread_id, _state.number > root.number, _state.namespace != "")
    query = sa.select(_state.namespace).where(*below).group_by(_state.namespace).order_by(sa.func.min(_state.number))
    namespaces = connection.scalars(query.limit(MAX_OPEN_SUBGRAPHS)).all()
    newest = {"": root}
    for namespace in sorted(namespaces, key=lambda each: each.count("|")):
        state = select_state_below(connection, root.thread_id, root, namespace, run_ids=run_ids)
        if state is not None and _is_in_step(state, newest):
            newest[namespace] = state
    return [newest[each] for each in namespaces if each in newest]


def list_path(namespace: str) -> list[str]:
    """Return the names of the nodes that lead to a subgraph."""
    return [name or each for each in namespace.split("|") if not each.isdigit() for name in [each.rpartition(":")[0]]]


def _is_in_step(state: StoredState, newest: Mapping[str, StoredState]) -> bool:
    """Return whether a subgraph was begun by the newest states around it, not by earlier states.

    For one begun by a `@task`, LangGraph notes the graph's own state at the namespace of the node that called the task.
    """
    parents: Mapping[str, str] = state.body["metadata"].get("parents", {})
    root_id = newest[""].checkpoint_id
    around = [name for name in parents if name in newest and parents[name] != root_id]
    return parents.get("") == root_id and all(newest[name].checkpoint_id == parents[name] for name in around)


@dataclass(frozen=True, slots=True)
class _WorkReader:
    """Reads messages of subgraphs, but only messages written by the subgraph itself."""

    connection: sa.Connection
    serde: SerializerProtocol
    states: StateReader
    choose_writes: ChooseWrites

    def read_work(self, newest: StoredState) -> SubgraphWork:
        steps = self._list_steps(newest)
        writes = self.choose_writes(self.states.read_writes(self.connection, newest))
        found: list[Any] = []
        if steps:
            found += self._read_delta_channels(newest, steps)
            for name, reference in newest.body["values"].items():
                if not is_own_channel(name):
                    before = unwrap_snapshot(steps[-1].body["values"].get(name))
                    found += self._read_new_items(newest.thread_id, unwrap_snapshot(reference), before)
        found += _list_written(write for write in writes if not is_own_channel(write[1]))
        messages = {each.id or id(each): each for each in found if isinstance(each, BaseMessage)}
        ids = frozenset(each.id for each in _list_written(write for write in writes if write[1] == _INTERRUPT))
        return SubgraphWork(list_path(newest.namespace), list(messages.values()), ids)

    def _list_steps(self, newest: StoredState) -> list[StoredState]:
        """Return a subgraph's states since its input, newest first. The last of them has only the input."""
        steps: list[StoredState] = []
        for state in (newest, *iterate_ancestors(self.connection, newest)):
            if state.body["metadata"].get("source") == "input":
                break
            steps.append(state)
        return steps

    def _read_new_items(self, thread_id: str, reference: Reference, before: Reference) -> list[Any]:
        """Return a list's items that are not in `before`."""
        if read_kind(reference) not in ("r", "v") or reference == before:
            return []
        if read_kind(reference) == read_kind(before) == "r":
            known = set(list_numbers(before))
            numbers = [each for each in list_numbers(reference) if each not in known]
            return self._read_values(thread_id, numbers)
        old, new = (self._read_list(thread_id, each) for each in (before, reference))
        return [each for each in new if each not in old]

    def _read_list(self, thread_id: str, reference: Reference) -> list[Any]:
        if read_kind(reference) == "r":
            return self._read_values(thread_id, list_numbers(reference))
        found = self._read_values(thread_id, list_numbers(reference))
        return found[0] if found and isinstance(found[0], list) else []

    def _read_values(self, thread_id: str, numbers: Sequence[int]) -> list[Any]:
        stored = value_rows.select_values(self.connection, set(numbers), thread_id)
        return [self.serde.loads_typed(stored[number]) for number in numbers]

    def _read_delta_channels(self, newest: StoredState, steps: Sequence[StoredState]) -> Iterator[Any]:
        """Yield the steps' writes to DeltaChannels, whose values are missing in their states."""
        names = newest.body["versions"].keys() - newest.body["values"].keys()
        for state in reversed(steps[1:]):
            yield from _list_written(each for each in self.states.read_writes(self.connection, state) if each[1] in names)


def _list_written(writes: Iterable[PendingWrite]) -> Iterator[Any]:
    """Yield the values of writes, with lists flattened."""
    for _, _, value in writes:
        plain = unwrap_value(value)
        yield from plain if isinstance(plain, list | tuple) else [plain]
