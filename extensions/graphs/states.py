"""The states of one user graph run: each is written through the saver, and then the messages in it are shown."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata

from agent.events import Event, HeadMoved
from agent.run.recorder import RunRecorder, WrittenMessage
from checkpoints import NewMessage, Store
from checkpoints.langgraph.handed_states import OF_ATTEMPT
from checkpoints.langgraph.open_subgraphs import list_path
from checkpoints.values.graph_state import LOST_KINDS_KEY, is_own_channel
from extensions.graphs.added_messages import AddedMessages
from extensions.graphs.delegated_work import MAX_NEW_MESSAGES, DelegatedWork
from extensions.graphs.reporter import Reporter
from extensions.graphs.stored_values import LostKinds, require_storable

_USUAL_NEW_MESSAGES = 3
_log = logging.getLogger(__name__)


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
    lost_kinds: dict[str, LostKinds] = field(default_factory=dict)  # by namespace
    _config: RunnableConfig = field(init=False)
    _writers: dict[str, str | None] = field(init=False, default_factory=dict)  # nodes that wrote last, by channel
    _told: set[tuple[tuple[str, ...], str, str]] = field(init=False, default_factory=set)  # lost kinds

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
        namespace = config["configurable"].get("checkpoint_ns") or ""
        lost = self.lost_kinds.get(namespace) or LostKinds()
        self.lost_kinds[namespace] = lost
        changed = [name for name in versions if not is_own_channel(name)]
        self._tell_lost_kinds(namespace, lost.note_state(self.saver.serde, values, changed))
        if lost.kinds:
            noted: Any = {**metadata, LOST_KINDS_KEY: lost.kinds}
            metadata = noted
        if not namespace:
            self.lost_kinds = {"": lost}  # the subgraphs of the step are done
        try:
            return self.saver.put(self._name_attempt(config), checkpoint, metadata, versions)
        except (TypeError, ValueError):
            require_storable(self.saver.serde, values.items(), self._writers)
            raise

    def _tell_lost_kinds(self, namespace: str, kinds: Mapping[str, str]) -> None:
        """Log kinds once for each graph. The namespace of a subgraph is another one whenever it is entered."""
        path = tuple(list_path(namespace))
        for name in sorted(name for name in kinds if (path, name, kinds[name]) not in self._told):
            self._told.add((path, name, kinds[name]))
            _log.warning(
                "run %s: stored by LangGraph's serializer, the channel %s comes back as another type than %s",
                *(self.recorder.run.id, name, kinds[name]),
            )

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
