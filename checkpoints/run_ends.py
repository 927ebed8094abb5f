"""The ends of runs and of their candidates. Written text is kept, and the thread is released."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from .changes.append import HEAD, make_append
from .changes.candidates import switch_to_candidate
from .changes.run_changes import make_partial_messages
from .changes.transaction import Transaction
from .rows import candidate_rows, run_rows, thread_rows
from .rows.run_rows import RunEnd
from .run_reader import RunReader
from .storage import schema
from .storage.database import retry_contended
from .values.errors import ConflictError, RunTakenError
from .values.model import NewMessage
from .values.operation import Caller, OperationKind, Receipt
from .values.reasoning import Reasoning
from .values.run import Candidate, Draft, Run, RunState

_run_table = schema.run
_dismiss = sa.update(_run_table).values(dismissed=True)


@dataclass(frozen=True, slots=True)
class CandidateEnd:
    """The end of a candidate, with its last messages."""

    candidate: Candidate
    end: RunEnd
    last_messages: Sequence[NewMessage] = ()


class RunEnds(RunReader):
    """The ends of a store's runs."""

    @retry_contended
    def end_run(
        self,
        run: Run,
        state: RunState,
        *,
        error: str | None = None,
        details: str | None = None,
        usage: str | None = None,
        last_messages: Sequence[NewMessage] = (),
        candidates: Sequence[CandidateEnd] = (),
    ) -> int:
        """Release the thread, and write the run's last messages in the same transaction. Ending twice does nothing.

        `candidates` end with it. Return the thread's version. Raises `RunTakenError` where another process has taken it.
        """
        with self._store.database.begin_write() as connection:
            return self._close_run(connection, run, RunEnd(state, error, details, usage), last_messages, candidates)

    @retry_contended
    def end_candidate(self, run: Run, end: CandidateEnd) -> int:
        """Write the end of one candidate; the others go on. Return the thread's version.

        Raises `ConflictError` for a run that has ended.
        """
        with self._store.database.begin_write() as connection:
            return self._close_candidate(connection, run, self._require_active(connection, run), end)

    @retry_contended
    def dismiss_latest(self, thread_id: str) -> None:
        """Hide the notice of the thread's newest run: the user has seen how it ended."""
        if (latest := self.get_latest_run(thread_id)) is not None:
            with self._store.database.begin_write() as connection:
                connection.execute(_dismiss.where(_run_table.c.id == latest.id, _run_table.c.thread_id == thread_id))

    def _close_run(
        self,
        connection: sa.Connection,
        run: Run,
        end: RunEnd,
        last_messages: Sequence[NewMessage],
        candidates: Sequence[CandidateEnd] = (),
    ) -> int:
        """Release the thread, if the run still holds it. Return the thread's version."""
        loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
        if loaded.active_run_id != run.id:
            self._check_attempt(connection, run)
            return loaded.thread.version
        if loaded.active_attempt != run.attempt:
            raise RunTakenError(run.thread_id, run.id)
        for each in candidates:
            self._close_candidate(connection, run, loaded, each)
            loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
        receipt = self._append_messages(connection, loaded, run, last_messages) if last_messages else None
        head_id = receipt.result if receipt else loaded.thread.head_id
        version = receipt.version if receipt else loaded.thread.version
        if run.candidates:
            # With several processes, one that has no end yet was tried again at another one in this moment.
            is_reopened = self.worker_id is not None and end.state is RunState.DONE
            candidate_rows.end_candidates(connection, run.id, RunState.INTERRUPTED if is_reopened else end.state)
            if switched := self._leave_unanswered_branch(connection, run):
                head_id, version = switched.result, switched.version
        run_rows.end_run(connection, run.id, end, self._store.now(), head_id)
        return version

    def _close_candidate(
        self, connection: sa.Connection, run: Run, loaded: thread_rows.LoadedThread, closing: CandidateEnd
    ) -> int:
        """Write the last messages and the end of a candidate. Return the thread's version."""
        candidate, version = closing.candidate, loaded.thread.version
        if closing.last_messages:
            version = self._append_to_candidate(connection, run, loaded, candidate, closing.last_messages)
        candidate_rows.end_candidate(connection, candidate.key, closing.end)
        return version

    def _append_to_candidate(
        self,
        connection: sa.Connection,
        run: Run,
        loaded: thread_rows.LoadedThread,
        candidate: Candidate,
        messages: Sequence[NewMessage],
    ) -> int:
        """Write messages on the branch of a candidate. Return the thread's version."""
        on_branch = thread_rows.load_on_branch(connection, loaded, candidate.branch_id)
        receipt = self._append_messages(connection, on_branch, run, messages)
        candidate_rows.write_head(connection, candidate.key, receipt.result)
        return receipt.version

    def _leave_unanswered_branch(self, connection: sa.Connection, run: Run) -> Receipt | None:
        """Switch to the first candidate with an answer, where that of the current branch has none."""
        loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
        candidates = candidate_rows.select_candidates(connection, run.id)
        current = next((each for each in candidates if each.branch_id == loaded.thread.branch_id), None)
        if current is None or current.head_id is not None:
            return None
        there = {branch.id for branch in thread_rows.select_branches(connection, run.thread_id)}  # a person may delete one
        answered = next((each for each in candidates if each.head_id is not None and each.branch_id in there), None)
        if answered is None:
            return None
        change = self._open_transaction(connection, loaded, Caller(actor="agent", undo_group=run.id))
        return change.apply_and_record(OperationKind.SWITCH, partial(switch_to_candidate, candidate=answered))

    def _require_active(self, connection: sa.Connection, run: Run) -> thread_rows.LoadedThread:
        """Return the thread of a run that still holds it. Raises `ConflictError`."""
        loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
        if loaded.active_run_id != run.id:
            self._check_attempt(connection, run)
            raise ConflictError(run.thread_id, loaded.thread.version, loaded.thread.version)
        if loaded.active_attempt != run.attempt:
            raise RunTakenError(run.thread_id, run.id)
        return loaded

    def _check_attempt(self, connection: sa.Connection, run: Run) -> None:
        """Raise `RunTakenError` for a run that another process has ended."""
        found = None if self.worker_id is None else run_rows.select_run(connection, run.id)
        if found is not None and found.attempt != run.attempt:
            raise RunTakenError(run.thread_id, run.id)

    def _append_messages(
        self, connection: sa.Connection, loaded: thread_rows.LoadedThread, run: Run, messages: Sequence[NewMessage]
    ) -> Receipt:
        change = self._open_transaction(connection, loaded, Caller(actor="agent", undo_group=run.id))
        return change.apply_and_record(OperationKind.APPEND, make_append(messages, HEAD, "", run.id))

    def _open_transaction(self, connection: sa.Connection, loaded: thread_rows.LoadedThread, caller: Caller) -> Transaction:
        return Transaction(connection, loaded, thread_rows.from_time(self._store.now()), self._store.new_id, caller)


def make_draft_messages(draft: Draft) -> list[NewMessage]:
    """Make the partial messages that a draft becomes."""
    return make_partial_messages(draft.text, Reasoning(draft.reasoning))
