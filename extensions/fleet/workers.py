"""The processes serving a PostgreSQL database. Each run names its worker, the process that drives it.

A run's attempt is its fencing token. Taking a run from its worker increments it, and writes of earlier attempts are refused.
"""

import time
from collections.abc import Sequence

import sqlalchemy as sa

from checkpoints.rows import worker_rows
from checkpoints.rows.worker_rows import DEAD_SECONDS, STALE_SECONDS, DrivenRun
from checkpoints.storage import postgresql, schema
from checkpoints.storage.driver_errors import translate_errors
from checkpoints.store import Store
from checkpoints.values.run import RunState

MAX_WAITING_RUNS = 1_000
_run = schema.run.c
_want_stop = (
    sa.update(schema.run)
    .where(_run.thread_id == sa.bindparam("of_thread"), _run.state == RunState.RUNNING)
    .values(stop_wanted=True)
    .returning(_run.id)
)


def _read_clock() -> float:
    """Return seconds that also pass during the machine's sleep, where available."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Workers:
    """This process, among the processes that serve a store's database."""

    def __init__(
        self, store: Store, claim: postgresql.Claim, worker_id: int, max_runs: int | None, max_waiting: int
    ) -> None:
        self.id = worker_id
        # The most runs this process drives at once. None: all that it begins.
        self.max_runs = max_runs
        # The most runs of all processes waiting for a free worker. More are refused.
        self.max_waiting = max_waiting
        self._store = store
        self._claim = claim
        self._last_beat = _read_clock()
        # After an outage all are late, so judging starts after everyone had time for a heartbeat.
        self._judges_from = self._last_beat + DEAD_SECONDS

    @classmethod
    def join(cls, store: Store, name: str, *, max_runs: int | None = None, max_waiting: int = MAX_WAITING_RUNS) -> "Workers":
        """Begin to serve a PostgreSQL database beside other processes, driving at most `max_runs` at once.

        Raises `StoreInUseError` if a command needs the database exclusively.
        """
        claim = store.database.share()
        with translate_errors():
            worker_id = claim.run(lambda connection: worker_rows.insert_worker(connection, name))
            claim.name_worker(worker_id)
            claim.run(worker_rows.delete_dead_workers)
        store.database.worker_id = worker_id
        return cls(store, claim, worker_id, max_runs, max_waiting)

    def beat(self) -> Sequence[DrivenRun]:
        """Send a heartbeat. Return the running runs of this process, and those without a live process."""
        # Read first: a process frozen until the reply has not been alive since then.
        now = _read_clock()
        with translate_errors():
            runs = self._claim.run(lambda connection: worker_rows.beat(connection, self.id))
        if now - self._last_beat > DEAD_SECONDS:
            self._judges_from = now + STALE_SECONDS
        self._last_beat = now
        return runs if now >= self._judges_from else [run for run in runs if run.worker == self.id]

    def count_live(self) -> int:
        """Return the number of live processes, including this process."""
        return self.count_others() + 1

    def is_trusted(self) -> bool:
        """Return whether the other processes consider this process alive."""
        return _read_clock() - self._last_beat < STALE_SECONDS

    def request_stop(self, thread_id: str) -> str | None:
        """Ask the worker of a conversation's run to stop it. Return the run's id, if there is one."""
        with self._store.database.begin_write() as connection:
            found: str | None = connection.execute(_want_stop, {"of_thread": thread_id}).scalar()
            return found

    def count_others(self) -> int:
        """Return the number of other live processes. Page-only processes keep runs for workers yet to come."""
        with translate_errors():
            return self._claim.run(lambda connection: worker_rows.count_other_workers(connection, self.id))

    def count_waiting(self) -> int:
        with translate_errors():
            return self._claim.run(worker_rows.count_waiting)

    def list_free(self, limit: int) -> Sequence[DrivenRun]:
        """Return runs without a live process, oldest first. After an outage, only runs waiting for a worker."""
        now = _read_clock()
        with translate_errors():
            runs = self._claim.run(lambda connection: worker_rows.select_free(connection, limit))
        judges = now >= self._judges_from and now - self._last_beat <= DEAD_SECONDS
        return [run for run in runs if run.worker is None or (judges and run.worker != self.id)]

    def leave(self) -> None:
        """Stop serving. The runs of this process become free at once."""
        with translate_errors():
            self._claim.run(lambda connection: worker_rows.delete_worker(connection, self.id))
