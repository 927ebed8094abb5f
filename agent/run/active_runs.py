"""The runs in progress: the work of each, and the task that writes its end whatever fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent.graph.budgets import write_usage
from agent.preparation.preparation import PreparedRun
from agent.run.answer_writer import RunWriter
from agent.run.driver import RunDriver
from agent.run.holding import hold_alone
from agent.run.live_runs import RunKey
from agent.run.outcome import RunOutcome, is_cut_by_outage, locate_error, read_outcome
from agent.run.parts import RunFollower, RunParts
from agent.run.recorder import RunRecorder
from agent.run.run_ids import working_for
from checkpoints import Run, RunState, RunTakenError, StateError, StoreUnavailableError
from checkpoints.values.sentence import sentence

DELAYED_END_TEXT = sentence("The end of this answer is not saved yet, and will be when the database answers. {reason}")
OUTAGE_RETRY_SECONDS = 0.5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run in progress. Stopping cancels its work, but never the task that writes its end."""

    work: asyncio.Task[None]
    end: asyncio.Task[None]
    recorder: RunRecorder
    # Only this process can bring the run of a user graph to its end.
    is_of_user_graph: bool
    # Resolves when somebody requests the run's end, to the state in which it is to end.
    stopping: asyncio.Future[RunState]
    # Resolves when the database has refused the first attempt to write the end.
    tried: asyncio.Future[None]
    # Set when another process is to continue the run.
    handing_over: asyncio.Event

    async def stop(self, max_seconds: float | None = None) -> None:
        """Cancel the work for a person. Return when the end is written, or is known to be delayed by the database."""
        await self._cancel(RunState.STOPPED, max_seconds)

    async def interrupt(self) -> None:
        """Cancel the work because this process ends. Wait as `stop` does."""
        await self._cancel(RunState.INTERRUPTED)

    async def _cancel(self, state: RunState, max_seconds: float | None = None) -> None:
        # A second cancellation would cut short the cleanup of the work.
        if not self.stopping.done():
            self.work.cancel()
            self.stopping.set_result(state)
            # The end is being written, and no further event may come for a while.
            if self.work.done():
                self.recorder.end_work(state)
        await asyncio.wait({self.end, self.tried}, timeout=max_seconds, return_when=asyncio.FIRST_COMPLETED)

    async def hand_over(self) -> None:
        """Cancel the work, and let another process continue the run."""
        if not self.stopping.done():
            self.handing_over.set()
            self.recorder.is_handed_over = True
        await self.interrupt()

    def let_go(self) -> None:
        """Cancel the work, and write and publish nothing more, because another process has taken the run."""
        self.recorder.let_go()
        self.work.cancel()
        if not self.stopping.done():
            self.stopping.set_result(RunState.INTERRUPTED)


@dataclass(slots=True)
class ActiveRuns:
    """Starts the work of runs and writes their ends."""

    parts: RunParts
    driver: RunDriver
    followers: Sequence[RunFollower]
    by_thread: dict[str, ActiveRun] = field(default_factory=dict)
    # Returns whether no other process can have taken a run of this process.
    confirm_hold: Callable[[], Awaitable[bool]] = hold_alone
    # Called when a run is over, since there may be room for another.
    on_end: Callable[[], None] = lambda: None
    # Limit of runs in this process where other processes drive the rest. None: all runs.
    max_runs: int | None = None
    # Work that did not stop. The event loop holds tasks only weakly.
    abandoned: set[asyncio.Task[None]] = field(default_factory=set)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    # A run that has begun on disk but has no task yet looks like the remains of a crash. This lock keeps others from
    # looking.
    begin_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def has_room(self) -> bool:
        return not self.closing.is_set() and (self.max_runs is None or len(self.by_thread) < self.max_runs)

    def start(self, prepared: PreparedRun) -> None:
        """Start the work of a run that has begun on disk, and the task that writes its end."""
        run, trace = prepared.run, prepared.trace
        self.parts.hub.publish(run.thread_id, prepared.started)
        trace.record_start()
        recorder = RunRecorder(run, RunWriter(run, self.parts.runs, self.parts.hub), self.parts.blocking)
        # The run may be stopped before its work takes a step, and then each of these calls needs a result.
        recorder.reopen_calls(prepared.decided_calls)
        recorder.confirm_hold = self.confirm_hold
        loop = asyncio.get_running_loop()
        stopping, tried, handing_over = loop.create_future(), loop.create_future(), asyncio.Event()
        with working_for(run):
            work = asyncio.create_task(self.driver.drive(prepared, recorder), name=f"run {run.id}")
            finishing = self._finish_run(recorder, prepared, work, stopping, tried, handing_over)
            end = asyncio.create_task(finishing, name=f"end of run {run.id}")
        active = self.by_thread[run.thread_id] = ActiveRun(
            work, end, recorder, bool(prepared.graph), stopping, tried, handing_over
        )
        end.add_done_callback(lambda _: self._forget_run(run, active))

    async def _finish_run(
        self,
        recorder: RunRecorder,
        prepared: PreparedRun,
        work: asyncio.Task[None],
        stopping: asyncio.Future[RunState],
        tried: asyncio.Future[None],
        handing_over: asyncio.Event,
    ) -> None:
        """Write how the work ended. This is a run's outer edge: every failure becomes a sentence for the user.

        This is a separate task because a task cancelled before its first step never runs its own `finally`.
        """
        run, trace = recorder.run, prepared.trace
        outcome = await self._wait_for_outcome(run, work, stopping)
        is_taken = False
        try:
            is_given_back = handing_over.is_set() and await self._give_back(recorder, outcome)
            if is_given_back or (is_cut_by_outage(work) and await self._give_back_after_outage(recorder, stopping)):
                return
            if stopping.done():
                # The database may be locked, so the page learns of the end first.
                recorder.end_work(outcome.state)
            usage = write_usage(prepared.usage) if outcome.state is RunState.WAITING else None
            await self._write_end(recorder, outcome, usage, tried)
        except RunTakenError:
            is_taken = True
            # Other processes may have lost events of this run.
            self.parts.hub.disown_run(run.thread_id, RunKey(run.id, run.attempt))
            _log.warning("run %s: another process has taken it, and nothing more is written here", run.id)
        except StateError as error:
            _log.error("run %s could not be written to its end: %s", run.id, error)
        except Exception as error:  # noqa: BLE001  the watchdog releases the thread later
            _log.error("run %s could not be written to its end: %s", run.id, locate_error(error))
        finally:
            trace.on_end(outcome.state, outcome.error)
        if outcome.state is RunState.DONE and not is_taken:
            for follower in self.followers:
                follower.consider(run)

    async def _wait_for_outcome(self, run: Run, work: asyncio.Task[None], stopping: asyncio.Future[RunState]) -> RunOutcome:
        """Return how the work ended. Abandon work that does not end within `stop_seconds` after a request to stop."""
        awaited: set[asyncio.Future[Any]] = {work, stopping}
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({work}, timeout=self.parts.limits.stop_seconds)
        if not work.done():
            self._abandon_work(run, work)
        return read_outcome(run, work, stopping.result() if stopping.done() else None)

    async def _give_back(self, recorder: RunRecorder, outcome: RunOutcome) -> bool:
        """Let another process continue the run. Return False if its work has ended by itself."""
        if outcome.state is not RunState.INTERRUPTED:
            return False
        async with recorder.hold_draft() as draft, recorder.hold_candidates(RunState.INTERRUPTED) as candidates:
            recorder.let_go()
            await self.parts.blocking.run(self.parts.runs.give_back, recorder.run, draft, candidates)
        return True

    async def _give_back_after_outage(self, recorder: RunRecorder, stopping: asyncio.Future[RunState]) -> bool:
        """Let any process continue a run after an outage of the database. Return whether this is possible.

        The run continues from the messages on disk. A message may be there although its commit got no reply.
        """
        run = recorder.run
        if run.job is None or run.compacts or run.candidates or recorder.open_calls.are_open:
            return False
        while not (stopping.done() or self.closing.is_set()):
            try:
                await self.parts.blocking.run(self.parts.runs.give_back, run, None)
            except StoreUnavailableError:
                await asyncio.wait({stopping}, timeout=OUTAGE_RETRY_SECONDS)
            else:
                recorder.let_go()
                return True
        return False

    async def _write_end(
        self, recorder: RunRecorder, outcome: RunOutcome, usage: str | None, tried: asyncio.Future[None]
    ) -> None:
        """Write and publish a run's end. While the database refuses it, publish the delay and try again.

        The first attempt after the server began to close is the last.
        """
        version = 0
        try:
            while True:
                is_last = self.closing.is_set()
                try:
                    version = await recorder.write_end(outcome.state, outcome.error, outcome.details, usage)
                    break
                except RunTakenError:
                    recorder.let_go()
                    raise
                except StoreUnavailableError as error:
                    if is_last:
                        raise
                    self._report_delay(recorder, outcome.state, error, tried)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.closing.wait(), self.parts.limits.watch_seconds)
        finally:
            # Followers must not wait for ever.
            recorder.publish_end(outcome.state, version, outcome.error, outcome.details)

    def _report_delay(
        self, recorder: RunRecorder, state: RunState, error: StoreUnavailableError, tried: asyncio.Future[None]
    ) -> None:
        if tried.done():
            return
        tried.set_result(None)
        _log.error("run %s could not be written to its end: %s It is tried again.", recorder.run.id, error)
        shown = state if state is RunState.STOPPED else RunState.FAILED
        recorder.end_work(shown, sentence(DELAYED_END_TEXT, reason=str(error)))

    def _abandon_work(self, run: Run, work: asyncio.Task[None]) -> None:
        """Leave work that does not stop to itself. Its recorder refuses everything from now on."""

        def forget(work: asyncio.Task[None]) -> None:
            self.abandoned.discard(work)
            if not work.cancelled():
                # Nothing else reads the exception, and the event loop would report it as lost.
                work.exception()
            _log.warning("run %s: the work that was let go of has ended", run.id)

        _log.warning("run %s was let go of: it was stopped, and its work goes on", run.id)
        self.abandoned.add(work)
        work.add_done_callback(forget)
        # The work may have mistaken the first cancellation for its own.
        work.cancel()

    def _forget_run(self, run: Run, active: ActiveRun) -> None:
        """Forget an ended run. If its end task was cancelled or failed, the watchdog ends the run."""
        # The next run may have begun in this thread since this run released it.
        if self.by_thread.get(run.thread_id) is active:
            del self.by_thread[run.thread_id]
            self.on_end()
        if active.end.cancelled():
            _log.error("run %s: the task that ends it was cancelled", run.id)
        elif (error := active.end.exception()) is not None:
            _log.error("run %s: the task that ends it failed: %s", run.id, locate_error(error))
