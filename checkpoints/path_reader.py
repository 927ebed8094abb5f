"""Reads of the current path whose cost does not grow with its messages: the database finds and counts them."""

from collections.abc import Sequence

import sqlalchemy as sa

from .rows import checkpoint_rows, message_rows, operation_rows, path_questions, thread_rows, tree_rows
from .storage import schema
from .storage.database import Database
from .values import history
from .values.model import Checkpoint, Message, Node, PathSize, Removal, Thread
from .values.operation import OperationKind

_GO_ON = (OperationKind.APPEND, OperationKind.GOTO, OperationKind.REWIND)


class PathReader:
    """The reads of a few messages of a long path."""

    database: Database

    def list_outside_messages(
        self, thread_id: str, *, before: int, limit: int, marks: Sequence[str], has_origins: bool
    ) -> tuple[list[Message], bool]:
        """Return the newest messages below a depth that hold something from outside, in order, and whether these are all.

        These are results, messages with files, those with one of the keys `marks` in a field, and with `has_origins` the
        newest one that no run wrote.
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
        """Return the n-th answer of an agent without tool calls below a depth (from 1 on, or from -1 back)."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            place = path_questions.find_answer(connection, path, agent, n, before=before)
            return None if place is None else message_rows.select_messages_at(connection, [place])[place]

    def find_question(self, thread_id: str, agent: str, *, before: int) -> int | None:
        """Return the depth of the last question to an agent below a depth; None without one. No message is read."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            place = path_questions.find_question(connection, path, agent, before=before)
            return None if place is None else place[1]

    def count_answers(self, thread_id: str, agent: str, *, before: int) -> int:
        """Count the answers that `find_answer` finds."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return path_questions.count_answers(connection, path, agent, before=before)

    def measure_messages(self, thread_id: str, agent: str, *, first: int, before: int) -> PathSize:
        """Measure an agent's messages between two depths. No message is read."""
        with self.database.begin_read() as connection:
            _, path = thread_rows.load_current_path(connection, thread_id)
            return path_questions.measure_messages(connection, path, agent, first=first, before=before)

    def list_left_messages(self, thread_id: str) -> list[Message]:
        """Return the messages that runs wrote on from the head when the thread stood there before, as before an undo."""
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


def count_path_removal(
    connection: sa.Connection, thread: Thread, old: history.Path, node: Node | None, detached: Sequence[Checkpoint] = ()
) -> tuple[Removal, history.Path]:
    """Return the removal by a move of the head from a path back to a message, and the path to that message."""
    new = history.trace_path(node, thread_rows.select_segment_parents(connection, thread.id))
    removal = checkpoint_rows.count_removal(connection, thread, old, new, detached)
    agents = checkpoint_rows.select_removed_agents(connection, old, new)
    return Removal(removal.messages, removal.checkpoints, agents), new
