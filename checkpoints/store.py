"""The store: every thread, what can be read of it, and every change that can be made to it.

Each change is one transaction: it is alone (SQLite's write lock), it checks the version its caller saw, and it records an
operation. Either all of it is on disk when the method returns, or nothing is.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from checkpoints import history, serde
from checkpoints.changes import branches, undo
from checkpoints.changes.transaction import (
    HEAD,
    ChangeBody,
    Transaction,
    append_kind,
    check_caller,
    make_append,
)
from checkpoints.errors import ConflictError, NothingToSaveError
from checkpoints.model import (
    MAX_DESCRIPTION_CHARS,
    UNTITLED,
    USER,
    Caller,
    Checkpoint,
    Json,
    NewId,
    NewMessage,
    Node,
    Operation,
    OperationKind,
    Receipt,
    Thread,
    clean_name,
)
from checkpoints.operation_detail import OperationDetail
from checkpoints.reader import Reader
from checkpoints.storage import checkpoint_rows, rows, schema
from checkpoints.storage.database import Database, tried_again

_LONG_SETTINGS = ("instructions", "extra_body")  # an operation's changes hold their texts, its detail does not
_ALWAYS_ALLOW = ("time_travel", "allow")  # given for one conversation: it does not hold in another


def new_id() -> str:
    """80 random bits: never reused, and no meaning to guess."""
    return secrets.token_hex(10)


class Store(Reader):
    """Threads in one database. Safe to call from several threads of the process."""

    def __init__(
        self, database: Database, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), new_id: NewId = new_id
    ) -> None:
        super().__init__(database)
        self.now = now
        self.new_id = new_id

    @tried_again
    def create_thread(self, *, title: str = UNTITLED, owner: str = "local", source_hash: str | None = None) -> Thread:
        with self.database.begin_write() as connection:
            return self.insert_thread(connection, title, owner, source_hash).thread

    def insert_thread(
        self,
        connection: sa.Connection,
        title: str = UNTITLED,
        owner: str = "local",
        source_hash: str | None = None,
        thread_id: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> rows.LoadedThread:
        """Make a thread inside a transaction that is already open."""
        thread_id = thread_id or self.new_id()
        now, branch_id = rows.from_time(self.now()), self.new_id()
        title = clean_name(title) or UNTITLED
        row = {"id": thread_id, "owner": owner, "title": title, "settings": dict(settings or {}), "branch_id": branch_id}
        times = {"created_at": now, "updated_at": now}
        connection.execute(
            sa.insert(schema.thread).values(**row, **times, version=0, checkpoints_made=0, source=source_hash)
        )
        main = {"id": branch_id, "thread_id": thread_id, "position": 0, "name": "main", "created_at": now}
        connection.execute(sa.insert(schema.branch).values(**main))
        return rows.load_thread(connection, thread_id)

    def append(
        self,
        thread_id: str,
        messages: Sequence[NewMessage],
        *,
        caller: Caller = USER,
        after: str | None = HEAD,
        title: str = "",
    ) -> Receipt:
        """Add messages after the head, or after another message of the thread (None: as the first ones).

        Adding them elsewhere than at the head is an edit: what stood there leaves the conversation, undoably. `title` names
        a conversation that has none yet.
        """
        return self._run_change(
            thread_id,
            append_kind(after, is_empty=not messages),
            caller,
            make_append(messages, after, title, run_id=caller.undo_group),
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
        """Save a checkpoint of the head; the result is its id. The cost does not depend on the length.

        With `keep`, the state to save is the conversation's first `keep` messages and then `new`: the head moves there.
        """

        def save_head(transaction: Transaction) -> str:
            if keep is not None:
                path = transaction.current_path()
                if new or keep != path.length:
                    place = _node_at_depth(transaction, path, keep - 1)
                    transaction.detach_and_move([place, *transaction.add_messages(place, new)][-1])
            if transaction.head is None:
                raise NothingToSaveError
            bookmark = Checkpoint(
                id="",
                name=serde.sanitize_text(name or ""),
                timestamp=rows.to_time(transaction.now),
                message_count=transaction.head.depth + 1,
                description=serde.sanitize_text(description),
                created_by=caller.actor,
                tokens=tokens,
                node=transaction.head,
                extra=extra or {},
            )
            saved = transaction.add_checkpoint(bookmark)
            transaction.detail = OperationDetail(name=saved.name)
            return saved.id

        return self._run_change(thread_id, OperationKind.SAVE, caller, save_head, while_running=keep is None)

    def restore(self, thread_id: str, checkpoint_id: str, *, keep_future: bool = False, caller: Caller = USER) -> Receipt:
        """Move the head back to a checkpoint. Later checkpoints leave the list; `keep_future` keeps all in a branch."""

        def restore_head(transaction: Transaction) -> str:
            old = transaction.current_path()
            target, detached = checkpoint_rows.select_restore_target(
                transaction.connection, transaction.thread, checkpoint_id, old
            )
            left = checkpoint_rows.count_removal(
                transaction.connection, transaction.thread, old, transaction.path_to(target.node), detached
            )
            transaction.detail = OperationDetail(
                name=target.name, messages=left.messages, checkpoints=left.checkpoints, future_kept=keep_future
            )
            future = None
            if keep_future:
                future = transaction.add_branch(
                    f"Before restoring {target.name}", transaction.head.id if transaction.head else None
                )
            transaction.unlist_checkpoints(detached, to_branch=future)
            transaction.move_head(target.node)
            return target.id

        return self._run_change(thread_id, OperationKind.RESTORE, caller, restore_head)

    def switch(self, thread_id: str, branch_id: str, *, caller: Caller = USER) -> Receipt:
        """Make another branch the current one."""

        def switch_branch(transaction: Transaction) -> str:
            branch = rows.select_branch(transaction.connection, branch_id, thread_id)
            transaction.detail = OperationDetail(subject="branch", name=branch.name)
            transaction.update_row("thread", thread_id, branch_id=branch.id)
            return branch.id

        return self._run_change(thread_id, OperationKind.SWITCH, caller, switch_branch)

    def choose(self, thread_id: str, message_id: str, *, caller: Caller = USER) -> Receipt:
        """Stand on one of a message's alternatives, with what last followed it (see `Reader.siblings`)."""
        return self._run_change(
            thread_id, OperationKind.SWITCH, caller, lambda change: branches.choose_alternative(change, message_id)
        )

    def fork(self, thread_id: str, message_id: str | None, *, name: str = "", caller: Caller = USER) -> Receipt:
        """A new branch whose last message is this one (None: before the first), and stand on it; the result is its id."""
        return self._run_change(
            thread_id, OperationKind.FORK, caller, lambda change: branches.fork_branch(change, message_id, name)
        )

    @tried_again
    def fork_thread(self, thread_id: str, message_id: str | None, *, title: str = "", caller: Caller = USER) -> Receipt:
        """A new conversation that holds the path to a message, with its checkpoints; the result is its id.

        It stands for itself: undoing it (there) takes it out of the list, and neither sees what is done in the other. It
        keeps the settings, but for the leave to move through time without asking.
        """
        identifier = _derive_thread_id(thread_id, caller.request_id) if caller.request_id else self.new_id()
        with self.database.begin_write() as connection:
            if done := rows.select_operations(connection, identifier, schema.operation.c.kind == OperationKind.FORK):
                return Receipt(done[-1], repeated=True)
            source = rows.select_thread(connection, thread_id)
            path = rows.load_path(connection, thread_id, message_id)
            title = clean_name(title) or f"Branch of {source.title}"
            kept = {key: value for key, value in source.settings.items() if (key, value) != _ALWAYS_ALLOW}
            made = self.insert_thread(connection, title, source.owner, thread_id=identifier, settings=kept)
            change = Transaction(connection, made, rows.from_time(self.now()), self.new_id, caller)
            return change.run_body(OperationKind.FORK, lambda change: branches.copy_path(change, source, path))

    def rename_branch(self, thread_id: str, branch_id: str, name: str, *, caller: Caller = USER) -> Receipt:
        def set_branch_name(transaction: Transaction) -> None:
            branch = rows.select_branch(transaction.connection, branch_id, thread_id)
            new_name = clean_name(name) or branch.name
            transaction.detail = OperationDetail(subject="branch", name=branch.name, new_name=new_name)
            transaction.update_row("branch", branch.id, name=new_name)

        return self._run_change(thread_id, OperationKind.RENAME, caller, set_branch_name, while_running=True)

    def delete_branch(self, thread_id: str, branch_id: str, *, caller: Caller = USER) -> Receipt:
        """Take a branch out of the list. Raises `CurrentBranchError` for the one that the conversation stands on."""
        return self._run_change(
            thread_id, OperationKind.DELETE, caller, lambda change: branches.delete_branch(change, branch_id)
        )

    def prune_branches(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Delete every branch but the one that the conversation stands on."""
        return self._run_change(thread_id, OperationKind.DELETE, caller, branches.prune_branches)

    def replace(
        self, thread_id: str, message_id: str, new: NewMessage, *, drop: Collection[str] = (), caller: Caller = USER
    ) -> Receipt:
        """Put another message in the place of one of the path, and keep what followed; the result is the new one's id.

        What is in `drop` leaves, and with it what cannot stand without it: a tool's result without its call. Checkpoints of
        what was there stay in the list, and restore what they were saved for.
        """
        body: ChangeBody = lambda change: branches.replace_message(change, message_id, new, drop)  # noqa: E731
        return self._run_change(thread_id, OperationKind.REPLACE, caller, body)

    def delete_checkpoint(self, thread_id: str, checkpoint_id: str, *, caller: Caller = USER) -> Receipt:
        def hide_checkpoint(transaction: Transaction) -> str:
            target = transaction.find_checkpoint(checkpoint_id)
            transaction.detail = OperationDetail(subject="checkpoint", name=target.name)
            transaction.update_row("checkpoint", target.id, deleted_at=transaction.now)
            return target.id

        return self._run_change(thread_id, OperationKind.DELETE, caller, hide_checkpoint, while_running=True)

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
        """Rename, describe, pin or unpin a checkpoint; None, and an empty name, change nothing."""

        def set_columns(transaction: Transaction) -> str:
            target = transaction.find_checkpoint(checkpoint_id)
            after: Json = {} if pinned is None else {"pinned": pinned}
            if new_name := clean_name(name or ""):
                after["name"] = new_name
            if description is not None:
                after["description"] = serde.sanitize_text(description)[:MAX_DESCRIPTION_CHARS]
            transaction.detail = OperationDetail(
                subject="checkpoint", name=target.name, new_name=new_name if new_name != target.name else "", pinned=pinned
            )
            transaction.update_row("checkpoint", target.id, **after)
            return target.id

        kind = OperationKind.RENAME if pinned is None else OperationKind.PIN
        return self._run_change(thread_id, kind, caller, set_columns, while_running=True)

    def clear_checkpoints(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Delete all checkpoints that the current branch shows; the conversation stays."""

        def hide_checkpoints(transaction: Transaction) -> None:
            transaction.detail = OperationDetail(subject="checkpoints")
            transaction.move_all(
                "checkpoint", [checkpoint.id for checkpoint in transaction.visible_checkpoints()], deleted_at=transaction.now
            )

        return self._run_change(thread_id, OperationKind.CLEAR, caller, hide_checkpoints, while_running=True)

    def clear(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Go back to before the first message; checkpoints leave the list with what they stand on."""

        def clear_head(transaction: Transaction) -> None:
            transaction.detail = OperationDetail(subject="thread")
            transaction.unlist_checkpoints(
                checkpoint_rows.select_detached_checkpoints(transaction.connection, transaction.thread)
            )
            transaction.move_head(None)

        return self._run_change(thread_id, OperationKind.CLEAR, caller, clear_head)

    def rename_thread(self, thread_id: str, title: str, *, caller: Caller = USER) -> Receipt:
        def set_title(transaction: Transaction) -> None:
            old_title = transaction.thread.title
            new_title = clean_name(title) or old_title
            transaction.detail = OperationDetail(subject="thread", name=old_title, new_name=new_title)
            transaction.update_row("thread", thread_id, title=new_title)

        return self._run_change(thread_id, OperationKind.RENAME, caller, set_title, while_running=True)

    def change_settings(
        self,
        thread_id: str,
        values: Mapping[str, str],
        *,
        expected: Mapping[str, str] | None = None,
        caller: Caller = USER,
    ) -> Receipt:
        """Set settings of this conversation. Settings in an imported file are never applied.

        `expected` holds the values that the caller saw. Raises `ConflictError` if one of them has changed since.
        """

        def set_settings(transaction: Transaction) -> None:
            if any(str(transaction.thread.settings.get(key, "")) != value for key, value in (expected or {}).items()):
                raise ConflictError(thread_id, transaction.thread.version, transaction.thread.version)
            before = transaction.thread.settings
            changed = {key: value for key, value in values.items() if before.get(key, "") != value}
            transaction.detail = OperationDetail(
                settings={key: "" if key in _LONG_SETTINGS else value for key, value in changed.items()}
            )
            transaction.update_row("thread", thread_id, settings={**before, **values})

        return self._run_change(thread_id, OperationKind.SETTINGS, caller, set_settings, while_running=True)

    def delete_thread(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Take a conversation out of the list. Nothing of it is erased: undo brings it back."""

        def hide_thread(transaction: Transaction) -> None:
            transaction.detail = OperationDetail(subject="thread", name=transaction.thread.title)
            transaction.update_row("thread", thread_id, deleted_at=transaction.now)

        return self._run_change(thread_id, OperationKind.DELETE, caller, hide_thread)

    def undo(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Take back the newest operation that stands (with its whole group), exactly. That is an operation as well."""
        return self._run_change(thread_id, OperationKind.UNDO, caller, undo.apply_undo, include_deleted=True)

    def redo(self, thread_id: str, *, caller: Caller = USER) -> Receipt:
        """Take back the newest undo, if nothing else was done since."""
        return self._run_change(thread_id, OperationKind.REDO, caller, undo.apply_redo, include_deleted=True)

    @tried_again
    def import_thread(self, title: str, source_hash: str, fill: ChangeBody, *, caller: Caller = USER) -> Receipt:
        """A new conversation, filled by `fill` (see transfer). Undoing takes it out of the list.

        `source` is the hash of what it is made from: while the conversation made from it before is in the list, that is it.
        """

        def fill_thread(transaction: Transaction) -> str:
            transaction.detail = OperationDetail(name=transaction.thread.title)
            fill(transaction)
            transaction.record_insert("thread", transaction.thread.id)
            return transaction.thread.id

        with self.database.begin_write(source_hash) as connection:
            if (existing := _select_import(connection, source_hash, "local")) is not None:
                first = rows.select_operations(connection, existing, schema.operation.c.version == 1)[0]
                return Receipt(first, repeated=True)
            made = self.insert_thread(connection, title, source_hash=source_hash)
            change = Transaction(connection, made, rows.from_time(self.now()), self.new_id, caller)
            return change.run_body(OperationKind.IMPORT, fill_thread)

    def import_into(self, thread_id: str, fill: ChangeBody, *, caller: Caller = USER) -> Receipt:
        """Replace a conversation by what `fill` writes; what was there leaves, undoably."""
        return self._run_change(thread_id, OperationKind.IMPORT, caller, fill)

    def find_import(self, source_hash: str, owner: str = "local") -> Thread | None:
        """The conversation that was imported from the document with this hash, if it is still in the list."""
        with self.database.begin_read() as connection:
            found = _select_import(connection, source_hash, owner)
            return rows.select_thread(connection, found) if found else None

    # ---- the one way in which anything changes

    @tried_again
    def _run_change(
        self,
        thread_id: str,
        kind: OperationKind,
        caller: Caller,
        body: ChangeBody,
        *,
        while_running: bool = False,
        include_deleted: bool = False,
    ) -> Receipt:
        with self.database.begin_write(caller.request_id or "") as connection:
            if caller.request_id and (done := _select_request(connection, thread_id, caller.request_id)):
                return Receipt(done, repeated=True)
            standing = rows.load_thread(connection, thread_id, include_deleted=include_deleted)
            exact = kind in (OperationKind.UNDO, OperationKind.REDO)
            check_caller(connection, standing, caller, while_running=while_running, is_exact=exact)
            change = Transaction(connection, standing, rows.from_time(self.now()), self.new_id, caller)
            return change.run_body(kind, body)


def _derive_thread_id(thread_id: str, request: str) -> str:
    """The same request again means the same new conversation."""
    return hashlib.sha256(f"{thread_id}:{request}".encode()).hexdigest()[:20]


def _select_import(connection: sa.Connection, source_hash: str, owner: str) -> str | None:
    table = schema.thread.c
    query = sa.select(table.id).where(table.source == source_hash, table.owner == owner, table.deleted_at.is_(None))
    return connection.scalar(query.limit(1))


def _select_request(connection: sa.Connection, thread_id: str, request: str) -> Operation | None:
    found = rows.select_operations(connection, thread_id, schema.operation.c.request == request)
    return found[0] if found else None


def _node_at_depth(transaction: Transaction, path: history.Path, depth: int) -> Node | None:
    """The message of the path at this depth (-1: before the first)."""
    found = rows.select_messages(transaction.connection, path, last=1, before=depth + 1)
    return Node(found[0].id, found[0].segment, found[0].depth) if found else None
