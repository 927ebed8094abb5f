"""Starting runs: every run begins here."""

from dataclasses import dataclass, field
from typing import Protocol

from agent.preparation.preparation import PreparedRun, RunPreparer
from agent.preparation.requests import EndDelayedError, RunRequest
from agent.run.active_runs import ActiveRuns
from agent.run.blocking import BlockingPool
from agent.run.watchdog import RunWatchdog
from checkpoints import Run, RunActiveError, RunState

MAX_REMEMBERED_RUNS = 1_000  # runs that are over: the same request comes again within seconds


class Fleet(Protocol):
    """The processes that drive the runs of one database."""

    def announce_waiting(self, run: Run) -> None:
        """Tell all processes that a run waits for a worker."""
        ...

    @property
    def waiting_run_count(self) -> int:
        """Return how many runs of all processes wait for a worker, as far as this one knows."""
        ...

    async def check_queue(self) -> None:
        """Raise `QueueFullError` where too many runs wait for a worker."""
        ...

    def leave_rerun(self, thread_id: str) -> None:
        """Ask the process that asks the questions of a rerun to ask no more."""
        ...


@dataclass(slots=True, kw_only=True)
class RunStarter:
    """Begins runs on disk, and starts their work."""

    preparer: RunPreparer
    active_runs: ActiveRuns
    watchdog: RunWatchdog
    blocking: BlockingPool
    fleet: "Fleet | None" = None  # the other processes that drive runs, where there may be some
    # A repeated request must not drive its run again. In the order of their starts.
    started_run_ids: dict[str, None] = field(init=False, default_factory=dict)

    async def start(self, request: RunRequest) -> Run:
        """Begin a run and start its work. On return it is on disk. A repeated request starts nothing."""
        async with self.active_runs.begin_lock:
            return await self.start_locked(request)

    async def start_locked(self, request: RunRequest) -> Run:
        """Begin a run as `start`, for who has the begin lock."""
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
            # It began, and then the database failed. That of a process that died goes on at another one.
            await self.watchdog.interrupt_orphan(request.thread_id, only_own=True)
            prepared = await self._prepare(request)
        run = prepared.run
        if run.state is RunState.RUNNING and self._needs_start(request, run):  # else: the same request again
            self._remember_start(run)
            self.active_runs.start(prepared)
        if run.state is RunState.RUNNING and run.worker is None and self.fleet is not None:
            self.fleet.announce_waiting(run)
        return run

    def _needs_start(self, request: RunRequest, run: Run) -> bool:
        """Return whether no task drives a run yet. One that tries a candidate again is started a second time."""
        if run.worker != self.preparer.runs.worker_id:
            return False  # the same request was here before at another process
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
        waits = self.fleet is not None and (not self.active_runs.has_room or self.fleet.waiting_run_count > 0)
        if waits and self.fleet is not None:  # also behind those that have waited longer
            await self.fleet.check_queue()
        return await self.blocking.run(self.preparer.prepare, request, is_repeated=is_repeated, waits=waits)
