"""How runs begin: each locks its thread, and writes the message that it answers in the same transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from .changes import candidates, run_changes
from .changes.alternatives import check_room_after
from .changes.append import HEAD, choose_append_kind, make_append
from .changes.preconditions import check_caller
from .changes.repeated_requests import choose_thread_id, find_begun_run, refuse_taken_ids
from .rows import operation_rows, rerun_rows, run_rows, thread_rows
from .run_handovers import RunHandovers
from .storage.database import retry_contended
from .storage.person_locks import hold_acting_writer
from .values.errors import NothingToRetryError, RunActiveError
from .values.model import NewMessage
from .values.operation import USER, Caller, OperationKind, name_request_lock
from .values.run import CandidateKey, Handover, Rerun, RerunStep, Run, RunState


class RunBeginnings(RunHandovers):
    """The beginnings of a store's runs."""

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

    def _load_or_create_thread(
        self, connection: sa.Connection, thread_id: str | None, caller: Caller, settings: Mapping[str, str] | None
    ) -> thread_rows.LoadedThread:
        """Return the thread of a new run: one that is there and that the caller may change, else a new one."""
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
        with self._begin(run_id) as connection:
            if (begun := find_begun_run(connection, rerun.thread_id, run_id, first)) is not None:
                return begun
            loaded = thread_rows.load_thread(connection, rerun.thread_id)
            check_caller(connection, loaded, caller, while_running=False)
            self._check_limits(connection, loaded.thread.owner)
            rerun_rows.insert_rerun(connection, rerun)
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
        """Let a candidate without a whole answer be written once more, from the question. Its run holds the thread again.

        With `while_running`, its run is in progress: other candidates are being written. The same request again, and one for
        a candidate that is being written, does nothing. Raises `NothingToRetryError`, and `RunActiveError` for another run
        or, in progress, one of another person.
        """
        with self._begin(caller.request_id or "") as connection:
            run, candidate = candidates.load_candidate(connection, thread_id, key)
            if caller.request_id and operation_rows.find_request(connection, thread_id, caller.request_id):
                return run
            loaded = thread_rows.load_thread(connection, thread_id)
            if loaded.active_run_id == run.id and candidate.state is RunState.RUNNING:
                return run
            if while_running and loaded.active_run_id != run.id:  # it has ended at another process
                raise NothingToRetryError
            if while_running and run.person not in (None, self._store.database.name_owner()):  # its tokens are theirs
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

    @contextmanager
    def _begin(self, request_id: str) -> Iterator[sa.Connection]:
        """Open the transaction in which a run begins: meanwhile the person who asks is not erased, and becomes no reader."""
        with self._store.database.begin_write(name_request_lock(request_id)) as connection:
            hold_acting_writer(connection)  # before a role of theirs is read
            yield connection

    def _check_limits(self, connection: sa.Connection, owner: str, *, adds_run: bool = True) -> None:
        """Refuse one more answer to the person who acts, in a conversation of an owner. Raises `LimitReachedError`."""
        person, now = self._store.database.name_owner(), self._store.now()
        self._store.meter.check_start(connection, person, owner, now, adds_run=adds_run)
