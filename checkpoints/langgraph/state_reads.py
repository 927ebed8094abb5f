"""Read states: their channels as new values, and the writes of their tasks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, DeltaChannelHistory, PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..rows import state_rows, value_rows, write_rows
from ..rows.state_rows import StoredState
from ..rows.write_rows import Write
from ..values.errors import DamagedStateError
from ..values.graph_state import INPUT_CHANNEL, Reference, list_applied_numbers, list_paths, list_value_numbers, read_kind
from ..values.model import Json
from .applied_writes import INPUT_PLACE
from .channel_values import DeltaSnapshot, list_numbers, read_value
from .handed_states import ReadThreadId
from .message_copies import duplicate_message
from .message_paths import KnownPaths
from .state_selection import StandingHistory, iterate_ancestors, select_latest_state


class StateReader:
    """Builds LangGraph's values from stored states."""

    def __init__(self, serde: SerializerProtocol, paths: KnownPaths) -> None:
        self._serde = serde
        self._paths = paths

    def make_tuples(
        self, connection: sa.Connection, states: Sequence[StoredState], *, is_latest: bool = False
    ) -> Iterator[CheckpointTuple]:
        """Yield states of a thread with their channels. They share messages only among each other.

        A state's tasks have the writes applied by the next steps, as LangGraph's history shows them, also those that came
        after the next state. At the conversation's current state, the tasks are still to run.
        """
        thread_id = states[0].thread_id if states else ""
        asked = [state for state in states if not is_latest or INPUT_CHANNEL in state.body["values"]]
        followers = state_rows.select_followers(connection, asked)
        following = [] if is_latest else [each for found in followers.values() for each in found]
        late = _select_writes(connection, following, are_late=True)
        applied_by = {} if is_latest else _find_applying(connection, followers, late)
        for namespace in {state.namespace for state in states if state.number in applied_by}:
            latest = select_latest_state(connection, thread_id, namespace)
            applied_by.pop(latest.number if latest else 0, None)
        numbers = {number for state in states for number in list_value_numbers(state.body["values"])}
        numbers.update(n for found in followers.values() for each in found for n in list_applied_numbers(each.body))
        stored = value_rows.select_values(connection, numbers, thread_id)
        writes = _select_writes(connection, states)
        copies: dict[str, BaseMessage] = {}
        for state in states:
            values = {
                channel: self._read_channel(connection, state, reference, stored, copies)
                for channel, reference in state.body["values"].items()
                if not _is_taken_input(channel, reference, stored)
            }
            if INPUT_CHANNEL in state.body["values"] and INPUT_CHANNEL not in values:
                values |= self._read_input(connection, followers.get(state.number, []), stored, copies)
            applying = applied_by.get(state.number, ())
            applied = [self._read_applied(connection, each, stored, copies) for each in applying]
            written = [*(write for each in applying for write in late.get(each.number, ())), *writes.get(state.number, ())]
            yield self._make_tuple(state, values, self._merge_writes(written, applied))

    def _read_input(
        self,
        connection: sa.Connection,
        followers: Sequence[StoredState],
        stored: Mapping[int, tuple[str, bytes]],
        copies: dict[str, BaseMessage],
    ) -> Json:
        """Return the input taken by a run's first step, if a later state names it."""
        found = (self._read_applied(connection, each, stored, copies).get(INPUT_PLACE) for each in followers)
        return next(({channel: value} for channel, value in filter(None, found)), {})

    def _read_applied(
        self,
        connection: sa.Connection,
        state: StoredState,
        stored: Mapping[int, tuple[str, bytes]],
        copies: dict[str, BaseMessage],
    ) -> dict[tuple[str, str, int], tuple[str, Any]]:
        """Return the channels and values of the writes applied by a state."""
        return {
            (task_path, task_id, position): (channel, self._read_channel(connection, state, reference, stored, copies))
            for task_id, task_path, writes in state.body["applied"]
            for position, channel, reference in writes
        }

    def _merge_writes(
        self, writes: Sequence[Write], applied: Sequence[Mapping[tuple[str, str, int], tuple[str, Any]]]
    ) -> list[PendingWrite]:
        """Return writes in LangGraph's order. A task's first write at a position counts, but the last in special
        channels."""
        found: dict[tuple[str, int], tuple[tuple[str, str, int], PendingWrite]] = {}
        for of_step in applied:
            for place, (channel, value) in of_step.items():
                if place != INPUT_PLACE and (place[2] < 0 or place[1:] not in found):
                    found[place[1:]] = place, (place[1], channel, value)
        for each in writes:
            if (each.resumed and each.position < 0) or each.place[1:] not in found:
                found[each.place[1:]] = each.place, self._read_write(each)
        return [write for _, write in sorted(found.values(), key=itemgetter(0))]

    def read_writes(self, connection: sa.Connection, state: StoredState) -> list[PendingWrite]:
        """Return the tasks' writes since a state, in the order LangGraph applies them."""
        found = write_rows.select_writes(connection, state.thread_id, state.namespace, [state.checkpoint_id])
        return [self._read_write(each) for each in found.get(state.checkpoint_id, [])]

    def read_histories(
        self, connection: sa.Connection, state: StoredState | None, channels: Sequence[str]
    ) -> dict[str, DeltaChannelHistory]:
        """Return the writes of DeltaChannels above a state, back to the nearest stored value of each."""
        writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: Json = {}
        for above in iterate_ancestors(connection, state):
            key = above.thread_id, above.namespace
            found = write_rows.select_writes(connection, *key, [above.checkpoint_id]).get(above.checkpoint_id, [])
            for write in reversed(found):
                if write.channel in writes and write.channel not in seeds:
                    writes[write.channel].append(self._read_write(write))
            seeds |= self._read_channels(connection, above, writes.keys() - seeds.keys())
            if len(seeds) == len(writes):
                break
        histories = {channel: DeltaChannelHistory(writes=listed[::-1]) for channel, listed in writes.items()}
        for channel, seed in seeds.items():
            histories[channel]["seed"] = seed
        return histories

    def _read_channels(self, connection: sa.Connection, state: StoredState, names: Collection[str]) -> Json:
        """Return a state's values of these channels."""
        references = {name: each for name, each in state.body["values"].items() if name in names}
        stored = value_rows.select_values(connection, set(list_value_numbers(references)), state.thread_id)
        return {name: self._read_channel(connection, state, each, stored, {}) for name, each in references.items()}

    def _read_write(self, write: Write) -> PendingWrite:
        return write.task_id, write.channel, self._serde.loads_typed((write.type, write.data))

    def _read_channel(
        self,
        connection: sa.Connection,
        state: StoredState,
        reference: Reference,
        stored: Mapping[int, tuple[str, bytes]],
        copies: dict[str, BaseMessage],
    ) -> Any:
        match read_kind(reference):
            case "d":
                return DeltaSnapshot(self._read_channel(connection, state, reference[1], stored, copies))
            case "m":
                ((message_id, length),) = list_paths({"": reference})
                path = self._paths.load_path(connection, state.thread_id, message_id, length)
                for node, message in zip(path.nodes, path.messages, strict=True):
                    if node.id not in copies:
                        copies[node.id] = duplicate_message(message)
                return [copies[node.id] for node in path.nodes]
            case "o":
                fields = reference[1].items()
                return {name: self._read_channel(connection, state, each, stored, copies) for name, each in fields}
            case "n":
                return self._read_named(connection, state, *reference[1:])
        try:
            return read_value(self._serde, reference, stored)
        except KeyError as missing:
            raise DamagedStateError(state.thread_id, f"value {missing}") from missing

    def _read_named(self, connection: sa.Connection, state: StoredState, places: Any, without_ids: int) -> Any:
        """Return messages of a state by negative places, counted from its end."""
        ((message_id, length),) = list_paths(state.body["values"])
        messages = self._paths.load_path(connection, state.thread_id, message_id, length).messages
        runs = places if isinstance(places, list) else [(places, places)]
        found = [duplicate_message(messages[place]) for first, last in runs for place in range(first, last + 1)]
        for message in found if without_ids else ():
            message.id = None
        return found if isinstance(places, list) else found[0]

    def _make_tuple(self, state: StoredState, values: Json, pending: list[PendingWrite]) -> CheckpointTuple:
        body = state.body
        checkpoint = Checkpoint(
            v=body["v"],
            id=state.checkpoint_id,
            ts=body["ts"],
            channel_values=values,
            channel_versions=body["versions"],
            versions_seen=body["seen"],
            updated_channels=body["updated"],
        )
        parent = make_config(state, state.parent_id) if state.parent_id else None
        return CheckpointTuple(make_config(state, state.checkpoint_id), checkpoint, body["metadata"], parent, pending)


def _select_writes(
    connection: sa.Connection, states: Sequence[StoredState], *, are_late: bool = False
) -> dict[int, Sequence[Write]]:
    """Return the writes of a thread's states, by number."""
    writes: dict[tuple[str, str], list[Write]] = {}
    for namespace in {state.namespace for state in states}:
        ids = [state.checkpoint_id for state in states if state.namespace == namespace]
        found = write_rows.select_writes(connection, states[0].thread_id, namespace, ids, are_late=are_late)
        writes |= {(namespace, checkpoint_id): each for checkpoint_id, each in found.items()}
    keys = {state.number: (state.namespace, state.checkpoint_id) for state in states}
    return {number: writes[key] for number, key in keys.items() if key in writes}


def _find_applying(
    connection: sa.Connection, followers: Mapping[int, Sequence[StoredState]], late: Collection[int]
) -> dict[int, Sequence[StoredState]]:
    """Map each state to the next states that applied its writes, oldest first, also writes that came late. Undone states
    count only if there is no other."""
    applying = {
        number: [each for each in found if each.body["applied"] or each.number in late]
        for number, found in followers.items()
    }
    history: StandingHistory | None = None
    for number, found in applying.items():
        if len(found) > 1:
            history = history or StandingHistory.load(connection, found[0].thread_id)
            applying[number] = [each for each in reversed(found) if history.has(each)] or found[:1]
    return {number: found for number, found in applying.items() if found}


def _is_taken_input(channel: str, reference: Reference, stored: Mapping[int, tuple[str, bytes]]) -> bool:
    return channel == INPUT_CHANNEL and not all(number in stored for number in list_numbers(reference))


def make_config(state: StoredState, checkpoint_id: str) -> RunnableConfig:
    at = {"thread_id": state.thread_id, "checkpoint_ns": state.namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": at}


def note_reading(found: CheckpointTuple, *, is_latest: bool) -> CheckpointTuple:
    """Record in the config how a state was read."""
    at = found.config["configurable"]
    noted = ReadThreadId.note(at["thread_id"], at["checkpoint_id"], is_latest=is_latest)
    return found._replace(config={"configurable": at | {"thread_id": noted}})
