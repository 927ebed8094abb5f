"""The processes serving a PostgreSQL database, and the runs without a live process.

All times are from the database's clock. Each process sends a heartbeat every second, and its session holds a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..storage import schema
from ..storage.postgresql import WORKER_KEY
from ..values.run import RunState

# Without a heartbeat for so long, the process is dead or frozen.
STALE_SECONDS = 8
# Without a heartbeat for so long, and without its session, the process is dead.
DEAD_SECONDS = 3
_worker, _run = schema.worker.c, schema.run.c
_now = sa.literal_column("(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint", sa.BigInteger)
_lock = sa.table("pg_locks", *map(sa.column, ("locktype", "database", "classid", "objid", "objsubid", "granted"))).c
# Other databases of the server may use the same lock numbers.
_database = sa.literal_column("(SELECT oid FROM pg_database WHERE datname = current_database())", sa.BigInteger)
_is_worker_lock = (sa.cast(_lock.classid, sa.BigInteger) == WORKER_KEY, sa.cast(_lock.objid, sa.BigInteger) == _worker.id)
_has_session = sa.exists().where(
    _lock.locktype == "advisory", _lock.objsubid == 2, _lock.database == _database, *_is_worker_lock, _lock.granted
)
_is_alive = sa.and_(
    _worker.heartbeat > _now - STALE_SECONDS * 1_000_000,
    sa.or_(_worker.heartbeat > _now - DEAD_SECONDS * 1_000_000, _has_session),
)
# A partial index needs a literal: it serves no bound parameter.
_is_running = _run.state == sa.literal_column(f"'{RunState.RUNNING}'")
is_free = ~sa.exists().where(_worker.id == _run.worker, _is_alive)
# The run waits for a worker.
_waits = sa.and_(_run.worker.is_(None), _run.job.is_not(None), sa.not_(_run.stop_wanted))
_insert_worker = sa.insert(schema.worker).values(heartbeat=_now).returning(_worker.id)
_beat = sa.update(schema.worker).where(_worker.id == sa.bindparam("beating")).values(heartbeat=_now)
_driven_query = (
    sa.select(
        *(_run.id, _run.thread_id, _run.worker, _run.attempt, _run.stop_wanted),
        _run.job.is_not(None).label("has_job"),
        (_run.candidates > 0).label("has_candidates"),
    )
    .where(_is_running)
    .order_by(_run.started_at)
)
_runs_query = _driven_query.where(sa.or_(_run.worker == sa.bindparam("beating"), is_free))
_free_query = _driven_query.where(is_free)
_others_query = sa.select(sa.func.count()).where(_worker.id != sa.bindparam("beating"), _is_alive)


@dataclass(frozen=True, slots=True)
class DrivenRun:
    """A running run, without its draft."""

    id: str
    thread_id: str
    worker: int | None
    attempt: int
    stop_wanted: bool
    has_job: bool
    has_candidates: bool

    @property
    def is_waiting(self) -> bool:
        """Return whether the run waits for a worker."""
        return self.worker is None and self.has_job and not self.stop_wanted


def is_orphan(worker_id: int, *, only_own: bool) -> sa.ColumnElement[bool]:
    """Return the condition for running runs this worker may end: its own, or those without a live worker.

    A run waiting for a worker is no orphan.
    """
    is_own = _run.worker == worker_id
    return is_own if only_own else sa.or_(is_own, sa.and_(is_free, sa.not_(_waits)))


def insert_worker(connection: sa.Connection, name: str) -> int:
    return int(connection.execute(_insert_worker, {"name": name}).scalar_one())


def beat(connection: sa.Connection, worker_id: int) -> Sequence[DrivenRun]:
    """Record a worker's heartbeat. Return its own running runs, and those without a live worker."""
    if not connection.execute(_beat, {"beating": worker_id}).rowcount:
        # The worker was frozen for an hour, and its row deleted.
        connection.execute(_insert_worker.values(id=worker_id), {"name": ""})
    return [DrivenRun(*row) for row in connection.execute(_runs_query, {"beating": worker_id})]


def count_other_workers(connection: sa.Connection, worker_id: int) -> int:
    return int(connection.execute(_others_query, {"beating": worker_id}).scalar_one())


def count_waiting(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.count()).select_from(schema.run).where(_is_running, _waits)) or 0)


def select_free(connection: sa.Connection, limit: int) -> Sequence[DrivenRun]:
    """Return running runs without a live worker, oldest first, including those waiting for a worker."""
    return [DrivenRun(*row) for row in connection.execute(_free_query.limit(limit))]


def delete_worker(connection: sa.Connection, worker_id: int) -> None:
    connection.execute(sa.delete(schema.worker).where(_worker.id == worker_id))


def delete_dead_workers(connection: sa.Connection) -> None:
    """Delete workers without a heartbeat for an hour."""
    connection.execute(sa.delete(schema.worker).where(_worker.heartbeat < _now - 3_600_000_000))
