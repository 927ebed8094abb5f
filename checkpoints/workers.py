"""The processes that serve one PostgreSQL. Each run names the one that drives it, its worker.

A run's attempt is its fence: whoever takes a run from its worker counts one, and writes of earlier attempts are refused.
"""

import time
from collections.abc import Sequence

import sqlalchemy as sa

from .rows import worker_rows
from .rows.worker_rows import DEAD_SECONDS, STALE_SECONDS, DrivenRun
from .storage import postgresql, schema
from .storage.driver_errors import translate_errors
from .store import Store
from .values.run import RunState

MAX_WAITING_RUNS = 1_000
_run = schema.run.c
_want_stop = (
    sa.update(schema.run)
    .where(_run.thread_id == sa.bindparam("of_thread"), _run.state == RunState.RUNNING)
    .values(stop_wanted=True)
    .returning(_run.id)
)


def _read_clock() -> float:
    """Return seconds that also pass while the machine sleeps, where it can tell."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Workers:
    """This process, as one of those that serve a store's database."""

    def __init__(
        self, store: Store, claim: postgresql.Claim, worker_id: int, max_runs: int | None, max_waiting: int
    ) -> None:
        self.id = worker_id
        self.max_runs = max_runs  # that it drives at once; None: all that it begins
        self.max_waiting = max_waiting  # runs of all processes that wait for one with room; more are refused
        self._store = store
        self._claim = claim
        self._last_beat = _read_clock()
        # After an outage all are late: nobody is judged before all had the time for a heartbeat.
        self._judges_from = self._last_beat + DEAD_SECONDS

    @classmethod
    def join(cls, store: Store, name: str, *, max_runs: int | None = None, max_waiting: int = MAX_WAITING_RUNS) -> "Workers":
        """Begin to serve a PostgreSQL beside other processes, and to drive so many runs at once.

        Raises `StoreInUseError` where a command needs the database alone.
        """
        claim = store.database.share()
        with translate_errors():
            worker_id = claim.run(lambda connection: worker_rows.insert_worker(connection, name))
            claim.name_worker(worker_id)
            claim.run(worker_rows.delete_dead_workers)
        store.database.worker_id = worker_id
        return cls(store, claim, worker_id, max_runs, max_waiting)

    def beat(self) -> Sequence[DrivenRun]:
        """Note that this process lives. Return the runs in progress that are its own, or those of no live process."""
        now = _read_clock()  # before: a process that is frozen until the reply is read has not lived since then
        with translate_errors():
            runs = self._claim.run(lambda connection: worker_rows.beat(connection, self.id))
        if now - self._last_beat > DEAD_SECONDS:
            self._judges_from = now + STALE_SECONDS
        self._last_beat = now
        return runs if now >= self._judges_from else [run for run in runs if run.worker == self.id]

    def count_live(self) -> int:
        """Return the number of live processes, this one included."""
        return self.count_others() + 1

    def is_trusted(self) -> bool:
        """Return whether the other processes take this one for alive."""
        return _read_clock() - self._last_beat < STALE_SECONDS

    def request_stop(self, thread_id: str) -> str | None:
        """Let the worker of a conversation's run stop it. Return the run's id, if there is one."""
        with self._store.database.begin_write() as connection:
            found: str | None = connection.execute(_want_stop, {"of_thread": thread_id}).scalar()
            return found

    def count_others(self) -> int:
        """Return the number of other live processes. Those that only serve the page keep runs for workers that come."""
        with translate_errors():
            return self._claim.run(lambda connection: worker_rows.count_other_workers(connection, self.id))

    def count_waiting(self) -> int:
        """Return the number of runs that wait for a worker."""
        with translate_errors():
            return self._claim.run(worker_rows.count_waiting)

    def list_free(self, limit: int) -> Sequence[DrivenRun]:
        """Return runs that no live process drives, the oldest first; after an outage, those alone that wait for a worker."""
        now = _read_clock()
        with translate_errors():
            runs = self._claim.run(lambda connection: worker_rows.select_free(connection, limit))
        judges = now >= self._judges_from and now - self._last_beat <= DEAD_SECONDS
        return [run for run in runs if run.worker is None or (judges and run.worker != self.id)]

    def leave(self) -> None:
        """Serve no more: the runs that this process drives are free at once."""
        with translate_errors():
            self._claim.run(lambda connection: worker_rows.delete_worker(connection, self.id))
