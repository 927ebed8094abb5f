"""Candidates: several models answer one question at once, each with the same graph and on its own branch.

They belong to one run, which holds the thread. Candidates ask no person, since several would ask at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial

from langchain_core.messages import AnyMessage

from agent.events import AnswerBegun
from agent.graph.budgets import AGENT_OWNER, BudgetUsage
from agent.graph.state import RunContext, build_config
from agent.run.answer_writer import CandidateWriter
from agent.run.drafts import Drafts
from agent.run.outcome import describe_helper_failure
from agent.run.parts import RunParts
from agent.run.recorder import RunRecorder
from agent.settings import InvalidSettingsError, ModelCatalog, ThreadSettings
from checkpoints import (
    Caller,
    Candidate,
    CandidateEnd,
    CandidateKey,
    RunEnd,
    RunState,
    StateError,
)
from checkpoints.values.errors import NothingToRetryError
from checkpoints.values.sentence import sentence

# Models that can answer one question.
MIN_MODELS, MAX_MODELS = 2, 4


class NoModelAnsweredError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("None of the models answered."))


def check_models(models: Sequence[str], catalog: ModelCatalog) -> tuple[str, ...]:
    """Return the models that answer at once, empty for a single model. Raises `InvalidSettingsError`."""
    if not models:
        return ()
    if not MIN_MODELS <= len(models) <= MAX_MODELS:
        raise InvalidSettingsError(
            sentence("{least} to {most} models can answer at once.", least=MIN_MODELS, most=MAX_MODELS)
        )
    for model in models:
        if model not in catalog.specs:
            raise InvalidSettingsError(sentence("There is no model {model!r} to choose.", model=model[:80]))
    return tuple(models)


class CandidateRecorder(RunRecorder):
    """Records a candidate. It closes with the recorder of its run."""

    def __init__(self, candidate: Candidate, parent: RunRecorder, parts: RunParts) -> None:
        super().__init__(parent.run, CandidateWriter(parent.run, parts.runs, parts.hub, candidate), parts.blocking)
        self.candidate = candidate
        self.confirm_hold = parent.confirm_hold
        self.open_calls = parent.open_calls.begin_part()
        self._parent = parent
        self._end_reached: RunEnd | None = None
        self.is_closed = False

    def check_open(self) -> None:
        self._parent.check_open()
        super().check_open()

    @property
    def is_taken(self) -> bool:
        return self._parent.is_taken

    @is_taken.setter
    def is_taken(self, value: bool) -> None:
        """Ignored: the run decides."""

    @property
    def is_handed_over(self) -> bool:
        return self._parent.is_handed_over

    @is_handed_over.setter
    def is_handed_over(self, value: bool) -> None:
        """Ignored: the run decides."""

    async def close_answer(self, end: RunEnd) -> None:
        """Write and publish the end. If the database refuses it, it is written with the run's end."""
        self._end_reached = end
        try:
            version = await self.write_end(end.state, end.error, end.details)
        except StateError:
            version = 0
        else:
            self.is_closed = True
            self.open_calls.forget_calls()
        self.publish_end(end.state, version, end.error, end.details)

    @asynccontextmanager
    async def hold_end(self, state: RunState) -> AsyncIterator[Sequence[CandidateEnd]]:
        """Yield the end to write with the run's end; nothing if it is on disk. Nothing else is written meanwhile."""
        self._has_ended = True
        async with self._write_lock:
            end = self._end_reached or RunEnd(state)
            yield () if self.is_closed else [CandidateEnd(self.candidate, end, self.build_last_messages(end.state))]


@dataclass(slots=True)
class _RunCandidates:
    recorder: RunRecorder
    settings: ThreadSettings
    context: RunContext
    # The next three hold numbers of candidates. A person has stopped the last.
    recorders: dict[int, CandidateRecorder] = field(default_factory=dict)
    tasks: dict[int, asyncio.Task[RunState]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    # The context carries the run's owner, for whom each model answers. `ready` is set when the first tasks have begun.
    context_vars: Context = field(default_factory=copy_context)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def hold_ends(self, state: RunState) -> AsyncIterator[Sequence[CandidateEnd]]:
        async with AsyncExitStack() as held:
            ends = [await held.enter_async_context(each.hold_end(state)) for each in list(self.recorders.values())]
            yield [end for each in ends for end in each]

    def lacks_answer(self, candidate: Candidate) -> bool:
        """Return whether a running candidate has no task here: it is new, or another process tries it again."""
        recorder, task = self.recorders.get(candidate.number), self.tasks.get(candidate.number)
        is_idle = (recorder is None or recorder.is_closed) and (task is None or task.done())
        return candidate.state is RunState.RUNNING and is_idle

    @property
    def is_over(self) -> bool:
        return all(task.done() for task in self.tasks.values())


@dataclass(slots=True)
class CandidateDriver:
    parts: RunParts
    drafts: Drafts
    _at_work: dict[str, _RunCandidates] = field(init=False, default_factory=dict)

    async def answer_question(self, recorder: RunRecorder, settings: ThreadSettings, context: RunContext) -> None:
        """Let every model answer that has not answered yet. Raises `NoModelAnsweredError` if all fail."""
        run = recorder.run
        at_work = self._at_work[run.id] = _RunCandidates(recorder, settings, context)
        recorder.hold_candidates = at_work.hold_ends
        try:
            candidates = await self.parts.blocking.run(self.parts.runs.list_candidates, run.id)
            while waiting := [each for each in candidates if at_work.lacks_answer(each)]:
                await self._answer_side_by_side(at_work, waiting)
                if self.parts.runs.worker_id is None:
                    break
                # Another process may try a candidate again.
                candidates = await self.parts.blocking.run(self.parts.runs.list_candidates, run.id)
        finally:
            at_work.ready.set()
            del self._at_work[run.id]
        ends = {each.number: each.state for each in candidates}
        ends |= {number: task.result() for number, task in at_work.tasks.items()}
        if all(state is RunState.FAILED for state in ends.values()):
            raise NoModelAnsweredError

    async def _answer_side_by_side(self, at_work: _RunCandidates, candidates: Sequence[Candidate]) -> None:
        at_work.recorders |= {each.number: self._make_recorder(at_work, each) for each in candidates}
        # Requests are built before the first answer is on the path.
        requests = await self.parts.blocking.run(lambda: [self._build_request(at_work, each) for each in candidates])
        at_work.group = asyncio.TaskGroup()
        async with at_work.group as group:
            for each, messages in zip(candidates, requests, strict=True):
                at_work.tasks[each.number] = group.create_task(self._answer_as(at_work, each.number, messages))
            at_work.ready.set()

    def _make_recorder(self, at_work: _RunCandidates, candidate: Candidate) -> CandidateRecorder:
        return CandidateRecorder(candidate, at_work.recorder, self.parts)

    def _build_request(self, at_work: _RunCandidates, candidate: Candidate) -> list[AnyMessage]:
        settings = replace(at_work.settings, model=candidate.model)
        return self.parts.inputs.build_candidate_messages(candidate, at_work.recorder.run, settings)

    async def retry(self, thread_id: str, key: CandidateKey, *, caller: Caller) -> bool:
        """Let one model answer again while others write. Return False if none writes; the run then begins again.

        Raises the errors of `Runs.retry_candidate`, which acts for the caller. The run's tasks act for its first asker.
        """
        at_work = self._at_work.get(key.run_id)
        if at_work is None or at_work.recorder.run.thread_id != thread_id:
            return False
        await at_work.ready.wait()
        if at_work.is_over:
            return False
        task = at_work.tasks.get(key.number)
        if task is None or task.done():
            reopen = partial(self.parts.runs.retry_candidate, thread_id, key, caller=caller, while_running=True)
            await self._begin_retry(at_work, key, partial(copy_context().run, reopen))
        return True

    async def answer_reopened(self, run_id: str) -> None:
        """Start the models that another process tries again."""
        at_work = self._at_work.get(run_id)
        # The run looks for them itself.
        if at_work is None or at_work.is_over:
            return
        for each in await self.parts.blocking.run(self.parts.runs.list_candidates, run_id):
            if at_work.lacks_answer(each):
                with suppress(StateError):
                    await self._begin_retry(at_work, each.key, lambda: None)

    async def _begin_retry(self, at_work: _RunCandidates, key: CandidateKey, reopen: Callable[[], object]) -> None:
        """Start the work of a model that answers again. Raises the errors of `reopen`."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = at_work.tasks.get(key.number)
        work = self._retry_as(at_work, key, reopen, begun, task.result() if task else RunState.FAILED)
        try:
            at_work.tasks[key.number] = at_work.group.create_task(work, context=at_work.context_vars.copy())
        except RuntimeError:
            # The run is being stopped.
            work.close()
            raise NothingToRetryError from None
        await begun

    async def _retry_as(
        self,
        at_work: _RunCandidates,
        key: CandidateKey,
        reopen: Callable[[], object],
        begun: asyncio.Future[None],
        ended: RunState,
    ) -> RunState:
        """Answer again as one model. `begun` raises a refusal, and the answer then stays as it ended."""
        try:
            await self.parts.blocking.run(reopen)
            found = await self.parts.blocking.run(self.parts.runs.list_candidates, key.run_id)
            candidate = next(each for each in found if each.key == key)
            if candidate.state is not RunState.RUNNING:
                # The candidate has ended since somebody looked.
                raise NothingToRetryError
            messages = await self.parts.blocking.run(self._build_request, at_work, candidate)
        except StateError as error:
            begun.set_exception(error)
            return ended
        finally:
            if not begun.done():
                begun.set_result(None)
        at_work.stopped.discard(key.number)
        at_work.recorders[key.number] = recorder = self._make_recorder(at_work, candidate)
        recorder.writer.publish_event(AnswerBegun())
        return await self._answer_as(at_work, key.number, messages)

    def stop_candidate(self, run_id: str, number: int) -> None:
        at_work = self._at_work.get(run_id)
        task = at_work.tasks.get(number) if at_work else None
        if at_work is not None and task is not None and number not in at_work.stopped:
            at_work.stopped.add(number)
            task.cancel()

    async def _answer_as(self, at_work: _RunCandidates, number: int, messages: Sequence[AnyMessage]) -> RunState:
        """Answer as one model. Its failure does not end the others."""
        recorder, context = at_work.recorders[number], at_work.context
        model = recorder.candidate.model
        settings = replace(at_work.settings, model=model)
        trace = context.trace.for_agent(f"{model} ({number})", str(messages[0].text))
        try:
            async with self.drafts.keep_draft(recorder):
                await self._run_graph(
                    settings, messages, replace(context, recorder=recorder, trace=trace), recorder.run.thread_id
                )
            end = RunEnd(RunState.DONE)
        except asyncio.CancelledError:
            if number not in at_work.stopped:
                # The whole run is stopped and ends its candidates.
                raise
            end = RunEnd(RunState.STOPPED)
        except Exception as error:  # noqa: BLE001  a candidate's outer edge: every failure becomes a sentence
            failed = describe_helper_failure(error, f"the answer of {model}", run=recorder.run)
            trace.cut_off(failed.sentence)
            end = RunEnd(RunState.FAILED, failed.sentence, failed.provider_words)
        await recorder.close_answer(end)
        return end.state

    async def _run_graph(
        self, settings: ThreadSettings, messages: Sequence[AnyMessage], context: RunContext, thread_id: str
    ) -> None:
        own = replace(
            context,
            model=await self.parts.blocking.run(settings.resolve_model, self.parts.catalog),
            own_usage=BudgetUsage(context.limits.agent, AGENT_OWNER),
            is_unattended=True,
        )
        config = build_config(context.limits, thread_id)
        await self.parts.graph.ainvoke({"messages": list(messages)}, config, context=own)
