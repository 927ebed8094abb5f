"""The mirror: the runs of other processes, as this process's hub shows them.

The events of a run are numbered. If events are missing here, this process asks for the run's state, and the process that
drives the run sends it. If nobody answers, the mirror shows the draft in the database.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.events import Event, RunFinished, RunStarted
from agent.run.hub import RunHub, StoredEvent
from agent.run.live_runs import LiveRun, RunKey
from extensions.fleet.outbox import OUTSIDE

# How long to wait for the state of a run from the process that drives it.
MAX_ASK_SECONDS = 1.0
# Ended runs are remembered to recognise late events.
MAX_ENDED_RUNS = 1_000
# Lower than all others.
UNKNOWN_ATTEMPT = UNKNOWN_VERSION = UNKNOWN_OFFSET = -1

ReceivedEvent = Event | StoredEvent


@dataclass(slots=True)
class _RemoteRun:
    """A run of another process, and the number of its events so far."""

    key: RunKey
    offset: int
    # Whether the hub has every event of the run, and the thread's version when the run began.
    is_whole: bool
    version: int = UNKNOWN_VERSION


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A follower that waits until its run is known, or has ended."""

    run_id: str
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Consecutive events of one run, the first with number `offset`. Events outside a run have no number."""

    thread_id: str
    key: RunKey
    offset: int
    # The number of events before texts were joined.
    count: int
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
        # Asks for the state of a thread's run.
        self._ask = ask
        # Called with a thread that another process now drives.
        self._forget_own_run = forget_own_run
        # Keys are threads.
        self._runs: dict[str, _RemoteRun] = {}
        # The threads' versions when the runs of this process began.
        self._own_versions: dict[str, int] = {}
        self._waiters: defaultdict[str, set[_Waiter]] = defaultdict(set)
        # Keys are runs, values the versions at their ends.
        self._ended: OrderedDict[str, int] = OrderedDict()

    def note_own_event(self, thread_id: str, event: Event) -> None:
        """Note an event of this process. Its run needs no mirror."""
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
        # These events have come before.
        if group.offset + group.count <= run.offset and run.is_whole:
            return
        if run.offset != group.offset:
            run.is_whole = False
        if run.is_whole:
            run.offset += group.count
            self._deliver(group)
        else:
            self._miss(group)

    def _find_or_begin_run(self, group: EventGroup) -> _RemoteRun:
        """Return the run of these events. If this process drove it, another process has taken it."""
        thread_id, key = group.thread_id, group.key
        own = self._hub.find_own_run(thread_id)
        # The start of a later attempt is lost.
        if own is not None and group.start is None:
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
        """Take the state of a run, if its events are incomplete here."""
        run = self._runs.get(thread_id)
        is_known = run is not None and (run.is_whole or run.key.attempt > key.attempt)
        if is_known or key.run_id in self._ended or self._hub.find_own_run(thread_id) is not None:
            return
        self._runs[thread_id] = _RemoteRun(key, offset, is_whole=True)
        self._hub.begin_remote_run(thread_id, live, key.attempt)
        self._stop_waiting(thread_id)

    def needs_run(self, thread_id: str, run_id: str = "") -> bool:
        """Return whether another process may drive a run of which events are missing here.

        `run_id` is the run that was read. Its end may have arrived since then.
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
        """Show a run from the database, until an event of the run arrives and its state is requested again."""
        self._runs[thread_id] = _RemoteRun(RunKey(draft.run_id, UNKNOWN_ATTEMPT), UNKNOWN_OFFSET, is_whole=False)
        self._hub.begin_remote_run(thread_id, draft, UNKNOWN_ATTEMPT)

    def ask_again(self) -> None:
        """Request the state of every run that is shown as a draft or waited for, because another process listens again."""
        for thread_id, waiters in self._waiters.items():
            for run_id in {each.run_id for each in waiters if not each.done.is_set()}:
                self._ask(thread_id, run_id)
        for thread_id, run in self._runs.items():
            if not run.is_whole and self._hub.find_live_run(thread_id) is not None:
                self._ask(thread_id, run.key.run_id)

    def look_again(self) -> None:
        """Make the followers of other processes' runs subscribe again, because a process has fallen silent."""
        for thread_id in list(self._runs):
            self.forget_run(thread_id)

    def forget_run(self, thread_id: str) -> None:
        """Forget a thread's run, because an event of the run never comes. Its followers subscribe again."""
        self._runs.pop(thread_id, None)
        self._hub.forget_remote_run(thread_id)

    def forget_runs(self) -> None:
        """Forget all runs, because events may be lost. All followers subscribe again."""
        self._runs.clear()
        self._hub.refresh_followers()

    def _is_outdated(self, group: EventGroup) -> bool:
        """Return whether events belong to an ended run, or to an earlier attempt than the known attempt."""
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
        # These events are left over: a run that is complete here began later.
        return run.is_whole if start is None else start.version < run.version

    def _deliver(self, group: EventGroup) -> None:
        for event in group.events:
            self._hub.deliver(group.thread_id, event)
            if isinstance(event, RunFinished):
                self._note_end(group.thread_id, event)
        if group.start is not None:
            self._stop_waiting(group.thread_id)

    def _miss(self, group: EventGroup) -> None:
        """Note that events of a run are missing here. Followers subscribe again, and ask for its state."""
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
        # Followers may also wait for a later run of the thread.
        self._stop_waiting(thread_id, event.run_id)

    def _stop_waiting(self, thread_id: str, run_id: str | None = None) -> None:
        """Wake the followers waiting for a run of a thread, or for any run."""
        for each in self._waiters.get(thread_id, ()):
            if run_id in (None, each.run_id):
                each.done.set()
