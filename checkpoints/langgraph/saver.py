"""`WaymarkSaver`: LangGraph's interface to the states."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..rows import state_rows, thread_rows, write_rows
from ..rows.state_rows import StoredState
from ..rows.write_rows import StateKey, Write
from ..storage.database import Database, retry_contended
from ..store import Store
from ..values.errors import UnfitMessageError
from ..values.graph_state import list_paths, read_kind, unwrap_snapshot
from . import state_removal
from .channel_values import list_numbers
from .handed_states import OF_ATTEMPT, ReadThreadId, StatePut, name_thread
from .message_paths import KnownPaths
from .state_lists import StateQuery
from .state_puts import StateWriter, check_attempt
from .state_reads import StateReader, note_reading
from .state_selection import select_latest_state, select_listed_state, select_standing_state
from .unseen_messages import read_unseen_messages

Tuples = Iterator[CheckpointTuple]
G = TypeVar("G", bound=Any)


class WaymarkSaver(BaseCheckpointSaver[Any]):
    """A checkpointer whose threads are conversations of a store.

    The messages in channel `messages` are the conversation's. After an undo, a restore or a change of branch, the
    graph continues from the conversation's current state. Values are rebuilt strictly: besides LangGraph's own list,
    only `allowed_types` are constructed, each a class or its module and name.
    """

    def __init__(
        self,
        store: Store,
        *,
        messages: str = "messages",
        allowed_types: Collection[type | tuple[str, ...]] = (),
        takes_unfit_messages: bool = True,
    ) -> None:
        """With `takes_unfit_messages`, messages the conversation cannot show become a plain value. Otherwise
        `UnfitMessageError` is raised."""
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=None).with_msgpack_allowlist(allowed_types))
        self.store = store
        self._messages = messages
        self._paths = KnownPaths()
        self._writer = StateWriter(store, messages, self._paths, takes_unfit_messages=takes_unfit_messages)

    @classmethod
    def open(cls, place: str | Path, **options: Any) -> "WaymarkSaver":
        """Open a SQLite file, or a database by its address. `close` it afterwards, or use it in a `with` block."""
        is_address = isinstance(place, str) and "://" in place
        return cls(Store(Database.open_url(str(place)) if is_address else Database.open_file(Path(place))), **options)

    def attach(self, graph: G) -> G:
        """Return a copy of a compiled LangGraph graph that keeps its states here, with whole values of its DeltaChannels."""
        from .whole_channels import make_channels_whole  # noqa: PLC0415  (langgraph itself, which few programs need here)

        attached = make_channels_whole(graph)
        attached.checkpointer = self
        return attached

    def close(self) -> None:
        self.store.database.close()

    def __enter__(self) -> "WaymarkSaver":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Number the versions of channels. States copied from LangGraph's savers have text versions, which continue as
        texts."""
        if not isinstance(current, str):
            return super().get_next_version(current, channel)
        return f"{int(current.partition('.')[0]) + 1:032}.{0:016}"

    @retry_contended
    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Write a state, and move the conversation to it if it is the graph's own.

        Raises `StaleWriterError` if another run or a time travel has moved the conversation meanwhile.
        """
        if config["configurable"]["thread_id"] == "":
            raise ValueError("The thread_id must not be empty.")
        new = StatePut.parse(config, checkpoint, metadata, new_versions)
        self._writer.write_put(self.serde, new)
        at = {"thread_id": new.key.thread_id, "checkpoint_ns": new.key.namespace, "checkpoint_id": checkpoint["id"]}
        return {"configurable": at}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, before or after the next state."""
        key = _name_key(config)
        self._writer.answers.note_writes(config, task_id, writes)
        with self._writer.applied.announce_writes(key):
            self._put_writes(config, key, writes, task_id, task_path)

    @retry_contended
    def _put_writes(
        self, config: RunnableConfig, key: StateKey, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        new = [
            Write(task_path, task_id, WRITES_IDX_MAP.get(channel, position), channel, *self.serde.dumps_typed(value))
            for position, (channel, value) in enumerate(writes)
        ]
        is_resumed = ReadThreadId.find_latest(config) == key.checkpoint_id
        with self.store.database.begin_write(key.thread_id) as connection:
            if (attempt := config["configurable"].get(OF_ATTEMPT)) is not None:
                check_attempt(thread_rows.load_thread(connection, key.thread_id, include_deleted=True), attempt)
            # `put` takes the same lock. Writes that arrive after the next state are the history's alone.
            step = self._writer.applied.find_step(key, ReadThreadId.find_reading(config))
            if step is not None:
                late = [each for each in new if step.holds(each)]
                write_rows.insert_writes(connection, step.late_key, task_id, late, is_resumed=False)
                new = [each for each in new if not step.holds(each)]
            write_rows.insert_writes(connection, key, task_id, new, is_resumed=is_resumed)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the state with the config's id, or else the conversation's current state."""
        with self.store.database.begin_read() as connection:
            state = _select_state(connection, config)
            if state is None:
                return None
            (found,) = self._reader.make_tuples(connection, [state], is_latest=not get_checkpoint_id(config))
        return note_reading(found, is_latest=not get_checkpoint_id(config))

    def read_pending_writes(self, thread_id: str) -> Sequence[PendingWrite]:
        """Return the tasks' writes since the conversation's current state, without reading channels."""
        with self.store.database.begin_read() as connection:
            state = select_standing_state(connection, thread_id)
            return self._reader.read_writes(connection, state) if state else []

    def read_unseen_messages(self, thread_id: str) -> Sequence[BaseMessage]:
        """Return messages written by others after the conversation's current state.

        The next input must begin with them. Until then, a run raises `UnseenMessagesError`.
        """
        with self.store.database.begin_read() as connection:
            loaded = thread_rows.load_thread(connection, thread_id)
            return read_unseen_messages(connection, loaded, select_standing_state(connection, thread_id))

    def find_last_message(self, thread_id: str) -> str | None:
        """Return the id of the last message in the conversation's current state, without reading messages.

        Raises `UnfitMessageError` if the state's messages are not the conversation's.
        """
        with self.store.database.begin_read() as connection:
            state = select_standing_state(connection, thread_id)
        reference = unwrap_snapshot(state.body["values"].get(self._messages)) if state else None
        if read_kind(reference) == "r" and list_numbers(reference):
            raise UnfitMessageError
        return next((message_id for message_id, _ in list_paths({"": reference})), None)

    @retry_contended
    def place_latest(self, thread_id: str) -> None:
        """Attach the conversation's current state to its last message, which was written after it.

        Without a messages channel, the page writes the messages: a question before the states, an answer after them.
        """
        with self.store.database.begin_write(thread_id) as connection:
            thread = thread_rows.select_thread(connection, thread_id)
            head = thread_rows.select_node(connection, thread.head_id, thread_id) if thread.head_id else None
            if thread.state_id is not None and head is not None:
                state_rows.place_state(connection, thread.state_id, head)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes from which LangGraph rebuilds DeltaChannels, including writes to unlisted states."""
        with self.store.database.begin_read() as connection:
            return self._reader.read_histories(connection, _select_state(connection, config), channels)

    @property
    def _reader(self) -> StateReader:
        # LangGraph gives a copy of the saver another serializer.
        return StateReader(self.serde, self._paths)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Tuples:
        """Yield states, newest first, including those of undone runs. The database is read in portions."""
        yield from StateQuery.parse(config, filter, before, limit).run_query(self.store.database, self._reader)

    def delete_thread(self, thread_id: str) -> None:
        """Remove a conversation from the list, as the page does. Undo brings it back, and only `erase` destroys it."""
        state_removal.delete_thread(self.store, thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Unlist the states of runs. A conversation at such a state goes back to an earlier state. Undo brings it back."""
        state_removal.remove_runs(self.store, run_ids)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Unlist all states except those runs continue from, or delete conversations. `erase` frees the space."""
        for thread_id in thread_ids:
            remove = state_removal.delete_thread if strategy == "delete" else state_removal.keep_latest
            remove(self.store, thread_id)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Write all states of a conversation to another conversation."""
        state_removal.copy_states(self, self.store.database, source_thread_id, target_thread_id)

    # LangGraph's asynchronous interface runs the same methods in other threads, so the database never blocks the event loop.

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        # The next state may reach a thread before these writes do.
        self._writer.answers.note_writes(config, task_id, writes)
        with self._writer.applied.announce_writes(_name_key(config)):
            await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)


def _name_key(config: RunnableConfig) -> StateKey:
    at = config["configurable"]
    return StateKey(name_thread(config), at.get("checkpoint_ns", ""), at["checkpoint_id"])


def _select_state(connection: sa.Connection, config: RunnableConfig) -> StoredState | None:
    """Return the state named by a config, or without an id, the conversation's current state."""
    at = config["configurable"]
    place = (name_thread(config), at.get("checkpoint_ns", ""))
    if checkpoint_id := get_checkpoint_id(config):
        return select_listed_state(connection, *place, checkpoint_id)
    return select_latest_state(connection, *place)
