"""The runner: one server-side task a run, from the committed user message to rest. Pages only watch."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

from langchain_core.messages import AnyMessage, HumanMessage

from agent.context.prompts import COMPACTION_PROMPT, compose_system_text
from agent.context.request import NOT_CARRIED_OUT_TEXT, build_request
from agent.events import HeadMoved, RunFinished, RunStarted
from agent.graph.graph import Graph, build_config
from agent.graph.state import Limits, RunContext
from agent.run import compaction
from agent.run.compaction import NotCompactedError, SummaryScope
from agent.run.drafts import Drafts
from agent.run.hub import RunHub
from agent.run.inputs import NothingToAnswerError, RunInputs
from agent.run.judge import Judge
from agent.run.outcome import describe_run_failure, locate_error, read_outcome
from agent.run.recorder import RunRecorder, SubAgentRecorder
from agent.settings import ModelCatalog, ThreadSettings
from agent.subagents.agents import Agents
from agent.subagents.delegation import OpenCall, RunDelegator, SubAgents, find_undecided_calls
from agent.subagents.forking import RunForkExplorer
from agent.time_travel.executor import PathChanged, Policy, TimeTravel, TimeTravelEvent, TimeTravelExecutor
from agent.tools.approval import Decision, make_refusal
from agent.tracing.protocol import NO_TRACING, RunTrace, Tracer
from agent.tracing.run_start import build_start_event
from checkpoints import (
    HEAD,
    MAIN,
    UNTITLED,
    Caller,
    Message,
    NewMessage,
    Run,
    RunActiveError,
    Runs,
    RunState,
    StateError,
    Store,
    files,
    serde,
)
from checkpoints.files import File

MAX_TITLE_CHARS = 60  # characters

BuildMessages = Callable[[], list[AnyMessage]]
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class NothingToDecideError(StateError):
    def __init__(self) -> None:
        super().__init__("This call does not wait for a decision any more.")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is to begin with: a message, a place to answer from, an answer to finish, or a decision."""

    thread_id: str | None
    caller: Caller
    message: NewMessage | None = None
    after_id: str | None = HEAD
    title: str = ""
    continues_answer: bool = False
    decision: Decision | None = None
    allow_moves: bool = False  # and so with every later move of the agent in this thread
    scope: SummaryScope | None = None  # to be summarised; nothing is answered then
    settings: Mapping[str, str] = field(default_factory=dict)  # of the thread that the run makes


@dataclass(frozen=True, slots=True)
class _ActiveRun:
    """A run in progress. Stopping cancels the work, never the end: a run that began is also written to its end."""

    work: asyncio.Task[None]
    end: asyncio.Task[None]
    recording: RunRecorder
    stopping: asyncio.Future[None]  # done when somebody asked for the run's end


class Runner:
    """Begins, watches over and stops runs. Blocking work goes to a small pool of threads."""

    def __init__(
        self,
        store: Store,
        runs: Runs,
        hub: RunHub,
        graph: Graph,
        catalog: ModelCatalog,
        pool: ThreadPoolExecutor,
        limits: Limits,
        tracer: Tracer = NO_TRACING,
        default_policy: Policy = "off",
        on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
        judge: Judge | None = None,
        agents: Agents | None = None,
    ) -> None:
        self._store = store
        self._runs = runs
        self._hub = hub
        self._graph = graph
        self._catalog = catalog
        self._pool = pool
        self._limits = limits
        self._tracer = tracer
        self.default_policy = default_policy  # for threads that have no setting of their own
        self._on_time_travel = on_time_travel
        self._judge = judge
        self._agents: Agents = agents or {}
        self._active: dict[str, _ActiveRun] = {}  # by thread
        self._abandoned: set[asyncio.Task[None]] = set()  # work that did not stop: the event loop holds tasks only weakly
        self._watch_task: asyncio.Task[None] | None = None
        self._drafts = Drafts(runs, self._run_blocking, limits.draft_seconds)
        self._started_run_ids: set[str] = set()  # the runs that were driven: a repeated request must not drive its run again
        self.inputs = RunInputs(store, runs, catalog, limits, tracer, self._agents)
        self._is_closing = False
        # A run that has begun on disk and is not driven yet looks like one that a crash left behind: nobody may look then.
        self._begin_lock = asyncio.Lock()

    async def send(
        self,
        thread_id: str | None,
        text: str,
        *,
        caller: Caller,
        chosen_settings: Mapping[str, str] | None = None,
        attachments: Sequence[File] = (),
    ) -> Run:
        """Commit the user's message (to a new thread, without one) and begin to answer it. On return it is on disk.

        `choice` is what was chosen for the new thread. Raises `InvalidChoiceError`.
        """
        text = serde.sanitize_text(text)
        content = files.build_content(text, list(map(files.make_file_part, attachments)))
        message = NewMessage(serde.to_body(HumanMessage(content)), files=tuple(attachments))
        settings = ThreadSettings().with_changes(chosen_settings or {}, self._catalog).changes_since(ThreadSettings())
        return await self._begin_run(
            RunRequest(thread_id, caller, message, title=make_title(text or attachments[0].name), settings=settings)
        )

    async def edit(self, thread_id: str, message_id: str, text: str, *, caller: Caller) -> Run:
        """Put another text in the place of a user message, and answer that; what followed leaves, undoably."""
        edited = await self._run_blocking(self._store.get_message, thread_id, message_id)
        if edited.type != "human":
            raise NothingToAnswerError
        return await self._begin_run(RunRequest(thread_id, caller, replace_text(edited, text), after_id=edited.parent_id))

    async def retry(self, thread_id: str, *, caller: Caller, message_id: str | None = None) -> Run:
        """Answer the last user message again, or the one that this answer belongs to; what was answered to it before, and
        all that followed, leaves the conversation, undoably.
        """
        after = await self._run_blocking(self.inputs.find_question, thread_id, message_id)
        return await self._begin_run(RunRequest(thread_id, caller, after_id=after))

    async def continue_answer(self, thread_id: str, *, caller: Caller) -> Run:
        """Answer on from where a cut-off answer stopped."""
        return await self._begin_run(RunRequest(thread_id, caller, continues_answer=True))

    async def decide(self, thread_id: str, decision: Decision, *, caller: Caller, allow_moves: bool = False) -> Run:
        """Do as a person decided about a call that waits; when no other waits, the agent goes on. `always` lets it move by
        itself in this conversation from now on.

        Raises `NothingToDecideError` when the call was decided about already, or the conversation went on without it.
        """
        return await self._begin_run(RunRequest(thread_id, caller, decision=decision, allow_moves=allow_moves))

    async def compact(self, thread_id: str | None, scope: SummaryScope, *, caller: Caller) -> Run:
        """Begin to put a summary in the place of a part of the conversation (see compaction). Until it is there nothing
        changes, and it is undone like any change.

        Raises `NotCompactedError` where there is nothing to gain.
        """
        if thread_id is None:
            raise NotCompactedError("There is nothing to summarise yet.")
        if caller.request_id not in self._started_run_ids:
            await self._run_blocking(self.inputs.find_passage, thread_id, scope)
        return await self._begin_run(RunRequest(thread_id, caller, scope=scope))

    async def stop(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has let go; false if there was none. What was written stays.

        Work that does not stop by itself soon is let go of: it goes on for a while, and can do nothing to the thread.
        """
        async with self._begin_lock:
            active = self._active.get(thread_id)
            if active is None:
                # A full disk may have kept a run from being written to its end: it would hold the thread for ever.
                return await self._interrupt_orphan(thread_id)
        if not active.stopping.done():  # once: a second time would cut short how the work comes to rest
            active.work.cancel()
            active.stopping.set_result(None)
        await asyncio.wait({active.end})
        return True

    async def release_orphans(self) -> None:
        """Let go of the threads that a run still holds although nobody drives it: the database did not take its end."""
        async with self._begin_lock:
            for thread_id in await self._run_blocking(self._runs.list_running_threads) - self._active.keys():
                await self._interrupt_orphan(thread_id)

    async def _interrupt_orphan(self, thread_id: str) -> bool:
        """End a thread's run that nobody drives, and tell its pages; false if there is none."""
        left = await self._run_blocking(self._runs.interrupt_orphans, thread_id)
        for run in left:
            _log.warning("run %s was interrupted: it was at work on disk, and nobody drove it", run.id)
            version = await self._run_blocking(
                self._runs.end_run, run, RunState.INTERRUPTED
            )  # it has ended: this reads the version
            self._hub.publish(thread_id, RunFinished(run.id, RunState.INTERRUPTED, version))
        return bool(left)

    async def close(self) -> None:
        """Interrupt what runs: the process is about to end."""
        self._is_closing = True
        if self._watch_task is not None:
            self._watch_task.cancel()
            await asyncio.wait({self._watch_task})
        await asyncio.gather(*map(self.stop, list(self._active)))
        if self._judge is not None:
            await self._judge.close()

    async def _begin_run(self, run_request: RunRequest) -> Run:
        async with self._begin_lock:
            if self._watch_task is None:  # before: what fails from here on may leave a run that nobody drives
                self._watch_task = asyncio.create_task(self._watch_runs(), name="watch over runs")
            try:
                run, asked, started, trace = await self._run_blocking(self._prepare_run, run_request)
            except RunActiveError:
                if run_request.thread_id is None or run_request.thread_id in self._active:
                    raise
                await self._interrupt_orphan(run_request.thread_id)  # it began, and then the database failed
                run, asked, started, trace = await self._run_blocking(self._prepare_run, run_request)
            if run.state is RunState.RUNNING and run.id not in self._started_run_ids:  # else: the same request a second time
                self._started_run_ids.add(run.id)
                self._hub.publish(run.thread_id, started)
                trace.record_start()
                recording = RunRecorder(run, self._runs, self._hub, self._run_blocking)
                work = asyncio.create_task(self._drive_run(recording, trace, asked, run_request), name=f"run {run.id}")
                self._track_run(run, recording, trace, work)
        return run

    def _track_run(self, run: Run, recorder: RunRecorder, trace: RunTrace, work: asyncio.Task[None]) -> None:
        stopping = asyncio.get_running_loop().create_future()
        end = asyncio.create_task(self._finish_run(run, recorder, trace, work, stopping), name=f"end of run {run.id}")
        active = self._active[run.thread_id] = _ActiveRun(work, end, recorder, stopping)
        end.add_done_callback(lambda _: self._forget_run(run, active))

    async def _drive_run(
        self, recorder: RunRecorder, trace: RunTrace, build_messages: BuildMessages, run_request: RunRequest
    ) -> None:
        decisions = {run_request.decision.call_id: run_request.decision} if run_request.decision else {}
        thread = await self._run_blocking(self._store.get_thread, recorder.run.thread_id)
        model = await self._run_blocking(ThreadSettings.from_thread(thread).resolve_model, self._catalog)
        traveller = self._build_time_travel(
            recorder.run, ThreadSettings.from_thread(thread).resolve_policy(self.default_policy)
        )
        lent: Any = {"decisions": decisions, "trace": trace, "time_travel": traveller, "read_files": self._store.read_files}
        lent["fork_explorer"] = self._build_fork_explorer(recorder.run, traveller)
        context = RunContext(recorder, self._limits, model, **lent)
        if run_request.scope is not None:
            # Recorded aside: what is written of a summary is no answer, and stopping keeps nothing of it.
            aside: Any = {
                "recorder": SubAgentRecorder(recorder, MAIN, keeps_text=False),
                "trace": trace.for_agent("compaction", COMPACTION_PROMPT),
            }
            await self._compact_passage(recorder, replace(context, **aside), run_request.scope)
            return
        async with self._drafts.keep_draft(recorder):
            opened = (
                await self._find_resumable_calls(recorder, run_request)
                if run_request.continues_answer or run_request.decision
                else []
            )
            # Here, so that a path which cannot be sent ends the run with a sentence.
            messages = await (
                self._run_blocking(self.inputs.build_messages, thread.id, resume=True)
                if opened
                else self._run_blocking(build_messages)
            )
            while True:
                recorder.reopen_calls(opened)
                shared = (self._agents, thread.id, self._store, self._catalog, model, self._graph, self._limits)
                company = SubAgents(*shared, partial(describe_run_failure, run=recorder.run))
                own = replace(context, delegator=RunDelegator(company, opened) if self._agents else None)
                try:
                    await self._graph.ainvoke({"messages": messages}, build_config(self._limits), context=own)
                    return
                except PathChanged as moved:
                    recorder.forget_open_calls()
                    opened = await self._run_blocking(self.inputs.load_open_calls, thread.id)
                    if not moved.continues and not opened:
                        return
                messages = await self._run_blocking(self.inputs.build_messages, thread.id, resume=True)

    def _build_fork_explorer(self, run: Run, time_travel: TimeTravel | None) -> RunForkExplorer | None:
        """None where the agent may not move through time: other branches are a way to do so."""

        def load_system_text() -> str:
            instructions = ThreadSettings.from_thread(self._store.get_thread(run.thread_id)).instructions
            return compose_system_text(self.inputs.load_system_prompt().text, instructions)

        def publish_head(version: int) -> None:
            self._hub.publish(run.thread_id, HeadMoved(version))

        sentence = partial(describe_run_failure, run=run)
        given = (self._store, self._runs, run, self._graph, load_system_text, sentence, publish_head)
        return None if time_travel is None else RunForkExplorer(*given, needs_approval=time_travel.policy == "ask")

    async def _compact_passage(self, recorder: RunRecorder, context: RunContext, scope: SummaryScope) -> None:
        """Ask for the summary and put it there, in one transaction with the run's end: a crash leaves all or nothing."""
        run = recorder.run
        found = await self._run_blocking(self.inputs.find_passage, run.thread_id, scope)
        new = compaction.build_note(found, await compaction.summarize_passage(found, scope.focus, context))
        after, messages = found.messages[0].parent_id, [new, *compaction.copy_following(found.following)]
        await self._run_blocking(
            partial(self._runs.replace_with_summary, run, messages, after=after, detail=compaction.make_detail(new))
        )

    async def _find_resumable_calls(self, recorder: RunRecorder, run_request: RunRequest) -> list[OpenCall]:
        """The calls of the path that are to be answered now, where a run goes on after a decision or after a crash."""
        opened = await self._run_blocking(self.inputs.load_open_calls, recorder.run.thread_id)
        if run_request.decision:
            return opened
        # What agents were asked goes on; nothing else that a crash cut off is carried out again by itself.
        begun = [each for each in opened if each.question is not None]
        for each in opened if begun else ():
            if each.question is None:
                await recorder.commit(make_refusal(each.call, NOT_CARRIED_OUT_TEXT), agent=each.agent)
        return begun

    def _build_time_travel(self, run: Run, policy: Policy) -> TimeTravel | None:
        tokens = partial(self.inputs.count_tokens, run.thread_id)
        return (
            None
            if policy == "off"
            else TimeTravelExecutor(self._store, self._runs, run, policy, self._announce_move, tokens)
        )

    def _announce_move(self, event: TimeTravelEvent) -> None:
        for tell in (self._tracer.record, *self._on_time_travel):
            try:
                tell(event)
            except BaseException:  # noqa: BLE001  (somebody else's code, whose failure is no reason to lose a run)
                _log.exception("a listener to time travel failed")

    async def _finish_run(
        self, run: Run, recorder: RunRecorder, trace: RunTrace, work: asyncio.Task[None], stopping: asyncio.Future[None]
    ) -> None:
        """Write how the work ended. This is a run's outer edge: every failure becomes a sentence for the user.

        A task of its own, because work that is cancelled before its first step never comes to its own `finally`.
        """
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({work}, timeout=self._limits.stop_seconds)
        if not work.done():
            self._abandon_run(run, work)
        state, sentence = read_outcome(run, work, is_stopped=stopping.done(), is_closing=self._is_closing)
        try:
            await recorder.end_run(state, sentence)
        except StateError as error:
            _log.error("run %s could not be written to its end: %s", run.id, error)
        except Exception as error:  # noqa: BLE001  the watch lets go of the thread later
            _log.error("run %s could not be written to its end: %s", run.id, locate_error(error))
        finally:
            trace.on_end(state, sentence)
        if self._judge is not None and state is RunState.DONE:
            self._judge.consider(run)

    def _abandon_run(self, run: Run, work: asyncio.Task[None]) -> None:
        """Let go of work that does not stop. Its recording refuses whatever it does from now on."""

        def forget(work: asyncio.Task[None]) -> None:
            self._abandoned.discard(work)
            if not work.cancelled():
                work.exception()  # looked at: nobody else does
            _log.warning("run %s: the work that was let go of has ended", run.id)

        _log.warning("run %s was let go of: it was stopped, and its work goes on", run.id)
        self._abandoned.add(work)
        work.add_done_callback(forget)
        work.cancel()  # once more: it may have taken the first time for its own

    def _forget_run(self, run: Run, active: _ActiveRun) -> None:
        """A run is over, or the task that was to end it is gone: then the watch ends it."""
        # Not without looking: the next run may have begun since this one let go of the thread.
        if self._active.get(run.thread_id) is active:
            del self._active[run.thread_id]
        if not active.end.cancelled() and (error := active.end.exception()) is not None:
            _log.error("run %s: what ends it failed: %s", run.id, locate_error(error))

    async def _watch_runs(self) -> None:
        """Let go of runs that nobody drives, whatever became of their tasks. Ends when nothing runs any more."""
        while True:
            await asyncio.sleep(self._limits.watch_seconds)
            try:
                await self.release_orphans()
            except Exception as error:  # noqa: BLE001  the database may be well again the next time
                _log.warning("whether all runs are driven could not be seen: %s", locate_error(error))
                continue
            if not self._active and not self._begin_lock.locked():
                self._watch_task = None
                return

    def _prepare_run(self, run_request: RunRequest) -> tuple[Run, BuildMessages, RunStarted, RunTrace]:
        waiting = (
            self.inputs.load_waiting_calls(run_request.thread_id)
            if run_request.thread_id and run_request.after_id == HEAD
            else []
        )
        asking = [each.call["id"] for each in find_undecided_calls(waiting)]
        if (
            run_request.decision
            and run_request.decision.call_id not in asking
            and run_request.caller.request_id not in self._started_run_ids
        ):
            raise NothingToDecideError
        closing = [NewMessage(serde.to_body(make_refusal(each.call)), agent=each.agent) for each in waiting]
        begin = partial(
            self._runs.begin_run, title=run_request.title, settings=run_request.settings, closing_messages=closing
        )
        begin = partial(begin, compacts=run_request.scope is not None)
        run = begin(run_request.thread_id, run_request.message, caller=run_request.caller, after=run_request.after_id)
        if run_request.allow_moves:  # only now: a decision that came too late must not leave a leave behind
            allow = {"time_travel": "allow"}
            self._store.change_settings(run.thread_id, allow, caller=Caller(request_id=f"{run.id}-always"))
        path = self.inputs.load_recent_messages(run.thread_id)
        prompt = self.inputs.load_system_prompt()
        asked = partial(
            build_request,
            self.inputs.load_system_text(prompt, run.thread_id),
            path,
            continue_answer=run_request.continues_answer,
        )
        version = self._store.get_thread(run.thread_id).version
        is_asked = run_request.message is not None
        begun = build_start_event(self._store, run, path, is_asked=is_asked) if self._tracer.is_on else None
        started = RunStarted(run.id, version, path[-1] if is_asked else None)
        return run, asked, started, RunTrace(self._tracer, run.id, prompt, begun)

    async def _run_blocking(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work to its end, even when the caller is cancelled meanwhile."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            raise


def replace_text(message: Message, text: str) -> NewMessage:
    """A user's message with another text and the same files; what a damaged one named is not known."""
    content = files.build_content(serde.sanitize_text(text), files.find_file_parts(message.body["data"].get("content")))
    return NewMessage(serde.to_body(HumanMessage(content)))


def make_title(text: str) -> str:
    """A conversation's first title: the beginning of its first line."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), UNTITLED)
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "…"
