"""The saver of one user graph run: it reads from the app's saver, and writes in the order of the run."""

import asyncio
import copy
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)

from agent.run.blocking import BlockingPool
from agent.user_graphs.added_messages import AddedMessages
from agent.user_graphs.earlier_answers import drop_answers, find_state_of_runs
from agent.user_graphs.states import StateRecorder
from checkpoints.values.graph_state import LOST_KINDS_KEY

T = TypeVar("T")


class RunSaver(BaseCheckpointSaver[Any]):
    """A saver for the thread of a user graph. `pages` is the loop of everything else."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        states: StateRecorder,
        blocking: BlockingPool,
        pages: asyncio.AbstractEventLoop,
        *,
        keeps_answers: bool,
        begins_anew: bool = False,
    ) -> None:
        """`keeps_answers`: the run goes on in the turn that waited, where earlier questions have their answers.

        `begins_anew`: after a move. LangGraph ignores the input of the run that wrote its newest state, so states seem to be
        of no run.
        """
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._states = states
        self._blocking = blocking
        self._pages = pages
        self._keeps_answers = keeps_answers
        self._begins_anew = begins_anew
        self._trusted_runs: set[str | None] = {states.recorder.run.id}  # whose states a subgraph may go on from

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = self._find_tuple(config)
        if found is None or not self._begins_anew or config["configurable"].get("checkpoint_ns"):
            return found
        return found._replace(metadata=_remove_run(found.metadata))

    def _find_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = self._saver.get_tuple(config)
        if found is not None and not config["configurable"].get("checkpoint_ns"):
            metadata: Any = found.metadata
            self._states.lost_kinds = metadata.get(LOST_KINDS_KEY, {})
        own_id = self._states.recorder.run.id
        if found is None or self._keeps_answers or found.metadata.get("run_id") == own_id:
            return found
        if not config["configurable"].get("checkpoint_ns"):
            self._trusted_runs.add(found.metadata.get("run_id"))
        elif get_checkpoint_id(config) is None:
            found = find_state_of_runs(self._saver, found, self._trusted_runs)
        return drop_answers(found) if found else None

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        yield from self._saver.list(config, **options)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return self._submit(self._states.put_state(config, checkpoint, metadata, new_versions)).result()

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._submit(self._states.put_writes(config, writes, task_id, task_path)).result()

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._saver.get_delta_channel_history(config=config, channels=channels)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._blocking.run(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for each in await self._blocking.run(lambda: list(self.list(config, **options))):
            yield each

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return await asyncio.wrap_future(self._submit(self._states.put_state(config, checkpoint, metadata, new_versions)))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.wrap_future(self._submit(self._states.put_writes(config, writes, task_id, task_path)))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._blocking.run(lambda: self.get_delta_channel_history(config=config, channels=channels))

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def for_channel(self, saver: BaseCheckpointSaver[Any], head_id: str | None, added: AddedMessages | None) -> "RunSaver":
        """Return a copy that keeps its states with the saver of the graph's messages, from this place on."""
        clone = copy.copy(self)
        clone._saver = saver
        clone._states = replace(self._states, saver=saver, head_id=head_id, added=added)
        return clone

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "RunSaver":
        clone = copy.copy(self)
        clone._saver = self._saver.with_allowlist(extra_allowlist)
        clone._states = replace(self._states, saver=clone._saver)
        return clone

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._pages)
        except RuntimeError:  # the app has closed, and left this run behind
            work.close()
            raise


def _remove_run(metadata: CheckpointMetadata) -> CheckpointMetadata:
    kept = metadata.copy()
    kept.pop("run_id", None)
    return kept
