"""The runner: one server-side task a run, from the committed user message to rest. Pages only watch."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError

from agent.answer import CutOff
from agent.approval import Decision, Waiting, refused, unanswered
from agent.events import RunStarted
from agent.graph import Graph
from agent.hub import RunHub
from agent.models import model_error
from agent.prompts import SYSTEM_PROMPT
from agent.recording import Recording
from agent.request import request, stored_tokens
from agent.state import LimitReached, Limits, RunContext
from agent.tracing import NO_TRACING, SYSTEM, RunTrace, Tracer
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
    Thread,
    serde,
)

FIRST_READ = 400  # messages
_ROUND = 100  # messages from the end among which the answer that waits is looked for: a run has fewer calls
LONGEST_TITLE = 60  # characters

Asked = Callable[[], list[AnyMessage]]
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class NothingToAnswerError(StateError):
    def __init__(self) -> None:
        super().__init__("There is no message to answer.")


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


@dataclass(frozen=True, slots=True)
class _Drive:
    """A run in progress. Stopping cancels the work, never the drive: a run that began is also written to its end."""

    work: asyncio.Task[None]
    end: asyncio.Task[None]


class Runner:
    """Begins, watches over and stops runs. Blocking work goes to a small pool of threads."""

    def __init__(
        self,
        store: Store,
        runs: Runs,
        hub: RunHub,
        graph: Graph,
        pool: ThreadPoolExecutor,
        limits: Limits,
        tracer: Tracer = NO_TRACING,
        time_travel: Policy = "off",
        on_time_travel: Sequence[Callable[[TimeTravelEvent], None]] = (),
    ) -> None:
        self._store = store
        self._runs = runs
        self._hub = hub
        self._graph = graph
        self._pool = pool
        self._limits = limits
        self._tracer = tracer
        self._time_travel = time_travel  # for threads that have no setting of their own
        self._on_time_travel = on_time_travel
        self._drives: dict[str, _Drive] = {}
        self._begun: set[str] = set()  # the runs that were driven: a repeated request must not drive its run again
        self._closing = False
        # A run that has begun on disk and is not driven yet looks like one that a crash left behind: nobody may look then.
        self._beginning = asyncio.Lock()

    async def send(self, thread_id: str | None, text: str, *, by: By) -> Run:
        """Commit the user's message (to a new thread, without one) and begin to answer it. On return it is on disk."""
        text = serde.writable(text)
        message = NewMessage(serde.to_body(HumanMessage(text)))
        return await self._begin(_Wish(thread_id, by, message, title=title_of(text)))

    async def edit(self, thread_id: str, message_id: str, text: str, *, by: By) -> Run:
        """Put another text in the place of a user message, and answer that; what followed leaves, undoably."""
        edited = await self._call(self._store.message, thread_id, message_id)
        if edited.type != "human":
            raise NothingToAnswerError
        message = NewMessage(serde.to_body(HumanMessage(serde.writable(text))))
        return await self._begin(_Wish(thread_id, by, message, after=edited.parent_id))

    async def retry(self, thread_id: str, *, by: By, message_id: str | None = None) -> Run:
        """Answer the last user message again, or the one that this answer belongs to; what was answered to it before, and
        all that followed, leaves the conversation, undoably.
        """
        after = await self._call(self._question, thread_id, message_id)
        return await self._begin(_Wish(thread_id, by, after=after))

    async def go_on(self, thread_id: str, *, by: By) -> Run:
        """Answer on from where a cut-off answer stopped."""
        return await self._begin(_Wish(thread_id, by, go_on=True))

    async def decide(self, thread_id: str, decision: Decision, *, by: By) -> Run:
        """Do as a person decided about a call that waits; when no other waits, the agent goes on.

        Raises `NothingToDecideError` when the call was decided about already, or the conversation went on without it.
        """
        return await self._begin(_Wish(thread_id, by, decision=decision))

    async def stop(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has let go; false if there was none. What was written stays."""
        async with self._beginning:
            drive = self._drives.get(thread_id)
            if drive is None:
                # A full disk may have kept a run from being written to its end: it would hold the thread for ever.
                return bool(await self._call(self._runs.interrupt_left, thread_id))
        drive.work.cancel()
        await asyncio.wait({drive.end})
        return True

    async def settle(self) -> None:
        """Let go of the threads that a run still holds although nobody drives it: the database did not take its end."""
        async with self._beginning:
            for thread_id in await self._call(self._runs.running) - self._drives.keys():
                await self._call(self._runs.interrupt_left, thread_id)

    async def close(self) -> None:
        """Interrupt what runs: the process is about to end."""
        self._closing = True
        for thread_id in list(self._drives):
            await self.stop(thread_id)

    async def _begin(self, wish: _Wish) -> Run:
        async with self._beginning:
            try:
                run, asked, started, trace = await self._call(self._prepare, wish)
            except RunActiveError:
                if wish.thread_id is None or wish.thread_id in self._drives:
                    raise
                await self._call(self._runs.interrupt_left, wish.thread_id)  # it began, and then the database failed
                run, asked, started, trace = await self._call(self._prepare, wish)
            if run.state is RunState.RUNNING and run.id not in self._begun:  # else: the same request a second time
                self._begun.add(run.id)
                self._hub.publish(run.thread_id, started)
                trace.begin()
                recording = Recording(run, self._runs, self._hub, self._call, self._limits.draft_seconds)
                work = asyncio.create_task(self._work(recording, trace, asked, wish.decision), name=f"run {run.id}")
                end = asyncio.create_task(self._see_through(run, recording, trace, work))
                self._drives[run.thread_id] = _Drive(work, end)
        return run

    async def _work(self, recording: Recording, trace: RunTrace, asked: Asked, decision: Decision | None) -> None:
        decisions = {decision.call_id: decision} if decision else {}
        traveller = await self._call(self._traveller, recording.run)
        context = RunContext(recording, self._limits, decisions=decisions, trace=trace, traveller=traveller)
        limit: RunnableConfig = {"recursion_limit": 2 * self._limits.most_steps}
        async with recording.drafting():
            messages = await self._call(asked)  # here, so that a path which cannot be sent ends the run with a sentence
            recording.reopen(unanswered(messages))
            while True:
                try:
                    await self._graph.ainvoke({"messages": messages}, limit, context=context)
                    return
                except Moved as moved:
                    recording.moved()
                    if not moved.goes_on:
                        return
                messages = await self._call(self._asked, recording.run.thread_id)

    def _traveller(self, run: Run) -> Traveller | None:
        policy = self.policy(self._store.thread(run.thread_id))
        return None if policy == "off" else RunTraveller(self._store, self._runs, run, policy, self._announce)

    def policy(self, thread: Thread) -> Policy:
        """Whether the agent may move through time in a thread: never, when a person says so, or by itself."""
        own = thread.settings.get("time_travel")
        return own if own in ("off", "ask", "allow") and self._time_travel != "off" else self._time_travel

    def _announce(self, event: TimeTravelEvent) -> None:
        for tell in self._on_time_travel:
            try:
                tell(event)
            except Exception:  # noqa: BLE001  (somebody else's code, whose failure is no reason to lose a run)
                _log.exception("a listener to time travel failed")

    def _asked(self, thread_id: str) -> list[AnyMessage]:
        """A request for the path as it is now."""
        prompt = self._tracer.prompt(SYSTEM, SYSTEM_PROMPT)
        return request(prompt.text, self._recent(thread_id), most_tokens=self._limits.most_tokens)

    async def _see_through(self, run: Run, recording: Recording, trace: RunTrace, work: asyncio.Task[None]) -> None:
        """Write how the work ended. This is a run's outer edge: every failure becomes a sentence for the user.

        A task of its own, because work that is cancelled before its first step never comes to its own `finally`.
        """
        await asyncio.wait({work})
        state, sentence = self._outcome(run, work)
        try:
            await recording.end(state, sentence)
        except StateError as error:
            _log.error("run %s could not be written to its end: %s", run.id, error)
        finally:
            trace.ended(state, sentence)
            # Not without looking: the next run may have begun since this one let go of the thread.
            if (drive := self._drives.get(run.thread_id)) and drive.work is work:
                del self._drives[run.thread_id]

    def _outcome(self, run: Run, work: asyncio.Task[None]) -> tuple[RunState, str | None]:
        """How the work ended, with a sentence for the user where it failed."""
        if work.cancelled():
            return RunState.INTERRUPTED if self._closing else RunState.STOPPED, None
        if isinstance(error := work.exception(), Waiting):
            return RunState.WAITING, None
        return (RunState.DONE, None) if error is None else (RunState.FAILED, _sentence(error, run, self._limits))

    def _prepare(self, wish: _Wish) -> tuple[Run, Asked, RunStarted, RunTrace]:
        waiting = self._waiting(wish.thread_id) if wish.thread_id and wish.after == HEAD else []
        if wish.decision and wish.decision.call_id not in [c["id"] for c in waiting] and wish.by.request not in self._begun:
            raise NothingToDecideError
        closing = [NewMessage(serde.to_body(refused(call))) for call in waiting]
        run = self._runs.begin(wish.thread_id, wish.message, by=wish.by, after=wish.after, title=wish.title, closing=closing)
        path = self._recent(run.thread_id)
        limit, resume = self._limits.most_tokens, wish.decision is not None
        prompt = self._tracer.prompt(SYSTEM, SYSTEM_PROMPT)
        asked = partial(request, prompt.text, path, most_tokens=limit, go_on=wish.go_on, resume=resume)
        version = self._store.thread(run.thread_id).version
        is_asked = wish.message is not None
        begun = beginning(self._store, run, path, is_asked=is_asked) if self._tracer.on else None
        started = RunStarted(run.id, version, path[-1] if is_asked else None)
        return run, asked, started, RunTrace(self._tracer, run.id, prompt, begun)

    def _waiting(self, thread_id: str) -> list[ToolCall]:
        """The calls that a person has to decide about before the conversation can go on."""
        latest = self._runs.latest(thread_id)
        if latest is None or latest.state is not RunState.WAITING:
            return []
        return unanswered([message.langchain for message in self._store.messages(thread_id, last=_ROUND)])

    def _recent(self, thread_id: str) -> list[Message]:
        """The end of the path: as much as a request can hold, without reading all of a long conversation for it."""
        count = FIRST_READ
        while True:
            path = self._store.messages(thread_id, last=count)
            is_all = len(path) < count or count >= self._limits.most_messages
            if is_all or sum(map(stored_tokens, path)) >= self._limits.most_tokens:
                return path
            count *= 4

    def _question(self, thread_id: str, answer_id: str | None) -> str:
        """Where to answer from: the last user message, or the last one before an answer; HEAD if nothing follows it."""
        before = None if answer_id is None else self._store.message(thread_id, answer_id).depth + 1
        path = self._store.messages(thread_id, last=self._limits.most_messages, before=before)
        asked = [message for message in path if message.type == "human" and message.agent == MAIN]
        if not asked or (answer_id is not None and path[-1].id != answer_id):
            raise NothingToAnswerError
        return HEAD if answer_id is None and asked[-1] is path[-1] else asked[-1].id

    async def _call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work to its end, even when the caller is cancelled meanwhile."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            raise


def title_of(text: str) -> str:
    """A conversation's first title: the beginning of its first line."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), UNTITLED)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def _sentence(error: BaseException, run: Run, limits: Limits) -> str:
    match error:
        case CutOff() | LimitReached():
            return str(error)
        case GraphRecursionError():
            return f"The agent was stopped after {limits.most_steps} steps."
        case StateError():
            reason = str(error)
        case _:
            reason = model_error(error)
    # The provider's own words may hold a part of the key: they stay in the log's exception type and never reach the page.
    _log.warning("run %s failed: %s", run.id, type(error).__qualname__)
    return f"{reason} (reference {run.id[:8]})"
