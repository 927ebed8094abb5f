"""Handing runs over between the processes that serve one PostgreSQL: see workers.py."""

from typing import Any

import sqlalchemy as sa

from .run import Draft, Handover, Run
from .run_ends import RunEnds, make_draft_messages
from .storage import run_rows, schema, thread_rows
from .storage.database import retry_contended


class RunHandovers(RunEnds):
    """The handovers of a store's runs."""

    def _choose_worker(self, handover: Handover | None) -> dict[str, Any]:
        """Return the worker of a new run, and how another one can drive it."""
        waits = handover is not None and handover.waits
        return {"worker": None if waits else self.worker_id, "job": handover.job if handover else None}

    @retry_contended
    def take_run(self, run_id: str) -> Run | None:
        """Let this process drive a run that waits for a worker, or whose worker died. Its draft becomes a partial message.

        Return the run with that draft; None where another process was quicker, or a person wants it to stop.
        """
        with self._store.database.begin_write() as connection:
            if (found := run_rows.select_run(connection, run_id)) is None:
                return None
            loaded = thread_rows.load_thread(connection, found.thread_id, include_deleted=True)
            run = run_rows.select_run(connection, run_id)
            if run is None or loaded.active_run_id != run_id or run.stop_wanted or not self._is_free(connection, run):
                return None
            taken = run_rows.count_attempt(connection, run, self.worker_id, run.job)
            if partial := make_draft_messages(run.draft):
                self._append_messages(connection, loaded, taken, partial)
                run_rows.write_draft(connection, run.id, run_rows.NO_DRAFT, taken.attempt)
            return taken

    @retry_contended
    def give_back(self, run: Run, draft: Draft) -> None:
        """Let another worker drive a run of this process on from its draft. Raises `ConflictError`."""
        with self._store.database.begin_write() as connection:
            self._require_active(connection, run)
            given = run_rows.count_attempt(connection, run, None, run.job)
            run_rows.write_draft(connection, run.id, draft, given.attempt)

    def _is_free(self, connection: sa.Connection, run: Run) -> bool:
        """Return whether no live process drives a run."""
        from .storage.worker_rows import is_free  # noqa: PLC0415  (for several processes)

        query = sa.select(schema.run.c.id).where(schema.run.c.id == run.id, is_free)
        return self.worker_id is not None and connection.execute(query).first() is not None
