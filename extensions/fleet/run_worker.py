"""This process among the processes that serve one PostgreSQL. It sends heartbeats, and acts on the rows of runs."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from agent.events import RunQueued
from agent.preparation.requests import QueueFullError
from agent.run.active_runs import ActiveRun, ActiveRuns
from agent.run.attempts import Attempts
from agent.run.candidates import CandidateDriver
from agent.run.parts import RunParts
from agent.run.reruns import Reruns
from agent.run.watchdog import RunWatchdog
from checkpoints import (
    EVERYBODY,
    Caller,
    CandidateKey,
    Run,
    RunState,
    StoreUnavailableError,
    ThreadNotFoundError,
    act_for,
)
from checkpoints.rows.worker_rows import DrivenRun
from extensions.fleet.run_takeover import RunTakeover
from extensions.fleet.workers import Workers

T = TypeVar("T")

BEAT_SECONDS = 1.0
# The number of waiting runs to take between two heartbeats. The next heartbeat sees the rest.
MAX_TAKEN = 10
POLL_SECONDS = 0.1
STOP, STOP_CANDIDATE, RETRY_CANDIDATE = "stop", "stop_candidate:", "retry_candidate"
LEAVE_RERUN, RUN_WAITING = "leave_rerun", "run_waiting"
# How long a tool waits for a heartbeat, and an answer for its end before another process continues it.
MAX_CONFIRM_SECONDS = 10.0
HANDOVER_SECONDS = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Findings:
    # Runs that this process has lost from its rows, and rows without a live process.
    missing: Sequence[ActiveRun]
    free: Sequence[DrivenRun]


@dataclass(slots=True)
class RunWorker:
    """Stops runs for other processes, lets go of runs that they took, and takes waiting runs and runs of dead workers."""

    workers: Workers
    parts: RunParts
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    reruns: Reruns
    candidates: CandidateDriver
    taker: RunTakeover
    # The counts are of all processes, as of the last heartbeat.
    waiting_run_count: int = field(init=False, default=0)
    live_count: int = field(init=False, default=1)
    _beating: Sequence[asyncio.Task[None]] = field(init=False, default=())
    _is_closed: bool = field(init=False, default=False)
    _next_beat: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _found: _Findings | None = field(init=False, default=None)
    _takeovers: Attempts = field(init=False, default_factory=lambda: Attempts(_log))
    _tasks: set[asyncio.Task[object]] = field(init=False, default_factory=set)
    # A separate thread, so that a heartbeat waits for nothing else.
    _pool: ThreadPoolExecutor = field(init=False, default_factory=lambda: ThreadPoolExecutor(1, "heartbeat"))

    def start(self) -> None:
        self.parts.wire.on_command(self._on_command)
        self.active_runs.on_end = self._use_room
        with act_for(EVERYBODY):
            beats = asyncio.create_task(self._beat_repeatedly(), name="heartbeat")
            self._beating = beats, asyncio.create_task(self._act_repeatedly(), name="takeovers")

    async def close(self) -> None:
        """Stop the heartbeats. Other processes may take the runs that this process still drives."""
        if self._is_closed:
            return
        self._is_closed = True
        for task in self._beating:
            task.cancel()
        if self._beating:
            await asyncio.wait({*self._beating, *self._tasks})
        # Without the database, the other processes see the missing heartbeat soon.
        with suppress(Exception):
            await self._run_apart(self.workers.leave)
        self._pool.shutdown()

    async def confirm_hold(self) -> bool:
        """Return whether no other process can have taken a run of this process. After an outage, wait for the next
        heartbeat.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_CONFIRM_SECONDS):
                while not self.workers.is_trusted():
                    await self._next_beat.wait()
        return self.workers.is_trusted()

    def announce_waiting(self, run: Run) -> None:
        self.parts.wire.send(RUN_WAITING, run.thread_id, run.id)
        self._take_waiting()

    async def check_queue(self) -> None:
        if await self._run_apart(self.workers.count_waiting) >= self.workers.max_waiting:
            raise QueueFullError

    async def hand_over(self) -> None:
        """Give the answers of this process time to end, then hand the remaining runs to other processes, if any.

        Tools and user graphs at work get longer, since no other process can continue them. Nothing begins meanwhile.
        """
        if self._is_closed:
            return
        # After the lock, new runs are in `by_thread`, and later runs wait for another process.
        async with self.active_runs.begin_lock:
            pass
        with suppress(StoreUnavailableError):
            if await self._run_apart(self.workers.count_others):
                await asyncio.gather(*map(self._hand_over, list(self.active_runs.by_thread.values())))

    async def _hand_over(self, active: ActiveRun) -> None:
        max_seconds = self.parts.limits.shutdown_seconds
        run, calls = active.recorder.run, active.recorder.open_calls
        # Only this process can continue such a run.
        is_bound = run.job is None or active.is_of_user_graph
        with suppress(TimeoutError):
            async with asyncio.timeout(max_seconds):
                await asyncio.wait({active.end}, timeout=HANDOVER_SECONDS)
                if is_bound:
                    await asyncio.wait({active.end})
                # A call may follow a call.
                while not active.end.done() and calls.are_open:
                    await _wait_for_rest(active)
        if active.end.done():
            return
        # There is no await between this check and the end of the work, so no call begins meanwhile.
        if is_bound or calls.are_open:
            _log.warning("run %s is cut off: after %g s its tool or graph was at work", run.id, max_seconds)
            return
        await active.hand_over()
        self.announce_waiting(run)

    async def request_stop(self, thread_id: str) -> str | None:
        """Note the stop on the run's row for any process that drives it, now or later. Return the run's id, if any."""
        try:
            return await self.parts.blocking.run(self.workers.request_stop, thread_id)
        # The thread may belong to another person.
        except ThreadNotFoundError:
            return None

    async def stop_elsewhere(self, thread_id: str, run_id: str, max_seconds: float | None) -> None:
        self.parts.wire.send(STOP, thread_id, run_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(max_seconds):
                await self._wait_for_end(thread_id, run_id)

    def stop_candidate(self, thread_id: str, run_id: str, number: int) -> None:
        self.parts.wire.send(f"{STOP_CANDIDATE}{number}", thread_id, run_id)

    async def retry_candidate(self, thread_id: str, key: CandidateKey, caller: Caller) -> None:
        """Let the process that drives a run write a candidate again. The row says so as well."""
        retry = partial(self.parts.runs.retry_candidate, thread_id, key, caller=caller, while_running=True)
        await self.parts.blocking.run(retry)
        self.parts.wire.send(RETRY_CANDIDATE, thread_id, key.run_id)

    def leave_rerun(self, thread_id: str) -> None:
        self.parts.wire.send(LEAVE_RERUN, thread_id, "")

    async def _wait_for_end(self, thread_id: str, run_id: str) -> None:
        polls = 0
        while (run := await self.parts.blocking.run(self.parts.runs.get_run, run_id)) and run.state is RunState.RUNNING:
            # The worker may have died.
            if polls % round(BEAT_SECONDS / POLL_SECONDS) == 0:
                async with self.active_runs.begin_lock:
                    await self.watchdog.interrupt_orphan(thread_id)
            polls += 1
            await asyncio.sleep(POLL_SECONDS)

    async def _beat_repeatedly(self) -> None:
        attempts = Attempts(_log)
        while True:
            await attempts.do(self._beat(), "a heartbeat was missed")
            await asyncio.sleep(BEAT_SECONDS)

    async def _beat(self) -> None:
        """Record a heartbeat, and act at once on what needs no wait."""
        # Runs that begin meanwhile may have no rows yet.
        before = list(self.active_runs.by_thread.values())
        rows = await self._run_apart(self.workers.beat)
        self.live_count = await self._run_apart(self.workers.count_live)
        own = {row.id: row for row in rows if row.worker == self.workers.id}
        missing = list[ActiveRun]()
        for active in before:
            row, run = own.get(active.recorder.run.id), active.recorder.run
            if row is None or row.attempt != run.attempt:
                missing.append(active)
            elif row.stop_wanted:
                self._stop(active)
            elif row.has_candidates:
                self._start_task(self.candidates.answer_reopened(row.id))
        waiting = [row for row in rows if row.is_waiting]
        self.waiting_run_count = len(waiting)
        self._report_places(waiting)
        self._found = _Findings(missing, [row for row in rows if row.worker != self.workers.id])
        self._next_beat.set()
        self._next_beat = asyncio.Event()

    async def _act_repeatedly(self) -> None:
        """Act on the findings of heartbeats in a separate task, so no heartbeat is delayed."""
        while True:
            if (found := self._found) is None:
                await self._next_beat.wait()
                continue
            self._found = None
            for active in found.missing:
                failure = f"whether run {active.recorder.run.id} was taken could not be seen"
                await self._takeovers.do(self._check_taken(active), failure)
            for row in found.free:
                await self._takeovers.do(self._take(row), f"run {row.id} was not taken")

    def _report_places(self, waiting: Sequence[DrivenRun]) -> None:
        for place, row in enumerate(waiting):
            self.parts.hub.deliver(row.thread_id, RunQueued(row.id, place))

    async def _take(self, row: DrivenRun) -> None:
        async with self.active_runs.begin_lock:
            if row.stop_wanted or not row.has_job:
                await self.watchdog.interrupt_orphan(row.thread_id)
            elif self.active_runs.has_room:
                await self.taker.take(row.id, row.thread_id)

    def _use_room(self) -> None:
        if self.waiting_run_count:
            self._take_waiting()

    def _take_waiting(self) -> None:
        if self.active_runs.has_room:
            self._start_task(self._takeovers.do(self._take_oldest(), "runs that wait were not taken"))

    async def _take_oldest(self) -> None:
        for row in await self._run_apart(partial(self.workers.list_free, MAX_TAKEN)):
            await self._takeovers.do(self._take(row), f"run {row.id} was not taken")

    async def _run_apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _check_taken(self, active: ActiveRun) -> None:
        """Let go of a run after another process has taken it. Runs that have just ended are missing, too."""
        run = active.recorder.run
        found = await self.parts.blocking.run(self.parts.runs.get_run, run.id)
        if found is not None and found.attempt != run.attempt:
            _log.warning("run %s was taken by another process: this one was frozen, or cut off from the database", run.id)
            active.let_go()

    def _stop(self, active: ActiveRun) -> None:
        self.reruns.forget(active.recorder.run.thread_id)
        if not active.stopping.done():
            self._start_task(active.stop())

    def _start_task(self, work: Coroutine[Any, Any, object]) -> None:
        with act_for(EVERYBODY):
            task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_command(self, command: str, thread_id: str, run_id: str) -> None:
        active = self.active_runs.by_thread.get(thread_id)
        if command == LEAVE_RERUN:
            self.reruns.forget(thread_id)
        elif command == RUN_WAITING:
            self._take_waiting()
        elif active is None or active.recorder.run.id != run_id:
            return
        elif command == STOP:
            self._stop(active)
        elif command == RETRY_CANDIDATE:
            self._start_task(self.candidates.answer_reopened(run_id))
        elif command.startswith(STOP_CANDIDATE):
            self.candidates.stop_candidate(run_id, int(command.removeprefix(STOP_CANDIDATE)))


async def _wait_for_rest(active: ActiveRun) -> None:
    resting = asyncio.ensure_future(active.recorder.open_calls.wait_for_results())
    try:
        await asyncio.wait({active.end, resting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        resting.cancel()
