"""The store: every thread, what can be read of it, and every change that can be made to it.

Each change is one transaction: it is alone (SQLite's write lock), it checks the version its caller saw, and it records an
operation. Either all of it is on disk when the method returns, or nothing is.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from checkpoints import bookmarks, branching, history, rows, schema, serde, undo
from checkpoints.changing import HEAD, Body, Changing, appending, check, kind_of
from checkpoints.database import Database
from checkpoints.errors import ConflictError, NothingToSaveError
from checkpoints.model import (
    DESCRIPTION_LENGTH,
    UNTITLED,
    USER,
    By,
    Checkpoint,
    Json,
    NewId,
    NewMessage,
    Node,
    Operation,
    OperationKind,
    Receipt,
    Thread,
    named,
)
from checkpoints.reader import Reader

_LEAVE = ("time_travel", "allow")  # given for one conversation: it does not hold in another


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

    def create_thread(self, *, title: str = UNTITLED, owner: str = "local", source: str | None = None) -> Thread:
        with self.database.writing() as connection:
            return self.insert_thread(connection, title, owner, source).thread

    def insert_thread(
        self,
        connection: sa.Connection,
        title: str = UNTITLED,
        owner: str = "local",
        source: str | None = None,
        thread_id: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> rows.Standing:
        """Make a thread inside a transaction that is already open."""
        thread_id = thread_id or self.new_id()
        now, branch_id = rows.from_time(self.now()), self.new_id()
        title = named(title) or UNTITLED
        row = {"id": thread_id, "owner": owner, "title": title, "settings": dict(settings or {}), "branch_id": branch_id}
        times = {"created_at": now, "updated_at": now}
        connection.execute(sa.insert(schema.thread).values(**row, **times, version=0, checkpoints_made=0, source=source))
        main = {"id": branch_id, "thread_id": thread_id, "position": 0, "name": "main", "created_at": now}
        connection.execute(sa.insert(schema.branch).values(**main))
        return rows.standing(connection, thread_id)

    def append(
        self,
        thread_id: str,
        messages: Sequence[NewMessage],
        *,
        by: By = USER,
        after: str | None = HEAD,
        title: str = "",
    ) -> Receipt:
        """Add messages after the head, or after another message of the thread (None: as the first ones).

        Adding them elsewhere than at the head is an edit: what stood there leaves the conversation, undoably. `title` names
        a conversation that has none yet.
        """
        return self._change(thread_id, kind_of(after), by, appending(messages, after, title, run_id=by.group))

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
        by: By = USER,
    ) -> Receipt:
        """Bookmark the head; the result is the checkpoint's id. The cost does not depend on the length.

        With `keep`, the state to save is the conversation's first `keep` messages and then `new`: the head moves there.
        """

        def body(change: Changing) -> str:
            if keep is not None:
                path = change.path()
                if new or keep != path.length:
                    place = _at_depth(change, path, keep - 1)
                    change.leave_for([place, *change.add(place, new)][-1])
            if change.head is None:
                raise NothingToSaveError
            bookmark = Checkpoint(
                id="",
                name=serde.writable(name or ""),
                timestamp=rows.to_time(change.now),
                message_count=change.head.depth + 1,
                description=serde.writable(description),
                created_by=by.actor,
                tokens=tokens,
                node=change.head,
                extra=extra or {},
            )
            return change.add_checkpoint(bookmark)

        return self._change(thread_id, OperationKind.SAVE, by, body, while_running=keep is None)

    def restore(self, thread_id: str, checkpoint_id: str, *, keep_future: bool = False, by: By = USER) -> Receipt:
        """Move the head back to a checkpoint. Later checkpoints leave the list; `keep_future` keeps all in a branch."""

        def body(change: Changing) -> str:
            old = change.path()
            target, detached = bookmarks.target(change.connection, change.thread, checkpoint_id, old)
            left = bookmarks.leaving(change.connection, change.thread, old, change.path_to(target.node), detached)
            change.note = f"{target.name} · {left} {'kept as a branch' if keep_future else 'removed'}"
            future = None
            if keep_future:
                future = change.add_branch(f"Before restoring {target.name}", change.head.id if change.head else None)
            change.let_go(detached, to_branch=future)
            change.move_head(target.node)
            return target.id

        return self._change(thread_id, OperationKind.RESTORE, by, body)

    def switch(self, thread_id: str, branch_id: str, *, by: By = USER) -> Receipt:
        """Stand on another branch."""

        def body(change: Changing) -> str:
            branch = rows.branch(change.connection, branch_id, thread_id)
            change.note = f"branch {branch.name}"
            change.move("thread", thread_id, branch_id=branch.id)
            return branch.id

        return self._change(thread_id, OperationKind.SWITCH, by, body)

    def choose(self, thread_id: str, message_id: str, *, by: By = USER) -> Receipt:
        """Stand on one of a message's alternatives, with what last followed it (see `Reader.siblings`)."""
        return self._change(thread_id, OperationKind.SWITCH, by, lambda change: branching.choosing(change, message_id))

    def fork(self, thread_id: str, message_id: str | None, *, name: str = "", by: By = USER) -> Receipt:
        """A new branch whose last message is this one (None: before the first), and stand on it; the result is its id."""
        return self._change(thread_id, OperationKind.FORK, by, lambda change: branching.forking(change, message_id, name))

    def fork_thread(self, thread_id: str, message_id: str | None, *, title: str = "", by: By = USER) -> Receipt:
        """A new conversation that holds the path to a message, with its checkpoints; the result is its id.

        It stands for itself: undoing it (there) takes it out of the list, and neither sees what is done in the other. It
        keeps the settings, but for the leave to move through time without asking.
        """
        identifier = _derived_id(thread_id, by.request) if by.request else self.new_id()
        with self.database.writing() as connection:
            if done := rows.operations(connection, identifier, schema.operation.c.kind == OperationKind.FORK):
                return Receipt(done[-1], repeated=True)
            source = rows.thread(connection, thread_id)
            path = rows.path(connection, thread_id, message_id)
            title = named(title) or f"Branch of {source.title}"
            kept = {key: value for key, value in source.settings.items() if (key, value) != _LEAVE}
            made = self.insert_thread(connection, title, source.owner, thread_id=identifier, settings=kept)
            change = Changing(connection, made, rows.from_time(self.now()), self.new_id, by)
            return change.perform(OperationKind.FORK, lambda change: branching.filling(change, source, path))

    def rename_branch(self, thread_id: str, branch_id: str, name: str, *, by: By = USER) -> Receipt:
        def body(change: Changing) -> None:
            branch = rows.branch(change.connection, branch_id, thread_id)
            new_name = named(name) or branch.name
            change.note = f"branch {branch.name} to {new_name}"
            change.move("branch", branch.id, name=new_name)

        return self._change(thread_id, OperationKind.RENAME, by, body, while_running=True)

    def delete_branch(self, thread_id: str, branch_id: str, *, by: By = USER) -> Receipt:
        """Take a branch out of the list. Raises `CurrentBranchError` for the one that the conversation stands on."""
        return self._change(thread_id, OperationKind.DELETE, by, lambda change: branching.deleting(change, branch_id))

    def prune_branches(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Delete every branch but the one that the conversation stands on."""
        return self._change(thread_id, OperationKind.DELETE, by, branching.pruning)

    def replace(
        self, thread_id: str, message_id: str, new: NewMessage, *, drop: Collection[str] = (), by: By = USER
    ) -> Receipt:
        """Put another message in the place of one of the path, and keep what followed; the result is the new one's id.

        What is in `drop` leaves, and with it what cannot stand without it: a tool's result without its call. Checkpoints of
        what was there stay in the list, and restore what they were saved for.
        """
        body: Body = lambda change: branching.replacing(change, message_id, new, drop)  # noqa: E731
        return self._change(thread_id, OperationKind.EDIT, by, body)

    def delete_checkpoint(self, thread_id: str, checkpoint_id: str, *, by: By = USER) -> Receipt:
        def body(change: Changing) -> str:
            target = change.checkpoint(checkpoint_id)
            change.note = f"checkpoint {target.name}"
            change.move("checkpoint", target.id, deleted_at=change.now)
            return target.id

        return self._change(thread_id, OperationKind.DELETE, by, body, while_running=True)

    def change_checkpoint(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        pinned: bool | None = None,
        by: By = USER,
    ) -> Receipt:
        """Call it or describe it otherwise, pin it or let go of it; what is None, and an empty name, stays as it is."""

        def body(change: Changing) -> str:
            target = change.checkpoint(checkpoint_id)
            after: Json = {} if pinned is None else {"pinned": pinned}
            if new_name := named(name or ""):
                after["name"] = new_name
            if description is not None:
                after["description"] = serde.writable(description)[:DESCRIPTION_LENGTH]
            renamed = f" to {after['name']}" if after.get("name", target.name) != target.name else ""
            change.note = f"checkpoint {target.name}{renamed}"
            change.move("checkpoint", target.id, **after)
            return target.id

        kind = OperationKind.RENAME if pinned is None else OperationKind.PIN
        return self._change(thread_id, kind, by, body, while_running=True)

    def clear_checkpoints(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Delete all checkpoints that the current branch shows; the conversation stays."""

        def body(change: Changing) -> None:
            change.note = "checkpoints"
            for checkpoint in change.shown():
                change.move("checkpoint", checkpoint.id, deleted_at=change.now)

        return self._change(thread_id, OperationKind.CLEAR, by, body, while_running=True)

    def clear(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Go back to before the first message; checkpoints leave the list with what they stand on."""

        def body(change: Changing) -> None:
            change.note = "conversation"
            change.let_go(bookmarks.detached(change.connection, change.thread))
            change.move_head(None)

        return self._change(thread_id, OperationKind.CLEAR, by, body)

    def rename_thread(self, thread_id: str, title: str, *, by: By = USER) -> Receipt:
        def body(change: Changing) -> None:
            change.note = named(title) or change.thread.title
            change.move("thread", thread_id, title=change.note)

        return self._change(thread_id, OperationKind.RENAME, by, body, while_running=True)

    def change_settings(
        self,
        thread_id: str,
        values: Mapping[str, str],
        *,
        note: str,
        seen: Mapping[str, str] | None = None,
        by: By = USER,
    ) -> Receipt:
        """Settings of this conversation; what a file says of them is never applied. `note` says what they are, in words.

        `seen` is what the caller took to stand there. Raises `ConflictError` when it does not any more.
        """

        def body(change: Changing) -> None:
            if any(str(change.thread.settings.get(key, "")) != value for key, value in (seen or {}).items()):
                raise ConflictError(thread_id, change.thread.version, change.thread.version)
            change.note = serde.writable(note)
            change.move("thread", thread_id, settings={**change.thread.settings, **values})

        return self._change(thread_id, OperationKind.SETTINGS, by, body, while_running=True)

    def delete_thread(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Take a conversation out of the list. Nothing of it is erased: undo brings it back."""

        def body(change: Changing) -> None:
            change.note = f"conversation {change.thread.title}"
            change.move("thread", thread_id, deleted_at=change.now)

        return self._change(thread_id, OperationKind.DELETE, by, body)

    def undo(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Take back the newest operation that stands (with its whole group), exactly. That is an operation as well."""
        return self._change(thread_id, OperationKind.UNDO, by, undo.take_back, even_deleted=True)

    def redo(self, thread_id: str, *, by: By = USER) -> Receipt:
        """Take back the newest undo, if nothing else was done since."""
        return self._change(thread_id, OperationKind.REDO, by, undo.bring_back, even_deleted=True)

    def import_thread(self, title: str, source: str, fill: Body, *, by: By = USER) -> Receipt:
        """A new conversation, filled by `fill` (see transfer). Undoing takes it out of the list.

        `source` is the hash of what it is made from: while the conversation made from it before is in the list, that is it.
        """

        def body(change: Changing) -> str:
            change.note = change.thread.title
            fill(change)
            change.made("thread", change.thread.id)
            return change.thread.id

        with self.database.writing(source) as connection:
            if (existing := _imported(connection, source, "local")) is not None:
                first = rows.operations(connection, existing, schema.operation.c.version == 1)[0]
                return Receipt(first, repeated=True)
            made = self.insert_thread(connection, title, source=source)
            change = Changing(connection, made, rows.from_time(self.now()), self.new_id, by)
            return change.perform(OperationKind.IMPORT, body)

    def import_into(self, thread_id: str, fill: Body, *, by: By = USER) -> Receipt:
        """Replace a conversation by what `fill` writes; what was there leaves, undoably."""
        return self._change(thread_id, OperationKind.IMPORT, by, fill)

    def thread_from(self, source: str, owner: str = "local") -> Thread | None:
        """The conversation that was imported from the document with this hash, if it is still in the list."""
        with self.database.reading() as connection:
            found = _imported(connection, source, owner)
            return rows.thread(connection, found) if found else None

    # ---- the one way in which anything changes

    def _change(
        self,
        thread_id: str,
        kind: OperationKind,
        by: By,
        body: Body,
        *,
        while_running: bool = False,
        even_deleted: bool = False,
    ) -> Receipt:
        with self.database.writing(by.request or "") as connection:
            if by.request and (done := _requested(connection, thread_id, by.request)):
                return Receipt(done, repeated=True)
            standing = rows.standing(connection, thread_id, even_deleted=even_deleted)
            exact = kind in (OperationKind.UNDO, OperationKind.REDO)
            check(connection, standing, by, while_running=while_running, exact=exact)
            change = Changing(connection, standing, rows.from_time(self.now()), self.new_id, by)
            return change.perform(kind, body)


def _derived_id(thread_id: str, request: str) -> str:
    """The same request again means the same new conversation."""
    return hashlib.sha256(f"{thread_id}:{request}".encode()).hexdigest()[:20]


def _imported(connection: sa.Connection, source: str, owner: str) -> str | None:
    table = schema.thread.c
    query = sa.select(table.id).where(table.source == source, table.owner == owner, table.deleted_at.is_(None))
    return connection.scalar(query.limit(1))


def _requested(connection: sa.Connection, thread_id: str, request: str) -> Operation | None:
    found = rows.operations(connection, thread_id, schema.operation.c.request == request)
    return found[0] if found else None


def _at_depth(change: Changing, path: history.Path, depth: int) -> Node | None:
    """The message of the path at this depth (-1: before the first)."""
    found = rows.messages(change.connection, path, last=1, before=depth + 1)
    return Node(found[0].id, found[0].segment, found[0].depth) if found else None
