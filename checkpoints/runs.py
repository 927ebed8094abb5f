"""Runs: single passes of the agent. A running row is the thread's lock, and marks the remains of a crash."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from .changes import candidates, checkpoints, run_changes, titles
from .changes.alternatives import check_room_after
from .changes.append import HEAD, choose_append_kind, make_append
from .changes.candidates import switch_to_candidate
from .changes.preconditions import check_caller
from .changes.repeated_requests import choose_thread_id, find_begun_run, refuse_taken_ids
from .changes.run_changes import make_partial_messages
from .changes.transaction import Transaction
from .rows import candidate_rows, file_rows, message_rows, operation_rows, run_rows, thread_rows, usage_rows
from .rows.run_rows import RunEnd
from .storage import schema
from .storage.database import retry_contended
from .storage.ownership import EVERYBODY, act_for
from .storage.person_locks import hold_acting_person, hold_acting_writer
from .store import Store
from .values import files, serde
from .values.errors import ConflictError, NothingToRetryError, RunActiveError, RunTakenError
from .values.files import File
from .values.model import Message, NewMessage
from .values.names import clean_name
from .values.operation import USER, Caller, Operation, OperationKind, Receipt, name_request_lock
from .values.operation_detail import OperationDetail
from .values.reasoning import Reasoning
from .values.run import Candidate, CandidateKey, Draft, Handover, Rerun, RerunStep, Run, RunState
from .values.standing_answers import StandingAnswers

_run_table = schema.run
_dismiss = sa.update(_run_table).values(dismissed=True)


@dataclass(frozen=True, slots=True)
class CandidateEnd:
    """The end of a candidate, with its last messages."""

    candidate: Candidate
    end: RunEnd
    last_messages: Sequence[NewMessage] = ()


class Runs:
    """The runs of a store's threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def worker_id(self) -> int | None:
        """This process's id among several that drive runs, or None for a single process."""
        return self._store.database.worker_id

    def get_latest_run(self, thread_id: str) -> Run | None:
        """Return the thread's active run, or else the newest run that ended at the head.

        A failed summary counts until it is dismissed.
        """
        with self._store.database.begin_read() as connection:
            head_id = thread_rows.select_thread(connection, thread_id).head_id
            return run_rows.select_latest_run(connection, thread_id, head_id)

    def find_waiting_run(self, thread_id: str, *, other_than: str = "") -> Run | None:
        """Return the thread's newest run if it is waiting at the thread's head, so nobody went back meanwhile."""
        with self._store.database.begin_read() as connection:
            head_id = thread_rows.select_thread(connection, thread_id).head_id
            newest = run_rows.select_newest_run(connection, thread_id, other_than=other_than)
        is_waiting = newest is not None and newest.state is RunState.WAITING and newest.head_id == head_id
        return newest if is_waiting else None

    def read_standing_answers(self, thread_id: str, *, other_than: str = "") -> StandingAnswers:
        """Read the answers that stand, without those of a run that begins (`other_than`)."""
        branch_id = self._store.get_thread(thread_id).branch_id
        waiting = self.find_waiting_run(thread_id, other_than=other_than)
        waiting_id = waiting.id if waiting else None
        return StandingAnswers.find(lambda count: self._store.list_operations(thread_id, last=count), branch_id, waiting_id)

    def get_run(self, run_id: str) -> Run | None:
        with self._store.database.begin_read() as connection:
            return run_rows.select_run(connection, run_id)

    def get_rerun(self, step: RerunStep) -> Rerun:
        with self._store.database.begin_read() as connection:
            return run_rows.select_rerun(connection, step.rerun_id)

    def list_candidates(self, run_id: str) -> list[Candidate]:
        """Return the answers of a run that asked several models. Other runs have none."""
        with self._store.database.begin_read() as connection:
            return candidate_rows.select_candidates(connection, run_id)

    def read_sent_files(self, request_id: str) -> list[File]:
        """Return the undamaged files of a message sent by this request. Other requests have none."""
        with self._store.database.begin_read() as connection:
            run = run_rows.select_run(connection, request_id)
            sent = operation_rows.find_request(connection, run.thread_id, request_id) if run else None
            content = message_rows.find_content(connection, sent.result) if sent and sent.result else None
            parts = files.find_file_parts(serde.parse_leniently(content)) if content else []
            contents = file_rows.select_files(connection, {part["file"] for part in parts})
        return [files.parse_file(part["name"], contents[part["file"]]) for part in parts if part["file"] in contents]

    def has_answered_before(self, run: Run) -> bool:
        """Return whether another run of the thread is done."""
        table = schema.run.c
        others = (table.thread_id == run.thread_id, table.id != run.id, table.state == RunState.DONE)
        with self._store.database.begin_read() as connection:
            return connection.execute(sa.select(table.id).where(*others).limit(1)).first() is not None

    def is_titled_by_question(self, thread_id: str) -> bool:
        """Return whether the thread still has its first message's title."""
        with self._store.database.begin_read() as connection:
            return titles.is_titled_by_question(connection, thread_rows.select_thread(connection, thread_id))

    def find_title(self, thread_id: str) -> Operation | None:
        """Return the operation by which the model gave the thread a title, even if undone."""
        with self._store.database.begin_read() as connection:
            return titles.find_title(connection, thread_id)

    def list_running_threads(self) -> set[str]:
        """Return the ids of threads being answered."""
        with self._store.database.begin_read() as connection:
            return run_rows.select_running_threads(connection)

    def list_waiting_threads(self) -> set[str]:
        """Return the ids of threads waiting for a person, see `run_rows.select_waiting_threads`."""
        with self._store.database.begin_read() as connection:
            return run_rows.select_waiting_threads(connection)

    # Begin runs. Each method locks the thread, and writes the message to answer in the same transaction.

    @retry_contended
    def begin_run(
        self,
        thread_id: str | None,
        message: NewMessage | None,
        *,
        caller: Caller = USER,
        after: str | None = HEAD,
        title: str = "",
        closing_messages: Sequence[NewMessage] = (),
        settings: Mapping[str, str] | None = None,
        compacts: bool = False,
        rerun: RerunStep | None = None,
        models: Sequence[str] = (),
        handover: Handover | None = None,
    ) -> Run:
        """Lock the thread for a run and write the user's message, in a single transaction.

        Without a thread, make a thread with these `settings`. Its id is the request's if that is a UUID, so the page
        can follow it before the reply. `closing_messages` are written first: results of calls left without a decision.
        `after` is the start of a run away from the head (an edit, a retry). `models` answer the message at once, each
        on a branch. Raises `RunActiveError` if another run holds the thread. A repeated request returns the run it
        began, and does nothing. Raises `RequestReusedError` if it carries another text.
        """
        run_id = caller.request_id or self._store.new_id()
        with self._begin(run_id) as connection:
            if (begun := find_begun_run(connection, thread_id, run_id, message)) is not None:
                return begun
            loaded = self._load_or_create_thread(connection, thread_id, caller, settings)
            self._check_limits(connection, loaded.thread.owner)
            kind: dict[str, Any] = {"compacts": compacts, "rerun": rerun, "candidates": len(models)}
            kind |= self._choose_worker(handover)
            run = self._insert_run(connection, loaded.thread.id, run_id, **kind)
            if message is not None or after != HEAD:
                change = self._open_transaction(connection, loaded, replace(caller, undo_group=run_id))
                body = make_append([*closing_messages, message] if message else [], after, title, run_id, begins_turn=True)
                body = candidates.add_candidates(body, run_id, models) if models else body
                change.apply_and_record(choose_append_kind(after, is_empty=message is None), body)
            elif not compacts:
                check_room_after(connection, loaded.thread, loaded.head)
        return run

    @retry_contended
    def begin_rerun(
        self,
        rerun: Rerun,
        first: NewMessage,
        *,
        after: str | None,
        name: str,
        caller: Caller = USER,
        handover: Handover | None = None,
    ) -> Run:
        """Open a branch after a message, write the first question there and lock the thread, in a single transaction.

        The branch is undone with the question. Errors and repetitions are as in `begin_run`.
        """
        run_id = caller.request_id or self._store.new_id()
        with self._begin(run_id) as connection:
            if (begun := find_begun_run(connection, rerun.thread_id, run_id, first)) is not None:
                return begun
            loaded = thread_rows.load_thread(connection, rerun.thread_id)
            check_caller(connection, loaded, caller, while_running=False)
            self._check_limits(connection, loaded.thread.owner)
            run_rows.insert_rerun(connection, rerun)
            kind: dict[str, Any] = {"rerun": RerunStep(rerun.id, 1), **self._choose_worker(handover)}
            run = self._insert_run(connection, rerun.thread_id, run_id, **kind)
            change = self._open_transaction(connection, loaded, replace(caller, undo_group=run_id))
            body = partial(run_changes.fork_and_append, message=first, after=after, name=name, run_id=run_id)
            change.apply_and_record(OperationKind.FORK, body)
        return run

    @retry_contended
    def retry_candidate(
        self,
        thread_id: str,
        key: CandidateKey,
        *,
        caller: Caller = USER,
        while_running: bool = False,
        handover: Handover | None = None,
    ) -> Run:
        """Let an incomplete candidate be written again, from the question. Its run holds the thread again. With
        `while_running`, its run is in progress, writing other candidates. A repeated request, or a request for a
        candidate being written, does nothing. Raises `NothingToRetryError`, and `RunActiveError` for another run or, in
        progress, another person's run."""
        with self._begin(caller.request_id or "") as connection:
            run, candidate = candidates.load_candidate(connection, thread_id, key)
            if caller.request_id and operation_rows.find_request(connection, thread_id, caller.request_id):
                return run
            loaded = thread_rows.load_thread(connection, thread_id)
            if loaded.active_run_id == run.id and candidate.state is RunState.RUNNING:
                return run
            if while_running and loaded.active_run_id != run.id:
                # The run has ended at another process.
                raise NothingToRetryError
            # The run's tokens count for its own person.
            if while_running and run.person not in (None, self._store.database.name_owner()):
                raise RunActiveError(thread_id, run.id)
            self._check_limits(connection, loaded.thread.owner, adds_run=not while_running)
            own = replace(caller, undo_group=run.id if while_running else None)
            check_caller(connection, loaded, own, while_running=False)
            question = candidates.find_asked_question(connection, loaded.thread, candidate)
            on_branch = thread_rows.load_on_branch(connection, loaded, candidate.branch_id)
            change = self._open_transaction(connection, on_branch, replace(caller, undo_group=run.id))
            change.apply_and_record(
                OperationKind.RETRY, partial(candidates.begin_again, candidate=candidate, question=question)
            )
            run = run_rows.reopen_run(connection, run)
            if self.worker_id is not None and not while_running:
                run = run_rows.count_attempt(connection, run, **self._choose_worker(handover))
            return run

    # Writes of a run that holds its thread.

    @retry_contended
    @act_for(EVERYBODY)
    def save_drafts(
        self,
        drafts: Mapping[str, Draft],
        candidate_drafts: Mapping[CandidateKey, Draft] = MappingProxyType({}),
        attempts: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Store the current drafts of runs by id, and of candidates. `attempts` are the runs' attempts."""
        with self._store.database.begin_write() as connection:
            for run_id in sorted(drafts):
                run_rows.write_draft(connection, run_id, drafts[run_id], attempts.get(run_id, 0))
            for key in sorted(candidate_drafts):
                candidate_rows.write_draft(connection, key, candidate_drafts[key], attempts.get(key.run_id, 0))

    @retry_contended
    def commit_message(
        self, run: Run, message: NewMessage, *, branch_id: str | None = None, candidate: CandidateKey | None = None
    ) -> tuple[Message, int]:
        """Write a finished message of the run, and clear its draft. Return it with the thread's new version.

        With `branch_id`, it is written on that branch, not on the current branch. It may belong to a `candidate`.
        Raises `ConflictError` for an ended run, since another run may hold the thread by now.
        """
        with self._store.database.begin_write() as connection:
            loaded = self._require_active(connection, run)
            if branch_id is not None:
                # A change applies to its thread's current branch.
                loaded = thread_rows.load_on_branch(connection, loaded, branch_id)
            change = self._open_transaction(connection, loaded, Caller(actor="agent", undo_group=run.id))
            receipt = change.apply_and_record(OperationKind.APPEND, make_append([message], HEAD, "", run.id))
            if candidate is not None:
                candidate_rows.write_head(connection, candidate, receipt.result)
            elif loaded.has_draft:
                run_rows.write_draft(connection, run.id, run_rows.NO_DRAFT, run.attempt)
            assert change.last_added is not None
            return change.last_added.to_message(run.thread_id), receipt.version

    @retry_contended
    def record_move(
        self, run: Run, kind: OperationKind, message: NewMessage, *, after: str | None, detail: OperationDetail
    ) -> Receipt:
        """Move the run's thread back to `after` and write a message there. Undo brings the later messages back.

        Raises `ConflictError` for an ended run.
        """
        body = partial(run_changes.move_and_append, message=message, after=after, run_id=run.id, detail=detail)
        with self._begin_change(run) as change:
            return change.apply_and_record(kind, body)

    @retry_contended
    def replace_message(
        self, run: Run, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, detail: OperationDetail
    ) -> Receipt:
        """Replace a message, as the run's rewind. The later messages stay, except the dropped messages.

        Raises `ConflictError` for an ended run.
        """
        new = replace(new, run_id=run.id)
        with self._begin_change(run) as change:
            return change.apply_and_record(
                OperationKind.REWIND,
                lambda change: run_changes.replace_in_run(change, message_id, new, dropped_ids, detail=detail),
            )

    @retry_contended
    def replace_with_summary(
        self, run: Run, messages: Sequence[NewMessage], *, after: str | None, detail: OperationDetail
    ) -> Receipt:
        """Replace the messages after `after` by a note and copies, and release the thread, in a single transaction.

        Checkpoints of the old path stay in the list, and restore that path. Raises `ConflictError` for an ended run.
        """
        written = [replace(messages[0], run_id=run.id), *messages[1:]]
        body = partial(run_changes.put_summary, messages=written, after=after, detail=detail)
        with self._begin_change(run) as change:
            receipt = change.apply_and_record(OperationKind.COMPACT, body)
            head_id = change.head.id if change.head else None
            run_rows.end_run(change.connection, run.id, run_rows.RunEnd(RunState.DONE), self._store.now(), head_id)
            return receipt

    @retry_contended
    def branch_off(
        self, run: Run, first_messages: Sequence[tuple[str, NewMessage]], *, after: str | None
    ) -> tuple[list[tuple[str, Message]], int]:
        """Add branches after a message, each with a name and a first message. The head stays.

        Return their ids with these messages, and the thread's new version. Raises `ConflictError` for an ended run.
        """

        def add_branches(transaction: Transaction) -> None:
            made.extend(run_changes.add_branches(transaction, first_messages, after=after, run_id=run.id))

        made: list[tuple[str, Message]] = []
        with self._begin_change(run) as change:
            return made, change.apply_and_record(OperationKind.FORK, add_branches).version

    @retry_contended
    def save_checkpoint(self, run: Run, name: str, description: str, tokens: int | None = None) -> Receipt:
        """Bookmark the head, as the agent. The checkpoint stays when the run's messages are undone.

        Raises `ConflictError` for an ended run.
        """
        new = checkpoints.NewCheckpoint(name, description, tokens, {})
        with self._begin_change(run, Caller(actor="agent")) as change:
            return change.apply_and_record(OperationKind.SAVE, lambda change: checkpoints.save_head(change, new, None))

    @retry_contended
    def record_answer(self, run: Run) -> None:
        """Record a person's answer to a user graph that asks again. Undo reverts it alone, as otherwise the run's work.

        Raises `ConflictError` for an ended run.
        """
        with self._begin_change(run, Caller(undo_group=run.id)) as change:
            newest = operation_rows.select_operation(change.connection, run.thread_id, change.thread.version)
            if newest is None or newest.undo_group != run.id:
                change.detail = OperationDetail(subject="question")
                change.apply_and_record(OperationKind.APPEND, lambda _: None)

    @retry_contended
    def save_milestone(self, run: Run, message_id: str, name: str, description: str) -> Receipt | None:
        """Bookmark a state reached by a run, as the judge.

        Return None if the message has left the path, or ever had a checkpoint. A milestone conflicts with no change:
        undo passes it over, and reverts it with the run.
        """
        with self._begin_follow_up() as connection:
            change = self._open_transaction(
                connection, thread_rows.load_thread(connection, run.thread_id), Caller(actor="judge", undo_group=run.id)
            )
            node = thread_rows.select_node(connection, message_id, run.thread_id)
            if node is None or not run_changes.can_save_milestone(change, node):
                return None
            return change.apply_and_record(
                OperationKind.SAVE, partial(run_changes.add_milestone, node=node, name=name, description=description)
            )

    @retry_contended
    def give_title(self, run: Run, title: str, *, model: str, usage: Mapping[str, Any]) -> Receipt | None:
        """Give the run's thread a title found by the model. Return None if the thread has another title by now.

        The title is a separate operation, with the model's usage. Undo skips it, and reverts it with the first message.
        """
        with self._begin_follow_up() as connection:
            loaded = thread_rows.load_thread(connection, run.thread_id)
            if not clean_name(title) or not titles.is_titled_by_question(connection, loaded.thread):
                return None
            old, new = loaded.thread.title, clean_name(title)
            detail = OperationDetail(subject="thread", name=old, new_name=new, model=model, usage=usage)
            change = self._open_transaction(connection, loaded, Caller(actor="system"))
            usage_rows.add_call(connection, loaded.thread.owner, change.now, model, usage)
            return change.apply_and_record(OperationKind.RENAME, lambda change: titles.give_title(change, title, detail))

    # Handovers between the processes of a PostgreSQL database: see workers.py.

    @retry_contended
    def take_run(self, run_id: str) -> Run | None:
        """Let this process drive a run that waits for a worker, or whose worker died. Drafts become partial messages.

        Return the run with that draft, or None if another process was quicker or a person wants to stop it.
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
        """Let any worker continue a run of this process from its draft (None: the last stored draft). Raises
        `ConflictError`.

        `candidates` have no stored end yet. Interrupted candidates continue too, unless they are in a tool.
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
        """Change how another worker continues a run, or does the work after it."""
        with self._store.database.begin_write() as connection:
            # Locked, because a worker that takes the run also writes the job.
            thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
            own = sa.and_(schema.run.c.id == run.id, schema.run.c.thread_id == run.thread_id)
            connection.execute(sa.update(schema.run).where(own).values(job=job))

    def is_driven(self, run: Run) -> bool:
        """Return whether the process that drives a run, or has ended it, is alive."""
        with self._store.database.begin_read() as connection:
            return not self._is_free(connection, run)

    # End runs: written text is kept, and the thread is released.

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

        `candidates` end with it. Return the thread's version. Raises `RunTakenError` if another process has taken the run.
        """
        with self._store.database.begin_write() as connection:
            return self._close_run(connection, run, RunEnd(state, error, details, usage), last_messages, candidates)

    @retry_contended
    def end_candidate(self, run: Run, end: CandidateEnd) -> int:
        """Write a candidate's end, while the others continue. Return the thread's version.

        Raises `ConflictError` for an ended run.
        """
        with self._store.database.begin_write() as connection:
            return self._close_candidate(connection, run, self._require_active(connection, run), end)

    @retry_contended
    def dismiss_latest(self, thread_id: str) -> None:
        """Hide the notice of the thread's newest run, because the user has seen how it ended."""
        if (latest := self.get_latest_run(thread_id)) is not None:
            with self._store.database.begin_write() as connection:
                connection.execute(_dismiss.where(_run_table.c.id == latest.id, _run_table.c.thread_id == thread_id))

    @act_for(EVERYBODY)
    def interrupt_orphans(self, thread_id: str | None = None, *, only_own: bool = False) -> list[Run]:
        """Mark runs nobody drives any more as interrupted, keeping their messages.

        After a start these are the former process's runs, later a thread's run whose end could not be written. Runs of
        other live processes are no orphans. With `only_own`, runs of dead processes are not included either.
        """
        query = sa.select(_run_table).where(_run_table.c.state == RunState.RUNNING, *self._is_orphan(only_own=only_own))
        query = query if thread_id is None else query.where(_run_table.c.thread_id == thread_id)
        with self._store.database.begin_read() as connection:
            orphans = [run_rows.parse_run(row) for row in connection.execute(query.order_by(_run_table.c.thread_id))]
        # Each run has its own transaction. A transaction that locks several threads could deadlock with others.
        return [run for orphan in orphans if (run := self._interrupt_run(orphan)) is not None]

    def _load_or_create_thread(
        self, connection: sa.Connection, thread_id: str | None, caller: Caller, settings: Mapping[str, str] | None
    ) -> thread_rows.LoadedThread:
        """Return the thread of a new run: an existing thread the caller may change, or a new thread."""
        if thread_id:
            loaded = thread_rows.load_thread(connection, thread_id)
            check_caller(connection, loaded, caller, while_running=False)
            return loaded
        new = self._store.prepare_thread(thread_id=choose_thread_id(caller), settings=settings)
        with refuse_taken_ids(new.id):
            return thread_rows.insert_thread(connection, new, self._store.now())

    def _insert_run(self, connection: sa.Connection, thread_id: str, run_id: str, **kind: Any) -> Run:
        with refuse_taken_ids(run_id):
            return run_rows.insert_run(connection, thread_id, run_id, self._store.now(), **kind)

    @contextmanager
    def _begin(self, request_id: str) -> Iterator[sa.Connection]:
        """Open the transaction that begins a run. Meanwhile the asking person is neither erased nor made a reader."""
        with self._store.database.begin_write(name_request_lock(request_id)) as connection:
            # The lock is taken before any role of theirs is read.
            hold_acting_writer(connection)
            yield connection

    def _check_limits(self, connection: sa.Connection, owner: str, *, adds_run: bool = True) -> None:
        """Refuse another answer to the acting person, in an owner's conversation. Raises `LimitReachedError`."""
        person, now = self._store.database.name_owner(), self._store.now()
        self._store.meter.check_start(connection, person, owner, now, adds_run=adds_run)

    @contextmanager
    def _begin_change(self, run: Run, caller: Caller | None = None) -> Iterator[Transaction]:
        """Open a change of a run that holds its thread. Raises `ConflictError`."""
        with self._store.database.begin_write() as connection:
            loaded = self._require_active(connection, run)
            yield self._open_transaction(connection, loaded, caller or Caller(actor="agent", undo_group=run.id))

    @contextmanager
    def _begin_follow_up(self) -> Iterator[sa.Connection]:
        """Open a change after a run has ended, when its person may be erased. Raises `PersonErasedError`."""
        with self._store.database.begin_write() as connection:
            hold_acting_person(connection)
            yield connection

    def _choose_worker(self, handover: Handover | None) -> dict[str, Any]:
        """Return the worker of a new run, and the job by which another worker can drive it."""
        waits = handover is not None and handover.waits
        return {"worker": None if waits else self.worker_id, "job": handover.job if handover else None}

    def _keep_text(self, connection: sa.Connection, run: Run, candidate: Candidate, partial: Sequence[NewMessage]) -> None:
        """Store a continuing candidate's text so far as a partial message."""
        if partial:
            loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
            self._append_to_candidate(connection, run, loaded, candidate, partial)

    def _is_free(self, connection: sa.Connection, run: Run) -> bool:
        """Return whether no live process drives a run."""
        from .rows.worker_rows import is_free  # noqa: PLC0415  (for several processes)

        own = (schema.run.c.thread_id == run.thread_id, schema.run.c.id == run.id)
        query = sa.select(schema.run.c.id).where(*own, is_free)
        return self.worker_id is not None and connection.execute(query).first() is not None

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
            # With several processes, a candidate without an end has just been retried at another process.
            is_reopened = self.worker_id is not None and end.state is RunState.DONE
            candidate_rows.end_candidates(connection, run.id, RunState.INTERRUPTED if is_reopened else end.state)
            if switched := self._leave_unanswered_branch(connection, run):
                head_id, version = switched.result, switched.version
        run_rows.end_run(connection, run.id, end, self._store.now(), head_id)
        return version

    def _close_candidate(
        self, connection: sa.Connection, run: Run, loaded: thread_rows.LoadedThread, closing: CandidateEnd
    ) -> int:
        """Write a candidate's last messages and its end. Return the thread's version."""
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
        """Write messages on a candidate's branch. Return the thread's version."""
        on_branch = thread_rows.load_on_branch(connection, loaded, candidate.branch_id)
        receipt = self._append_messages(connection, on_branch, run, messages)
        candidate_rows.write_head(connection, candidate.key, receipt.result)
        return receipt.version

    def _leave_unanswered_branch(self, connection: sa.Connection, run: Run) -> Receipt | None:
        """Switch to the first candidate with an answer, if the current branch has none."""
        loaded = thread_rows.load_thread(connection, run.thread_id, include_deleted=True)
        candidates = candidate_rows.select_candidates(connection, run.id)
        current = next((each for each in candidates if each.branch_id == loaded.thread.branch_id), None)
        if current is None or current.head_id is not None:
            return None
        # A person may have deleted a branch.
        there = {branch.id for branch in thread_rows.select_branches(connection, run.thread_id)}
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
        """Raise `RunTakenError` for a run another process has ended."""
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

    def _is_orphan(self, *, only_own: bool = False) -> list[sa.ColumnElement[bool]]:
        """Return the conditions for running runs this process may end."""
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


def make_draft_messages(draft: Draft) -> list[NewMessage]:
    return make_partial_messages(draft.text, Reasoning(draft.reasoning))
