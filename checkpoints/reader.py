"""The reads of the store. Each method sees a snapshot. A block of `Database.begin_read` shares a snapshot among several."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from .changes import branches, undo
from .rows import (
    checkpoint_rows,
    file_rows,
    member_rows,
    message_places,
    message_rows,
    operation_rows,
    path_questions,
    path_search,
    search_hits,
    standing_checkpoints,
    state_rows,
    thread_lists,
    thread_rows,
    tree_rows,
)
from .search.query import parse_query, split_tags
from .search.result import NO_NOTES, MessagePlace, NoteRules, PathHits, SearchResult
from .storage import schema
from .storage.access import exempt_query
from .storage.database import Database
from .storage.ownership import find_role, limit_to_owner, sees_thread
from .storage.row_security import pass_policies
from .values import history
from .values.errors import ReadOnlyError
from .values.history import Path
from .values.limits import MAX_SEARCH_HITS, count_values
from .values.model import (
    Branch,
    Checkpoint,
    CheckpointPortion,
    Difference,
    ListPlace,
    Message,
    MessageSize,
    Node,
    PathSize,
    Removal,
    Thread,
    ThreadProgress,
    ThreadRole,
)
from .values.operation import USER, Operation, OperationKind
from .values.progress import Report, ignore_progress
from .values.text import fold_text

MAX_RESULT_SEARCH_MESSAGES = 2_000
# The limit of messages in a single read.
_PORTION = 100
_GO_ON = (OperationKind.APPEND, OperationKind.GOTO, OperationKind.REWIND)
_USER_TURN_KINDS = (OperationKind.APPEND, OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE)


def _read_newest(connection: sa.Connection, path: Path, last: int, max_values: int | None) -> list[Message]:
    """Read the last messages of a path. A view asks for different numbers of them, so each message is read once."""
    known: dict[Path, list[Message]] = connection.get_execution_options().get("newest", {})
    kept, count = known.get(path, []), min(last, path.length)
    room = None if max_values is None else max_values - _count_values(kept[-count:], max_values)
    if kept and (room is None or room >= 0):
        if len(kept) >= count:
            return kept[len(kept) - count :]
        missing, before = count - len(kept), kept[0].depth
        earlier = message_rows.select_messages(connection, path, last=missing, before=before, max_values=room)
        # At least one message is returned, even with too many values.
        found = kept if room is not None and _count_values(earlier, room) > room else [*earlier, *kept]
    else:
        found = message_rows.select_messages(connection, path, last=last, max_values=max_values)
    known[path] = found
    return list(found)


def _count_values(messages: Sequence[Message], max_values: int) -> int:
    return sum(count_values(each.body, max_values) for each in messages)


class Reader:
    """The reading half of the store. No method changes anything."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Conversations of an owner, without their content.

    def list_threads(self, owner: str | None = None, limit: int = 1_000) -> list[Thread]:
        with self.database.begin_read() as connection:
            return thread_rows.select_threads(connection, self.database.name_owner(owner), limit)

    def list_thread_portion(
        self,
        *,
        owner: str | None = None,
        archived: bool | None = False,
        text: str = "",
        after: ListPlace | None = None,
        limit: int = 100,
    ) -> list[Thread]:
        """Return the next conversations of the list after a place, with titles that contain all words of the text.

        `tag:NAME` in the text selects conversations with this tag.
        """
        rest, tags = split_tags(text)
        with self.database.begin_read() as connection:
            words, of = fold_text(rest).split(), self.database.name_owner(owner)
            return thread_lists.select_thread_portion(connection, of, limit, archived, words, after, tags)

    def list_changed_threads(self, since: datetime, *, owner: str | None = None, limit: int = 100) -> list[Thread]:
        """Return conversations changed since a time, newest first, including deleted and archived conversations."""
        with self.database.begin_read() as connection:
            return thread_lists.select_changed_threads(connection, self.database.name_owner(owner), since, limit)

    def list_shared_roles(self) -> dict[str, ThreadRole]:
        """Return the acting person's roles in conversations shared with them, by conversation id."""
        with self.database.begin_read() as connection:
            return member_rows.select_shared_roles(connection, self.database.name_owner())

    def list_deleted_threads(self, owner: str | None = None, limit: int = 20) -> list[Thread]:
        """Return the deleted conversations undo can restore, last deleted first."""
        with self.database.begin_read() as connection:
            return thread_lists.select_deleted_threads(connection, self.database.name_owner(owner), limit)

    def list_threads_of_all(self) -> list[Thread]:
        """Return the conversations of all owners, for the command line."""
        with self.database.begin_read() as connection:
            return thread_rows.select_threads(connection, None, sys.maxsize)

    def get_thread(self, thread_id: str) -> Thread:
        with self.database.begin_read() as connection:
            return thread_rows.select_thread(connection, thread_id)

    def get_progress(self, thread_id: str) -> ThreadProgress:
        """Return a thread's version and its active run, at the same moment."""
        with self.database.begin_read() as connection:
            loaded = thread_rows.load_thread(connection, thread_id)
            return ThreadProgress(loaded.thread.version, loaded.active_run_id)

    def has_states(self, thread_id: str) -> bool:
        """Return whether a graph has written states in this conversation."""
        with self.database.begin_read() as connection:
            return thread_rows.load_thread(connection, thread_id).has_states

    def find_state(self, thread_id: str, message_id: str | None) -> int | None:
        """Return the graph state for a message, as after a restore to it, or None without a state."""
        with self.database.begin_read() as connection:
            loaded = thread_rows.load_thread(connection, thread_id)
            if message_id == loaded.thread.head_id:
                return loaded.thread.state_id
            if message_id is None or not loaded.has_states:
                return None
            return state_rows.find_state(connection, thread_rows.load_path(connection, thread_id, message_id))

    def thread_exists(self, thread_id: str) -> bool:
        """Return whether the thread exists and is not deleted."""
        table = schema.thread.c
        query = sa.select(table.id).where(table.id == thread_id, table.deleted_at.is_(None))
        with self.database.begin_read() as connection:
            return connection.execute(limit_to_owner(connection, query, table.id)).first() is not None

    def belongs_to_another(self, thread_id: str, *, to_change: bool = False) -> bool:
        """Return whether a conversation exists, but is closed to the acting person.

        With `to_change`, raises `ReadOnlyError` if they can only read it.
        """
        if not self.database.separates_owners:
            return False
        query = exempt_query(sa.select(schema.thread.c.id).where(schema.thread.c.id == thread_id))
        with self.database.begin_read() as connection:
            role = find_role(connection, thread_id)
            if role is ThreadRole.READER and to_change:
                raise ReadOnlyError
            if role is not None:
                return False
            # The policies show nothing of it.
            with pass_policies(connection):
                return connection.execute(query).first() is not None

    def find_import(self, source_hash: str, owner: str | None = None) -> Thread | None:
        """Find a listed conversation imported from the document with this hash."""
        with self.database.begin_read() as connection:
            return thread_lists.find_import(connection, source_hash, self.database.name_owner(owner))

    # Messages, checkpoints and branches.

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
        """Return the current path, or its `last` messages, optionally at depths below `before`.

        With `agent`, messages of other agents are left out unread. With `max_values`, fewer messages are returned if
        their JSON has more values, but at least one.
        """
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            if last is not None and before is None and agent is None and report is ignore_progress:
                return _read_newest(connection, path, last, max_values)
            return message_rows.select_messages(
                connection, path, last=last, before=before, max_values=max_values, agent=agent, report=report
            )

    def list_message_sizes(self, thread_id: str, *, last: int, before: int) -> list[MessageSize]:
        """Return the sizes of the current path's `last` messages below depth `before`, without parsing."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return message_rows.select_sizes(connection, path, last=last, before=before)

    def list_messages_to(self, thread_id: str, message_id: str, *, last: int | None = None) -> list[Message]:
        """Return the path to any message, or its `last` messages. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_messages(
                connection, thread_rows.load_path(connection, thread_id, message_id), last=last
            )

    def count_messages(self, thread_id: str) -> int:
        with self.database.begin_read() as connection:
            return thread_rows.load_current_path(connection, thread_id)[1].length

    def list_all_messages(self, thread_id: str) -> list[Message]:
        """Return the whole tree, parents before children, including messages no head reaches."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_all_messages(connection, thread_id)

    def load_tree(self, thread_id: str) -> tuple[Thread, list[Branch], list[Checkpoint], Sequence[message_rows.TreeRow]]:
        """Return a thread, its branches, all their visible checkpoints, and its rows, from a single snapshot."""
        with self.database.begin_read() as connection:
            thread, with_heads = (
                thread_rows.select_thread(connection, thread_id),
                thread_rows.select_branch_heads(connection, thread_id),
            )
            thread_branches = [branch for branch, _ in with_heads]
            rows = message_rows.select_tree(connection, thread_id)
            return thread, thread_branches, self.list_all_checkpoints(thread_id), rows

    def list_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """Return the checkpoints visible on the current branch, oldest first."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_visible_checkpoints(connection, thread, path, self.database)

    def list_checkpoint_portion(
        self, thread_id: str, count: int, words: str = "", wanted: str | None = None
    ) -> CheckpointPortion:
        """Return the newest checkpoints visible on the current branch, see `select_checkpoint_portion`."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            found = checkpoint_rows.select_checkpoint_portion(connection, thread, path, count, words, self.database, wanted)
            return replace(found, standing_ids=standing_checkpoints.list_standing(connection, thread, found.checkpoints))

    def map_checkpoint_depths(self, thread_id: str) -> dict[str, int]:
        """Return the depths of the current branch's checkpoints, by name.

        Of several checkpoints with the same name the newest counts. A user's checkpoint takes precedence, so its name
        keeps its meaning.
        """
        shown = sorted(self.list_checkpoints(thread_id), key=lambda checkpoint: checkpoint.created_by == USER.actor)
        return {checkpoint.name: checkpoint.message_count - 1 for checkpoint in shown}

    def get_checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """Return a checkpoint visible on the current branch. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            thread, path = thread_rows.load_current_path(connection, thread_id)
            return checkpoint_rows.select_checkpoint(connection, thread, checkpoint_id, path, self.database)

    def get_live_checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint:
        """Return a checkpoint that is not deleted, on any branch or none. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return checkpoint_rows.select_live_checkpoint(connection, thread_id, checkpoint_id)

    def list_all_checkpoints(self, thread_id: str) -> list[Checkpoint]:
        """Return the checkpoints visible on any of the thread's branches, oldest first."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            every = checkpoint_rows.select_checkpoints(connection, thread_id)
            return tree_rows.filter_listed(connection, thread_id, every)

    def get_message(self, thread_id: str, message_id: str) -> Message:
        """Return any message of the thread. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return message_rows.select_message(connection, message_id, thread_id)

    def find_last_result(self, thread_id: str, message: Message) -> Message:
        """Return the last result of a message's tool calls, even after work of sub-agents, or the message itself.

        Only the next MAX_RESULT_SEARCH_MESSAGES are searched.
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
        """Return attached files' bytes by hash, without missing and damaged files."""
        with self.database.begin_read() as connection:
            return file_rows.select_files(connection, hashes)

    def find_alternatives(self, thread_id: str, messages: Sequence[Message]) -> dict[str, list[str]]:
        """Return alternatives of messages on the path: ids, oldest first, by the id of the shown message.

        An alternative is on a branch, or was abandoned by an edit, another answer or a choice. Messages removed by a
        restore do not count. Messages without alternatives are left out.
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

        At most the first `max_messages` of each are returned, up to `max_values`. A call is only returned with the
        results that follow it.
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
        """Count the messages each branch shares with the current branch, by branch id."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            branches, forks = (
                thread_rows.select_branch_heads(connection, thread_id),
                thread_rows.select_segment_parents(connection, thread_id),
            )
        shared = history.common_lengths(path, [head for _, head in branches if head], forks)
        return {branch.id: shared[head.id] if head else 0 for branch, head in branches}

    def preview_removal(self, thread_id: str, checkpoint_id: str) -> Removal:
        """Return what restoring this checkpoint would remove, including agents and the first prompt."""
        with self.database.begin_read() as connection:
            thread, old = thread_rows.load_current_path(connection, thread_id)
            target, detached = checkpoint_rows.select_restore_target(connection, thread, checkpoint_id, old)
            return _preview_path(connection, thread, old, target.node, detached)

    def preview_message_removal(self, thread_id: str, message_id: str | None) -> Removal:
        """Return what a restore to a message of the current path (None: before the first) would remove.

        Raises `MessageNotFoundError` for a message of another path.
        """
        with self.database.begin_read() as connection:
            thread, old = thread_rows.load_current_path(connection, thread_id)
            return _preview_path(connection, thread, old, thread_rows.select_path_node(connection, thread, old, message_id))

    # A few messages of a long path, found and counted by the database, so the cost does not grow with the path.

    def list_outside_messages(
        self, thread_id: str, *, before: int, limit: int, marks: Sequence[str], has_origins: bool
    ) -> tuple[list[Message], bool]:
        """Return the newest messages below a depth with content from outside, in order, and whether these are all.

        Such messages are results, messages with files, or messages with a key of `marks` in a field. With
        `has_origins`, the newest message not written by a run is added.
        """
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            newest = path_questions.select_outside_places(connection, path, marks, before=before, limit=limit + 1)
            places = newest[:limit]
            if has_origins:
                places += path_questions.select_unowned_places(connection, path, before=before, limit=1)
            found = message_rows.select_messages_at(connection, set(places))
        return sorted(found.values(), key=lambda message: message.depth), len(newest) <= limit

    def find_answer(self, thread_id: str, agent: str, n: int, *, before: int) -> Message | None:
        """Return the n-th answer of an agent without tool calls below a depth. Negative `n` counts from the last."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            place = path_questions.find_answer(connection, path, agent, n, before=before)
            return None if place is None else message_rows.select_messages_at(connection, [place])[place]

    def find_question(self, thread_id: str, agent: str, *, before: int) -> int | None:
        """Return the depth of the last question to an agent below a depth, or None, without reading messages."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            place = path_questions.find_question(connection, path, agent, before=before)
            return None if place is None else place[1]

    def count_answers(self, thread_id: str, agent: str, *, before: int) -> int:
        """Count the answers eligible for `find_answer`."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return path_questions.count_answers(connection, path, agent, before=before)

    def measure_messages(self, thread_id: str, agent: str, *, first: int, before: int) -> PathSize:
        """Measure an agent's messages between two depths, without reading them."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return path_questions.measure_messages(connection, path, agent, first=first, before=before)

    def list_left_messages(self, thread_id: str) -> list[Message]:
        """Return the messages written by runs after this head when the thread was here before, as before an undo."""
        table = schema.operation.c
        with self.database.begin_read() as connection:
            head_id = thread_rows.select_thread(connection, thread_id).head_id
            if head_id is None:
                return []
            names_head = sa.cast(table.changes, sa.Text).contains(head_id, autoescape=True)
            changes = operation_rows.select_operations(connection, thread_id, table.kind.in_(_GO_ON), names_head)
            began = [each for each in changes if tree_rows.find_head_before(each) == head_id]
            groups = {each.undo_group for each in began if each.undo_group is not None}
            message, segment = schema.message.c, schema.segment.c
            query = sa.select(message.segment, message.depth).join_from(schema.message, schema.segment)
            written = query.where(segment.thread_id == thread_id, message.run_id.in_(groups))
            places = {(row.segment, row.depth) for row in connection.execute(written)} if groups else set()
            return [*message_rows.select_messages_at(connection, places).values()]

    def count_removal(self, thread_id: str, message_id: str | None) -> Removal:
        """Return the removal of `preview_message_removal`, without the prompt."""
        with self.database.begin_read() as connection:
            thread, old = thread_rows.load_current_path(connection, thread_id)
            node = thread_rows.select_path_node(connection, thread, old, message_id)
            return count_path_removal(connection, thread, old, node)[0]

    # The changes of a thread, and the next undo and redo.

    def list_operations(self, thread_id: str, *, last: int | None = None, abridged: bool = False) -> Sequence[Operation]:
        """Return a thread's changes, newest first, optionally only the `last`. Abridged changes lack their changed rows."""
        with self.database.begin_read() as connection:
            return operation_rows.select_operations(connection, thread_id, limit=last, abridged=abridged)

    def get_operation(self, thread_id: str, version: int, *, abridged: bool = False) -> Operation | None:
        """Return the change that made this version of a thread."""
        is_wanted = schema.operation.c.version == version
        with self.database.begin_read() as connection:
            found = operation_rows.select_operations(connection, thread_id, is_wanted, abridged=abridged)
            return found[0] if found else None

    def get_last_operation(self, thread_id: str) -> Operation | None:
        """Return a thread's newest change, abridged, or None. Deleted threads are included."""
        with self.database.begin_read() as connection:
            if not sees_thread(connection, thread_id):
                return None
            found = operation_rows.select_operations(connection, thread_id, limit=1, abridged=True)
            return found[0] if found else None

    def find_undoable(self, thread_id: str) -> Operation | None:
        """Return the change `undo` would undo, if any, abridged."""
        with self.database.begin_read() as connection:
            return undo.select_undoable(connection, thread_id, abridged=True)

    def find_redoable(self, thread_id: str) -> Operation | None:
        """Return the undo `redo` would reverse, if any, abridged."""
        with self.database.begin_read() as connection:
            return undo.select_redoable(connection, thread_id, abridged=True)

    def count_agent_moves(self, thread_id: str) -> int:
        """Count the agent's moves of the head since the user's last message, over any number of runs."""
        table = schema.operation.c
        of_thread = (table.thread_id == thread_id, table.undone_by.is_(None))
        is_user_message = (table.actor == USER.actor, table.kind.in_(_USER_TURN_KINDS))
        last_message = (
            sa.select(sa.func.coalesce(sa.func.max(table.version), 0)).where(*of_thread, *is_user_message).scalar_subquery()
        )
        is_move = (table.kind.in_((OperationKind.GOTO, OperationKind.REWIND)), table.version > last_message)
        with self.database.begin_read() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(*of_thread, *is_move)) or 0

    def list_origins(self, thread_id: str) -> set[OperationKind]:
        """Return how messages from elsewhere came into a thread: by import, or as a fork of another thread."""
        table = schema.operation.c
        is_origin = sa.or_(table.kind == OperationKind.IMPORT, table.result == thread_id)
        origins = sa.select(table.kind).where(
            table.thread_id == thread_id, is_origin, table.kind.in_((OperationKind.IMPORT, OperationKind.FORK))
        )
        with self.database.begin_read() as connection:
            return {OperationKind(kind) for kind in connection.scalars(origins)}

    # Searches and places.

    def search(
        self,
        text: str,
        now: datetime,
        *,
        owner: str | None = None,
        this: str | None = None,
        limit: int = MAX_SEARCH_HITS,
        notes: NoteRules = NO_NOTES,
    ) -> SearchResult:
        """Find messages and checkpoints of an owner (see search.query). `this` is the conversation for `in:this`.

        `notes` recognises notes, whose own texts are quoted, and which `role:note` finds.
        """
        with self.database.begin_read() as connection:
            of, has_others = self.database.name_owner(owner), self.database.separates_owners
            return search_hits.search(
                connection, parse_query(text, now), of, this, limit, has_others=has_others, notes=notes
            )

    def find_in_path(self, thread_id: str, text: str) -> PathHits:
        """Find messages of the current path that contain the words of a text in sequence. Raises `ThreadNotFoundError`."""
        with self.database.begin_read() as connection:
            return path_search.find_in_path(connection, thread_id, text)

    def locate_message(self, thread_id: str, message_id: str) -> MessagePlace:
        """Find where the page shows any message of a thread. Raises `MessageNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_message(connection, thread_id, message_id)

    def locate_branch(self, thread_id: str, branch_id: str) -> MessagePlace:
        """Find where the page shows the end of a branch. Raises `BranchNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_branch(connection, thread_id, branch_id)

    def locate_checkpoint(self, thread_id: str, checkpoint_id: str) -> MessagePlace:
        """Find where the page shows any checkpoint's message. Raises `CheckpointNotFoundError`."""
        with self.database.begin_read() as connection:
            return message_places.locate_checkpoint(connection, thread_id, checkpoint_id)


def _preview_path(
    connection: sa.Connection, thread: Thread, old: history.Path, node: Node | None, detached: Sequence[Checkpoint] = ()
) -> Removal:
    removal, new = count_path_removal(connection, thread, old, node, detached)
    return replace(removal, first_prompt=message_rows.find_first_prompt(connection, old, new.length))


def count_path_removal(
    connection: sa.Connection, thread: Thread, old: history.Path, node: Node | None, detached: Sequence[Checkpoint] = ()
) -> tuple[Removal, history.Path]:
    """Return what moving the head from a path back to a message removes, and the path to that message."""
    new = history.trace_path(node, thread_rows.select_segment_parents(connection, thread.id))
    removal = checkpoint_rows.count_removal(connection, thread, old, new, detached)
    agents = checkpoint_rows.select_removed_agents(connection, old, new)
    return Removal(removal.messages, removal.checkpoints, agents), new
