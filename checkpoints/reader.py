"""The reads of the store. Each method sees one snapshot; a block of `Database.begin_read` joins several in one snapshot."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import sqlalchemy as sa

from .changes import branches
from .operation_reader import OperationReader
from .path_reader import PathReader, count_path_removal
from .rows import checkpoint_rows, file_rows, message_rows, thread_rows
from .search_reader import SearchReader
from .thread_reader import ThreadReader
from .values import history
from .values.history import Path
from .values.limits import count_values
from .values.model import Branch, Checkpoint, CheckpointPortion, Difference, Message, MessageSize, Node, Removal, Thread
from .values.operation import USER
from .values.progress import Report, ignore_progress

MAX_RESULT_SEARCH_MESSAGES = 2_000
_PORTION = 100  # messages of one read


def _read_newest(connection: sa.Connection, path: Path, last: int, max_values: int | None) -> list[Message]:
    """Read the last messages of a path. One view of the page asks for more and for fewer of them: each is read once."""
    known: dict[Path, list[Message]] = connection.get_execution_options().get("newest", {})
    kept, count = known.get(path, []), min(last, path.length)
    room = None if max_values is None else max_values - _count_values(kept[-count:], max_values)
    if kept and (room is None or room >= 0):
        if len(kept) >= count:
            return kept[len(kept) - count :]
        missing, before = count - len(kept), kept[0].depth
        earlier = message_rows.select_messages(connection, path, last=missing, before=before, max_values=room)
        # At least one is returned, also where it has more values than there is room.
        found = kept if room is not None and _count_values(earlier, room) > room else [*earlier, *kept]
    else:
        found = message_rows.select_messages(connection, path, last=last, max_values=max_values)
    known[path] = found
    return list(found)


def _count_values(messages: Sequence[Message], max_values: int) -> int:
    return sum(count_values(each.body, max_values) for each in messages)


class Reader(ThreadReader, OperationReader, PathReader, SearchReader):
    """The reading half of the store: no method changes anything."""

    def list_messages(
        self,
        thread_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        max_values: int | None = None,
        agent: str | None = None,
        report: Report = ignore_progress,
    ) -> list[Message]:
        """Return the current path: all of it, or its `last` messages, at depths below `before` if given.

        With `agent`, those of other agents are left out unread. With `max_values` it is fewer of them where their JSON has
        more values, and at least one.
        """
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            if last is not None and before is None and agent is None and report is ignore_progress:
                return _read_newest(connection, path, last, max_values)
            return message_rows.select_messages(
                connection, path, last=last, before=before, max_values=max_values, agent=agent, report=report
            )

    def list_message_sizes(self, thread_id: str, *, last: int, before: int) -> list[MessageSize]:
        """Return the sizes of the current path's `last` messages at depths below `before`. No message is parsed."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return message_rows.select_sizes(connection, path, last=last, before=before)

    def list_messages_to(self, thread_id: str, message_id: str, *, last: int | None = None) -> list[Message]:
        """Return the path to any message: all of it, or its `last` messages. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_messages(
                connection, thread_rows.load_path(connection, thread_id, message_id), last=last
            )

    def count_messages(self, thread_id: str) -> int:
        """Count the messages of the current path."""
        with self.database.begin_read() as connection:
            return thread_rows.load_current_path(connection, thread_id)[1].length

    def list_all_messages(self, thread_id: str) -> list[Message]:
        """Return the whole tree, with messages that no head reaches; parents before children."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_all_messages(connection, thread_id)

    def load_tree(self, thread_id: str) -> tuple[Thread, list[Branch], list[Checkpoint], Sequence[message_rows.TreeRow]]:
        """Return a thread, its branches, the checkpoints that any of them shows, and its rows, from one snapshot."""
        with self.database.begin_read() as connection:
            thread, with_heads = (
                thread_rows.select_thread(connection, thread_id),
                thread_rows.select_branch_heads(connection, thread_id),
            )
            thread_branches = [branch for branch, _ in with_heads]
            rows = message_rows.select_tree(connection, thread_id)
            return thread, thread_branches, self.list_all_checkpoints(thread_id), rows

    def list_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """Return the checkpoints that the current branch shows, oldest first."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_visible_checkpoints(connection, thread, path, self.database)

    def list_checkpoint_portion(
        self, thread_id: str, count: int, words: str = "", wanted: str | None = None
    ) -> CheckpointPortion:
        """Return the newest of the checkpoints that the current branch shows, as `select_checkpoint_portion` does."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_checkpoint_portion(connection, thread, path, count, words, self.database, wanted)

    def map_checkpoint_depths(self, thread_id: str) -> dict[str, int]:
        """Return the depths of the current branch's checkpoints, by name.

        Of several with one name the newest counts, but a user's checkpoint counts before all others: its name keeps its
        meaning.
        """
        shown = sorted(self.list_checkpoints(thread_id), key=lambda checkpoint: checkpoint.created_by == USER.actor)
        return {checkpoint.name: checkpoint.message_count - 1 for checkpoint in shown}

    def get_checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """Return a checkpoint that the current branch shows. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_checkpoint(connection, thread, checkpoint_id, path, self.database)

    def list_all_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """Return the checkpoints that any of the thread's branches shows, oldest first."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            with_heads = thread_rows.select_branch_heads(connection, thread_id)
            every = checkpoint_rows.select_checkpoints(connection, thread_id)
            heads = [head for _, head in with_heads if head]
            reached = history.find_reachable_depths(heads, thread_rows.select_segment_parents(connection, thread_id))
        return history.filter_listed(every, {branch.id for branch, _ in with_heads}, reached)

    def get_message(self, thread_id: str, message_id: str) -> Message:
        """Return any message of the thread. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_message(connection, message_id, thread_id)

    def find_last_result(self, thread_id: str, message: Message) -> Message:
        """Return the last result of a message's tool calls, also after the work of sub-agents; the message if none follows.

        The first MAX_RESULT_SEARCH_MESSAGES after it are searched.
        """
        data = message.body["data"]
        last = before = message
        end = message.depth + (MAX_RESULT_SEARCH_MESSAGES if data.get("tool_calls") or data.get("invalid_tool_calls") else 0)
        while before.depth < end:
            portion = self.list_messages(thread_id, last=_PORTION, before=before.depth + 1 + _PORTION)
            following = [each for each in portion if each.depth > before.depth]
            for each in following:
                if each.parent_id != before.id or (each.agent == message.agent and each.type != "tool"):
                    return last
                last, before = (each if each.agent == message.agent else last), each
            if not following:
                return last
        return last

    def read_files(self, hashes: Collection[str]) -> dict[str, bytes]:
        """Return the bytes of these attached files by hash, without the missing and the damaged ones."""
        with self.database.begin_read() as connection:
            return file_rows.select_files(connection, hashes)

    def find_alternatives(self, thread_id: str, messages: Sequence[Message]) -> dict[str, list[str]]:
        """Return the alternatives of these messages of the path: ids, oldest first, by the id of the message shown.

        A message is an alternative if a branch contains it, or if an edit, another answer or a choice abandoned it.
        A message that a restore removed is none. Messages without alternatives are left out.
        """
        with self.database.begin_read() as connection:
            return branches.select_alternatives(connection, thread_rows.select_thread(connection, thread_id), messages)

    def compare_paths(
        self,
        thread_id: str,
        left_id: str | None,
        right_id: str | None,
        *,
        max_messages: int | None = None,
        max_values: int | None = None,
    ) -> Difference:
        """Compare the paths to two messages (None: before the first message): where they part, and the rest of each.

        At most `max_messages` of each are returned, the first, and of these as many as have `max_values`. No call is
        returned without a result that follows it.
        """
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            paths = [thread_rows.load_path(connection, thread_id, message_id) for message_id in (left_id, right_id)]
            shared = history.measure_common_length(*paths)
            last = message_rows.select_messages(connection, paths[0], last=1, before=shared) if shared else []
            lengths = [path.length - shared for path in paths]
            shown = [length if max_messages is None else min(length, max_messages) for length in lengths]
            rest = [
                message_rows.select_messages(
                    connection, path, last=n, before=shared + n, max_values=max_values, keeps_first=True
                )
                for path, n in zip(paths, shown, strict=True)
            ]
            is_torn = any(messages and messages[0].type == "tool" for messages in rest)
            before = message_rows.select_messages(
                connection, paths[0], last=max_messages if is_torn else 0, before=shared, max_values=max_values
            )
        left, right = (
            messages if len(messages) == length else history.drop_open_calls(messages)
            for messages, length in zip(rest, lengths, strict=True)
        )
        calling = history.find_calling_messages(before)
        return Difference(shared, last[0].id if last else None, left, right, (lengths[0], lengths[1]), calling)

    def list_branches(self, thread_id: str) -> list[tuple[Branch, int]]:
        """Return the thread's branches with the length of each."""
        with self.database.begin_read() as connection:
            heads = thread_rows.select_branch_heads(connection, thread_id)
        return [(branch, head.depth + 1 if head else 0) for branch, head in heads]

    def count_shared_messages(self, thread_id: str) -> dict[str, int]:
        """Count the messages that each branch shares with the current one, by the branch's id."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            branches, forks = (
                thread_rows.select_branch_heads(connection, thread_id),
                thread_rows.select_segment_parents(connection, thread_id),
            )
        shared = history.common_lengths(path, [head for _, head in branches if head], forks)
        return {branch.id: shared[head.id] if head else 0 for branch, head in branches}

    def preview_removal(self, thread_id: str, checkpoint_id: str) -> Removal:
        """Return the messages and checkpoints that restoring this checkpoint would remove, with their agents and prompt."""
        with self.database.begin_read() as connection:
            thread, old = thread_rows.load_current_path(connection, thread_id)
            target, detached = checkpoint_rows.select_restore_target(connection, thread, checkpoint_id, old)
            return _preview_path(connection, thread, old, target.node, detached)

    def preview_message_removal(self, thread_id: str, message_id: str | None) -> Removal:
        """Return the same for a restore to a message of the current path (None: to before the first one).

        Raises `MessageNotFoundError` for a message of another path.
        """
        with self.database.begin_read() as connection:
            thread, old = thread_rows.load_current_path(connection, thread_id)
            return _preview_path(connection, thread, old, thread_rows.select_path_node(connection, thread, old, message_id))


def _preview_path(
    connection: sa.Connection, thread: Thread, old: history.Path, node: Node | None, detached: Sequence[Checkpoint] = ()
) -> Removal:
    """Return the removal by a move of the head from a path back to a message."""
    removal, new = count_path_removal(connection, thread, old, node, detached)
    return replace(removal, first_prompt=message_rows.find_first_prompt(connection, old, new.length))
