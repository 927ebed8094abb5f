"""Read a thread's tree around branches and checkpoints: forks, moves, and the end removed by a restore."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.database import Database
from ..values import history, text
from ..values.history import Path, SegmentParents
from ..values.limits import MAX_BRANCHES_AND_CHECKPOINTS, MAX_READ_VALUES
from ..values.model import Checkpoint, CheckpointMark, LeftBehind, Message, Node, Thread
from ..values.operation import Move, Operation, OperationKind
from . import checkpoint_rows, message_rows, operation_rows, thread_rows

# The newest moves of a tree, the newest checkpoints removed by a restore, and the named checkpoints of a message.
MAX_MOVES = 100
MAX_LEFT_CHECKPOINTS = 100
MAX_MESSAGE_MARKS = 20
# No window of messages has so many segments.
_MAX_MARKED_SEGMENTS = 500
# The last restore is searched among this many operations.
_MAX_NEWEST_OPERATIONS = 20
# Rows read for each wanted checkpoint of another branch.
_MAX_SCANNED_FACTOR = 5
_MOVES = (OperationKind.GOTO, OperationKind.REWIND, OperationKind.COMPACT)
_KEEP_HEAD = (OperationKind.SAVE, OperationKind.RENAME, OperationKind.PIN, OperationKind.SETTINGS)
_REVERTING = (OperationKind.UNDO, OperationKind.REDO)
_REMOVING = (OperationKind.RESTORE, OperationKind.CLEAR)
_MAX_SEARCHED_CHARS = checkpoint_rows.MAX_SEARCHED_CHARS


def select_fork_messages(connection: sa.Connection, segments: Collection[int]) -> dict[int, str]:
    """Map segments to the messages they fork from. First segments of a conversation are left out."""
    own, fork = schema.segment.c, schema.message.c
    is_fork = sa.and_(fork.segment == own.parent, fork.depth == own.fork_depth)
    query = sa.select(own.id.label("segment"), fork.id.label("message")).join(schema.message, is_fork)
    return {row.segment: row.message for row in select_in_batches(connection, query, own.id, segments)}


def select_elsewhere(
    connection: sa.Connection,
    thread: Thread,
    path: Path,
    heads: Mapping[str, Node | None],
    count: int,
    words: str,
    database: Database,
) -> list[Checkpoint]:
    """Return the newest checkpoints visible on one of these branches, but not on the current branch, whose path is `path`.

    Without words, only the newest rows of the thread are read, since most of them may be on the current branch.
    """
    if set(heads) == {thread.branch_id}:
        return []
    table = schema.checkpoint.c
    description = sa.func.substr(table.description, 1, _MAX_SEARCHED_CHARS).label("description")
    columns = [table.id, table.branch_id, table.segment, table.depth, table.detached, table.name, description]
    query = sa.select(*columns).where(table.thread_id == thread.id, table.deleted_at.is_(None))
    max_rows = MAX_BRANCHES_AND_CHECKPOINTS if words else count * _MAX_SCANNED_FACTOR
    rows = connection.execute(query.order_by(table.position.desc()).limit(max_rows))
    forks = thread_rows.select_segment_parents(connection, thread.id)
    reached = history.find_reachable_depths([head for head in heads.values() if head], forks)
    wanted = []
    for row in rows:
        is_current = Node("", row.segment, row.depth) in path or (row.detached and row.branch_id == thread.branch_id)
        is_shown = row.depth <= reached.get(row.segment, -1) or (row.detached and row.branch_id in heads)
        if is_shown and not is_current and text.contains(f"{row.name}\n{row.description}", words):
            wanted.append(row.id)
    return checkpoint_rows.select_checkpoints_by_id(connection, wanted[:count], database)


def filter_listed(connection: sa.Connection, thread_id: str, checkpoints: Collection[Checkpoint]) -> list[Checkpoint]:
    """Return those of a thread's checkpoints that are visible on any of its branches."""
    with_heads = thread_rows.select_branch_heads(connection, thread_id)
    forks = thread_rows.select_segment_parents(connection, thread_id)
    reached = history.find_reachable_depths([head for _, head in with_heads if head], forks)
    return history.filter_listed(checkpoints, {branch.id for branch, _ in with_heads}, reached)


def select_moves(connection: sa.Connection, thread_id: str) -> list[Move]:
    """Return the newest moves and summaries with a stored note."""
    table = schema.operation.c
    are_moves = (table.kind.in_(_MOVES), table.undone_by.is_(None))
    moves = operation_rows.select_operations(connection, thread_id, *are_moves, limit=MAX_MOVES, abridged=True)
    nodes = thread_rows.select_nodes(connection, {each.result for each in moves if each.result})
    summaries = [each.version for each in moves if each.kind is OperationKind.COMPACT]
    ends = _select_heads_before(connection, thread_id, summaries)
    return [Move(each, nodes[each.result], ends.get(each.version)) for each in reversed(moves) if each.result in nodes]


def _select_heads_before(connection: sa.Connection, thread_id: str, versions: Sequence[int]) -> dict[int, Node]:
    """Return the branch heads before these operations, by version."""
    if not versions:
        return {}
    whole = operation_rows.select_operations(connection, thread_id, schema.operation.c.version.in_(versions))
    heads = {each.version: find_head_before(each) for each in whole}
    nodes = thread_rows.select_nodes(connection, {head for head in heads.values() if head})
    return {version: nodes[head] for version, head in heads.items() if head in nodes}


def find_head_before(operation: Operation) -> str | None:
    """Return the branch head before an operation."""
    heads = [str(change.before.get("head_id")) for change in operation.changes if change.table == "branch"]
    return heads[0] if heads else None


def find_shown_moves(
    moves: Sequence[Move], ends: Sequence[Node], parents: SegmentParents
) -> tuple[list[Move], dict[int, int]]:
    """Return the moves on a path to an end, or on a path replaced by a summary there. Also return how far paths reach."""
    shown: list[Move] = []
    while True:
        replaced = [each.replaced for each in shown if each.replaced]
        reached = history.find_reachable_depths([*ends, *replaced], parents)
        found = [each for each in moves if each.node.depth <= reached.get(each.node.segment, -1)]
        if len(found) == len(shown):
            return found, reached
        shown = found


@dataclass(frozen=True, slots=True)
class RemovedEnd:
    """The end of a path removed by a restore or clear: its last message, and the number of messages shared with the
    new path.

    `is_newest` means Undo brings the messages back: the operation is the newest, ignoring the judge's.
    """

    operation: Operation
    node: Node
    path: Path
    shared: int
    is_newest: bool

    @property
    def count(self) -> int:
        return self.path.length - self.shared


def select_removed_end(connection: sa.Connection, thread: Thread, path: Path) -> RemovedEnd | None:
    """Return the end removed by the thread's last restore, until a message follows it or it is undone.

    A view of the page asks twice, so it is read once.
    """
    known: dict[str, RemovedEnd | None] = connection.get_execution_options().get("ends", {})
    if thread.id not in known:
        known[thread.id] = _read_removed_end(connection, thread, path)
    return known[thread.id]


def _read_removed_end(connection: sa.Connection, thread: Thread, path: Path) -> RemovedEnd | None:
    newest = operation_rows.select_operations(connection, thread.id, limit=_MAX_NEWEST_OPERATIONS, abridged=True)
    newest = [each for each in newest if each.actor != "judge"]
    last = next((each for each in newest if not each.undone and each.kind not in (*_REVERTING, *_KEEP_HEAD)), None)
    if last is None or last.kind not in _REMOVING or last.detail.future_kept:
        return None
    [whole] = operation_rows.select_operations(connection, thread.id, schema.operation.c.version == last.version)
    heads = [str(change.before.get("head_id")) for change in whole.changes if change.table == "branch"]
    found = thread_rows.select_nodes(connection, heads[:1])
    if not found:
        return None
    node = found[heads[0]]
    left = history.trace_path(node, thread_rows.select_segment_parents(connection, thread.id))
    shared = history.measure_common_length(path, left)
    return RemovedEnd(whole, node, left, shared, is_newest=last is newest[0])


def select_left_behind(connection: sa.Connection, thread: Thread, path: Path, database: Database) -> LeftBehind | None:
    """Return the removed end with its newest checkpoints."""
    end = select_removed_end(connection, thread, path)
    if end is None:
        return None
    checkpoints = _select_left_checkpoints(connection, end.path, end.shared, database)
    return LeftBehind(end.node, end.count, checkpoints, is_newest=end.is_newest)


def select_removed_messages(connection: sa.Connection, end: RemovedEnd, count: int) -> list[Message]:
    """Return the first messages of a removed end."""
    count = min(count, end.count)
    before = end.shared + count
    return message_rows.select_messages(
        connection, end.path, last=count, before=before, max_values=MAX_READ_VALUES, keeps_first=True
    )


def select_marks(connection: sa.Connection, thread: Thread, path: Path, first: int, last: int) -> list[CheckpointMark]:
    """Return the checkpoints between two depths of a path, at most MAX_MESSAGE_MARKS for each message."""
    table = schema.checkpoint.c
    segments = [(segment, end) for segment, end in path.segments if end >= first]
    ranked = (
        sa.select(
            *(table.id, table.name, table.created_by, table.segment, table.depth, table.position),
            sa.func.row_number().over(partition_by=table.message_id, order_by=table.position).label("number"),
            sa.func.count().over(partition_by=table.message_id).label("total"),
        )
        .where(table.thread_id == thread.id, table.deleted_at.is_(None), table.depth.between(first, last))
        .where(table.segment.in_([segment for segment, _ in segments[:_MAX_MARKED_SEGMENTS]]))
        .subquery()
    )
    query = sa.select(ranked).where(ranked.c.number <= MAX_MESSAGE_MARKS).order_by(ranked.c.depth, ranked.c.position)
    return [
        CheckpointMark(row.id, row.name, row.created_by, row.segment, row.depth, row.total)
        for row in connection.execute(query)
        if row.depth <= path.last[row.segment]
    ]


def _select_left_checkpoints(connection: sa.Connection, left: Path, shared: int, database: Database) -> list[Checkpoint]:
    table = schema.checkpoint.c
    segments = [segment for segment, last in left.segments if last >= shared]
    query = sa.select(table.id, table.segment, table.depth).where(table.deleted_at.is_(None))
    query = query.where(table.segment.in_(segments[:MAX_LEFT_CHECKPOINTS]), table.depth >= shared)
    rows = connection.execute(query.order_by(table.position.desc()).limit(MAX_LEFT_CHECKPOINTS))
    wanted = [row.id for row in rows if row.depth <= left.last[row.segment]]
    return checkpoint_rows.select_checkpoints_by_id(connection, wanted, database)
