"""Runs: one pass of the agent. A running row is the thread's lock, and what a crash leaves behind is found through it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from .changes import candidates, checkpoint_edits, run_changes, titles
from .changes.alternatives import check_room_after
from .changes.append import HEAD, choose_append_kind, make_append
from .changes.preconditions import check_caller
from .changes.repeated_requests import choose_thread_id, find_begun_run
from .changes.transaction import Transaction
from .rows import candidate_rows, message_rows, operation_rows, rerun_rows, run_rows, thread_rows, usage_rows
from .run_handovers import RunHandovers
from .storage.database import retry_contended
from .storage.ownership import EVERYBODY, act_for
from .values.errors import NothingToRetryError
from .values.model import Message, NewMessage
from .values.names import clean_name
from .values.operation import USER, Caller, OperationKind, Receipt
from .values.operation_detail import OperationDetail
from .values.run import CandidateKey, Draft, Handover, Rerun, RerunStep, Run, RunState


class Runs(RunHandovers):
    """The runs of a store's threads."""

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
        """Lock the thread for a run and write the user's message, in one transaction; without a thread, make one that has
        these `settings`. Its id is the request's where that is a UUID: the page can follow it before the reply.

        `closing_messages` are written before it: results of calls that it leaves without a decision. `after` is the start
        of a run that does not start at the head (an edit, a retry). `models` answer the message at once, each on a branch.
        Raises `RunActiveError` when another run holds the thread. The same request again returns the run that it began, and
        does nothing. Raises `RequestReusedError` when it carries another text.
        """
        run_id = caller.request_id or self._store.new_id()
        with self._store.database.begin_write(run_id) as connection:
            if (begun := find_begun_run(connection, thread_id, run_id, message)) is not None:
                return begun
            loaded = self._load_or_create_thread(connection, thread_id, caller, settings)
            self._check_limits(connection, loaded.thread.owner)
            kind: dict[str, Any] = {"compacts": compacts, "rerun": rerun, "candidates": len(models)}
            kind |= self._choose_worker(handover)
            run = run_rows.insert_run(connection, loaded.thread.id, run_id, self._store.now(), **kind)
            if message is not None or after != HEAD:
                change = self._open_transaction(connection, loaded, replace(caller, undo_group=run_id))
                body = make_append([*closing_messages, message] if message else [], after, title, run_id, begins_turn=True)
                body = candidates.add_candidates(body, run_id, models) if models else body
                change.run_body(choose_append_kind(after, is_empty=message is None), body)
            elif not compacts:
                check_room_after(connection, loaded.thread, loaded.head)
        return run

    def _load_or_create_thread(
        self, connection: sa.Connection, thread_id: str | None, caller: Caller, settings: Mapping[str, str] | None
    ) -> thread_rows.LoadedThread:
        """Return the thread of a new run: one that is there and that the caller may change, else a new one."""
        if thread_id:
            loaded = thread_rows.load_thread(connection, thread_id)
            check_caller(connection, loaded, caller, while_running=False)
            return loaded
        new = self._store.prepare_thread(thread_id=choose_thread_id(caller), settings=settings)
        return thread_rows.insert_thread(connection, new, self._store.now())

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
        """Open a branch after a message, write the first question there and lock the thread, in one transaction.

        The branch is undone with the question. Raises and repeats as `begin_run`.
        """
        run_id = caller.request_id or self._store.new_id()
        with self._store.database.begin_write(run_id) as connection:
            if (begun := find_begun_run(connection, rerun.thread_id, run_id, first)) is not None:
                return begun
            loaded = thread_rows.load_thread(connection, rerun.thread_id)
            check_caller(connection, loaded, caller, while_running=False)
            self._check_limits(connection, loaded.thread.owner)
            rerun_rows.insert_rerun(connection, rerun)
            kind: dict[str, Any] = {"rerun": RerunStep(rerun.id, 1), **self._choose_worker(handover)}
            run = run_rows.insert_run(connection, rerun.thread_id, run_id, self._store.now(), **kind)
            change = self._open_transaction(connection, loaded, replace(caller, undo_group=run_id))
            body = partial(run_changes.fork_and_append, message=first, after=after, name=name, run_id=run_id)
            change.run_body(OperationKind.FORK, body)
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
        """Let a candidate without a whole answer be written once more, from the question. Its run holds the thread again.

        With `while_running`, its run is in progress: other candidates are being written. The same request again, and one for
        a candidate that is being written, does nothing. Raises `NothingToRetryError`, and `RunActiveError` for another run.
        """
        with self._store.database.begin_write(caller.request_id or "") as connection:
            run, candidate = candidates.load_candidate(connection, thread_id, key)
            if caller.request_id and operation_rows.find_request(connection, thread_id, caller.request_id):
                return run
            loaded = thread_rows.load_thread(connection, thread_id)
            if loaded.active_run_id == run.id and candidate.state is RunState.RUNNING:
                return run
            if while_running and loaded.active_run_id != run.id:  # it has ended at another process
                raise NothingToRetryError
            if not while_running:
                self._check_limits(connection, loaded.thread.owner)
            own = replace(caller, undo_group=run.id if while_running else None)
            check_caller(connection, loaded, own, while_running=False)
            question = candidates.find_asked_question(connection, loaded.thread, candidate)
            on_branch = thread_rows.load_on_branch(connection, loaded, candidate.branch_id)
            change = self._open_transaction(connection, on_branch, replace(caller, undo_group=run.id))
            change.run_body(OperationKind.RETRY, partial(candidates.begin_again, candidate=candidate, question=question))
            run_rows.reopen_run(connection, run.id)
            if self.worker_id is not None and not while_running:
                run = run_rows.count_attempt(connection, run, **self._choose_worker(handover))
            return replace(run, state=RunState.RUNNING)

    @retry_contended
    @act_for(EVERYBODY)
    def save_drafts(
        self,
        drafts: Mapping[str, Draft],
        candidate_drafts: Mapping[CandidateKey, Draft] = MappingProxyType({}),
        attempts: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Store the answers so far: the runs' by their ids, and those of candidates. `attempts` are those of the runs."""
        with self._store.database.begin_write() as connection:
            for run_id in sorted(drafts):
                run_rows.write_draft(connection, run_id, drafts[run_id], attempts.get(run_id, 0))
            for key in sorted(candidate_drafts):
                candidate_rows.write_draft(connection, key, candidate_drafts[key], attempts.get(key.run_id, 0))

    @retry_contended
    def commit_message(
        self, run: Run, message: NewMessage, *, branch_id: str | None = None, candidate: CandidateKey | None = None
    ) -> tuple[Message, int]:
        """Write a finished message of the run and forget the draft of it. Returns it with the thread's new version.

        With `branch_id`, it is written on that branch and not on the one that the conversation stands on; it may be of a
        `candidate`. Raises `ConflictError` for a run that has ended: the thread may be another's by now.
        """
        with self._store.database.begin_write() as connection:
            loaded = self._require_active(connection, run)
            if branch_id is not None:  # a change acts where its thread stands
                loaded = thread_rows.load_on_branch(connection, loaded, branch_id)
            receipt = self._append_messages(connection, loaded, run, [message])
            if candidate is not None:
                candidate_rows.write_head(connection, candidate, receipt.result)
            else:
                run_rows.write_draft(connection, run.id, run_rows.NO_DRAFT, run.attempt)
            return message_rows.select_message(connection, receipt.result, run.thread_id), receipt.version

    @retry_contended
    def record_move(
        self, run: Run, kind: OperationKind, message: NewMessage, *, after: str | None, detail: OperationDetail
    ) -> Receipt:
        """Move the run's thread back to `after` and write a message there. Undo brings the later messages back.

        Raises `ConflictError` for a run that has ended.
        """
        body = partial(run_changes.move_and_append, message=message, after=after, run_id=run.id, detail=detail)
        with self._begin_change(run) as change:
            return change.run_body(kind, body)

    @retry_contended
    def replace_message(
        self, run: Run, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, detail: OperationDetail
    ) -> Receipt:
        """Replace a message, as the run's rewind; the later messages stay, except the dropped ones.

        Raises `ConflictError` for a run that has ended.
        """
        new = replace(new, run_id=run.id)
        with self._begin_change(run) as change:
            return change.run_body(
                OperationKind.REWIND,
                lambda change: run_changes.replace_in_run(change, message_id, new, dropped_ids, detail=detail),
            )

    @retry_contended
    def replace_with_summary(
        self, run: Run, messages: Sequence[NewMessage], *, after: str | None, detail: OperationDetail
    ) -> Receipt:
        """Replace the messages after `after` by a note and copies, and release the thread, in one transaction.

        Checkpoints of the old path stay in the list, and restore that path. Raises `ConflictError` for a
        run that has ended.
        """
        written = [replace(messages[0], run_id=run.id), *messages[1:]]
        body = partial(run_changes.put_summary, messages=written, after=after, detail=detail)
        with self._begin_change(run) as change:
            receipt = change.run_body(OperationKind.COMPACT, body)
            head_id = change.head.id if change.head else None
            run_rows.end_run(change.connection, run.id, run_rows.RunEnd(RunState.DONE), self._store.now(), head_id)
            return receipt

    @retry_contended
    def branch_off(
        self, run: Run, first_messages: Sequence[tuple[str, NewMessage]], *, after: str | None
    ) -> tuple[list[tuple[str, Message]], int]:
        """Add branches after a message, each with a name and a first message; the head stays.

        Return their ids with those messages, and the thread's new version. Raises `ConflictError` for a run that has ended.
        """

        def add_branches(transaction: Transaction) -> None:
            made.extend(run_changes.add_branches(transaction, first_messages, after=after, run_id=run.id))

        made: list[tuple[str, Message]] = []
        with self._begin_change(run) as change:
            return made, change.run_body(OperationKind.FORK, add_branches).version

    @retry_contended
    def save_checkpoint(self, run: Run, name: str, description: str, tokens: int | None = None) -> Receipt:
        """Bookmark the head, as the agent. It is not undone with the run's messages: what is saved stays saved.

        Raises `ConflictError` for a run that has ended.
        """
        new = checkpoint_edits.NewCheckpoint(name, description, tokens, {})
        with self._begin_change(run, Caller(actor="agent")) as change:
            return change.run_body(OperationKind.SAVE, lambda change: checkpoint_edits.save_head(change, new, None))

    @retry_contended
    def save_milestone(self, run: Run, message_id: str, name: str, description: str) -> Receipt | None:
        """Bookmark a state that a run reached, as the judge. Return None if the message has left the path, or has or had a
        checkpoint.

        It conflicts with no change: undo passes it over, and takes it back with the run.
        """
        with self._store.database.begin_write() as connection:
            change = self._open_transaction(
                connection, thread_rows.load_thread(connection, run.thread_id), Caller(actor="judge", undo_group=run.id)
            )
            node = thread_rows.select_node(connection, message_id, run.thread_id)
            if node is None or not run_changes.can_save_milestone(change, node):
                return None
            return change.run_body(
                OperationKind.SAVE, partial(run_changes.add_milestone, node=node, name=name, description=description)
            )

    @retry_contended
    def give_title(self, run: Run, title: str, *, model: str, usage: Mapping[str, Any]) -> Receipt | None:
        """Give the run's thread a title that the model has found. Return None if the thread has got another one meanwhile.

        It is an operation of its own, with the model's usage: undo brings the first message's title back.
        """
        with self._store.database.begin_write() as connection:
            loaded = thread_rows.load_thread(connection, run.thread_id)
            if not clean_name(title) or not titles.is_titled_by_question(connection, loaded.thread):
                return None
            old, new = loaded.thread.title, clean_name(title)
            detail = OperationDetail(subject="thread", name=old, new_name=new, model=model, usage=usage)
            change = self._open_transaction(connection, loaded, Caller(actor="system"))
            usage_rows.add_call(connection, loaded.thread.owner, change.now, model, usage)
            return change.run_body(OperationKind.RENAME, lambda change: titles.give_title(change, title, detail))

    def _check_limits(self, connection: sa.Connection, owner: str) -> None:
        """Refuse one more run of the person who acts, in a conversation of an owner. Raises `LimitReachedError`."""
        self._store.meter.check_start(connection, self._store.database.name_owner(), owner, self._store.now())

    @contextmanager
    def _begin_change(self, run: Run, caller: Caller | None = None) -> Iterator[Transaction]:
        """Open a change of a run that holds its thread. Raises `ConflictError`."""
        with self._store.database.begin_write() as connection:
            loaded = self._require_active(connection, run)
            yield self._open_transaction(connection, loaded, caller or Caller(actor="agent", undo_group=run.id))
