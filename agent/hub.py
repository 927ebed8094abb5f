"""The RunHub: carries events from where they happen to whoever follows a thread, in this process.

It holds the text of an answer only while it is being written, so that one who opens the page in the middle gets it whole.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.events import Event, MessageAdded, RunFinished, RunStarted, TextDelta

MOST_WAITING = 20_000  # events; a follower that lags further is let go and simply opens again


@dataclass(frozen=True, slots=True)
class Live:
    """A run in progress: the text of its answer that is not committed yet."""

    run_id: str
    text: str


class Lagging(Exception):
    """The follower took too long to read; its events are gone, but a new start is not."""


class Following:
    """One follower's view: what was going on when it came, and everything since."""

    def __init__(self, live: Live | None) -> None:
        self.live = live
        self._queue: asyncio.Queue[Event] = asyncio.Queue(MOST_WAITING)
        self._lost = False

    def put(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._lost = True

    async def take(self) -> list[Event]:
        """Wait for at least one event, and return all that there are."""
        if self._lost:
            raise Lagging
        events = [await self._queue.get()]
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return events


class RunHub:
    """For one process and one event loop. `publish` never waits, so that a slow page cannot slow a run."""

    def __init__(self) -> None:
        self._followers: defaultdict[str, set[Following]] = defaultdict(set)
        self._run: dict[str, str] = {}
        self._text: dict[str, list[str]] = {}

    @property
    def runs(self) -> int:
        """How many runs are in progress."""
        return len(self._run)

    def live(self, thread_id: str) -> Live | None:
        if thread_id not in self._run:
            return None
        text = "".join(self._text[thread_id])
        self._text[thread_id] = [text]
        return Live(self._run[thread_id], text)

    def publish(self, thread_id: str, event: Event) -> None:
        match event:
            case RunStarted():
                self._run[thread_id] = event.run_id
                self._text[thread_id] = []
            case TextDelta() if thread_id in self._run:
                self._text[thread_id].append(event.text)
            case MessageAdded() if thread_id in self._run:
                self._text[thread_id] = []
            case RunFinished() if self._run.get(thread_id) == event.run_id:
                self._run.pop(thread_id, None)
                self._text.pop(thread_id, None)
        for follower in self._followers.get(thread_id, ()):
            follower.put(event)

    @asynccontextmanager
    async def follow(self, thread_id: str) -> AsyncIterator[Following]:
        following = Following(self.live(thread_id))
        self._followers[thread_id].add(following)
        try:
            yield following
        finally:
            self._followers[thread_id].discard(following)
            if not self._followers[thread_id]:
                del self._followers[thread_id]
