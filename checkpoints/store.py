"""The store: every thread, what can be read of it, and every change that can be made to it.

Each change is one transaction: it is alone (SQLite's write lock), it checks the version its caller saw, and it records an
operation. Either all of it is on disk when the method returns, or nothing is.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from checkpoints import history, rows, schema, serde, undo
from checkpoints.changing import HEAD, Body, Changing, appending, check, kind_of
from checkpoints.database import Database
from checkpoints.errors import NothingToSaveError
from checkpoints.model import (
    NAME_LENGTH,
    UNTITLED,
    USER,
    Branch,
    By,
    Checkpoint,
    Json,
    Leaving,
    Message,
    NewId,
    NewMessage,
    Node,
    Operation,
    OperationKind,
    Receipt,
    Thread,
)


def new_id() -> str:
    """80 random bits: never reused, and no meaning to guess."""
    return secrets.token_hex(10)


class Store:
    """Threads in one database. Safe to call from several threads of the process."""

    def __init__(
        self, database: Database, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), new_id: NewId = new_id
    ) -> None:
        self.database = database
        self.now = now
        self.new_id = new_id

    # ---- reading

    def threads(self, owner: str = "local", limit: int = 1_000) -> list[Thread]:
        with self.database.reading() as connection:
            return rows.threads(connection, owner, limit)

    def thread(self, thread_id: str) -> Thread:
        with self.database.reading() as connection:
            return rows.thread(connection, thread_id)

    def messages(self, thread_id: str, *, last: int | None = None, before: int | None = None) -> list[Message]:
        """The conversation as of its head: all of it, or the `last` messages (of those at depths under `before`)."""
        with self.database.reading() as connection:
            head = rows.thread(connection, thread_id).head_id
            return rows.messages(connection, rows.path(connection, thread_id, head), last=last, before=before)

    def length(self, thread_id: str) -> int:
        """How many messages the conversation has as of its head."""
        with self.database.reading() as connection:
            return rows.path(connection, thread_id, rows.thread(connection, thread_id).head_id).length

    def every_message(self, thread_id: str) -> list[Message]:
        """The whole tree, also what no head reaches; parents before children."""
        return self.whole(thread_id)[3]

    def whole(self, thread_id: str) -> tuple[Thread, list[Branch], list[Checkpoint], list[Message]]:
        """A thread with its branches, all checkpoints that any of them shows, and its whole tree, at one moment."""
        with self.database.reading() as connection:
            thread, branches = rows.thread(connection, thread_id), rows.branches(connection, thread_id)
            forks = rows.forks(connection, thread_id)
            every = rows.checkpoints(connection, thread_id)
            messages = rows.every_message(connection, thread_id)
            places = [(b.id, history.path_to(rows.node(connection, b.head_id, thread_id), forks)) for b in branches]
        shown = [c for c in every if any(history.is_listed(c, branch_id, path) for branch_id, path in places)]
        return thread, branches, shown, messages

    def checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that the current branch shows, oldest first."""
        with self.database.reading() as connection:
            thread = rows.thread(connection, thread_id)
            path = rows.path(connection, thread_id, thread.head_id)
            every = rows.checkpoints(connection, thread_id, database=self.database)
        return history.listed(every, thread.branch_id, path)

    def checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """One of the checkpoints that the current branch shows. Raises `CheckpointNotFoundError`."""
        with self.database.reading() as connection:
            return rows.checkpoint(connection, rows.thread(connection, thread_id), checkpoint_id, self.database)

    def every_checkpoint(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that any of the thread's branches shows, oldest first."""
        return self.whole(thread_id)[2]

    def branches(self, thread_id: str) -> list[tuple[Branch, int]]:
        """The thread's branches with the length of each."""
        with self.database.reading() as connection:
            forks = rows.branches(connection, thread_id)
            return [(b, rows.path(connection, thread_id, b.head_id).length) for b in forks]

    def operations(self, thread_id: str) -> Sequence[Operation]:
        with self.database.reading() as connection:
            return rows.operations(connection, thread_id)

    def last_operation(self, thread_id: str) -> Operation | None:
        """The newest change of a thread, also of a deleted one; None if there is none."""
        newest = sa.select(sa.func.max(schema.operation.c.version)).where(schema.operation.c.thread_id == thread_id)
        with self.database.reading() as connection:
            found = rows.operations(connection, thread_id, schema.operation.c.version == newest.scalar_subquery())
            return found[0] if found else None

    def has(self, thread_id: str) -> bool:
        """Whether there is such a thread, and it is not deleted."""
        table = schema.thread.c
        query = sa.select(table.id).where(table.id == thread_id, table.deleted_at.is_(None))
        with self.database.reading() as connection:
            return connection.execute(query).first() is not None

    def undoable(self, thread_id: str) -> Operation | None:
        """What `undo` would take back, if anything."""
        with self.database.reading() as connection:
            return undo.undoable(connection, thread_id)

    def redoable(self, thread_id: str) -> Operation | None:
        """The undo that `redo` would take back, if any."""
        with self.database.reading() as connection:
            return undo.redoable(connection, thread_id)

    def leaving(self, thread_id: str, checkpoint_id: str) -> Leaving:
        """What restoring this checkpoint would take out of the conversation."""
        with self.database.reading() as connection:
            thread = rows.thread(connection, thread_id)
            return rows.leaving(connection, thread, rows.checkpoint(connection, thread, checkpoint_id))

    # ---- changing

    def create_thread(self, *, title: str = UNTITLED, owner: str = "local", source: str | None = None) -> Thread:
        with self.database.writing() as connection:
            return self.insert_thread(connection, title, owner, source)

    def insert_thread(
        self, connection: sa.Connection, title: str = UNTITLED, owner: str = "local", source: str | None = None
    ) -> Thread:
        """Make a thread inside a transaction that is already open."""
        now, thread_id, branch_id = rows.from_time(self.now()), self.new_id(), self.new_id()
        row = {"id": thread_id, "owner": owner, "title": title[:NAME_LENGTH], "settings": {}, "branch_id": branch_id}
        times = {"created_at": now, "updated_at": now}
        connection.execute(sa.insert(schema.thread).values(**row, **times, version=0, checkpoints_made=0, source=source))
        main = {"id": branch_id, "thread_id": thread_id, "position": 0, "name": "main", "created_at": now}
        connection.execute(sa.insert(schema.branch).values(**main))
        return rows.thread(connection, thread_id)

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
                    _continue_from(change, _at_depth(change, path, keep - 1), new)
            if change.head is None:
                raise NothingToSaveError
            change.note = serde.writable(name or "a checkpoint")
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
            target = rows.checkpoint(change.connection, change.thread, checkpoint_id)
            left = rows.leaving(change.connection, change.thread, target)
            change.note = f"{target.name} · {left} {'kept as a branch' if keep_future else 'removed'}"
            future = None
            if keep_future:
                future = change.add_branch(f"Before restoring {target.name}", change.head.id if change.head else None)
            change.let_go(before=target, to_branch=future)
            change.move_head(target.node)
            return target.id

        return self._change(thread_id, OperationKind.RESTORE, by, body)

    def switch(self, thread_id: str, branch_id: str, *, by: By = USER) -> Receipt:
        """Stand on another branch."""

        def body(change: Changing) -> str:
            branch = rows.branch(change.connection, branch_id, thread_id)
            change.move("thread", thread_id, branch_id=branch.id)
            return branch.id

        return self._change(thread_id, OperationKind.SWITCH, by, body)

    def delete_checkpoint(self, thread_id: str, checkpoint_id: str, *, by: By = USER) -> Receipt:
        def body(change: Changing) -> str:
            target = rows.checkpoint(change.connection, change.thread, checkpoint_id)
            change.note = f"checkpoint {target.name}"
            change.move("checkpoint", target.id, deleted_at=change.now)
            return target.id

        return self._change(thread_id, OperationKind.DELETE, by, body, while_running=True)

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
            change.let_go()
            change.move_head(None)

        return self._change(thread_id, OperationKind.CLEAR, by, body)

    def rename_thread(self, thread_id: str, title: str, *, by: By = USER) -> Receipt:
        def body(change: Changing) -> None:
            change.note = serde.writable(title)[:NAME_LENGTH]
            change.move("thread", thread_id, title=change.note)

        return self._change(thread_id, OperationKind.RENAME, by, body, while_running=True)

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
            change.note = title
            fill(change)
            change.made("thread", change.thread.id)
            return change.thread.id

        with self.database.writing() as connection:
            if (existing := _imported(connection, source, "local")) is not None:
                first = rows.operations(connection, existing, schema.operation.c.version == 1)[0]
                return Receipt(first, repeated=True)
            thread = self.insert_thread(connection, title, source=source)
            change = Changing(connection, thread, rows.from_time(self.now()), self.new_id, by)
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
        with self.database.writing() as connection:
            if by.request and (done := _requested(connection, thread_id, by.request)):
                return Receipt(done, repeated=True)
            thread = rows.thread(connection, thread_id, even_deleted=even_deleted)
            exact = kind in (OperationKind.UNDO, OperationKind.REDO)
            check(connection, thread, by, while_running=while_running, exact=exact)
            change = Changing(connection, thread, rows.from_time(self.now()), self.new_id, by)
            return change.perform(kind, body)


def _imported(connection: sa.Connection, source: str, owner: str) -> str | None:
    table = schema.thread.c
    query = sa.select(table.id).where(table.source == source, table.owner == owner, table.deleted_at.is_(None))
    return connection.scalar(query.limit(1))


def _requested(connection: sa.Connection, thread_id: str, request: str) -> Operation | None:
    found = rows.operations(connection, thread_id, schema.operation.c.request == request)
    return found[0] if found else None


def _continue_from(change: Changing, place: Node | None, new: Sequence[NewMessage]) -> None:
    """Move the head to `new` after a place; checkpoints that this leaves behind stay listed, as detached ones."""
    shown = [] if place == change.head else change.shown()
    nodes = change.add(place, new)
    change.move_head(nodes[-1] if nodes else place)
    path = change.path()
    for checkpoint in shown:
        if checkpoint.node not in path and not checkpoint.detached:
            change.move("checkpoint", checkpoint.id, detached=True, branch_id=change.thread.branch_id)


def _at_depth(change: Changing, path: history.Path, depth: int) -> Node | None:
    """The message of the path at this depth (-1: before the first)."""
    found = rows.messages(change.connection, path, last=1, before=depth + 1)
    return Node(found[0].id, found[0].segment, found[0].depth) if found else None
