"""Starts runs. Every run begins here."""

from dataclasses import dataclass, field

from agent.preparation.preparation import PreparedRun, RunPreparer
from agent.preparation.requests import EndDelayedError, RunRequest
from agent.run.active_runs import ActiveRuns
from agent.run.blocking import BlockingPool
from agent.run.fleet import Fleet
from agent.run.watchdog import RunWatchdog
from checkpoints import Run, RunActiveError, RunState

# The number of ended runs to remember. A repeated request comes within seconds.
MAX_REMEMBERED_RUNS = 1_000


@dataclass(slots=True)
class RunStarter:
    """Begins runs on disk, and starts their work."""

    preparer: RunPreparer
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    blocking: BlockingPool
    # The other processes that drive runs, if there are any.
    fleet: Fleet | None = None
    # A repeated request must not drive its run again. The ids are in the order of their starts.
    started_run_ids: dict[str, None] = field(init=False, default_factory=dict)

    async def start(self, request: RunRequest) -> Run:
        """Begin a run and start its work. On return it is on disk. A repeated request starts nothing."""
        async with self.active_runs.begin_lock:
            return await self.start_locked(request)

    async def start_locked(self, request: RunRequest) -> Run:
        """Begin a run as `start` does. The caller holds the begin lock."""
        # Watch first, since a failure from here on may leave a run that no task drives.
        self.watchdog.ensure_watching()
        try:
            prepared = await self._prepare(request)
        except RunActiveError:
            if request.thread_id is None:
                raise
            if (active := self.active_runs.by_thread.get(request.thread_id)) is not None:
                if active.tried.done():
                    raise EndDelayedError(request.thread_id, active.recorder.run.id) from None
                raise
            # The run began, and then the database failed. If its process died, another process continues the run.
            await self.watchdog.interrupt_orphan(request.thread_id, only_own=True)
            prepared = await self._prepare(request)
        run = prepared.run
        # A repeated request returns a run that may be over.
        if run.state is RunState.RUNNING and self._needs_start(request, run):
            self._remember_start(run)
            self.active_runs.start(prepared)
        if run.state is RunState.RUNNING and run.worker is None and self.fleet is not None:
            self.fleet.announce_waiting(run)
        return run

    def _needs_start(self, request: RunRequest, run: Run) -> bool:
        """Return whether no task drives a run yet. A candidate's retry starts a run again."""
        # Another process has handled the same request.
        if run.worker != self.preparer.runs.worker_id:
            return False
        if request.candidate is None:
            return run.id not in self.started_run_ids
        active = self.active_runs.by_thread.get(run.thread_id)
        return active is None or active.recorder.run.id != run.id

    def _remember_start(self, run: Run) -> None:
        """Remember the start of a run. Forget the oldest ended runs."""
        active_ids = {active.recorder.run.id for active in self.active_runs.by_thread.values()}
        ended_ids = [run_id for run_id in self.started_run_ids if run_id not in active_ids]
        for run_id in ended_ids[: max(0, len(ended_ids) - MAX_REMEMBERED_RUNS + 1)]:
            del self.started_run_ids[run_id]
        self.started_run_ids[run.id] = None

    async def _prepare(self, request: RunRequest) -> PreparedRun:
        is_repeated = request.caller.request_id in self.started_run_ids
        waits = self.fleet is not None and (not self.active_runs.has_room or self.fleet.waiting_run_count > 0)
        # Runs that have waited longer come first.
        if waits and self.fleet is not None:
            await self.fleet.check_queue()
        return await self.blocking.run(self.preparer.prepare, request, is_repeated=is_repeated, waits=waits)
