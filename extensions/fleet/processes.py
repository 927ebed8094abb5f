"""Joining the processes on the same PostgreSQL, each in its role."""

import os
import socket
from dataclasses import dataclass

from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.runner import Runner
from application.extension import Role
from application.settings import Settings
from checkpoints import Runs, Store
from components.transfers.uploads import MAX_KEPT_BYTES, MAX_KEPT_SECONDS, MAX_KEPT_UPLOADS
from extensions.fleet.followed_requests import FollowedRequests
from extensions.fleet.followed_rows import FollowedRows
from extensions.fleet.kept_uploads import KeptUploads
from extensions.fleet.notifications import Notifications
from extensions.fleet.postgresql_wire import PostgresqlWire
from extensions.fleet.run_takeover import RunTakeover
from extensions.fleet.run_worker import RunWorker
from extensions.fleet.shared_requests import SharedLongRequests
from extensions.fleet.shared_uploads import SharedUploads
from extensions.fleet.workers import Workers


@dataclass(frozen=True, slots=True)
class PostgresqlProcesses:
    """The processes on a PostgreSQL, this one with its row among the workers."""

    store: Store
    workers: Workers

    def build_wire(self, hub: RunHub, blocking: BlockingPool) -> PostgresqlWire:
        rows = FollowedRows(self.store, Runs(self.store), blocking)
        return PostgresqlWire(hub, Notifications(self.store.database.engine), rows)

    def build_uploads(self, blocking: BlockingPool) -> SharedUploads:
        kept = KeptUploads(self.store, max_bytes=MAX_KEPT_BYTES, max_count=MAX_KEPT_UPLOADS, max_seconds=MAX_KEPT_SECONDS)
        return SharedUploads(kept, blocking.run)

    def build_long_requests(self, blocking: BlockingPool) -> SharedLongRequests:
        return SharedLongRequests(FollowedRequests(self.store), blocking.run)

    def add_worker(self, runner: Runner) -> None:
        parts, starter, active_runs = runner.parts, runner.starter, runner.active_runs
        takeover = RunTakeover(parts, starter.preparer, active_runs, runner.watchdog, runner.reruns)
        worker = RunWorker(self.workers, parts, active_runs, runner.watchdog, runner.reruns, runner.candidates, takeover)
        runner.fleet = starter.fleet = worker
        active_runs.max_runs, active_runs.confirm_hold = self.workers.max_runs, worker.confirm_hold


def join_processes(settings: Settings, store: Store, role: Role) -> PostgresqlProcesses | None:
    """Join the processes on a PostgreSQL; None for a database of a single process. Raises `StoreUnavailableError`."""
    if store.database.kind != "postgresql":
        return None
    name, max_runs = f"{socket.gethostname()}:{os.getpid()}", 0 if role == "web" else settings.worker_runs
    return PostgresqlProcesses(store, Workers.join(store, name, max_runs=max_runs, max_waiting=settings.waiting_runs))
