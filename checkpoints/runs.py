"""Runs: one pass of the agent. A running row is the thread's lock, and through it the remains of a crash are found."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from .changes import checkpoint_edits, run_changes, titles
from .changes.append import HEAD, make_append
from .changes.transaction import Transaction
from .rows import candidate_rows, operation_rows, run_rows, thread_rows, usage_rows
from .run_beginnings import RunBeginnings
from .run_recovery import RunRecovery
from .storage.database import retry_contended
from .storage.ownership import EVERYBODY, act_for
from .storage.person_locks import hold_acting_person
from .values.model import Message, NewMessage
from .values.names import clean_name
from .values.operation import Caller, OperationKind, Receipt
from .values.operation_detail import OperationDetail
from .values.run import CandidateKey, Draft, Run, RunState


class Runs(RunBeginnings, RunRecovery):
    """The runs of a store's threads."""

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

        Raises `ConflictError` for a run that has ended.
        """
        body = partial(run_changes.move_and_append, message=message, after=after, run_id=run.id, detail=detail)
        with self._begin_change(run) as change:
            return change.apply_and_record(kind, body)

    @retry_contended
    def replace_message(
        self, run: Run, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, detail: OperationDetail
    ) -> Receipt:
        """Replace a message, as the run's rewind; the later messages stay, except the dropped ones.

        Raises `ConflictError` for a run that has ended.
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
        """Replace the messages after `after` by a note and copies, and release the thread, in one transaction.

        Checkpoints of the old path stay in the list, and restore that path. Raises `ConflictError` for a
        run that has ended.
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
        """Add branches after a message, each with a name and a first message; the head stays.

        Return their ids with those messages, and the thread's new version. Raises `ConflictError` for a run that has ended.
        """

        def add_branches(transaction: Transaction) -> None:
            made.extend(run_changes.add_branches(transaction, first_messages, after=after, run_id=run.id))

        made: list[tuple[str, Message]] = []
        with self._begin_change(run) as change:
            return made, change.apply_and_record(OperationKind.FORK, add_branches).version

    @retry_contended
    def save_checkpoint(self, run: Run, name: str, description: str, tokens: int | None = None) -> Receipt:
        """Bookmark the head, as the agent. It is not undone with the run's messages: it stays saved.

        Raises `ConflictError` for a run that has ended.
        """
        new = checkpoint_edits.NewCheckpoint(name, description, tokens, {})
        with self._begin_change(run, Caller(actor="agent")) as change:
            return change.apply_and_record(OperationKind.SAVE, lambda change: checkpoint_edits.save_head(change, new, None))

    @retry_contended
    def record_answer(self, run: Run) -> None:
        """Record a person's answer to a user graph that asks again: it is undone by itself, as the run's work is otherwise.

        Raises `ConflictError` for a run that has ended.
        """
        with self._begin_change(run, Caller(undo_group=run.id)) as change:
            newest = operation_rows.select_operation(change.connection, run.thread_id, change.thread.version)
            if newest is None or newest.undo_group != run.id:
                change.detail = OperationDetail(subject="question")
                change.apply_and_record(OperationKind.APPEND, lambda _: None)

    @retry_contended
    def save_milestone(self, run: Run, message_id: str, name: str, description: str) -> Receipt | None:
        """Bookmark a state that a run reached, as the judge. Return None if the message has left the path, or has or had a
        checkpoint.

        It conflicts with no change: undo passes it over, and takes it back with the run.
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
        """Give the run's thread a title that the model has found. Return None if the thread has got another one meanwhile.

        It is an operation of its own, with the model's usage: undo brings the first message's title back.
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

    @contextmanager
    def _begin_change(self, run: Run, caller: Caller | None = None) -> Iterator[Transaction]:
        """Open a change of a run that holds its thread. Raises `ConflictError`."""
        with self._store.database.begin_write() as connection:
            loaded = self._require_active(connection, run)
            yield self._open_transaction(connection, loaded, caller or Caller(actor="agent", undo_group=run.id))

    @contextmanager
    def _begin_follow_up(self) -> Iterator[sa.Connection]:
        """Open a change after a run has ended: its person may be erased from then on. Raises `PersonErasedError`."""
        with self._store.database.begin_write() as connection:
            hold_acting_person(connection)
            yield connection
