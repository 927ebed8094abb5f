"""Recovery of runs that nobody drives any more, as after a crash: their written text is kept, and the thread is released."""

import sqlalchemy as sa

from .rows import candidate_rows, run_rows, thread_rows
from .rows.run_rows import RunEnd
from .run_ends import CandidateEnd, RunEnds, make_draft_messages
from .storage import schema
from .storage.database import retry_contended
from .storage.ownership import EVERYBODY, act_for
from .values.run import Run, RunState

_run_table = schema.run


class RunRecovery(RunEnds):
    """The recovery of a store's runs."""

    @act_for(EVERYBODY)
    def interrupt_orphans(self, thread_id: str | None = None, *, only_own: bool = False) -> list[Run]:
        """Mark the runs that nobody drives any more as interrupted, keeping their messages: after a start those of
        the former process, later that of one thread whose end could not be written.

        Those of other processes that live are no orphans; with `only_own`, nor are those of processes that do not.
        """
        query = sa.select(_run_table).where(_run_table.c.state == RunState.RUNNING, *self._is_orphan(only_own=only_own))
        query = query if thread_id is None else query.where(_run_table.c.thread_id == thread_id)
        with self._store.database.begin_read() as connection:
            orphans = [run_rows.parse_run(row) for row in connection.execute(query.order_by(_run_table.c.thread_id))]
        # A transaction each: one that locks several threads waits for others while they wait for it.
        return [run for orphan in orphans if (run := self._interrupt_run(orphan)) is not None]

    def _is_orphan(self, *, only_own: bool = False) -> list[sa.ColumnElement[bool]]:
        """Return the conditions of a running run that this process may end."""
        if self.worker_id is None:
            return []
        from .rows.worker_rows import is_orphan  # noqa: PLC0415  (for several processes)

        return [is_orphan(self.worker_id, only_own=only_own)]

    def _is_still_orphan(self, connection: sa.Connection, run: Run) -> bool:
        conditions = self._is_orphan()
        query = sa.select(_run_table.c.id).where(_run_table.c.id == run.id, *conditions)
        return not conditions or connection.execute(query).first() is not None

    @retry_contended
    def _interrupt_run(self, orphan: Run) -> Run | None:
        """Mark a run as interrupted. Return it with its last draft, or None if it has ended or is driven meanwhile."""
        with self._store.database.begin_write() as connection:
            loaded = thread_rows.load_thread(connection, orphan.thread_id, include_deleted=True)
            run = run_rows.select_run(connection, orphan.id)
            if run is None or loaded.active_run_id != run.id or not self._is_still_orphan(connection, run):
                return None
            if run.worker != self.worker_id:
                run = run_rows.count_attempt(connection, run, self.worker_id)
            end = RunEnd(RunState.STOPPED if run.stop_wanted else RunState.INTERRUPTED)
            candidates = [
                CandidateEnd(each, end, make_draft_messages(each.draft))
                for each in candidate_rows.select_candidates(connection, run.id)
                if each.state is RunState.RUNNING
            ]
            self._close_run(connection, run, end, make_draft_messages(run.draft), candidates)
            return run
