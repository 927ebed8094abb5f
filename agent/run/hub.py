"""The RunHub carries events from runs to the followers of a thread, in this process.

It holds the text of an answer only while it is written. A page that opens meanwhile receives all of it.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.events import (
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
class LiveRun:
    """A run in progress: the text of its answer that is not committed yet, and the reasoning before it."""

    run_id: str
    text: str
    reasoning: str = ""
    work_ended: WorkEnded | None = None  # None: it is at work
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
        self._run_ids: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}
        self._reasoning: dict[str, list[str]] = {}
        self._work_ends: dict[str, WorkEnded] = {}
        self._progress: dict[str, GraphProgress] = {}

    @property
    def active_run_count(self) -> int:
        """Return the number of runs in progress."""
        return len(self._run_ids)

    def find_live_run(self, thread_id: str) -> LiveRun | None:
        if thread_id not in self._run_ids:
            return None
        text = "".join(self._texts[thread_id])
        self._texts[thread_id] = [text]
        reasoning = "".join(self._reasoning[thread_id])
        progress = self._progress.get(thread_id, NO_PROGRESS)
        return LiveRun(self._run_ids[thread_id], text, reasoning, self._work_ends.get(thread_id), progress)

    def publish(self, thread_id: str, event: Event) -> None:
        match event:
            case RunStarted():
                self._run_ids[thread_id] = event.run_id
                self._texts[thread_id], self._reasoning[thread_id] = [], []
            case ReasoningDelta() if thread_id in self._run_ids:
                self._reasoning[thread_id].append(event.text)
            case TextDelta() if thread_id in self._run_ids:
                self._texts[thread_id].append(event.text)
            case TextWithdrawn() if thread_id in self._run_ids:
                self._texts[thread_id], self._reasoning[thread_id] = [], [event.reasoning]
            case MessageAdded() if thread_id in self._run_ids:
                self._texts[thread_id], self._reasoning[thread_id] = [], []
            case GraphProgress() if thread_id in self._run_ids:
                self._progress[thread_id] = event
            case WorkEnded() if self._run_ids.get(thread_id) == event.run_id:
                self._work_ends[thread_id] = event
            case RunFinished() if self._run_ids.get(thread_id) == event.run_id:
                self._run_ids.pop(thread_id, None)
                self._texts.pop(thread_id, None)
                self._reasoning.pop(thread_id, None)
                self._work_ends.pop(thread_id, None)
                self._progress.pop(thread_id, None)
        for follower in self._subscribers.get(thread_id, ()):
            follower.put(event)

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
