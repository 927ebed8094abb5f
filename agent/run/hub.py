"""The RunHub carries events from runs to the followers of a thread, in this process.

It holds the text of an answer only while it is written. A page that opens meanwhile receives all of it. A wire delivers the
events of other processes, so that their runs have followers here too.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agent.events import Event, HeadMoved, MembersChanged, RerunEnded, RunFinished, RunStarted, UpdatesDelayed
from agent.run.live_runs import LiveRun, PendingRun, RunKey
from checkpoints import Message

MAX_QUEUED_EVENTS = 20_000  # events; a follower that lags further is dropped and opens again


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of another process, whose message each follower reads from the database."""

    message_id: str
    outline: Event  # what it changes in the text in progress
    complete: Callable[[Message], Event]


class RemoteRuns(Protocol):
    """The runs of other processes."""

    async def load_run(self, thread_id: str) -> None:
        """Put a thread's run in progress into the hub, if another process drives it and the hub does not know it."""

    async def load_event(self, thread_id: str, event: StoredEvent) -> Event:
        """Read the message of an event. Raises `StoreUnavailableError`, and `SubscriberLagged` without the message."""


class SubscriberLagged(Exception):
    """The follower took too long to read and its events are lost. It can subscribe again."""


class Subscription:
    """One follower's view: the run in progress when it subscribed, and every event since."""

    def __init__(self, live_run: LiveRun | None, load_event: Callable[[StoredEvent], Awaitable[Event]]) -> None:
        self.live_run = live_run
        self._load_event = load_event
        self._queue: asyncio.Queue[Event | StoredEvent] = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._has_lagged = False

    def put(self, event: Event | StoredEvent) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._has_lagged = True

    def drop(self) -> None:
        """Let the follower subscribe again: its events are incomplete."""
        self._has_lagged = True
        self.put(UpdatesDelayed())  # it waits for one

    async def receive(self) -> list[Event]:
        """Wait for at least one event, and return all queued events."""
        events = [] if self._has_lagged else [await self._queue.get()]
        if self._has_lagged:
            raise SubscriberLagged
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return [await self._load_event(each) if isinstance(each, StoredEvent) else each for each in events]


class RunHub:
    """For one process and one event loop. `publish` never waits, so that a slow page cannot slow a run."""

    def __init__(self) -> None:
        self.remote_runs: RemoteRuns | None = None
        self.is_delayed = False  # events of other processes do not arrive
        self._subscribers: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._pending: dict[str, PendingRun] = {}  # by thread
        self._remote_threads: set[str] = set()  # those of them whose run another process drives
        self._disowned_threads: set[str] = set()  # a run of this process may still write here, which another one has taken
        self._observers: list[Callable[[str, Event], None]] = []
        self._end_observers: list[Callable[[str], None]] = []
        self._member_observers: list[Callable[[str, str], None]] = []

    def observe(self, note: Callable[[str, Event], None]) -> None:
        """Call `note` with the thread and the event, for every event of this process from now on.

        It must not wait, nor raise.
        """
        self._observers.append(note)

    def observe_ends(self, note: Callable[[str], None]) -> None:
        """Call `note` with the thread for every end of a run from now on, of other processes too.

        It must not wait, nor raise.
        """
        self._end_observers.append(note)

    def observe_members(self, note: Callable[[str, str], None]) -> None:
        """Call `note` with the thread and the person for everybody who is let in or out, in other processes too.

        It must not wait, nor raise.
        """
        self._member_observers.append(note)

    @property
    def active_run_count(self) -> int:
        """Return the number of runs in progress that this process drives."""
        return len(self._pending) - len(self._remote_threads)

    @property
    def known_run_count(self) -> int:
        """Return the number of runs in progress of all processes, as far as this one has heard of them."""
        return len(self._pending)

    @property
    def served_run_count(self) -> int:
        """Return the number of runs in progress that cost this process time: its own, and those of others with followers."""
        return self.active_run_count + len(self._subscribers.keys() & self._remote_threads)

    def find_live_run(self, thread_id: str) -> LiveRun | None:
        pending = self._pending.get(thread_id)
        return pending.describe_live() if pending else None

    def find_own_run(self, thread_id: str) -> RunKey | None:
        """Return the run in progress of a thread, if this process drives it."""
        pending = self._pending.get(thread_id)
        return None if pending is None or pending.is_remote else pending.key

    def publish(self, thread_id: str, event: Event) -> None:
        """Publish an event of this process."""
        if self._is_outdated(thread_id, event):
            return
        self._note(thread_id, event)
        for note in self._observers:
            note(thread_id, event)
        self._put(thread_id, event)

    def deliver(self, thread_id: str, event: Event | StoredEvent) -> None:
        """Deliver an event of another process to the followers of this one."""
        self._note(thread_id, event.outline if isinstance(event, StoredEvent) else event, is_remote=True)
        self._put(thread_id, event)

    def begin_remote_run(self, thread_id: str, live: LiveRun, attempt: int) -> None:
        """Take in a run of another process as it is now. Its followers, if any, subscribe again."""
        self._pending[thread_id] = PendingRun.resume(live, attempt)
        self._remote_threads.add(thread_id)
        self._drop_followers(thread_id)

    def forget_remote_run(self, thread_id: str) -> None:
        """Forget the events of another process's run: they are incomplete. Its followers subscribe again."""
        if thread_id in self._remote_threads:
            self._remote_threads.discard(thread_id)
            del self._pending[thread_id]
        self._drop_followers(thread_id)

    def disown_run(self, thread_id: str, key: RunKey) -> None:
        """Forget a run of this process that another one has taken. Its followers subscribe again."""
        if self.find_own_run(thread_id) == key:
            self._disowned_threads.add(thread_id)
            self._remote_threads.add(thread_id)
            self.forget_remote_run(thread_id)

    def refresh_followers(self) -> None:
        """Forget the runs of other processes, and let every follower subscribe again: events may be lost."""
        self.is_delayed = False
        for thread_id in {*self._remote_threads, *self._subscribers}:
            self.forget_remote_run(thread_id)

    def report_delay(self) -> None:
        """Tell every follower that events of other processes do not arrive for now."""
        self.is_delayed = True
        for thread_id in self._subscribers:
            self._put(thread_id, UpdatesDelayed())

    def _is_outdated(self, thread_id: str, event: Event) -> bool:
        """Return whether an event is of work that another process has taken over."""
        if isinstance(event, RunStarted | HeadMoved | RerunEnded | MembersChanged):
            return False
        if thread_id not in self._remote_threads and thread_id not in self._disowned_threads:
            return False
        # Who finds a run that nobody drives ends it, and knows the version.
        return not (isinstance(event, RunFinished) and event.version)

    def _put(self, thread_id: str, event: Event | StoredEvent) -> None:
        for follower in self._subscribers.get(thread_id, ()):
            follower.put(event)

    def _drop_followers(self, thread_id: str) -> None:
        for follower in self._subscribers.get(thread_id, ()):
            follower.drop()

    def _note(self, thread_id: str, event: Event, *, is_remote: bool = False) -> None:
        if isinstance(event, RunStarted):
            if not is_remote:
                self._disowned_threads.discard(thread_id)
            elif self.find_own_run(thread_id) is not None:
                self._disowned_threads.add(thread_id)
            self._pending[thread_id] = PendingRun.begin(event, is_remote=is_remote)
            (self._remote_threads.add if is_remote else self._remote_threads.discard)(thread_id)
        if isinstance(event, RunFinished):
            for note in self._end_observers:
                note(thread_id)
        if isinstance(event, MembersChanged):
            for tell in self._member_observers:
                tell(thread_id, event.person)
        pending = self._pending.get(thread_id)
        if pending is None:
            return
        if not isinstance(event, RunFinished):
            pending.add_event(event)
        elif pending.run_id == event.run_id:
            del self._pending[thread_id]
            self._remote_threads.discard(thread_id)

    async def _load_event(self, thread_id: str, event: StoredEvent) -> Event:
        assert self.remote_runs is not None
        return await self.remote_runs.load_event(thread_id, event)

    @asynccontextmanager
    async def subscribe(self, thread_id: str) -> AsyncIterator[Subscription]:
        if self.remote_runs is not None:
            await self.remote_runs.load_run(thread_id)
        subscription = Subscription(self.find_live_run(thread_id), partial(self._load_event, thread_id))
        self._subscribers[thread_id].add(subscription)
        try:
            yield subscription
        finally:
            self._subscribers[thread_id].discard(subscription)
            if not self._subscribers[thread_id]:
                del self._subscribers[thread_id]
