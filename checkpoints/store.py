"""The store: every thread, with its reads and its changes.

Each change is a transaction under SQLite's write lock. It checks the version its caller saw, and records an operation.
When the method returns, either all of it is on disk, or nothing is.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import sqlalchemy as sa

from .changes import branches, checkpoints, restore, thread_edits, thread_fork, undo
from .changes.append import HEAD, choose_append_kind, make_append
from .changes.preconditions import check_caller
from .changes.repeated_requests import find_repeated
from .changes.transaction import ChangeBody, Transaction
from .person_limits import PersonMeter
from .reader import Reader
from .rows import operation_rows, search_index, thread_lists, thread_rows
from .storage import schema
from .storage.database import Database, retry_contended
from .storage.ownership import EVERYBODY, act_for, get_acting_owner, sees_thread
from .storage.person_locks import hold_acting_person
from .values.model import UNTITLED, Json, NewId, NewMessage, Thread
from .values.names import clean_name
from .values.operation import USER, Caller, Operation, OperationKind, Receipt, name_request_lock
from .values.operation_detail import OperationDetail

# This permission holds for a single conversation only.
_ALWAYS_ALLOW = ("time_travel", "allow")


def new_id() -> str:
    """Return 80 random bits: never reused, and with no meaning to guess."""
    return secrets.token_hex(10)


class Store(Reader):
    """Threads in a database. Safe to call from several threads of the process."""

    def __init__(
        self, database: Database, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), new_id: NewId = new_id
    ) -> None:
        super().__init__(database)
        self.now = now
        self.new_id = new_id
        self.meter = PersonMeter(database)

    @retry_contended
    def create_thread(self, *, title: str = UNTITLED, owner: str | None = None, source_hash: str | None = None) -> Thread:
        new = self.prepare_thread(title, owner, source_hash)
        with self.database.begin_write() as connection:
            return thread_rows.insert_thread(connection, new, self.now()).thread

    def prepare_thread(
        self,
        title: str = UNTITLED,
        owner: str | None = None,
        source_hash: str | None = None,
        thread_id: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> thread_rows.NewThread:
        """Return a thread to be inserted. Without `owner`, it belongs to the acting owner."""
        return thread_rows.NewThread(
            id=thread_id or self.new_id(),
            branch_id=self.new_id(),
            owner=self.database.name_owner(owner),
            title=clean_name(title) or UNTITLED,
            settings=settings or {},
            source_hash=source_hash,
        )

    def append(
        self,
        thread_id: str,
        messages: Sequence[NewMessage],
        *,
        caller: Caller = USER,
        after: str | None = HEAD,
        title: str = "",
        detail: OperationDetail | None = None,
    ) -> Receipt:
        """Add messages after the head, or after another message of the thread (None: at the root).

        After another message, this is an edit: it removes the later messages, and undo brings them back. `title` names
        an untitled conversation. `detail` describes the messages.
        """
        return self._run_change(
            thread_id,
            choose_append_kind(after, is_empty=not messages),
            caller,
            self._check_room(make_append(messages, after, title, run_id=caller.undo_group, detail=detail)),
            sent=messages[-1] if messages else None,
        )

    def save(
        self,
        thread_id: str,
        *,
        name: str | None = None,
        description: str = "",
        tokens: int | None = None,
        extra: Json | None = None,
        keep: int | None = None,
        new: Sequence[NewMessage] = (),
        caller: Caller = USER,
    ) -> Receipt:
        """Save a checkpoint of the head, at a cost independent of the length. The result is its id.

        With `keep`, the saved state is the conversation's first `keep` messages followed by `new`, and the head moves there.
        """
        checkpoint = checkpoints.NewCheckpoint(name or "", description, tokens, extra or {})
        state = None if keep is None else checkpoints.NewState(keep, new)
        return self._run_change(
            thread_id,
            OperationKind.SAVE,
            caller,
            lambda change: checkpoints.save_head(change, checkpoint, state),
            while_running=keep is None,
        )

    def restore(self, thread_id: str, checkpoint_id: str, *, keep_future: bool = False, caller: Caller = USER) -> Receipt:
        """Move the head back to a checkpoint. Later checkpoints leave the list; `keep_future` keeps all in a branch."""
        return self._run_change(
            thread_id,
            OperationKind.RESTORE,
            caller,
            lambda change: restore.restore_head(change, checkpoint_id, keep_future=keep_future),
        )

    def save_message(
        self,
        thread_id: str,
        message_id: str,
        *,
        name: str = "",
        description: str = "",
        tokens: int | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Save a checkpoint of an earlier message of the current path. The result is its id. No head moves."""
        checkpoint = checkpoints.NewCheckpoint(name, description, tokens, {})
        return self._run_change(
            thread_id,
            OperationKind.SAVE,
            caller,
            lambda change: checkpoints.save_message(change, checkpoint, message_id),
            while_running=True,
        )

    def restore_message(
        self, thread_id: str, message_id: str | None, *, keep_future: bool = False, caller: Caller = USER
    ) -> Receipt:
        """Move the head back to a message of the current path (None: before the first), like `restore`."""
        return self._run_change(
            thread_id,
            OperationKind.RESTORE,
            caller,
            lambda change: restore.restore_message(change, message_id, keep_future=keep_future),
        )

    def keep_removed_messages(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Keep the messages removed by the last restore in a branch. The result is its id. No head moves."""
        return self._run_change(thread_id, OperationKind.FORK, caller, restore.keep_removed_messages)

    def switch(self, thread_id: str, branch_id: str, *, caller: Caller = USER) -> Receipt:
        return self._run_change(
            thread_id, OperationKind.SWITCH, caller, lambda change: branches.switch_branch(change, branch_id)
        )

    def choose(self, thread_id: str, message_id: str, *, caller: Caller = USER) -> Receipt:
        """Choose an alternative of a message, with the messages that last followed it (see `Reader.find_alternatives`)."""
        return self._run_change(
            thread_id, OperationKind.SWITCH, caller, lambda change: branches.choose_alternative(change, message_id)
        )

    def fork(
        self,
        thread_id: str,
        message_id: str | None,
        *,
        name: str = "",
        checkpoint_id: str | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Add a branch that ends at this message (None: empty) and make it current. The result is its id.

        With a checkpoint at that message, the graph gets the state it had when the checkpoint was saved.
        """
        return self._run_change(
            thread_id,
            OperationKind.FORK,
            caller,
            lambda change: branches.fork_branch(change, message_id, name, checkpoint_id),
        )

    @retry_contended
    def fork_thread(
        self,
        thread_id: str,
        message_id: str | None,
        *,
        title: str = "",
        with_states: bool = True,
        checkpoint_id: str | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Make a new conversation from the path to a message, with its checkpoints. The result is its id.

        Both are independent. Undo in the new conversation removes it from the list. It keeps the settings, except the
        permission for time travel without asking. Without the states of its graph, the built-in agent can answer in
        it. `checkpoint_id` is as in `fork`.
        """
        identifier = _derive_thread_id(thread_id, caller.request_id) if caller.request_id else self.new_id()
        with self.database.begin_write(identifier if caller.request_id else "") as connection:
            if caller.request_id and (done := _find_fork(connection, identifier)):
                return Receipt(done, repeated=True)
            source = thread_rows.select_thread(connection, thread_id)
            path = thread_rows.load_path(connection, thread_id, message_id)
            title = clean_name(title) or f"Branch of {source.title}"
            kept = {key: value for key, value in source.settings.items() if (key, value) != _ALWAYS_ALLOW}
            new = self.prepare_thread(title, self._choose_owner(source), thread_id=identifier, settings=kept)
            self.meter.check_storage(connection, new.owner, new.owner, self.now())
            made = thread_rows.insert_thread(connection, new, self.now())
            change = Transaction(connection, made, thread_rows.from_time(self.now()), self.new_id, caller)
            copy_path = partial(thread_fork.copy_path, with_states=with_states, checkpoint_id=checkpoint_id)
            return change.apply_and_record(OperationKind.FORK, partial(copy_path, source=source, path=path))

    def _choose_owner(self, source: Thread) -> str:
        """Return a copy's owner: the acting person, even if only a member of the original."""
        is_person = self.database.separates_owners and get_acting_owner()
        return self.database.name_owner() if is_person else source.owner

    def rename_branch(self, thread_id: str, branch_id: str, name: str, *, caller: Caller = USER) -> Receipt:
        return self._run_change(
            thread_id,
            OperationKind.RENAME,
            caller,
            lambda change: branches.rename_branch(change, branch_id, name),
            while_running=True,
        )

    def delete_branch(self, thread_id: str, branch_id: str, *, caller: Caller = USER) -> Receipt:
        """Remove a branch from the list. Raises `CurrentBranchError` for the current branch."""
        return self._run_change(
            thread_id, OperationKind.DELETE, caller, lambda change: branches.delete_branch(change, branch_id)
        )

    def prune_branches(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Delete every branch but the current branch."""
        return self._run_change(thread_id, OperationKind.DELETE, caller, branches.prune_branches)

    def replace(
        self, thread_id: str, message_id: str, new: NewMessage, *, drop: Collection[str] = (), caller: Caller = USER
    ) -> Receipt:
        """Replace a message of the path and keep the messages after it. The result is the new message's id.

        The messages in `drop` are removed, and with a tool call its results. Checkpoints of the old path stay in the
        list, and restore that path.
        """
        body: ChangeBody = lambda change: branches.replace_message(change, message_id, new, drop)  # noqa: E731
        return self._run_change(thread_id, OperationKind.REPLACE, caller, self._check_room(body), sent=new)

    def delete_checkpoint(self, thread_id: str, checkpoint_id: str, *, caller: Caller = USER) -> Receipt:
        """Delete a checkpoint of any branch. The messages stay."""
        return self._run_change(
            thread_id,
            OperationKind.DELETE,
            caller,
            lambda change: checkpoints.hide_checkpoint(change, checkpoint_id),
            while_running=True,
        )

    def change_checkpoint(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        pinned: bool | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Rename, describe, pin or unpin a checkpoint of any branch. None and an empty name change nothing."""
        kind = OperationKind.RENAME if pinned is None else OperationKind.PIN
        return self._run_change(
            thread_id,
            kind,
            caller,
            lambda change: checkpoints.change_checkpoint(change, checkpoint_id, name, description, pinned),
            while_running=True,
        )

    def clear_checkpoints(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Delete all checkpoints visible on the current branch. The conversation stays."""
        return self._run_change(thread_id, OperationKind.CLEAR, caller, checkpoints.hide_checkpoints, while_running=True)

    def clear(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Go back to before the first message. Checkpoints leave the list with their messages."""
        return self._run_change(thread_id, OperationKind.CLEAR, caller, thread_edits.clear_head)

    def rename_thread(self, thread_id: str, title: str, *, caller: Caller = USER) -> Receipt:
        return self._run_change(
            thread_id,
            OperationKind.RENAME,
            caller,
            lambda change: thread_edits.rename_thread(change, title),
            while_running=True,
        )

    def pin_thread(self, thread_id: str, *, pinned: bool, caller: Caller = USER) -> Receipt:
        """Pin a conversation at the top of the list, or unpin it."""
        body: ChangeBody = lambda change: thread_edits.pin_thread(change, pinned=pinned)  # noqa: E731
        return self._run_change(thread_id, OperationKind.PIN, caller, body, while_running=True)

    def archive_thread(self, thread_id: str, *, archived: bool, caller: Caller = USER) -> Receipt:
        """Archive a conversation, which removes it from the list but not from the search, or put it back."""
        body: ChangeBody = lambda change: thread_edits.archive_thread(change, archived=archived)  # noqa: E731
        return self._run_change(thread_id, OperationKind.ARCHIVE, caller, body, while_running=True)

    def tag_thread(
        self, thread_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), caller: Caller = USER
    ) -> Receipt:
        """Add and remove tags of a conversation, by name.

        Raises `InvalidTagError` beyond the limits, and if nothing changes.
        """
        body: ChangeBody = lambda change: thread_edits.tag_thread(change, add, remove)  # noqa: E731
        return self._run_change(thread_id, OperationKind.TAG, caller, body, while_running=True)

    def change_settings(
        self, thread_id: str, values: Mapping[str, str], *, expected: Mapping[str, str] | None = None, caller: Caller = USER
    ) -> Receipt:
        """Change this conversation's settings. Of an imported file's settings, only an offered graph is applied.

        `expected` holds the values the caller saw. Raises `ConflictError` if any of them has changed since.
        """
        return self._run_change(
            thread_id,
            OperationKind.SETTINGS,
            caller,
            lambda change: thread_edits.change_settings(change, values, expected or {}),
            while_running=True,
        )

    def delete_thread(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Remove a conversation from the list. Nothing is erased, and undo brings it back."""
        return self._run_change(thread_id, OperationKind.DELETE, caller, thread_edits.hide_thread)

    def undo(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Undo the newest operation still in effect, with its group, exactly. The undo is itself an operation."""
        return self._run_change(thread_id, OperationKind.UNDO, caller, undo.apply_undo, include_deleted=True)

    def redo(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Revert the newest undo, unless another change followed it."""
        return self._run_change(thread_id, OperationKind.REDO, caller, undo.apply_redo, include_deleted=True)

    def revert_last(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Undo the newest change, or redo if it is an undo itself, such as an undone import that hides the thread."""
        with self.database.begin_read() as connection:
            is_undo = undo.is_newest_undo(connection, thread_id)
        return (self.redo if is_undo else self.undo)(thread_id, caller=caller)

    @retry_contended
    def import_thread(
        self,
        title: str,
        source_hash: str,
        fill: ChangeBody,
        *,
        settings: Mapping[str, str] | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Make a conversation, filled by `fill` (see transfer). Undo removes it from the list.

        `source_hash` is the document's hash. While a conversation imported from it is listed, nothing is made.
        """

        def fill_thread(transaction: Transaction) -> str:
            transaction.detail = OperationDetail(name=transaction.thread.title)
            fill(transaction)
            transaction.record_insert("thread", transaction.thread.id)
            return transaction.thread.id

        new = self.prepare_thread(title, source_hash=source_hash, settings=settings)
        with self.database.begin_write(source_hash) as connection:
            if (existing := thread_lists.find_import(connection, source_hash, new.owner)) is not None:
                first = operation_rows.select_operations(connection, existing.id, schema.operation.c.version == 1)[0]
                return Receipt(first, repeated=True)
            self.meter.check_storage(connection, new.owner, new.owner, self.now())
            made = thread_rows.insert_thread(connection, new, self.now())
            change = Transaction(connection, made, thread_rows.from_time(self.now()), self.new_id, caller)
            return change.apply_and_record(OperationKind.IMPORT, fill_thread)

    def import_into(self, thread_id: str, fill: ChangeBody, *, caller: Caller = USER) -> Receipt:
        """Replace a conversation's messages by those written by `fill`. Undo brings the old messages back."""
        return self._run_change(thread_id, OperationKind.IMPORT, caller, self._check_room(fill))

    def _check_room(self, fill: ChangeBody) -> ChangeBody:
        """Make a change refuse if the conversation's owner has no room left."""

        def fill_room(transaction: Transaction) -> str | None:
            owner = transaction.thread.owner
            self.meter.check_storage(transaction.connection, self.database.name_owner(), owner, self.now())
            return fill(transaction)

        return fill_room

    @retry_contended
    @act_for(EVERYBODY)
    def index_portion(self) -> bool:
        """Index some messages not yet known to the search. Return whether there were any.

        Large imports, large forks and a rebuilt index leave such messages.
        """
        with self.database.begin_write("search") as connection:
            return search_index.index_portion(connection) > 0

    @retry_contended
    def _run_change(
        self,
        thread_id: str,
        kind: OperationKind,
        caller: Caller,
        body: ChangeBody,
        *,
        while_running: bool = False,
        include_deleted: bool = False,
        sent: NewMessage | None = None,
    ) -> Receipt:
        """Run a change, once for each request. `sent` is the message whose id is the result."""
        with self.database.begin_write(name_request_lock(caller.request_id)) as connection:
            # Held before a row is locked, because an erasure replaces their name on what is written.
            hold_acting_person(connection)
            if done := find_repeated(connection, thread_id, caller, kind, sent):
                return Receipt(done, repeated=True)
            loaded = thread_rows.load_thread(connection, thread_id, include_deleted=include_deleted)
            is_exact = kind in (OperationKind.UNDO, OperationKind.REDO)
            check_caller(connection, loaded, caller, while_running=while_running, is_exact=is_exact)
            change = Transaction(connection, loaded, thread_rows.from_time(self.now()), self.new_id, caller)
            return change.apply_and_record(kind, body)


def _find_fork(connection: sa.Connection, thread_id: str) -> Operation | None:
    """Return the operation that made a conversation as a copy, or None if it is missing or another owner's."""
    if not sees_thread(connection, thread_id):
        return None
    found = operation_rows.select_operations(connection, thread_id, schema.operation.c.kind == OperationKind.FORK)
    return found[-1] if found else None


def _derive_thread_id(thread_id: str, request: str) -> str:
    """Return a copied conversation's id, always the same for the same request."""
    return hashlib.sha256(f"{thread_id}:{request}".encode()).hexdigest()[:20]
