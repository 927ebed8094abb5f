"""What can be read of the conversations. Each method sees one moment; `Database.reading` makes several see the same."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import sqlalchemy as sa

from checkpoints import bookmarks, branching, files, history, rows, schema, undo
from checkpoints.database import Database
from checkpoints.model import USER, Branch, Checkpoint, Difference, Leaving, Message, Operation, OperationKind, Thread


class Reader:
    """The reading half of the store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def threads(self, owner: str = "local", limit: int = 1_000) -> list[Thread]:
        with self.database.reading() as connection:
            return rows.threads(connection, owner, limit)

    def deleted(self, owner: str = "local", limit: int = 20) -> list[Thread]:
        """The conversations that undo would bring back into the list, the last deleted first."""
        with self.database.reading() as connection:
            return rows.deleted(connection, owner, limit)

    def thread(self, thread_id: str) -> Thread:
        with self.database.reading() as connection:
            return rows.thread(connection, thread_id)

    def messages(self, thread_id: str, *, last: int | None = None, before: int | None = None) -> list[Message]:
        """The conversation as of its head: all of it, or the `last` messages (of those at depths under `before`)."""
        with self.database.reading() as connection:
            _, path = rows.here(connection, thread_id)
            return rows.messages(connection, path, last=last, before=before)

    def leading_to(self, thread_id: str, message_id: str, *, last: int | None = None) -> list[Message]:
        """The path to a message, wherever it stands: all of it, or the `last` messages. Raises `MessageNotFoundError`."""
        with self.database.reading() as connection:
            rows.thread(connection, thread_id)
            return rows.messages(connection, rows.path(connection, thread_id, message_id), last=last)

    def going_on(
        self, thread_id: str, message_id: str | None, is_wanted: Callable[[Message], bool]
    ) -> list[tuple[Branch, Message, Message]]:
        """The branches that go on after a message (None: from the beginning) with a first message there that is wanted, each
        with that one and its last one. What many branches have in common is read and asked about once.
        """
        with self.database.reading() as connection:
            place = rows.node(connection, message_id, thread_id)
            depth = place.depth + 1 if place else 0
            paths = rows.branch_paths(connection, thread_id)
            on = [(branch, path) for branch, path in paths if path.length > depth and (place is None or place in path)]
            first = rows.at(connection, {path.at(depth) for _, path in on})
            wanted = {place for place, message in first.items() if is_wanted(message)}
            on = [(branch, path) for branch, path in on if path.at(depth) in wanted]
            last = rows.at(connection, {path.stretches[0] for _, path in on})
        return [(branch, first[path.at(depth)], last[path.stretches[0]]) for branch, path in on]

    def length(self, thread_id: str) -> int:
        """How many messages the conversation has as of its head."""
        with self.database.reading() as connection:
            return rows.here(connection, thread_id)[1].length

    def every_message(self, thread_id: str) -> list[Message]:
        """The whole tree, also what no head reaches; parents before children."""
        return self.whole(thread_id)[3]

    def whole(self, thread_id: str) -> tuple[Thread, list[Branch], list[Checkpoint], list[Message]]:
        """A thread with its branches, all checkpoints that any of them shows, and its whole tree, at one moment."""
        with self.database.reading() as connection:
            thread, branches = rows.thread(connection, thread_id), rows.branches(connection, thread_id)
            forks = rows.forks(connection, thread_id)
            every = bookmarks.every(connection, thread_id)
            messages = rows.every_message(connection, thread_id)
            places = [(b.id, history.path_to(rows.node(connection, b.head_id, thread_id), forks)) for b in branches]
        shown = [c for c in every if any(history.is_listed(c, branch_id, path) for branch_id, path in places)]
        return thread, branches, shown, messages

    def checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that the current branch shows, oldest first."""
        with self.database.reading() as connection:
            thread, path = rows.here(connection, thread_id)
            every = bookmarks.every(connection, thread_id, database=self.database)
        return history.listed(every, thread.branch_id, path)

    def places(self, thread_id: str) -> dict[str, int]:
        """The depths of the messages that the current branch's checkpoints stand on, by name. Of several alike the newest
        counts, but one that a person saved before all others: its name goes on meaning what they saved.
        """
        shown = sorted(self.checkpoints(thread_id), key=lambda checkpoint: checkpoint.created_by == USER.actor)
        return {checkpoint.name: checkpoint.message_count - 1 for checkpoint in shown}

    def checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """One of the checkpoints that the current branch shows. Raises `CheckpointNotFoundError`."""
        with self.database.reading() as connection:
            thread, path = rows.here(connection, thread_id)
            return bookmarks.one(connection, thread, checkpoint_id, path, self.database)

    def every_checkpoint(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that any of the thread's branches shows, oldest first."""
        return self.whole(thread_id)[2]

    def message(self, thread_id: str, message_id: str) -> Message:
        """One message of the thread, wherever it stands. Raises `MessageNotFoundError`."""
        with self.database.reading() as connection:
            rows.thread(connection, thread_id)
            return rows.message(connection, message_id, thread_id)

    def held(self, hashes: Collection[str]) -> dict[str, bytes]:
        """What these attached files hold, by hash. One that is missing or damaged is not among them."""
        with self.database.reading() as connection:
            return files.held(connection, hashes)

    def siblings(self, thread_id: str, messages: Sequence[Message]) -> dict[str, list[str]]:
        """The alternatives at the places of these messages of the path: ids, oldest first, by the id of the message shown.

        An alternative is there if a branch stands on it or after it, or if it was left for another one (an edit, another
        answer, a choice). What a restore took out of the conversation is none. Places with one message are left out.
        """
        with self.database.reading() as connection:
            return branching.siblings(connection, rows.thread(connection, thread_id), messages)

    def difference(self, thread_id: str, one: str | None, other: str | None, *, most: int | None = None) -> Difference:
        """Where the paths to two messages part (None: before the first message), and what each holds from there on: all
        of it, or the first `most` messages.
        """
        with self.database.reading() as connection:
            rows.thread(connection, thread_id)
            paths = [rows.path(connection, thread_id, message_id) for message_id in (one, other)]
            shared = history.common_length(*paths)
            last = rows.messages(connection, paths[0], last=1, before=shared) if shared else []
            own = [path.length - shared for path in paths]
            shown = [length if most is None else min(length, most) for length in own]
            rest = [rows.messages(connection, path, last=n, before=shared + n) for path, n in zip(paths, shown, strict=True)]
            return Difference(shared, last[0].id if last else None, rest[0], rest[1], (own[0], own[1]))

    def branches(self, thread_id: str) -> list[tuple[Branch, int]]:
        """The thread's branches with the length of each."""
        with self.database.reading() as connection:
            return [(branch, path.length) for branch, path in rows.branch_paths(connection, thread_id)]

    def shared(self, thread_id: str) -> dict[str, int]:
        """How many messages each branch has in common with the current one, by the branch's id."""
        with self.database.reading() as connection:
            current = rows.thread(connection, thread_id).branch_id
            paths = {branch.id: path for branch, path in rows.branch_paths(connection, thread_id)}
        return {branch_id: history.common_length(paths[current], path) for branch_id, path in paths.items()}

    def operations(self, thread_id: str, *, last: int | None = None) -> Sequence[Operation]:
        """The changes of a thread, newest first; only the `last` ones, when given."""
        with self.database.reading() as connection:
            return rows.operations(connection, thread_id, limit=last)

    def moves(self, thread_id: str) -> int:
        """How often the agent has moved the head since the user last said something, over however many runs."""
        table = schema.operation.c
        here = (table.thread_id == thread_id, table.undone_by.is_(None))
        is_said = (table.actor == USER.actor, table.kind.in_((OperationKind.APPEND, OperationKind.EDIT)))
        said = sa.select(sa.func.coalesce(sa.func.max(table.version), 0)).where(*here, *is_said).scalar_subquery()
        is_move = (table.kind.in_((OperationKind.GOTO, OperationKind.REWIND)), table.version > said)
        with self.database.reading() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(*here, *is_move)) or 0

    def elsewhere(self, thread_id: str) -> set[OperationKind]:
        """How messages came into a thread that were not written there: by import, or as a fork of another."""
        table = schema.operation.c
        is_brought = sa.or_(table.kind == OperationKind.IMPORT, table.result == thread_id)
        brought = sa.select(table.kind).where(
            table.thread_id == thread_id, is_brought, table.kind.in_((OperationKind.IMPORT, OperationKind.FORK))
        )
        with self.database.reading() as connection:
            return {OperationKind(kind) for kind in connection.scalars(brought)}

    def operation(self, thread_id: str, version: int) -> Operation | None:
        """The change that made this version of a thread."""
        with self.database.reading() as connection:
            found = rows.operations(connection, thread_id, schema.operation.c.version == version)
            return found[0] if found else None

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
            standing, forks = rows.standing(connection, thread_id), rows.forks(connection, thread_id)
            old = history.path_to(standing.head, forks)
            target, detached = bookmarks.target(connection, standing.thread, checkpoint_id, old)
            new = history.path_to(target.node, forks)
            left = bookmarks.leaving(connection, standing.thread, old, new, detached)
            return replace(left, agents=bookmarks.agents_leaving(connection, old, new))
