"""The watchdog releases threads whose run is active on disk although no task drives it."""

import asyncio
import logging
from dataclasses import dataclass, field

from agent.events import RunFinished
from agent.run.active_runs import ActiveRuns
from agent.run.attempts import Attempts
from agent.run.parts import RunParts
from checkpoints import EVERYBODY, RunState, act_for

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RunWatchdog:
    """Watches while runs are active. A run is orphaned if the database refuses its end, or its task is lost."""

    parts: RunParts
    active_runs: ActiveRuns
    _task: asyncio.Task[None] | None = field(init=False, default=None)

    def ensure_watching(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._watch_runs(), name="watch over runs")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def release_orphans(self) -> None:
        """Release all owners' threads with a run that no task drives, because the database refused its end."""
        with act_for(EVERYBODY):
            await self._release_orphans()

    async def _release_orphans(self) -> None:
        async with self.active_runs.begin_lock:
            running = await self.parts.blocking.run(self.parts.runs.list_running_threads)
            for thread_id in running - self.active_runs.by_thread.keys():
                # Heartbeats handle runs of dead processes: after an outage of the database, all processes seem dead.
                await self.interrupt_orphan(thread_id, only_own=True)

    async def interrupt_orphan(self, thread_id: str, *, only_own: bool = False) -> bool:
        """End a thread's run that no task drives, and publish the end. Return whether there was a run. Needs the begin
        lock.

        With `only_own`, runs of dead processes stay, if there are several processes.
        """
        # Another run may have begun since somebody looked.
        if thread_id in self.active_runs.by_thread:
            return False
        orphans = await self.parts.blocking.run(self.parts.runs.interrupt_orphans, thread_id, only_own=only_own)
        for run in orphans:
            state = RunState.STOPPED if run.stop_wanted else RunState.INTERRUPTED
            _log.warning("run %s was %s: it was at work on disk, and nobody drove it", run.id, state.value)
            version = 0
            # The run has ended, so this only reads the version.
            try:
                version = await self.parts.blocking.run(self.parts.runs.end_run, run, state)
            finally:
                # Followers must not wait for ever.
                self.parts.wire.publish(thread_id, RunFinished(run.id, state, version))
        return bool(orphans)

    async def _watch_runs(self) -> None:
        """Release orphans every few seconds, until nothing runs."""
        attempts = Attempts(_log)
        while True:
            await asyncio.sleep(self.parts.limits.watch_seconds)
            # The database may be well again the next time.
            if not await attempts.do(self.release_orphans(), "whether all runs are driven could not be seen"):
                continue
            if not self.active_runs.by_thread and not self.active_runs.begin_lock.locked():
                self._task = None
                return
