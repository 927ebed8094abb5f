"""The states of one user graph run: each is written through the saver, and then the messages in it are shown."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata

from agent.events import Event, HeadMoved
from agent.run.recorder import RunRecorder, WrittenMessage
from agent.user_graphs.added_messages import AddedMessages
from agent.user_graphs.delegated_work import DelegatedWork
from agent.user_graphs.reporter import Reporter
from agent.user_graphs.stored_values import find_lost_kinds, require_storable
from checkpoints import NewMessage, Store
from checkpoints.graph_states.handed_states import OF_ATTEMPT
from checkpoints.values.graph_state import LOST_KINDS_KEY, is_own_channel

_USUAL_NEW_MESSAGES = 3
_log = logging.getLogger(__name__)
MAX_NEW_MESSAGES = 50  # of one state that are shown one by one; after more, pages read the conversation anew


@dataclass
class StateRecorder:
    """Writes states, on the loop of the pages and in the order of the run's messages."""

    store: Store
    saver: BaseCheckpointSaver[Any]
    recorder: RunRecorder
    reporter: Reporter
    publish: Callable[[Event], None]
    head_id: str | None  # of the conversation, as the pages know it
    flush_checkpoints: Callable[[], None]  # those that the graph has asked for
    work: DelegatedWork
    added: AddedMessages | None = None  # where the list of messages is not the conversation
    lost_kinds: Mapping[str, str] = field(default_factory=dict)  # of the last state, by channel
    _config: RunnableConfig = field(init=False)
    _writers: dict[str, str | None] = field(init=False, default_factory=dict)  # nodes that wrote last, by channel

    @property
    def thread_id(self) -> str:
        return self.recorder.run.thread_id

    async def put_state(self, config: RunnableConfig, *state: Any) -> RunnableConfig:
        """Write a state, and publish the messages that it adds. Raises `RunEndedError` once the run has ended."""
        namespace = config["configurable"].get("checkpoint_ns") or ""
        is_root = not namespace
        self.reporter.deliver_all()  # text that came before
        before = self.head_id

        def write() -> Sequence[WrittenMessage]:
            self._config = self._put(config, *state)
            if not is_root:
                return self._write_work(self.work.take_messages(namespace, state[0]["channel_values"]))
            written = self._show_messages(state[0]["channel_values"])
            if written:
                self.flush_checkpoints()
            return written

        written = await self.recorder.record_write(write)
        if is_root:
            self.reporter.forget_texts()
        if is_root and not written:
            self.recorder.drop_text()  # its node is done, and it became no message
            if self.head_id != before:
                self.publish(HeadMoved(self.store.get_thread(self.thread_id).version))
        return self._config

    async def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], *task: str) -> None:
        """Write the results of a task."""
        namespace = config["configurable"].get("checkpoint_ns") or ""

        def write() -> Sequence[WrittenMessage]:
            self._writers.update(dict.fromkeys((channel for channel, _ in writes), self.work.find_node(task[0])))
            try:
                self.saver.put_writes(self._name_attempt(config), writes, *task)
            except (TypeError, ValueError):
                require_storable(self.saver.serde, writes, self._writers)
                raise
            if namespace:
                self.work.note_writes(namespace, writes)
            return []

        await self.recorder.record_write(write)

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        """Write a state, and name the channels in it whose values come back as another kind."""
        values = checkpoint["channel_values"]
        changed = {name: values[name] for name in versions if name in values and not is_own_channel(name)}
        lost = find_lost_kinds(self.saver.serde, changed)
        for name in sorted(name for name in lost if self.lost_kinds.get(name) != lost[name]):
            _log.warning(
                "run %s: LangGraph's serializer does not keep the kind of %s in the channel %s",
                *(self.recorder.run.id, lost[name], name),
            )
        if not config["configurable"].get("checkpoint_ns"):
            kept = {name: kind for name, kind in self.lost_kinds.items() if name in values and name not in changed}
            self.lost_kinds = {**kept, **lost}
            noted: Any = {**metadata, LOST_KINDS_KEY: self.lost_kinds} if self.lost_kinds else metadata
            metadata = noted
        try:
            return self.saver.put(self._name_attempt(config), checkpoint, metadata, versions)
        except (TypeError, ValueError):
            require_storable(self.saver.serde, values.items(), self._writers)
            raise

    def _show_messages(self, values: Mapping[str, Any]) -> list[WrittenMessage]:
        """Return the messages that a state adds to the conversation."""
        return self._read_new_messages() if self.added is None else self._write_work(self.added.take_messages(values))

    def _write_work(self, messages: Sequence[NewMessage]) -> list[WrittenMessage]:
        """Write messages onto the path, after the one where the conversation stands: the graph does not see them there."""
        written = []
        for new in messages:
            stored, version = self.recorder.writer.commit_message(new)
            self.head_id = stored.id
            written.append(WrittenMessage(stored, version, stored.langchain))
        return written

    def _name_attempt(self, config: RunnableConfig) -> RunnableConfig:
        """Let the saver refuse the writes for a run that another process has taken."""
        run = self.recorder.run
        if run.worker is None:
            return config
        return {**config, "configurable": {**config["configurable"], OF_ATTEMPT: (run.id, run.attempt)}}

    def _read_new_messages(self) -> list[WrittenMessage]:
        """Return the messages after the head that was known; none if the head went elsewhere."""
        thread = self.store.get_thread(self.thread_id)
        before, self.head_id = self.head_id, thread.head_id
        if thread.head_id == before:
            return []
        for count in (_USUAL_NEW_MESSAGES, MAX_NEW_MESSAGES):
            newest = self.store.list_messages(self.thread_id, last=count)
            first = next((place for place, message in enumerate(newest) if message.parent_id == before), None)
            if first is not None:
                return [WrittenMessage(each, thread.version, each.langchain) for each in newest[first:]]
        return []
