"""The mirror: the runs of other processes, as this process's hub shows them.

The events of a run are numbered. A run whose events are incomplete here is asked for: the process that drives it sends its
state. Where nobody answers, the draft in the database is shown.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.events import Event, RunFinished, RunStarted
from agent.run.hub import RunHub, StoredEvent
from agent.run.live_runs import LiveRun, RunKey
from agent.wire.outbox import OUTSIDE

MAX_ASK_SECONDS = 1.0  # until the process that drives a run has sent its state
MAX_ENDED_RUNS = 1_000  # that are remembered, against late events
UNKNOWN_ATTEMPT = UNKNOWN_VERSION = UNKNOWN_OFFSET = -1  # before every other

ReceivedEvent = Event | StoredEvent


@dataclass(slots=True)
class _RemoteRun:
    """A run of another process, and the number of its events so far."""

    key: RunKey
    offset: int
    is_whole: bool  # every event of it is in the hub
    version: int = UNKNOWN_VERSION  # of the thread when it began


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A follower that waits until the run it has read of is known, or has ended."""

    run_id: str
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Consecutive events of one run, beginning with number `offset`. Outside of a run there is no number."""

    thread_id: str
    key: RunKey
    offset: int
    count: int  # of the events before texts were joined
    events: Sequence[ReceivedEvent]

    @property
    def start(self) -> RunStarted | None:
        first = self.events[0]
        outline = first.outline if isinstance(first, StoredEvent) else first
        return outline if isinstance(outline, RunStarted) else None


class Mirror:
    """Keeps the hub's view of other processes' runs."""

    def __init__(self, hub: RunHub, ask: Callable[[str, str], None], forget_own_run: Callable[[str], None]) -> None:
        self._hub = hub
        self._ask = ask  # for the state of a thread's run
        self._forget_own_run = forget_own_run  # of a thread: another process drives it
        self._runs: dict[str, _RemoteRun] = {}  # by thread
        self._own_versions: dict[str, int] = {}  # of the threads when the runs of this process began
        self._waiters: defaultdict[str, set[_Waiter]] = defaultdict(set)  # by thread
        self._ended: OrderedDict[str, int] = OrderedDict()  # the versions of ends, by run

    def note_own_event(self, thread_id: str, event: Event) -> None:
        """Take in an event of this process: its run needs no mirror."""
        if isinstance(event, RunStarted):
            self._runs.pop(thread_id, None)
            self._own_versions[thread_id] = event.version
            self._stop_waiting(thread_id)
        elif isinstance(event, RunFinished):
            self._own_versions.pop(thread_id, None)
            self._note_end(thread_id, event)

    def receive_events(self, group: EventGroup) -> None:
        """Deliver events of another process, unless they are known, outdated or incomplete."""
        if group.offset == OUTSIDE:
            self._deliver(group)
            return
        if self._is_outdated(group):
            return
        run = self._find_or_begin_run(group)
        if group.offset + group.count <= run.offset and run.is_whole:
            return  # it has come before
        if run.offset != group.offset:
            run.is_whole = False
        if run.is_whole:
            run.offset += group.count
            self._deliver(group)
        else:
            self._miss(group)

    def _find_or_begin_run(self, group: EventGroup) -> _RemoteRun:
        """Return the run of these events. It is no run of this process any more, if it was one."""
        thread_id, key = group.thread_id, group.key
        own = self._hub.find_own_run(thread_id)
        if own is not None and group.start is None:  # the start of a later attempt is lost
            self._forget_own_run(thread_id)
            self._hub.disown_run(thread_id, own)
        run = self._runs.get(thread_id)
        if group.start is not None:
            run = self._runs[thread_id] = _RemoteRun(key, group.offset, is_whole=True, version=group.start.version)
            self._forget_own_run(thread_id)
        elif run is None or run.key != key:
            run = self._runs[thread_id] = _RemoteRun(key, group.offset, is_whole=False)
        return run

    def receive_state(self, thread_id: str, key: RunKey, offset: int, live: LiveRun) -> None:
        """Take in a run as it is now, if its events are incomplete here."""
        run = self._runs.get(thread_id)
        is_known = run is not None and (run.is_whole or run.key.attempt > key.attempt)
        if is_known or key.run_id in self._ended or self._hub.find_own_run(thread_id) is not None:
            return
        self._runs[thread_id] = _RemoteRun(key, offset, is_whole=True)
        self._hub.begin_remote_run(thread_id, live, key.attempt)
        self._stop_waiting(thread_id)

    def needs_run(self, thread_id: str, run_id: str = "") -> bool:
        """Return whether a run of another process may be in progress that is not complete here.

        `run_id` is the one that was read: its end may have been heard since then.
        """
        run = self._runs.get(thread_id)
        is_known = run is not None and run.is_whole
        return self._hub.find_own_run(thread_id) is None and not is_known and run_id not in self._ended

    async def wait_for_run(self, thread_id: str, run_id: str) -> bool:
        """Ask for the state of a run, and return whether its thread's run is known now."""
        waiter = _Waiter(run_id)
        self._waiters[thread_id].add(waiter)
        self._ask(thread_id, run_id)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_ASK_SECONDS):
                    await waiter.done.wait()
        finally:
            self._waiters[thread_id].discard(waiter)
            if not self._waiters[thread_id]:
                del self._waiters[thread_id]
        return waiter.done.is_set()

    def show_draft(self, thread_id: str, draft: LiveRun) -> None:
        """Show a run as the database has it, until an event of it arrives: then it is asked for again."""
        self._runs[thread_id] = _RemoteRun(RunKey(draft.run_id, UNKNOWN_ATTEMPT), UNKNOWN_OFFSET, is_whole=False)
        self._hub.begin_remote_run(thread_id, draft, UNKNOWN_ATTEMPT)

    def ask_again(self) -> None:
        """Ask for the state of every run that is shown as its draft: another process listens again."""
        for thread_id, run in self._runs.items():
            if not run.is_whole and self._hub.find_live_run(thread_id) is not None:
                self._ask(thread_id, run.key.run_id)

    def look_again(self) -> None:
        """Let who follows a run of another process subscribe again: one of those has fallen silent."""
        for thread_id in list(self._runs):
            self.forget_run(thread_id)

    def forget_run(self, thread_id: str) -> None:
        """Forget the run of a thread: an event of the thread never comes. Its followers subscribe again."""
        self._runs.pop(thread_id, None)
        self._hub.forget_remote_run(thread_id)

    def forget_runs(self) -> None:
        """Forget all runs: events of them may be lost. Their followers, and all others, subscribe again."""
        self._runs.clear()
        self._hub.refresh_followers()

    def _is_outdated(self, group: EventGroup) -> bool:
        """Return whether events are of a run that has ended, or of an attempt before the one that is known."""
        key, start = group.key, group.start
        ended_version = self._ended.get(key.run_id)
        if ended_version is not None and (start is None or start.version <= ended_version):
            return True
        own, run = self._hub.find_own_run(group.thread_id), self._runs.get(group.thread_id)
        if own is not None:
            if own.run_id == key.run_id:
                return own.attempt >= key.attempt
            return start is None or start.version <= self._own_versions.get(group.thread_id, UNKNOWN_VERSION)
        if run is None:
            return False
        if run.key.run_id == key.run_id:
            return run.key.attempt > key.attempt or (run.key == key and start is not None)
        # Left from before: a run that is complete here began later.
        return run.is_whole if start is None else start.version < run.version

    def _deliver(self, group: EventGroup) -> None:
        for event in group.events:
            self._hub.deliver(group.thread_id, event)
            if isinstance(event, RunFinished):
                self._note_end(group.thread_id, event)
        if group.start is not None:
            self._stop_waiting(group.thread_id)

    def _miss(self, group: EventGroup) -> None:
        """Take in that events of a run are incomplete here. Followers subscribe again, and ask for its state."""
        for event in group.events:
            if isinstance(event, RunFinished):
                self._note_end(group.thread_id, event)
        if all(each.done.is_set() for each in self._waiters.get(group.thread_id, ())):
            self._hub.forget_remote_run(group.thread_id)

    def _note_end(self, thread_id: str, event: RunFinished) -> None:
        run = self._runs.get(thread_id)
        if run is not None and run.key.run_id == event.run_id:
            del self._runs[thread_id]
        self._ended[event.run_id] = event.version
        self._ended.move_to_end(event.run_id)
        if len(self._ended) > MAX_ENDED_RUNS:
            self._ended.popitem(last=False)
        self._stop_waiting(thread_id, event.run_id)  # a later run of the thread may be waited for as well

    def _stop_waiting(self, thread_id: str, run_id: str | None = None) -> None:
        """Wake those who wait for a run of a thread, or for any."""
        for each in self._waiters.get(thread_id, ()):
            if run_id in (None, each.run_id):
                each.done.set()
