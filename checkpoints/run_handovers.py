"""Handing runs over between the processes that serve one PostgreSQL: see workers.py."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from .rows import candidate_rows, run_rows, thread_rows
from .run_ends import CandidateEnd, RunEnds, make_draft_messages
from .storage import schema
from .storage.database import retry_contended
from .values.model import NewMessage
from .values.run import Candidate, Draft, Handover, Run, RunState


class RunHandovers(RunEnds):
    """The handovers of a store's runs."""

    def _choose_worker(self, handover: Handover | None) -> dict[str, Any]:
        """Return the worker of a new run, and how another one can drive it."""
        waits = handover is not None and handover.waits
        return {"worker": None if waits else self.worker_id, "job": handover.job if handover else None}

    @retry_contended
    def take_run(self, run_id: str) -> Run | None:
        """Let this process drive a run that waits for a worker, or whose worker died. Drafts become partial messages.

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
            for each in candidate_rows.select_candidates(connection, run.id) if run.candidates else ():
                if each.state is RunState.RUNNING:
                    self._keep_text(connection, taken, each, make_draft_messages(each.draft))
            return taken

    @retry_contended
    def give_back(self, run: Run, draft: Draft | None, candidates: Sequence[CandidateEnd] = ()) -> None:
        """Let any worker drive a run of this process on from its draft; None: the last one on disk. Raises `ConflictError`.

        `candidates` are those without an end on disk. One that is interrupted goes on as well, unless it is in a tool.
        """
        with self._store.database.begin_write() as connection:
            self._require_active(connection, run)
            for each in candidates:
                if each.end.state is RunState.INTERRUPTED and not any(
                    new.body["type"] == "tool" for new in each.last_messages
                ):
                    self._keep_text(connection, run, each.candidate, each.last_messages)
                else:
                    self._close_candidate(connection, run, self._require_active(connection, run), each)
            given = run_rows.count_attempt(connection, run, None, run.job)
            if draft is not None:
                run_rows.write_draft(connection, run.id, draft, given.attempt)

    @retry_contended
    def change_job(self, run: Run, job: str) -> None:
        """Change how another worker drives a run on, or the work that follows it."""
        with self._store.database.begin_write() as connection:
            # Locked: who takes the run writes it, too.
            thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
            own = sa.and_(schema.run.c.id == run.id, schema.run.c.thread_id == run.thread_id)
            connection.execute(sa.update(schema.run).where(own).values(job=job))

    def is_driven(self, run: Run) -> bool:
        """Return whether the process that drives a run, or has ended it, lives."""
        with self._store.database.begin_read() as connection:
            return not self._is_free(connection, run)

    def _keep_text(self, connection: sa.Connection, run: Run, candidate: Candidate, partial: Sequence[NewMessage]) -> None:
        """Write the text so far of a candidate that goes on, as a partial message."""
        if partial:
            loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
            self._append_to_candidate(connection, run, loaded, candidate, partial)

    def _is_free(self, connection: sa.Connection, run: Run) -> bool:
        """Return whether no live process drives a run."""
        from .rows.worker_rows import is_free  # noqa: PLC0415  (for several processes)

        own = (schema.run.c.thread_id == run.thread_id, schema.run.c.id == run.id)
        query = sa.select(schema.run.c.id).where(*own, is_free)
        return self.worker_id is not None and connection.execute(query).first() is not None
