"""The RunHub carries events from runs to the followers of a thread, in this process.

It holds an answer's text only while it is written, and a page that opens meanwhile receives all of it. A wire delivers the
events of other processes, so their runs have followers here, too.
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

# A follower with more unread events is dropped and subscribes again.
MAX_QUEUED_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of another process. Each follower reads its message from the database."""

    message_id: str
    # The event's effect on the text in progress.
    outline: Event
    complete: Callable[[Message], Event]


class RemoteRuns(Protocol):
    """The runs of other processes."""

    async def load_run(self, thread_id: str) -> None:
        """Load a thread's run into the hub, if another process drives it and the hub does not know it."""

    async def load_event(self, thread_id: str, event: StoredEvent) -> Event:
        """Read an event's message. Raises `StoreUnavailableError`, or `SubscriberLagged` if the message is missing."""


class SubscriberLagged(Exception):
    """The follower read too slowly and has lost events. It can subscribe again."""


class Subscription:
    """A follower's view: the run in progress when it subscribed, and all later events."""

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
        """Make the follower subscribe again, since its events are incomplete."""
        self._has_lagged = True
        # The follower waits for an event.
        self.put(UpdatesDelayed())

    async def receive(self) -> list[Event]:
        """Wait for an event, and return all queued events."""
        events = [] if self._has_lagged else [await self._queue.get()]
        if self._has_lagged:
            raise SubscriberLagged
        while not self._queue.empty():
            events.append(self._queue.get_nowait())
        return [await self._load_event(each) if isinstance(each, StoredEvent) else each for each in events]


class RunHub:
    """Serves a single process and event loop. `publish` never waits, so a slow page cannot slow a run."""

    def __init__(self) -> None:
        self.remote_runs: RemoteRuns | None = None
        # True while events of other processes do not arrive.
        self.is_delayed = False
        self._subscribers: defaultdict[str, set[Subscription]] = defaultdict(set)
        # Keys are ids of threads.
        self._pending: dict[str, PendingRun] = {}
        # Threads with a pending run that another process drives.
        self._remote_threads: set[str] = set()
        # Threads where a run of this process may still write, although another process has taken it.
        self._disowned_threads: set[str] = set()
        self._observers: list[Callable[[str, Event], None]] = []
        self._end_observers: list[Callable[[str], None]] = []
        self._member_observers: list[Callable[[str, str], None]] = []

    def observe(self, note: Callable[[str, Event], None]) -> None:
        """Call `note(thread_id, event)` for every later event of this process.

        `note` must neither wait nor raise.
        """
        self._observers.append(note)

    def observe_ends(self, note: Callable[[str], None]) -> None:
        """Call `note(thread_id)` for every later end of a run, in all processes.

        `note` must neither wait nor raise.
        """
        self._end_observers.append(note)

    def observe_members(self, note: Callable[[str, str], None]) -> None:
        """Call `note(thread_id, person)` when a person gains or loses access, in all processes.

        `note` must neither wait nor raise.
        """
        self._member_observers.append(note)

    @property
    def active_run_count(self) -> int:
        """Return the number of runs that this process drives."""
        return len(self._pending) - len(self._remote_threads)

    @property
    def known_run_count(self) -> int:
        """Return the number of runs in all processes, as far as this process knows."""
        return len(self._pending)

    @property
    def served_run_count(self) -> int:
        """Return the number of runs that cost this process time: its own, and followed runs of other processes."""
        return self.active_run_count + len(self._subscribers.keys() & self._remote_threads)

    def find_live_run(self, thread_id: str) -> LiveRun | None:
        pending = self._pending.get(thread_id)
        return pending.describe_live() if pending else None

    def find_own_run(self, thread_id: str) -> RunKey | None:
        """Return the key of a thread's run in progress, if this process drives it."""
        pending = self._pending.get(thread_id)
        return None if pending is None or pending.is_remote else pending.key

    def publish(self, thread_id: str, event: Event) -> None:
        if self._is_outdated(thread_id, event):
            return
        self._note(thread_id, event)
        for note in self._observers:
            note(thread_id, event)
        self._put(thread_id, event)

    def deliver(self, thread_id: str, event: Event | StoredEvent) -> None:
        """Deliver an event of another process to the followers here."""
        self._note(thread_id, event.outline if isinstance(event, StoredEvent) else event, is_remote=True)
        self._put(thread_id, event)

    def begin_remote_run(self, thread_id: str, live: LiveRun, attempt: int) -> None:
        """Register a run of another process in its current state. Its followers subscribe again."""
        self._pending[thread_id] = PendingRun.resume(live, attempt)
        self._remote_threads.add(thread_id)
        self._drop_followers(thread_id)

    def forget_remote_run(self, thread_id: str) -> None:
        """Forget a run of another process, whose events are incomplete. Its followers subscribe again."""
        if thread_id in self._remote_threads:
            self._remote_threads.discard(thread_id)
            del self._pending[thread_id]
        self._drop_followers(thread_id)

    def disown_run(self, thread_id: str, key: RunKey) -> None:
        """Forget a run after another process has taken it. Its followers subscribe again."""
        if self.find_own_run(thread_id) == key:
            self._disowned_threads.add(thread_id)
            self._remote_threads.add(thread_id)
            self.forget_remote_run(thread_id)

    def refresh_followers(self) -> None:
        """Forget the runs of other processes, and make all followers subscribe again, since events may be lost."""
        self.is_delayed = False
        for thread_id in {*self._remote_threads, *self._subscribers}:
            self.forget_remote_run(thread_id)

    def report_delay(self) -> None:
        """Tell all followers that events of other processes are delayed."""
        self.is_delayed = True
        for thread_id in self._subscribers:
            self._put(thread_id, UpdatesDelayed())

    def _is_outdated(self, thread_id: str, event: Event) -> bool:
        """Return whether an event comes from work that another process has taken over."""
        if isinstance(event, RunStarted | HeadMoved | RerunEnded | MembersChanged):
            return False
        if thread_id not in self._remote_threads and thread_id not in self._disowned_threads:
            return False
        # A process that ends an abandoned run knows the version.
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
