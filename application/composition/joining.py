"""Joining the processes on the same PostgreSQL, each in its role."""

import os
import socket
from typing import TYPE_CHECKING, Literal

from agent.run.blocking import BlockingPool
from application.settings import Settings, SettingsError
from checkpoints import Store, StoreUnavailableError
from components.transfers.long_requests import LongRequests
from components.transfers.uploads import MAX_KEPT_BYTES, MAX_KEPT_SECONDS, MAX_KEPT_UPLOADS, Uploads

if TYPE_CHECKING:
    from checkpoints.workers import Workers

# A process begins runs and drives them, or does only one of the two.
Role = Literal["all", "web", "work"]


def join_workers(store: Store, settings: Settings, role: Role) -> "Workers | None":
    """Join the processes on a PostgreSQL; None for a database of a single process.

    Raises `StoreUnavailableError`, and `SettingsError` for a role that needs several processes.
    """
    if store.database.kind != "postgresql":
        if role != "all":
            store.database.close()
            raise SettingsError(f"{'work' if role == 'work' else 'serve --web'} needs a PostgreSQL: set DATABASE_URL.")
        return None
    from checkpoints.workers import Workers  # noqa: PLC0415  (SQLAlchemy's part for it)

    name, max_runs = f"{socket.gethostname()}:{os.getpid()}", 0 if role == "web" else settings.worker_runs
    try:
        return Workers.join(store, name, max_runs=max_runs, max_waiting=settings.waiting_runs)
    except StoreUnavailableError:
        store.database.close()
        raise


def build_uploads(store: Store, blocking: BlockingPool) -> Uploads:
    """Return the uploads: in memory, or in the database if several processes serve the page."""
    if store.database.kind != "postgresql":
        return Uploads()
    from checkpoints.people.kept_uploads import KeptUploads  # noqa: PLC0415
    from components.transfers.shared_uploads import SharedUploads  # noqa: PLC0415

    kept = KeptUploads(store, max_bytes=MAX_KEPT_BYTES, max_count=MAX_KEPT_UPLOADS, max_seconds=MAX_KEPT_SECONDS)
    return SharedUploads(kept, blocking.run)


def build_long_requests(store: Store, blocking: BlockingPool) -> LongRequests:
    """Return the long requests: in memory, or in the database if several processes serve the page."""
    if store.database.kind != "postgresql":
        return LongRequests()
    from checkpoints.people.followed_requests import FollowedRequests  # noqa: PLC0415
    from components.transfers.shared_requests import SharedLongRequests  # noqa: PLC0415

    return SharedLongRequests(FollowedRequests(store), blocking.run)
