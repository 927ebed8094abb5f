"""What can be read of the conversations. Each method sees one moment; `Database.reading` makes several see the same."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import chain

import sqlalchemy as sa

from checkpoints import history
from checkpoints.changes import branches, undo
from checkpoints.history import Place
from checkpoints.model import USER, Branch, Checkpoint, Difference, Message, Operation, OperationKind, Removal, Thread
from checkpoints.storage import checkpoint_rows, file_rows, rows, schema
from checkpoints.storage.database import Database

_USER_TURN_KINDS = (OperationKind.APPEND, OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE)


class Reader:
    """The reading half of the store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_threads(self, owner: str = "local", limit: int = 1_000) -> list[Thread]:
        with self.database.begin_read() as connection:
            return rows.select_threads(connection, owner, limit)

    def list_deleted_threads(self, owner: str = "local", limit: int = 20) -> list[Thread]:
        """The conversations that undo would bring back into the list, the last deleted first."""
        with self.database.begin_read() as connection:
            return rows.select_deleted_threads(connection, owner, limit)

    def get_thread(self, thread_id: str) -> Thread:
        with self.database.begin_read() as connection:
            return rows.select_thread(connection, thread_id)

    def list_messages(self, thread_id: str, *, last: int | None = None, before: int | None = None) -> list[Message]:
        """The conversation as of its head: all of it, or the `last` messages (of those at depths under `before`)."""
        with self.database.begin_read() as connection:
            _, path = rows.load_current_path(connection, thread_id)
            return rows.select_messages(connection, path, last=last, before=before)

    def list_messages_to(self, thread_id: str, message_id: str, *, last: int | None = None) -> list[Message]:
        """The path to a message, wherever it stands: all of it, or the `last` messages. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            rows.select_thread(connection, thread_id)
            return rows.select_messages(connection, rows.load_path(connection, thread_id, message_id), last=last)

    def find_branches_after(
        self, thread_id: str, after: Collection[str | None], is_wanted: Callable[[Message], bool], *, most: int = 20
    ) -> list[tuple[Branch, Message, Message]]:
        """The branches that go on after one of these messages (None: from the beginning) with a first message there that is
        wanted, each with that one and its last one; of each first message at most so many.

        To be asked once for a whole view: each question looks at all branches.
        """
        with self.database.begin_read() as connection:
            forks = rows.select_segment_parents(connection, thread_id)
            there = [(branch, head) for branch, head in rows.branch_heads(connection, thread_id) if head is not None]
            heads = [head for _, head in there]
            places: set[Place | None] = {
                node.place for node in rows.select_nodes(connection, [m for m in after if m]).values()
            }
            following = history.followers(places | ({None} & set(after)), forks, history.reachable_depths(heads, forks))
            first = rows.select_messages_at(connection, set(chain.from_iterable(following.values())))
            wanted = [place for place, message in first.items() if is_wanted(message)]
            beyond = history.heads_beyond(wanted, heads, forks, most)
            last = rows.select_messages_at(
                connection, {heads[number].place for numbers in beyond.values() for number in numbers}
            )
        pairs = sorted((number, place) for place, numbers in beyond.items() for number in numbers)
        return [(there[number][0], first[place], last[heads[number].place]) for number, place in pairs]

    def count_messages(self, thread_id: str) -> int:
        """How many messages the conversation has as of its head."""
        with self.database.begin_read() as connection:
            return rows.load_current_path(connection, thread_id)[1].length

    def list_all_messages(self, thread_id: str) -> list[Message]:
        """The whole tree, also what no head reaches; parents before children."""
        return self.load_tree(thread_id)[3]

    def load_tree(self, thread_id: str) -> tuple[Thread, list[Branch], list[Checkpoint], list[Message]]:
        """A thread with its branches, all checkpoints that any of them shows, and its whole tree, at one moment."""
        with self.database.begin_read() as connection:
            thread, thread_branches = rows.select_thread(connection, thread_id), rows.select_branches(connection, thread_id)
            every = checkpoint_rows.select_checkpoints(connection, thread_id)
            messages = rows.select_all_messages(connection, thread_id)
            heads = rows.select_nodes(connection, {branch.head_id for branch in thread_branches if branch.head_id}).values()
            reached = history.reachable_depths(heads, rows.select_segment_parents(connection, thread_id))
        shown = history.listed_anywhere(every, {branch.id for branch in thread_branches}, reached)
        return thread, thread_branches, shown, messages

    def list_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that the current branch shows, oldest first."""
        with self.database.begin_read() as connection:
            thread, path = rows.load_current_path(connection, thread_id)
            every = checkpoint_rows.select_checkpoints(connection, thread_id, database=self.database)
        return history.filter_visible(every, thread.branch_id, path)

    def map_checkpoint_depths(self, thread_id: str) -> dict[str, int]:
        """The depths of the messages that the current branch's checkpoints stand on, by name. Of several alike the newest
        counts, but one that a person saved before all others: its name goes on meaning what they saved.
        """
        shown = sorted(self.list_checkpoints(thread_id), key=lambda checkpoint: checkpoint.created_by == USER.actor)
        return {checkpoint.name: checkpoint.message_count - 1 for checkpoint in shown}

    def get_checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """One of the checkpoints that the current branch shows. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            thread, path = rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_checkpoint(connection, thread, checkpoint_id, path, self.database)

    def list_all_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """The checkpoints that any of the thread's branches shows, oldest first."""
        return self.load_tree(thread_id)[2]

    def get_message(self, thread_id: str, message_id: str) -> Message:
        """One message of the thread, wherever it stands. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            rows.select_thread(connection, thread_id)
            return rows.select_message(connection, message_id, thread_id)

    def read_files(self, hashes: Collection[str]) -> dict[str, bytes]:
        """What these attached files hold, by hash. One that is missing or damaged is not among them."""
        with self.database.begin_read() as connection:
            return file_rows.select_files(connection, hashes)

    def find_alternatives(self, thread_id: str, messages: Sequence[Message]) -> dict[str, list[str]]:
        """The alternatives at the places of these messages of the path: ids, oldest first, by the id of the message shown.

        An alternative is there if a branch stands on it or after it, or if it was left for another one (an edit, another
        answer, a choice). What a restore took out of the conversation is none. Places with one message are left out.
        """
        with self.database.begin_read() as connection:
            return branches.select_alternatives(connection, rows.select_thread(connection, thread_id), messages)

    def compare_paths(
        self, thread_id: str, left_id: str | None, right_id: str | None, *, max_messages: int | None = None
    ) -> Difference:
        """Where the paths to two messages part (None: before the first message), and what each holds from there on: all
        of it, or the first `most` messages.
        """
        with self.database.begin_read() as connection:
            rows.select_thread(connection, thread_id)
            paths = [rows.load_path(connection, thread_id, message_id) for message_id in (left_id, right_id)]
            shared = history.common_length(*paths)
            last = rows.select_messages(connection, paths[0], last=1, before=shared) if shared else []
            own = [path.length - shared for path in paths]
            shown = [length if max_messages is None else min(length, max_messages) for length in own]
            rest = [
                rows.select_messages(connection, path, last=n, before=shared + n)
                for path, n in zip(paths, shown, strict=True)
            ]
            return Difference(shared, last[0].id if last else None, rest[0], rest[1], (own[0], own[1]))

    def list_branches(self, thread_id: str) -> list[tuple[Branch, int]]:
        """The thread's branches with the length of each."""
        with self.database.begin_read() as connection:
            heads = rows.branch_heads(connection, thread_id)
        return [(branch, head.depth + 1 if head else 0) for branch, head in heads]

    def count_shared_messages(self, thread_id: str) -> dict[str, int]:
        """How many messages each branch has in common with the current one, by the branch's id."""
        with self.database.begin_read() as connection:
            _, path = rows.load_current_path(connection, thread_id)
            branches, forks = rows.branch_heads(connection, thread_id), rows.select_segment_parents(connection, thread_id)
        shared = history.common_lengths(path, [head for _, head in branches if head], forks)
        return {branch.id: shared[head.id] if head else 0 for branch, head in branches}

    def list_operations(self, thread_id: str, *, last: int | None = None) -> Sequence[Operation]:
        """The changes of a thread, newest first; only the `last` ones, when given."""
        with self.database.begin_read() as connection:
            return rows.select_operations(connection, thread_id, limit=last)

    def count_agent_moves(self, thread_id: str) -> int:
        """How often the agent has moved the head since the user last said something, over however many runs."""
        table = schema.operation.c
        here = (table.thread_id == thread_id, table.undone_by.is_(None))
        is_said = (table.actor == USER.actor, table.kind.in_(_USER_TURN_KINDS))
        said = sa.select(sa.func.coalesce(sa.func.max(table.version), 0)).where(*here, *is_said).scalar_subquery()
        is_move = (table.kind.in_((OperationKind.GOTO, OperationKind.REWIND)), table.version > said)
        with self.database.begin_read() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(*here, *is_move)) or 0

    def list_origins(self, thread_id: str) -> set[OperationKind]:
        """How messages came into a thread that were not written there: by import, or as a fork of another."""
        table = schema.operation.c
        is_brought = sa.or_(table.kind == OperationKind.IMPORT, table.result == thread_id)
        brought = sa.select(table.kind).where(
            table.thread_id == thread_id, is_brought, table.kind.in_((OperationKind.IMPORT, OperationKind.FORK))
        )
        with self.database.begin_read() as connection:
            return {OperationKind(kind) for kind in connection.scalars(brought)}

    def get_operation(self, thread_id: str, version: int) -> Operation | None:
        """The change that made this version of a thread."""
        with self.database.begin_read() as connection:
            found = rows.select_operations(connection, thread_id, schema.operation.c.version == version)
            return found[0] if found else None

    def get_last_operation(self, thread_id: str) -> Operation | None:
        """The newest change of a thread, also of a deleted one; None if there is none."""
        newest = sa.select(sa.func.max(schema.operation.c.version)).where(schema.operation.c.thread_id == thread_id)
        with self.database.begin_read() as connection:
            found = rows.select_operations(connection, thread_id, schema.operation.c.version == newest.scalar_subquery())
            return found[0] if found else None

    def thread_exists(self, thread_id: str) -> bool:
        """Whether there is such a thread, and it is not deleted."""
        table = schema.thread.c
        query = sa.select(table.id).where(table.id == thread_id, table.deleted_at.is_(None))
        with self.database.begin_read() as connection:
            return connection.execute(query).first() is not None

    def find_undoable(self, thread_id: str) -> Operation | None:
        """What `undo` would take back, if anything."""
        with self.database.begin_read() as connection:
            return undo.select_undoable(connection, thread_id)

    def find_redoable(self, thread_id: str) -> Operation | None:
        """The undo that `redo` would take back, if any."""
        with self.database.begin_read() as connection:
            return undo.select_redoable(connection, thread_id)

    def preview_removal(self, thread_id: str, checkpoint_id: str) -> Removal:
        """What restoring this checkpoint would take out of the conversation."""
        with self.database.begin_read() as connection:
            standing, forks = rows.load_thread(connection, thread_id), rows.select_segment_parents(connection, thread_id)
            old = history.path_to(standing.head, forks)
            target, detached = checkpoint_rows.select_restore_target(connection, standing.thread, checkpoint_id, old)
            new = history.path_to(target.node, forks)
            left = checkpoint_rows.count_removal(connection, standing.thread, old, new, detached)
            return replace(left, agents=checkpoint_rows.select_removed_agents(connection, old, new))
