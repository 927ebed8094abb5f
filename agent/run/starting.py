"""Starting runs: the one door through which every run begins."""

from dataclasses import dataclass, field

from agent.run.active_runs import ActiveRuns
from agent.run.blocking import BlockingPool
from agent.run.preparation import PreparedRun, RunPreparer
from agent.run.requests import EndDelayedError, RunRequest
from agent.run.watchdog import RunWatchdog
from checkpoints import Run, RunActiveError, RunState

MAX_REMEMBERED_RUNS = 1_000  # runs that are over: the same request comes again within seconds


@dataclass(slots=True)
class RunStarter:
    """Begins runs on disk, and starts their work."""

    preparer: RunPreparer
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    blocking: BlockingPool
    # A repeated request must not drive its run again. In the order of their starts.
    started_run_ids: dict[str, None] = field(init=False, default_factory=dict)

    async def start(self, request: RunRequest) -> Run:
        """Begin a run and start its work. On return it is on disk. A repeated request starts nothing."""
        async with self.active_runs.begin_lock:
            self.watchdog.ensure_watching()  # before: a failure from here on may leave a run that no task drives
            try:
                prepared = await self._prepare(request)
            except RunActiveError:
                if request.thread_id is None:
                    raise
                if (active := self.active_runs.by_thread.get(request.thread_id)) is not None:
                    if active.tried.done():
                        raise EndDelayedError(request.thread_id, active.recorder.run.id) from None
                    raise
                await self.watchdog.interrupt_orphan(request.thread_id)  # it began, and then the database failed
                prepared = await self._prepare(request)
            run = prepared.run
            if run.state is RunState.RUNNING and self._needs_start(request, run):  # else: the same request again
                self._remember_start(run)
                self.active_runs.start(prepared)
        return run

    def _needs_start(self, request: RunRequest, run: Run) -> bool:
        """Return whether no task drives a run yet. One that tries a candidate again is started a second time."""
        if request.candidate is None:
            return run.id not in self.started_run_ids
        active = self.active_runs.by_thread.get(run.thread_id)
        return active is None or active.recorder.run.id != run.id

    def _remember_start(self, run: Run) -> None:
        """Remember that a run was started, and forget the oldest ones that are over."""
        active_ids = {active.recorder.run.id for active in self.active_runs.by_thread.values()}
        ended_ids = [run_id for run_id in self.started_run_ids if run_id not in active_ids]
        for run_id in ended_ids[: max(0, len(ended_ids) - MAX_REMEMBERED_RUNS + 1)]:
            del self.started_run_ids[run_id]
        self.started_run_ids[run.id] = None

    async def _prepare(self, request: RunRequest) -> PreparedRun:
        is_repeated = request.caller.request_id in self.started_run_ids
        return await self.blocking.run(self.preparer.prepare, request, is_repeated=is_repeated)
