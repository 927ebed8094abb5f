"""The runner: one server-side task a run, from the committed user message to rest. Pages only watch."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError

from agent.answer import CutOff
from agent.events import RunStarted
from agent.graph import Graph
from agent.hub import RunHub
from agent.models import model_error
from agent.prompts import SYSTEM_PROMPT
from agent.recording import Recording
from agent.request import request, stored_tokens
from agent.state import LimitReached, Limits, RunContext
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
    serde,
)

FIRST_READ = 400  # messages
LONGEST_TITLE = 60  # characters

Asked = Callable[[], list[AnyMessage]]
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class NothingToAnswerError(StateError):
    def __init__(self) -> None:
        super().__init__("There is no message to answer.")


@dataclass(frozen=True, slots=True)
class _Drive:
    """A run in progress. Stopping cancels the work, never the drive: a run that began is also written to its end."""

    work: asyncio.Task[None]
    end: asyncio.Task[None]


class Runner:
    """Begins, watches over and stops runs. Blocking work goes to a small pool of threads."""

    def __init__(
        self, store: Store, runs: Runs, hub: RunHub, graph: Graph, pool: ThreadPoolExecutor, limits: Limits
    ) -> None:
        self._store = store
        self._runs = runs
        self._hub = hub
        self._graph = graph
        self._pool = pool
        self._limits = limits
        self._drives: dict[str, _Drive] = {}
        self._begun: set[str] = set()  # the runs that were driven: a repeated request must not drive its run again
        self._closing = False
        # A run that has begun on disk and is not driven yet looks like one that a crash left behind: nobody may look then.
        self._beginning = asyncio.Lock()

    async def send(self, thread_id: str | None, text: str, *, by: By) -> Run:
        """Commit the user's message (to a new thread, without one) and begin to answer it. On return it is on disk."""
        text = serde.writable(text)
        message = NewMessage(serde.to_body(HumanMessage(text)))
        return await self._begin(thread_id, message, by=by, title=title_of(text))

    async def edit(self, thread_id: str, message_id: str, text: str, *, by: By) -> Run:
        """Put another text in the place of a user message, and answer that; what followed leaves, undoably."""
        edited = await self._call(self._store.message, thread_id, message_id)
        if edited.type != "human":
            raise NothingToAnswerError
        message = NewMessage(serde.to_body(HumanMessage(serde.writable(text))))
        return await self._begin(thread_id, message, by=by, after=edited.parent_id)

    async def retry(self, thread_id: str, *, by: By, message_id: str | None = None) -> Run:
        """Answer the last user message again, or the one that this answer belongs to; what was answered to it before, and
        all that followed, leaves the conversation, undoably.
        """
        after = await self._call(self._question, thread_id, message_id)
        return await self._begin(thread_id, None, by=by, after=after)

    async def go_on(self, thread_id: str, *, by: By) -> Run:
        """Answer on from where a cut-off answer stopped."""
        return await self._begin(thread_id, None, by=by, go_on=True)

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

    async def close(self) -> None:
        """Interrupt what runs: the process is about to end."""
        self._closing = True
        for thread_id in list(self._drives):
            await self.stop(thread_id)

    async def _begin(
        self,
        thread_id: str | None,
        message: NewMessage | None,
        *,
        by: By,
        after: str | None = HEAD,
        title: str = "",
        go_on: bool = False,
    ) -> Run:
        async with self._beginning:
            prepare = partial(self._prepare, thread_id, message, by, after, title, go_on)
            try:
                run, asked, started = await self._call(prepare)
            except RunActiveError:
                if thread_id is None or thread_id in self._drives:
                    raise
                await self._call(self._runs.interrupt_left, thread_id)  # it began, and then the database failed
                run, asked, started = await self._call(prepare)
            if run.state is RunState.RUNNING and run.id not in self._begun:  # else: the same request a second time
                self._begun.add(run.id)
                self._hub.publish(run.thread_id, started)
                recording = Recording(run, self._runs, self._hub, self._call, self._limits.draft_seconds)
                work = asyncio.create_task(self._work(recording, asked), name=f"run {run.id}")
                end = asyncio.create_task(self._see_through(run, recording, work))
                self._drives[run.thread_id] = _Drive(work, end)
        return run

    async def _work(self, recording: Recording, asked: Asked) -> None:
        context = RunContext(recording, self._limits)
        limit: RunnableConfig = {"recursion_limit": 2 * self._limits.most_steps}
        async with recording.drafting():
            messages = await self._call(asked)  # here, so that a path which cannot be sent ends the run with a sentence
            await self._graph.ainvoke({"messages": messages}, limit, context=context)

    async def _see_through(self, run: Run, recording: Recording, work: asyncio.Task[None]) -> None:
        """Write how the work ended. This is a run's outer edge: every failure becomes a sentence for the user.

        A task of its own, because work that is cancelled before its first step never comes to its own `finally`.
        """
        await asyncio.wait({work})
        try:
            if work.cancelled():
                await recording.end(RunState.INTERRUPTED if self._closing else RunState.STOPPED)
            elif (error := work.exception()) is not None:
                await recording.end(RunState.FAILED, _sentence(error, run, self._limits))
            else:
                await recording.end(RunState.DONE)
        except StateError as error:
            _log.error("run %s could not be written to its end: %s", run.id, error)
        finally:
            # Not without looking: the next run may have begun since this one let go of the thread.
            if (drive := self._drives.get(run.thread_id)) and drive.work is work:
                del self._drives[run.thread_id]

    def _prepare(
        self, thread_id: str | None, message: NewMessage | None, by: By, after: str | None, title: str, go_on: bool
    ) -> tuple[Run, Asked, RunStarted]:
        run = self._runs.begin(thread_id, message, by=by, after=after, title=title)
        path = self._recent(run.thread_id)
        asked = partial(request, SYSTEM_PROMPT, path, most_tokens=self._limits.most_tokens, go_on=go_on)
        version = self._store.thread(run.thread_id).version
        return run, asked, RunStarted(run.id, version, path[-1] if message else None)

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
