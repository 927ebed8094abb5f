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
    PendingWrite,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.types import INTERRUPT

from agent.run.blocking import BlockingPool
from checkpoints import StateError
from checkpoints.values.graph_state import LOST_KINDS_KEY
from checkpoints.values.standing_answers import REST_CHANNEL, ChosenWrites, StandingAnswers, drop_notes
from extensions.graphs.added_messages import AddedMessages
from extensions.graphs.earlier_answers import StepWrites, TrustedRuns
from extensions.graphs.interrupts import AnswerUse
from extensions.graphs.states import StateRecorder
from extensions.graphs.stored_values import LostKinds

T = TypeVar("T")
# In LangGraph's path of a task, the path of its caller comes second; that of a `Send` has its number there.
_CALLED = "~__pregel_push, ~"
SCHEDULING_TURNS = 8  # of the loop: more than LangGraph takes to begin a write that it has scheduled


class RunSaver(BaseCheckpointSaver[Any]):
    """A saver for the thread of a user graph. `pages` is the loop of everything else."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        states: StateRecorder,
        blocking: BlockingPool,
        pages: asyncio.AbstractEventLoop,
        *,
        answers: StandingAnswers,
        begins_anew: bool = False,
    ) -> None:
        """`answers` to earlier questions stand.

        `begins_anew`: after a move. LangGraph ignores the input of the run that wrote its newest state, so states seem to be
        of no run.
        """
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._states = states
        self._blocking = blocking
        self._pages = pages
        self._answers = answers
        self._begins_anew = begins_anew
        self._steps: dict[str, StepWrites] = {}  # since the newest state of each namespace
        self._trusted = TrustedRuns(states.recorder.run.id)
        self._use = AnswerUse()
        self._open: set[Future[Any]] = set()  # writes that have begun

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = self._find_tuple(config)
        if found is None or not self._begins_anew or config["configurable"].get("checkpoint_ns"):
            return found
        return found._replace(metadata=_remove_run(found.metadata))

    def _find_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        answers, is_latest = self._answers, get_checkpoint_id(config) is None
        namespace = config["configurable"].get("checkpoint_ns", "")
        if namespace and is_latest:
            is_waiting = "" in self._steps and bool(self._steps[""].found.writes)
            found = self._trusted.find_state(self._saver, config, is_waiting=is_waiting)
        else:
            found = self._saver.get_tuple(config)
        if found is None:
            return None
        metadata: Any = found.metadata
        self._states.lost_kinds[namespace] = LostKinds(metadata.get(LOST_KINDS_KEY, {}))
        if not namespace:
            trusted = answers.list_trusted(found.pending_writes or ())
            self._trusted.below[found.checkpoint["id"]] = (found.metadata.get("run_id"), *trusted)
        step = self._steps.get(namespace)
        if step is None or get_checkpoint_id(step.config) != found.checkpoint["id"]:
            step = self._begin_step(found)
            if is_latest:
                self._steps[namespace] = step
        return found._replace(pending_writes=step.list_all())

    def _begin_step(self, found: CheckpointTuple) -> StepWrites:
        written = found.pending_writes or ()
        plain = drop_notes(written)
        is_own = found.metadata.get("run_id") == self._trusted.own_id
        chosen = ChosenWrites(plain) if is_own else self._answers.choose_writes(written)
        self._use.note_questions(chosen.writes)
        return StepWrites(found.config, len(written) - len(plain), chosen)

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        yield from self._saver.list(config, **options)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        self._note_step(config, checkpoint["id"])
        return self._submit(self._states.put_state(config, checkpoint, metadata, new_versions)).result()

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        writes = _drop_questions(writes, task_path)
        self._note_writes(config, writes, task_id)
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
        self._note_step(config, checkpoint["id"])
        return await asyncio.wrap_future(self._submit(self._states.put_state(config, checkpoint, metadata, new_versions)))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        writes = _drop_questions(writes, task_path)
        self._note_writes(config, writes, task_id)
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

    def list_root_writes(self) -> Sequence[PendingWrite]:
        """Return the writes of tasks since the graph's own newest state."""
        return self._steps[""].list_all() if "" in self._steps else ()

    def find_problem(self, question_ids: Collection[str]) -> StateError | None:
        """Return why no task has taken the answer to one of these questions."""
        return self._use.find_problem(question_ids, self.list_root_writes())

    async def note_rest(self, *, is_answer: bool) -> None:
        """Note the writes of tasks as they are while the run rests: an undo of the next answer comes back to them."""
        run_id = self._trusted.own_id
        for step in [each for each in self._steps.values() if each.written]:
            note = step.make_note(run_id, is_answer=is_answer)
            task_id = f"{run_id}:{step.rests}"
            await asyncio.wrap_future(self._submit(self._states.put_writes(step.config, [(REST_CHANNEL, note)], task_id)))

    def _note_step(self, config: RunnableConfig, checkpoint_id: str) -> StepWrites:
        """Return the step since a state. In subgraphs, a fast task may write before the state is written."""
        at = config["configurable"]
        namespace = at.get("checkpoint_ns", "")
        step = self._steps.get(namespace)
        if step is None or get_checkpoint_id(step.config) != checkpoint_id:
            place = {"thread_id": at["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
            step = self._steps[namespace] = StepWrites({"configurable": place})
        return step

    def _note_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str) -> None:
        self._use.note_writes(task_id, writes)
        step = self._steps.get(config["configurable"].get("checkpoint_ns", ""))
        newest_id = get_checkpoint_id(step.config) if step else None
        checkpoint_id = get_checkpoint_id(config)
        # Ids of states grow with the time.
        if checkpoint_id and checkpoint_id >= (newest_id or ""):
            self._note_step(config, checkpoint_id).add(task_id, writes)

    async def wait_for_writes(self) -> None:
        """Wait until all writes that LangGraph has scheduled are done. Raises the error of one that failed."""
        turn = 0
        while turn < SCHEDULING_TURNS:
            await asyncio.sleep(0)
            turn += 1
            for each in list(self._open):
                await asyncio.shield(asyncio.wrap_future(each))
                turn = 0

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            write = asyncio.run_coroutine_threadsafe(work, self._pages)
        except RuntimeError:  # the app has closed, and left this run behind
            work.close()
            raise
        self._open.add(write)
        write.add_done_callback(self._open.discard)
        return write


def _drop_questions(writes: Sequence[tuple[str, Any]], task_path: str) -> Sequence[tuple[str, Any]]:
    """Return the writes of a task; those of one that a node has called (`@task`) without its questions.

    A node asks what its calls ask, one after the other, and LangGraph returns the questions of nodes alone.
    """
    if not task_path.startswith(_CALLED):
        return writes
    return [(channel, () if channel == INTERRUPT else value) for channel, value in writes]


def _remove_run(metadata: CheckpointMetadata) -> CheckpointMetadata:
    kept = metadata.copy()
    kept.pop("run_id", None)
    return kept
