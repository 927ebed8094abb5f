"""Write a state in a single transaction: new channel values, its place among the states, and the conversation's position."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import sqlalchemy as sa
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..changes.transaction import Transaction
from ..rows import state_rows, thread_rows, value_rows, write_rows
from ..rows.state_inserts import StateDraft, insert_state
from ..rows.state_rows import StoredState
from ..rows.thread_rows import LoadedThread
from ..store import Store
from ..values.applied_references import Applied
from ..values.errors import RunActiveError, RunTakenError, StaleWriterError, ThreadNotFoundError, UnfitMessageError
from ..values.graph_state import ENTRYPOINT_CHANNELS, INPUT_CHANNEL, Reference, list_paths, read_kind, unwrap_snapshot
from ..values.model import Json, Node, Thread
from ..values.operation import Caller, Operation
from .applied_steps import AppliedStep, AppliedSteps
from .applied_writes import StepNames
from .channel_values import DeltaSnapshot, list_numbers, name_value, unwrap_value
from .handed_states import StatePut
from .message_authors import GivenAnswers, RunBeginning
from .message_paths import KnownPaths, MessagePath, place_messages
from .state_moves import move_to_state
from .unseen_messages import check_unseen

_MAX_THREADS = 1_000


@dataclass(frozen=True, slots=True)
class LastStep:
    """A state of the graph itself, and the operation that moved the conversation to it."""

    state: StoredState
    operation: Operation

    def is_current(self, thread: Thread) -> bool:
        """Return whether the conversation still has this state and version."""
        return thread.state_id == self.state.number and thread.version == self.operation.version


class LastSteps:
    def __init__(self) -> None:
        self._steps: OrderedDict[str, LastStep] = OrderedDict()
        self._lock = threading.Lock()

    def find_step(self, thread: Thread, checkpoint_id: str | None) -> LastStep | None:
        """Return the step to this state, if the conversation is there."""
        with self._lock:
            step = self._steps.get(thread.id)
        is_wanted = step is not None and step.state.checkpoint_id == checkpoint_id and step.is_current(thread)
        return step if is_wanted else None

    def keep_step(self, step: LastStep) -> None:
        with self._lock:
            self._steps[step.state.thread_id] = step
            self._steps.move_to_end(step.state.thread_id)
            while len(self._steps) > _MAX_THREADS:
                self._steps.popitem(last=False)


class StateWriter:
    """Writes the states of graphs with their messages in a single channel."""

    def __init__(self, store: Store, messages_channel: str, paths: KnownPaths, *, takes_unfit_messages: bool = True) -> None:
        self._store = store
        self._channel = messages_channel
        self._takes_unfit_messages = takes_unfit_messages
        self._paths = paths
        self.applied = AppliedSteps()
        self.answers = GivenAnswers()
        self._last_steps = LastSteps()

    def write_put(self, serde: SerializerProtocol, put: StatePut) -> None:
        self.applied.await_writes(put.parent_key)
        try:
            path, step = self._write_at_once(serde, put)
        except BaseException:
            self.applied.forget_step(put.parent_key, put.reading)
            raise
        if path is not None:
            self._paths.keep_path(put.key.thread_id, path)
        if step is not None:
            self._last_steps.keep_step(step)

    def _write_at_once(self, serde: SerializerProtocol, put: StatePut) -> tuple[MessagePath | None, LastStep | None]:
        with self._store.database.begin_write(put.key.thread_id) as connection:
            loaded = self._load_or_make_thread(connection, put.key.thread_id)
            check_attempt(loaded, put.attempt)
            last = self._last_steps.find_step(loaded.thread, put.parent_id) if put.is_root else None
            parent = last.state if last else _select_parent(connection, put)
            run_id = put.choose_run_id(parent)
            if put.is_root:
                _check_writer(loaded, put, parent, run_id)
                self._check_unseen(connection, loaded, put, parent)
            now = thread_rows.from_time(self._store.now())
            change = Transaction(connection, loaded, now, self._store.new_id, Caller("agent", undo_group=run_id))
            path, state = self._write_state(change, serde, put, parent, run_id)
            if not put.is_root:
                return None, None
            operation = move_to_state(change, state, path, self._paths, last.operation if last else None)
            return path, LastStep(state, operation)

    def _check_unseen(
        self, connection: sa.Connection, loaded: LoadedThread, put: StatePut, parent: StoredState | None
    ) -> None:
        """Refuse a program's run that would drop messages of the page. A user graph of the page gets all of them.

        A run that continues from a state chosen by its id leaves the later states.
        """
        thread = loaded.thread
        if loaded.head is None or loaded.active_run_id is not None or thread.deleted:
            return
        number, seen = (parent.number, parent.message) if parent else (None, None)
        if number != thread.state_id or loaded.head == seen:
            return
        if put.metadata.get("source") == "input" or not _is_unchanged(put, parent, self._channel):
            check_unseen(connection, loaded, parent, self._channel, put.checkpoint["channel_values"])

    def _load_or_make_thread(self, connection: sa.Connection, thread_id: str) -> LoadedThread:
        try:
            return thread_rows.load_thread(connection, thread_id, include_deleted=True)
        except ThreadNotFoundError:
            return thread_rows.insert_thread(connection, self._store.prepare_thread(thread_id=thread_id), self._store.now())

    def _write_state(
        self, change: Transaction, serde: SerializerProtocol, put: StatePut, parent: StoredState | None, run_id: str
    ) -> tuple[MessagePath | None, StoredState]:
        """Write a state. Return it with its messages if they are in the tree."""
        connection, key = change.connection, put.key
        old: Mapping[str, Reference] = parent.body["values"] if parent else {}
        values, path = {}, None
        has_messages = put.is_root and self._channel in put.checkpoint["channel_values"]
        if has_messages and not _is_unchanged(put, parent, self._channel):
            path = self._place_path(change, put, parent, run_id)
        for channel, value in put.checkpoint["channel_values"].items():
            if _is_unchanged(put, parent, channel):
                values[channel] = old[channel]
                continue
            content = unwrap_value(value)
            if channel == self._channel and path is not None:
                reference: Reference = ["m", path.end.id if path.end else None, path.length]
            else:
                before = None if channel == INPUT_CHANNEL else unwrap_snapshot(old.get(channel))
                reference = name_value(connection, key.thread_id, serde, before, content)
            values[channel] = ["d", reference] if isinstance(value, DeltaSnapshot) else reference
        values |= _inherit_snapshots(put, parent)
        names = StepNames(connection, key.thread_id, serde, values, self._channel, path.messages if path else ())
        applied = self._take_step(put, parent, names, is_same_run=parent.run_id == run_id) if parent else []
        head = _find_head(change, values, path, parent)
        # An input belongs to the messages still to come. Where no channel has them, they came before it.
        is_input = put.metadata.get("source") == "input" and bool(self._channel)
        message = head if put.is_root else None
        new = StateDraft(key.thread_id, key.namespace, key.checkpoint_id, parent, put.parent_id, run_id, message, is_input)
        body = {**_make_body(put, values), "begun_at": _find_beginning(change, put, parent), "applied": applied}
        return path, insert_state(connection, new, body)

    def _take_step(self, put: StatePut, parent: StoredState, names: StepNames, *, is_same_run: bool) -> Applied:
        """Return the writes now held by the state, and note the step for late writes, which wait until it is written."""
        whole = _find_whole_channels(put.checkpoint)
        writes = write_rows.take_applied_writes(names.connection, put.parent_key, whole, is_same_run=is_same_run)
        self.applied.note_step(put.parent_key, put.reading, AppliedStep(replace(put.key, are_late=True), whole))
        return [*_name_taken_input(put, parent, names), *names.name_writes(writes)]

    def _place_path(self, change: Transaction, put: StatePut, parent: StoredState | None, run_id: str) -> MessagePath | None:
        """Return the path of the messages channel after writing its new messages. None if it is a plain value."""
        content = unwrap_value(put.checkpoint["channel_values"][self._channel])
        if not isinstance(content, list):
            return None
        paths = [*list_paths({self._channel: parent.body["values"].get(self._channel)})] if parent else []
        known = self._paths.load_path(change.connection, change.thread.id, *paths[0]) if paths else MessagePath()
        try:
            return place_messages(change, known, content, run_id, by_nodes_since=self._find_beginning(put, parent))
        except UnfitMessageError:
            if self._takes_unfit_messages:
                return None
            raise

    def _find_beginning(self, put: StatePut, parent: StoredState | None) -> RunBeginning | None:
        key = put.name_beginning(parent)
        return RunBeginning(key, put.is_first, self.answers.find_texts(key)) if key is not None else None


def _name_taken_input(put: StatePut, parent: StoredState, names: StepNames) -> Applied:
    """Name a run's input once its first step has taken it. Delete the stored copy, since the channels hold it now.

    Those of a function with `@entrypoint` do not, and a question to which a person goes back needs it again.
    """
    taken = list_numbers(parent.body["values"].get(INPUT_CHANNEL))
    if not names.values.keys().isdisjoint(ENTRYPOINT_CHANNELS):
        return []
    if len(taken) != 1 or INPUT_CHANNEL in names.values or put.metadata.get("source") != "loop":
        return []
    stored = value_rows.select_value(names.connection, taken[0], names.thread_id)
    found = names.name_input(*stored) if stored else []
    if found:
        value_rows.delete_values(names.connection, taken, names.thread_id)
    return found


def _find_head(
    change: Transaction, values: Mapping[str, Reference], path: MessagePath | None, parent: StoredState | None
) -> Node | None:
    """Return a state's last message. If the step changed no message, the head stays, since messages may follow it."""
    old = [*list_paths(parent.body["values"])] if parent else []
    new = [*list_paths(values)] or old
    if not new or (new == old and parent is not None and parent.number == change.state_id):
        return change.head
    return path.end if path is not None else thread_rows.select_node(change.connection, new[0][0], change.thread.id)


def _select_parent(connection: sa.Connection, put: StatePut) -> StoredState | None:
    key = put.parent_key
    return state_rows.select_state(connection, key.thread_id, key.namespace, put.parent_id) if put.parent_id else None


def check_attempt(loaded: LoadedThread, attempt: tuple[str, int] | None) -> None:
    """Refuse the writes for a run another process has taken. Raises `RunTakenError`."""
    if attempt is not None and attempt != (loaded.active_run_id, loaded.active_attempt):
        raise RunTakenError(loaded.thread.id, attempt[0])


def _check_writer(loaded: LoadedThread, put: StatePut, parent: StoredState | None, run_id: str) -> None:
    """Refuse a run that another run has overtaken. A run at a state chosen by its id is a fork."""
    thread = loaded.thread
    if loaded.active_run_id not in (None, run_id):
        raise RunActiveError(thread.id, str(loaded.active_run_id))
    if thread.deleted or thread.state_id is None:
        return
    if put.is_first_input or (put.goes_on and (parent is None or parent.number != thread.state_id)):
        raise StaleWriterError(thread.id)


def _inherit_snapshots(put: StatePut, parent: StoredState | None) -> dict[str, Reference]:
    """Return snapshots of DeltaChannels the step did not write to, for which LangGraph hands over no value."""
    written, versions = put.checkpoint["channel_values"], put.checkpoint["channel_versions"]
    return {
        name: reference
        for name, reference in (parent.body["values"].items() if parent else ())
        if read_kind(reference) == "d" and name not in written and name in versions and _is_unchanged(put, parent, name)
    }


def _is_unchanged(put: StatePut, parent: StoredState | None, channel: str) -> bool:
    # The first step after a state takes its stored input. A fork of the state has its own input.
    if parent is None or channel in put.new_versions or channel not in parent.body["values"] or channel == INPUT_CHANNEL:
        return False
    return bool(parent.body["versions"].get(channel) == put.checkpoint["channel_versions"].get(channel))


def _make_body(put: StatePut, values: Mapping[str, Reference]) -> Json:
    """Return a state's body, copying dictionaries that LangGraph continues to change."""
    return {
        "v": put.checkpoint["v"],
        "ts": put.checkpoint["ts"],
        "values": values,
        "versions": dict(put.checkpoint["channel_versions"]),
        "seen": {node: dict(versions) for node, versions in put.checkpoint["versions_seen"].items()},
        "updated": put.checkpoint.get("updated_channels"),
        "metadata": put.metadata,
        "resumed": put.is_resumed,
    }


def _find_beginning(change: Transaction, put: StatePut, parent: StoredState | None) -> str | None:
    """Return the conversation's position ("" before its first state) if the state itself does not tell.

    With durability "exit", a graph writes its state at its end, and a subgraph with memory whenever it is called. A
    program may also continue from a chosen state, away from the conversation's position.
    """
    if put.is_root:
        if parent is None or parent.number == change.state_id:
            return None
    else:
        root_id = put.metadata.get("parents", {}).get("")
        if root_id is None or state_rows.select_state(change.connection, change.thread.id, "", root_id):
            return None
    standing = state_rows.select_numbered_state(change.connection, change.state_id)
    return standing.checkpoint_id if standing else None if put.is_root else ""


def _find_whole_channels(checkpoint: Checkpoint) -> frozenset[str]:
    """Return the channels with a value in the state. Most states lack a DeltaChannel's value, which is rebuilt from
    writes."""
    values = checkpoint["channel_values"].items()
    return frozenset(name for name, value in values if not isinstance(value, DeltaSnapshot))
