"""The runner: one server-side task a run, from the committed user message to rest. Pages only watch."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

from langchain_core.messages import AnyMessage, HumanMessage

from agent import compaction
from agent.agents import Agents
from agent.approval import Decision, refused
from agent.choice import Choice, Offer, told
from agent.compaction import NotCompactedError, Part
from agent.delegation import Company, Delegation, OpenCall, decidable
from agent.drafts import Drafts
from agent.events import HeadMoved, RunFinished, RunStarted
from agent.forking import Forking
from agent.graph import Graph, steps
from agent.hub import RunHub
from agent.judge import Judge
from agent.outcome import describe_failure, locate_error, outcome_of
from agent.prompts import COMPACTION_PROMPT, system_text
from agent.prospect import NothingToAnswerError, Prospect
from agent.recording import Aside, Recording
from agent.request import NOT_CARRIED_OUT, request
from agent.state import Limits, RunContext
from agent.tracing import NO_TRACING, RunTrace, Tracer
from agent.tracing.beginning import beginning
from agent.travelling import Moved, Policy, RunTraveller, TimeTravelEvent, Traveller
from checkpoints import (
    HEAD,
    MAIN,
    UNTITLED,
    By,
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

LONGEST_TITLE = 60  # characters

Asked = Callable[[], list[AnyMessage]]
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class NothingToDecideError(StateError):
    def __init__(self) -> None:
        super().__init__("This call does not wait for a decision any more.")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a run is to begin with: a message, a place to answer from, an answer to finish, or a decision."""

    thread_id: str | None
    by: By
    message: NewMessage | None = None
    after: str | None = HEAD
    title: str = ""
    go_on: bool = False
    decision: Decision | None = None
    always: bool = False  # and so with every later move of the agent in this thread
    part: Part | None = None  # to be summarised; nothing is answered then
    settings: Mapping[str, str] = field(default_factory=dict)  # of the thread that the run makes


@dataclass(frozen=True, slots=True)
class _ActiveRun:
    """A run in progress. Stopping cancels the work, never the end: a run that began is also written to its end."""

    work: asyncio.Task[None]
    end: asyncio.Task[None]
    recording: Recording
    stopping: asyncio.Future[None]  # done when somebody asked for the run's end


class Runner:
    """Begins, watches over and stops runs. Blocking work goes to a small pool of threads."""

    def __init__(
        self,
        store: Store,
        runs: Runs,
        hub: RunHub,
        graph: Graph,
        models: Offer,
        pool: ThreadPoolExecutor,
        limits: Limits,
        tracer: Tracer = NO_TRACING,
        time_travel: Policy = "off",
        on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
        judge: Judge | None = None,
        agents: Agents | None = None,
    ) -> None:
        self._store = store
        self._runs = runs
        self._hub = hub
        self._graph = graph
        self._models = models
        self._pool = pool
        self._limits = limits
        self._tracer = tracer
        self.time_travel = time_travel  # for threads that have no setting of their own
        self._on_time_travel = on_time_travel
        self._judge = judge
        self._agents: Agents = agents or {}
        self._active: dict[str, _ActiveRun] = {}  # by thread
        self._abandoned: set[asyncio.Task[None]] = set()  # work that did not stop: the event loop holds tasks only weakly
        self._watching: asyncio.Task[None] | None = None
        self._drafts = Drafts(runs, self._call, limits.draft_seconds)
        self._begun: set[str] = set()  # the runs that were driven: a repeated request must not drive its run again
        self.prospect = Prospect(store, runs, models, limits, tracer, self._agents)
        self._closing = False
        # A run that has begun on disk and is not driven yet looks like one that a crash left behind: nobody may look then.
        self._beginning = asyncio.Lock()

    async def send(
        self,
        thread_id: str | None,
        text: str,
        *,
        by: By,
        choice: Mapping[str, str] | None = None,
        attached: Sequence[File] = (),
    ) -> Run:
        """Commit the user's message (to a new thread, without one) and begin to answer it. On return it is on disk.

        `choice` is what was chosen for the new thread. Raises `InvalidChoiceError`.
        """
        text = serde.writable(text)
        content = files.content(text, list(map(files.part, attached)))
        message = NewMessage(serde.to_body(HumanMessage(content)), files=tuple(attached))
        settings = Choice().changed(choice or {}, self._models).since(Choice())
        return await self._begin(_Wish(thread_id, by, message, title=title_of(text or attached[0].name), settings=settings))

    async def edit(self, thread_id: str, message_id: str, text: str, *, by: By) -> Run:
        """Put another text in the place of a user message, and answer that; what followed leaves, undoably."""
        edited = await self._call(self._store.message, thread_id, message_id)
        if edited.type != "human":
            raise NothingToAnswerError
        return await self._begin(_Wish(thread_id, by, another_text(edited, text), after=edited.parent_id))

    async def retry(self, thread_id: str, *, by: By, message_id: str | None = None) -> Run:
        """Answer the last user message again, or the one that this answer belongs to; what was answered to it before, and
        all that followed, leaves the conversation, undoably.
        """
        after = await self._call(self.prospect.question, thread_id, message_id)
        return await self._begin(_Wish(thread_id, by, after=after))

    async def go_on(self, thread_id: str, *, by: By) -> Run:
        """Answer on from where a cut-off answer stopped."""
        return await self._begin(_Wish(thread_id, by, go_on=True))

    async def decide(self, thread_id: str, decision: Decision, *, by: By, always: bool = False) -> Run:
        """Do as a person decided about a call that waits; when no other waits, the agent goes on. `always` lets it move by
        itself in this conversation from now on.

        Raises `NothingToDecideError` when the call was decided about already, or the conversation went on without it.
        """
        return await self._begin(_Wish(thread_id, by, decision=decision, always=always))

    async def compact(self, thread_id: str | None, part: Part, *, by: By) -> Run:
        """Begin to put a summary in the place of a part of the conversation (see compaction). Until it is there nothing
        changes, and it is undone like any change.

        Raises `NotCompactedError` where there is nothing to gain.
        """
        if thread_id is None:
            raise NotCompactedError("There is nothing to summarise yet.")
        if by.request not in self._begun:
            await self._call(self.prospect.passage, thread_id, part)
        return await self._begin(_Wish(thread_id, by, part=part))

    async def stop(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has let go; false if there was none. What was written stays.

        Work that does not stop by itself soon is let go of: it goes on for a while, and can do nothing to the thread.
        """
        async with self._beginning:
            active = self._active.get(thread_id)
            if active is None:
                # A full disk may have kept a run from being written to its end: it would hold the thread for ever.
                return await self._interrupt_left(thread_id)
        if not active.stopping.done():  # once: a second time would cut short how the work comes to rest
            active.work.cancel()
            active.stopping.set_result(None)
        await asyncio.wait({active.end})
        return True

    async def settle(self) -> None:
        """Let go of the threads that a run still holds although nobody drives it: the database did not take its end."""
        async with self._beginning:
            for thread_id in await self._call(self._runs.running) - self._active.keys():
                await self._interrupt_left(thread_id)

    async def _interrupt_left(self, thread_id: str) -> bool:
        """End a thread's run that nobody drives, and tell its pages; false if there is none."""
        left = await self._call(self._runs.interrupt_left, thread_id)
        for run in left:
            _log.warning("run %s was interrupted: it was at work on disk, and nobody drove it", run.id)
            version = await self._call(self._runs.end, run, RunState.INTERRUPTED)  # it has ended: this reads the version
            self._hub.publish(thread_id, RunFinished(run.id, RunState.INTERRUPTED, version))
        return bool(left)

    async def close(self) -> None:
        """Interrupt what runs: the process is about to end."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        await asyncio.gather(*map(self.stop, list(self._active)))
        if self._judge is not None:
            await self._judge.close()

    async def _begin(self, wish: _Wish) -> Run:
        async with self._beginning:
            if self._watching is None:  # before: what fails from here on may leave a run that nobody drives
                self._watching = asyncio.create_task(self._watch(), name="watch over runs")
            try:
                run, asked, started, trace = await self._call(self._prepare, wish)
            except RunActiveError:
                if wish.thread_id is None or wish.thread_id in self._active:
                    raise
                await self._interrupt_left(wish.thread_id)  # it began, and then the database failed
                run, asked, started, trace = await self._call(self._prepare, wish)
            if run.state is RunState.RUNNING and run.id not in self._begun:  # else: the same request a second time
                self._begun.add(run.id)
                self._hub.publish(run.thread_id, started)
                trace.begin()
                recording = Recording(run, self._runs, self._hub, self._call)
                work = asyncio.create_task(self._work(recording, trace, asked, wish), name=f"run {run.id}")
                self._drive(run, recording, trace, work)
        return run

    def _drive(self, run: Run, recording: Recording, trace: RunTrace, work: asyncio.Task[None]) -> None:
        stopping = asyncio.get_running_loop().create_future()
        end = asyncio.create_task(self._finish(run, recording, trace, work, stopping), name=f"end of run {run.id}")
        active = self._active[run.thread_id] = _ActiveRun(work, end, recording, stopping)
        end.add_done_callback(lambda _: self._forget(run, active))

    async def _work(self, recording: Recording, trace: RunTrace, asked: Asked, wish: _Wish) -> None:
        decisions = {wish.decision.call_id: wish.decision} if wish.decision else {}
        thread = await self._call(self._store.thread, recording.run.thread_id)
        model = await self._call(Choice.of(thread).chosen_model, self._models)
        traveller = self._traveller(recording.run, Choice.of(thread).policy(self.time_travel))
        lent: Any = {"decisions": decisions, "trace": trace, "traveller": traveller, "held": self._store.held}
        lent["forks"] = self._forks(recording.run, traveller)
        context = RunContext(recording, self._limits, model, **lent)
        if wish.part is not None:
            # Recorded aside: what is written of a summary is no answer, and stopping keeps nothing of it.
            aside: Any = {
                "recorder": Aside(recording, MAIN, keeps_text=False),
                "trace": trace.of("compaction", COMPACTION_PROMPT),
            }
            await self._compact(recording, replace(context, **aside), wish.part)
            return
        async with self._drafts.of(recording):
            opened = await self._opened(recording, wish) if wish.go_on or wish.decision else []
            # Here, so that a path which cannot be sent ends the run with a sentence.
            messages = await (self._call(self.prospect.asked, thread.id, resume=True) if opened else self._call(asked))
            while True:
                recording.reopen(opened)
                shared = (self._agents, thread.id, self._store, self._models, model, self._graph, self._limits)
                company = Company(*shared, partial(describe_failure, run=recording.run))
                own = replace(context, delegation=Delegation(company, opened) if self._agents else None)
                try:
                    await self._graph.ainvoke({"messages": messages}, steps(self._limits), context=own)
                    return
                except Moved as moved:
                    recording.moved()
                    opened = await self._call(self.prospect.open_calls, thread.id)
                    if not moved.goes_on and not opened:
                        return
                messages = await self._call(self.prospect.asked, thread.id, resume=True)

    def _forks(self, run: Run, traveller: Traveller | None) -> Forking | None:
        """None where the agent may not move through time: other branches are a way to do so."""

        def system() -> str:
            instructions = Choice.of(self._store.thread(run.thread_id)).instructions
            return system_text(self.prospect.prompt().text, instructions)

        def moved(version: int) -> None:
            self._hub.publish(run.thread_id, HeadMoved(version))

        sentence = partial(describe_failure, run=run)
        given = (self._store, self._runs, run, self._graph, system, sentence, moved)
        return None if traveller is None else Forking(*given, asks=traveller.policy == "ask")

    async def _compact(self, recording: Recording, context: RunContext, part: Part) -> None:
        """Ask for the summary and put it there, in one transaction with the run's end: a crash leaves all or nothing."""
        run = recording.run
        found = await self._call(self.prospect.passage, run.thread_id, part)
        new = compaction.note(found, await compaction.summary(found, part.focus, context))
        after, messages = found.messages[0].parent_id, [new, *compaction.kept(found.following)]
        await self._call(partial(self._runs.compact, run, messages, after=after, note=compaction.told(new)))

    async def _opened(self, recording: Recording, wish: _Wish) -> list[OpenCall]:
        """The calls of the path that are to be answered now, where a run goes on after a decision or after a crash."""
        opened = await self._call(self.prospect.open_calls, recording.run.thread_id)
        if wish.decision:
            return opened
        # What agents were asked goes on; nothing else that a crash cut off is carried out again by itself.
        begun = [each for each in opened if each.question is not None]
        for each in opened if begun else ():
            if each.question is None:
                await recording.commit(refused(each.call, NOT_CARRIED_OUT), agent=each.agent)
        return begun

    def _traveller(self, run: Run, policy: Policy) -> Traveller | None:
        tokens = partial(self.prospect.tokens, run.thread_id)
        return None if policy == "off" else RunTraveller(self._store, self._runs, run, policy, self._announce, tokens)

    def _announce(self, event: TimeTravelEvent) -> None:
        for tell in (self._tracer.tell, *self._on_time_travel):
            try:
                tell(event)
            except BaseException:  # noqa: BLE001  (somebody else's code, whose failure is no reason to lose a run)
                _log.exception("a listener to time travel failed")

    async def _finish(
        self, run: Run, recording: Recording, trace: RunTrace, work: asyncio.Task[None], stopping: asyncio.Future[None]
    ) -> None:
        """Write how the work ended. This is a run's outer edge: every failure becomes a sentence for the user.

        A task of its own, because work that is cancelled before its first step never comes to its own `finally`.
        """
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({work}, timeout=self._limits.stop_seconds)
        if not work.done():
            self._abandon(run, work)
        state, sentence = outcome_of(run, work, is_stopped=stopping.done(), is_closing=self._closing)
        try:
            await recording.end(state, sentence)
        except StateError as error:
            _log.error("run %s could not be written to its end: %s", run.id, error)
        except Exception as error:  # noqa: BLE001  the watch lets go of the thread later
            _log.error("run %s could not be written to its end: %s", run.id, locate_error(error))
        finally:
            trace.ended(state, sentence)
        if self._judge is not None and state is RunState.DONE:
            self._judge.consider(run)

    def _abandon(self, run: Run, work: asyncio.Task[None]) -> None:
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

    def _forget(self, run: Run, active: _ActiveRun) -> None:
        """A run is over, or the task that was to end it is gone: then the watch ends it."""
        # Not without looking: the next run may have begun since this one let go of the thread.
        if self._active.get(run.thread_id) is active:
            del self._active[run.thread_id]
        if not active.end.cancelled() and (error := active.end.exception()) is not None:
            _log.error("run %s: what ends it failed: %s", run.id, locate_error(error))

    async def _watch(self) -> None:
        """Let go of runs that nobody drives, whatever became of their tasks. Ends when nothing runs any more."""
        while True:
            await asyncio.sleep(self._limits.watch_seconds)
            try:
                await self.settle()
            except Exception as error:  # noqa: BLE001  the database may be well again the next time
                _log.warning("whether all runs are driven could not be seen: %s", locate_error(error))
                continue
            if not self._active and not self._beginning.locked():
                self._watching = None
                return

    def _prepare(self, wish: _Wish) -> tuple[Run, Asked, RunStarted, RunTrace]:
        waiting = self.prospect.waiting(wish.thread_id) if wish.thread_id and wish.after == HEAD else []
        asking = [each.call["id"] for each in decidable(waiting)]
        if wish.decision and wish.decision.call_id not in asking and wish.by.request not in self._begun:
            raise NothingToDecideError
        closing = [NewMessage(serde.to_body(refused(each.call)), agent=each.agent) for each in waiting]
        begin = partial(self._runs.begin, title=wish.title, settings=wish.settings, closing=closing)
        begin = partial(begin, compacts=wish.part is not None)
        run = begin(wish.thread_id, wish.message, by=wish.by, after=wish.after)
        if wish.always:  # only now: a decision that came too late must not leave a leave behind
            allow = {"time_travel": "allow"}
            self._store.change_settings(run.thread_id, allow, note=told(allow), by=By(request=f"{run.id}-always"))
        path = self.prospect.recent(run.thread_id)
        prompt = self.prospect.prompt()
        asked = partial(request, self.prospect.system(prompt, run.thread_id), path, go_on=wish.go_on)
        version = self._store.thread(run.thread_id).version
        is_asked = wish.message is not None
        begun = beginning(self._store, run, path, is_asked=is_asked) if self._tracer.on else None
        started = RunStarted(run.id, version, path[-1] if is_asked else None)
        return run, asked, started, RunTrace(self._tracer, run.id, prompt, begun)

    async def _call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work to its end, even when the caller is cancelled meanwhile."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            raise


def another_text(message: Message, text: str) -> NewMessage:
    """A user's message with another text and the same files; what a damaged one named is not known."""
    content = files.content(serde.writable(text), files.parts(message.body["data"].get("content")))
    return NewMessage(serde.to_body(HumanMessage(content)))


def title_of(text: str) -> str:
    """A conversation's first title: the beginning of its first line."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), UNTITLED)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"
