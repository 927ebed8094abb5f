"""The RunHub carries events from runs to the followers of a thread, in this process.

It holds the text of an answer only while it is written. A page that opens meanwhile receives all of it.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.events import (
    AnswerBegun,
    CandidateProgress,
    Event,
    GraphProgress,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TextDelta,
    TextWithdrawn,
    WorkEnded,
)

NO_PROGRESS = GraphProgress()
MAX_QUEUED_EVENTS = 20_000  # events; a follower that lags further is dropped and opens again


@dataclass(frozen=True, slots=True)
class LiveCandidate:
    """A candidate of a run in progress, as `LiveRun`."""

    number: int
    model: str
    text: str
    reasoning: str
    end: RunFinished | None  # None: it is being written


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run in progress: the text of its answer that is not committed yet, and the reasoning before it."""

    run_id: str
    text: str
    reasoning: str = ""
    work_ended: WorkEnded | None = None  # None: it is at work
    candidates: Sequence[LiveCandidate] = ()
    progress: GraphProgress = NO_PROGRESS


@dataclass(slots=True)
class _PendingAnswer:
    """The uncommitted text of one answer, in pieces."""

    model: str = ""
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    end: RunFinished | None = None

    def add_event(self, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self.reasoning.append(event.text)
            case TextDelta():
                self.texts.append(event.text)
            case TextWithdrawn():
                self.texts, self.reasoning = [], [event.reasoning]
            case MessageAdded():
                self.texts, self.reasoning = [], []
            case AnswerBegun():
                self.texts, self.reasoning, self.end = [], [], None
            case RunFinished():
                self.texts, self.reasoning, self.end = [], [], event

    def join_text(self) -> tuple[str, str]:
        """Return the text and the reasoning."""
        self.texts, self.reasoning = ["".join(self.texts)], ["".join(self.reasoning)]
        return self.texts[0], self.reasoning[0]


@dataclass(slots=True)
class _PendingRun:
    run_id: str
    answer: _PendingAnswer
    candidates: dict[int, _PendingAnswer]
    work_ended: WorkEnded | None = None
    progress: GraphProgress = NO_PROGRESS


class SubscriberLagged(Exception):
    """The follower took too long to read and its events are lost. It can subscribe again."""


class Subscription:
    """One follower's view: the run in progress when it subscribed, and every event since."""

    def __init__(self, live_run: LiveRun | None) -> None:
        self.live_run = live_run
        self._queue: asyncio.Queue[Event] = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._has_lagged = False

    def put(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._has_lagged = True

    async def receive(self) -> list[Event]:
        """Wait for at least one event, and return all queued events."""
        if self._has_lagged:
            raise SubscriberLagged
        events = [await self._queue.get()]
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return events


class RunHub:
    """For one process and one event loop. `publish` never waits, so that a slow page cannot slow a run."""

    def __init__(self) -> None:
        self._subscribers: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._pending: dict[str, _PendingRun] = {}  # by thread
        self._observers: list[Callable[[str, Event], None]] = []

    def observe(self, note: Callable[[str, Event], None]) -> None:
        """Call `note` with the thread and the event, for every event from now on. It must not wait, nor raise."""
        self._observers.append(note)

    @property
    def active_run_count(self) -> int:
        """Return the number of runs in progress."""
        return len(self._pending)

    def find_live_run(self, thread_id: str) -> LiveRun | None:
        if (pending := self._pending.get(thread_id)) is None:
            return None
        candidates = [
            LiveCandidate(number, answer.model, *answer.join_text(), answer.end)
            for number, answer in pending.candidates.items()
        ]
        return LiveRun(pending.run_id, *pending.answer.join_text(), pending.work_ended, candidates, pending.progress)

    def publish(self, thread_id: str, event: Event) -> None:
        self._note(thread_id, event)
        for note in self._observers:
            note(thread_id, event)
        for follower in self._subscribers.get(thread_id, ()):
            follower.put(event)

    def _note(self, thread_id: str, event: Event) -> None:
        if isinstance(event, RunStarted):
            candidates = {each.number: _PendingAnswer(each.model, end=event.find_end(each)) for each in event.candidates}
            self._pending[thread_id] = _PendingRun(event.run_id, _PendingAnswer(), candidates)
        if (pending := self._pending.get(thread_id)) is None:
            return
        match event:
            case CandidateProgress() if event.number in pending.candidates:
                pending.candidates[event.number].add_event(event.event)
            case GraphProgress():
                pending.progress = event
            case WorkEnded() if pending.run_id == event.run_id:
                pending.work_ended = event
            case RunFinished():
                if pending.run_id == event.run_id:
                    del self._pending[thread_id]
            case _:
                pending.answer.add_event(event)

    @asynccontextmanager
    async def subscribe(self, thread_id: str) -> AsyncIterator[Subscription]:
        subscription = Subscription(self.find_live_run(thread_id))
        self._subscribers[thread_id].add(subscription)
        try:
            yield subscription
        finally:
            self._subscribers[thread_id].discard(subscription)
            if not self._subscribers[thread_id]:
                del self._subscribers[thread_id]
