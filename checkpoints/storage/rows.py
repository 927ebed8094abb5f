"""Reading: rows of a connection as values."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from checkpoints import history, serde
from checkpoints.errors import BranchNotFoundError, MessageNotFoundError, ThreadNotFoundError
from checkpoints.history import Path, Place, SegmentParents
from checkpoints.model import (
    Branch,
    Json,
    Message,
    MessageStatus,
    Node,
    Operation,
    OperationKind,
    RowChange,
    Run,
    RunState,
    Thread,
)
from checkpoints.operation_detail import OperationDetail
from checkpoints.storage import schema

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BATCH_SIZE = 200  # values or places in one statement: databases limit how many it may carry
_RANGES = 50  # stretches of a path in one statement


def to_time(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


def from_time(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def to_object(value: Any) -> Json:
    """The JSON object in a column; an empty one where it is damaged: see `serde.lenient`."""
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class LoadedThread:
    """A thread together with what every change of it, and every reading of its path, asks first."""

    thread: Thread
    active_run_id: str | None  # the id of the run that is at work in it
    head_node: Node | None  # of its head; None as well when the database has lost that message

    @property
    def head(self) -> Node | None:
        """Where the thread stands. Raises `MessageNotFoundError` when the database has lost that message."""
        if self.thread.head_id is not None and self.head_node is None:
            raise MessageNotFoundError(self.thread.head_id)
        return self.head_node


_thread_columns = sa.select(schema.thread, schema.branch.c.head_id).join(
    schema.branch, schema.branch.c.id == schema.thread.c.branch_id
)
_lock_thread = sa.select(schema.thread.c.id).where(schema.thread.c.id == sa.bindparam("thread_id")).with_for_update()
# What every change asks, put together once: building a statement takes longer than SQLite takes to answer it.
_thread_query = _thread_columns.where(schema.thread.c.id == sa.bindparam("thread_id"))
_head, _run = schema.message.c, schema.run.c
_is_head = sa.and_(_head.id == schema.branch.c.head_id, _head.thread_id == schema.thread.c.id)
# A literal: the index of running runs is only taken when the statement itself says that it asks for them.
_is_running = sa.and_(_run.thread_id == schema.thread.c.id, _run.state == sa.literal_column(f"'{RunState.RUNNING}'"))
_loaded_thread_query = (
    _thread_query.add_columns(_head.segment, _head.depth, _run.id.label("running"))
    .outerjoin(schema.message, _is_head)
    .outerjoin(schema.run, _is_running)
)
_node_query = sa.select(schema.message.c.id, schema.message.c.segment, schema.message.c.depth).where(
    schema.message.c.id == sa.bindparam("message_id"), schema.message.c.thread_id == sa.bindparam("thread_id")
)
_segment_parents_query = sa.select(schema.segment.c.id, schema.segment.c.parent, schema.segment.c.fork_depth).where(
    schema.segment.c.thread_id == sa.bindparam("thread_id")
)
_hash_query = sa.select(schema.message.c.hash).where(schema.message.c.id == sa.bindparam("message_id"))


def select_thread(connection: sa.Connection, thread_id: str, *, include_deleted: bool = False) -> Thread:
    return _row_to_thread(_select_thread_row(connection, _thread_query, thread_id, include_deleted))


def load_thread(connection: sa.Connection, thread_id: str, *, include_deleted: bool = False) -> LoadedThread:
    row = _select_thread_row(connection, _loaded_thread_query, thread_id, include_deleted)
    place = None if row.segment is None else Node(row.head_id, row.segment, row.depth)
    return LoadedThread(_row_to_thread(row), row.running, place)


def _select_thread_row(
    connection: sa.Connection, query: sa.Select[Any], thread_id: str, include_deleted: bool
) -> sa.Row[Any]:
    if connection.get_execution_options().get("holding"):
        # A statement of its own: one that waits for the lock and joins would see the branch as it was before the wait.
        connection.execute(_lock_thread, {"thread_id": thread_id})
    row = connection.execute(query, {"thread_id": thread_id}).one_or_none()
    if row is None or (row.deleted_at is not None and not include_deleted):
        raise ThreadNotFoundError(thread_id)
    return row


def select_threads(connection: sa.Connection, owner: str, limit: int) -> list[Thread]:
    """The owner's conversations, the most recently changed first."""
    table = schema.thread.c
    query = _thread_columns.where(table.owner == owner, table.deleted_at.is_(None))
    return [
        _row_to_thread(row) for row in connection.execute(query.order_by(table.updated_at.desc(), table.id).limit(limit))
    ]


def select_deleted_threads(connection: sa.Connection, owner: str, limit: int) -> list[Thread]:
    """The owner's conversations that a deletion (or the redo of one) took out of the list, the last one first."""
    table, last = schema.thread.c, schema.operation.c
    kinds = (OperationKind.DELETE, OperationKind.REDO)
    taken_out = (last.thread_id == table.id, last.version == table.version, last.kind.in_(kinds))
    query = _thread_columns.where(table.owner == owner, table.deleted_at.is_not(None))
    query = query.where(sa.exists().where(*taken_out))
    return [
        _row_to_thread(row) for row in connection.execute(query.order_by(table.deleted_at.desc(), table.id).limit(limit))
    ]


def _row_to_thread(row: sa.Row[Any]) -> Thread:
    return Thread(
        id=row.id,
        owner=row.owner,
        title=row.title,
        settings=to_object(row.settings),
        branch_id=row.branch_id,
        head_id=row.head_id,
        version=row.version,
        created_at=to_time(row.created_at),
        updated_at=to_time(row.updated_at),
        deleted=row.deleted_at is not None,
    )


def select_segment_parents(connection: sa.Connection, thread_id: str) -> SegmentParents:
    """The thread's segments. One view of the page asks for them several times, and sees one moment: they are read once."""
    known: dict[str, SegmentParents] | None = connection.get_execution_options().get("forks")
    if known is not None and thread_id in known:
        return known[thread_id]
    found = {
        identifier: (parent, depth)
        for identifier, parent, depth in connection.execute(_segment_parents_query, {"thread_id": thread_id})
    }
    if known is not None:
        known[thread_id] = found
    return found


def select_node(connection: sa.Connection, message_id: str | None, thread_id: str) -> Node | None:
    """Where a message stands. Raises `MessageNotFoundError` for one that is not in this thread."""
    if message_id is None:
        return None
    row = connection.execute(_node_query, {"message_id": message_id, "thread_id": thread_id}).one_or_none()
    if row is None:
        raise MessageNotFoundError(message_id)
    return Node(row.id, row.segment, row.depth)


def select_nodes(connection: sa.Connection, message_ids: Collection[str]) -> dict[str, Node]:
    """Where these messages stand, by id."""
    table = schema.message.c
    query = sa.select(table.id, table.segment, table.depth)
    return {row.id: Node(row.id, row.segment, row.depth) for row in with_ids(connection, query, message_ids)}


def with_ids(connection: sa.Connection, query: sa.Select[Any], ids: Collection[str]) -> Iterator[Any]:
    """The rows of a query whose first column is one of these ids, however many they are."""
    key, wanted = query.selected_columns[0], list(ids)
    for start in range(0, len(wanted), _BATCH_SIZE):
        yield from connection.execute(query.where(key.in_(wanted[start : start + _BATCH_SIZE])))


def load_current_path(connection: sa.Connection, thread_id: str) -> tuple[Thread, Path]:
    """A thread and the path to where it stands."""
    found = load_thread(connection, thread_id)
    return found.thread, _load_path_to(connection, thread_id, found.head)


def load_path(connection: sa.Connection, thread_id: str, message_id: str | None) -> Path:
    return _load_path_to(connection, thread_id, select_node(connection, message_id, thread_id))


def _load_path_to(connection: sa.Connection, thread_id: str, node: Node | None) -> Path:
    return history.path_to(node, select_segment_parents(connection, thread_id) if node else {})


def select_messages(
    connection: sa.Connection, path: Path, *, last: int | None = None, before: int | None = None
) -> list[Message]:
    """The path's messages in order; only the `last` ones, and only those at depths under `before`, when given."""
    upper = path.length if before is None else min(before, path.length)
    lower = 0 if last is None else max(0, upper - last)
    ranges = _ranges(path, lower, upper)
    found: list[sa.Row[Any]] = []
    for start in range(0, len(ranges), _RANGES):
        found.extend(connection.execute(_in_ranges(ranges[start : start + _RANGES])))
    if not found:
        return []
    before_it = [row.hash for row in found[1:]] + [select_message_hash(connection, found[-1].parent_id)]
    return [_row_to_message(row, parent) for row, parent in zip(found, before_it, strict=True)][::-1]


def _ranges(path: Path, lower: int, upper: int) -> list[tuple[int, int, int]]:
    """The stretches of a path between two depths, nearest first: the segment, its first depth and its last one there."""
    found = []
    starts = [last + 1 for _, last in path.segments[1:]] + [0]
    for (segment, end), start in zip(path.segments, starts, strict=False):
        if end < lower:
            break
        if start < upper:
            found.append((segment, max(start, lower), min(end, upper - 1)))
    return found


def _in_ranges(ranges: Sequence[tuple[int, int, int]]) -> sa.Select[Any]:
    """The messages in these ranges of a path, the last one first."""
    table = schema.message.c
    is_there = [sa.and_(table.segment == segment, table.depth.between(start, end)) for segment, start, end in ranges]
    return sa.select(schema.message).where(sa.or_(*is_there)).order_by(table.depth.desc())


def tail_hash(connection: sa.Connection, node: Node | None) -> str | None:
    return select_message_hash(connection, node.id if node else None)


def select_message_hash(connection: sa.Connection, message_id: str | None) -> str | None:
    return None if message_id is None else connection.scalar(_hash_query, {"message_id": message_id})


def _row_to_message(row: sa.Row[Any], parent_hash: str | None) -> Message:
    """The row as a value, after a look whether it is still what was written: its hash covers its parent's."""
    damaged = serde.hash_canonical_body(row.body, row.agent, row.status, parent_hash) != row.hash
    return Message(
        id=row.id,
        thread_id=row.thread_id,
        parent_id=row.parent_id,
        segment=row.segment,
        depth=row.depth,
        agent=row.agent,
        status=MessageStatus.PARTIAL if damaged else MessageStatus(row.status),
        body=serde.make_empty_body(row.body) if damaged else json.loads(row.body),
        hash=row.hash,
        run_id=row.run_id,
        created_at=to_time(row.created_at),
        damaged=damaged,
    )


def select_message(connection: sa.Connection, message_id: str, thread_id: str) -> Message:
    table = schema.message
    row = connection.execute(sa.select(table).where(table.c.id == message_id, table.c.thread_id == thread_id)).one_or_none()
    if row is None:
        raise MessageNotFoundError(message_id)
    return _row_to_message(row, select_message_hash(connection, row.parent_id))


def select_messages_at(connection: sa.Connection, places: Collection[Place]) -> dict[Place, Message]:
    """The messages at these places."""
    table, parent = schema.message, schema.message.alias()
    with_parent = sa.select(table, parent.c.hash.label("parent_hash")).outerjoin(parent, parent.c.id == table.c.parent_id)
    return {(row.segment, row.depth): _row_to_message(row, row.parent_hash) for row in _at(connection, with_parent, places)}


def ids_at(connection: sa.Connection, places: Collection[Place]) -> dict[Place, str]:
    """The ids of the messages at these places."""
    table = schema.message.c
    query = sa.select(table.id, table.segment, table.depth)
    return {(row.segment, row.depth): row.id for row in _at(connection, query, places)}


def _at(connection: sa.Connection, query: sa.Select[Any], places: Collection[Place]) -> Iterator[sa.Row[Any]]:
    table, wanted = schema.message.c, list(places)
    for start in range(0, len(wanted), _BATCH_SIZE):
        is_there = sa.tuple_(table.segment, table.depth).in_(wanted[start : start + _BATCH_SIZE])
        yield from connection.execute(query.where(is_there))


def select_all_messages(connection: sa.Connection, thread_id: str) -> list[Message]:
    """The whole tree, parents before children, siblings in the order they were written."""
    table = schema.message
    own = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == thread_id)  # messages have no index by thread
    query = sa.select(table).where(table.c.segment.in_(own)).order_by(table.c.segment, table.c.depth)
    found = connection.execute(query).all()
    hashes = {row.id: row.hash for row in found}
    return [_row_to_message(row, hashes.get(row.parent_id)) for row in found]


def select_intact_messages(connection: sa.Connection, thread_id: str) -> dict[str, tuple[str, Node]]:
    """Hash and place, by id, of the thread's messages that are not damaged and follow none that is."""
    table = schema.message
    own = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == thread_id)
    found: dict[str, tuple[str, Node]] = {}
    for row in connection.execute(sa.select(table).where(table.c.segment.in_(own)).order_by(table.c.segment, table.c.depth)):
        before = found[row.parent_id][0] if row.parent_id in found else None
        follows = row.parent_id is None or before is not None
        if follows and serde.hash_canonical_body(row.body, row.agent, row.status, before) == row.hash:
            found[row.id] = (row.hash, Node(row.id, row.segment, row.depth))
    return found


def select_branches(connection: sa.Connection, thread_id: str) -> list[Branch]:
    table = schema.branch
    query = sa.select(table).where(table.c.thread_id == thread_id, table.c.deleted_at.is_(None))
    rows = connection.execute(query.order_by(table.c.position))
    return [_branch(row) for row in rows]


def _branch(row: sa.Row[Any]) -> Branch:
    return Branch(row.id, row.thread_id, row.name, row.head_id)


def branch_heads(connection: sa.Connection, thread_id: str) -> list[tuple[Branch, Node | None]]:
    """The thread's branches with the message that each stands on."""
    found = select_branches(connection, thread_id)
    places = select_nodes(connection, {one.head_id for one in found if one.head_id})
    return [(one, places[one.head_id] if one.head_id else None) for one in found]


def select_branch(connection: sa.Connection, branch_id: str, thread_id: str) -> Branch:
    table = schema.branch.c
    own = sa.select(schema.branch).where(table.id == branch_id, table.thread_id == thread_id, table.deleted_at.is_(None))
    row = connection.execute(own).one_or_none()
    if row is None:
        raise BranchNotFoundError(branch_id)
    return _branch(row)


def select_operations(
    connection: sa.Connection, thread_id: str, *conditions: sa.ColumnElement[bool], limit: int | None = None
) -> Sequence[Operation]:
    """The thread's operations, the newest first."""
    table = schema.operation
    query = sa.select(table).where(table.c.thread_id == thread_id, *conditions)
    query = query.order_by(table.c.version.desc()).limit(limit)
    return [to_operation(row) for row in connection.execute(query)]


def to_operation(row: sa.Row[Any]) -> Operation:
    changes = _parse_changes(row.changes)
    return Operation(
        thread_id=row.thread_id,
        version=row.version,
        kind=OperationKind(row.kind),
        actor=row.actor,
        undo_group=row.grouped,
        changes=changes or (),
        detail=OperationDetail.from_json(row.detail),
        result=row.result,
        undone=row.undone_by is not None,
        created_at=to_time(row.created_at),
        target=row.target,
        damaged=changes is None,
    )


def _parse_changes(stored: Any) -> tuple[RowChange, ...] | None:
    """The changes that an operation noted; None where that is not what a change can be."""
    if not isinstance(stored, list) or not all(isinstance(each, list) and len(each) == 4 for each in stored):
        return None
    return tuple(RowChange(*each) for each in stored) if all(_is_row_change(*each) for each in stored) else None


def _is_row_change(table: Any, identifier: Any, before: Any, after: Any) -> bool:
    if table not in schema.MOVABLE_TABLES or not isinstance(identifier, str):
        return False
    columns = schema.MOVABLE_TABLES[table].c
    return all(
        isinstance(values, dict)
        and values.keys() == before.keys()
        and all(_fits_column(columns, *each) for each in values.items())
        for values in (before, after)
    )


def _fits_column(columns: sa.ColumnCollection[str, sa.Column[Any]], name: str, value: Any) -> bool:
    if name not in columns:
        return False
    return bool(columns[name].nullable) if value is None else isinstance(value, columns[name].type.python_type)


def from_error(error: str | None, details: str | None) -> str | None:
    """Return the column of a run's error: its sentence on the first line, and the details after it."""
    sentence = error and " ".join(serde.sanitize_text(error).splitlines())
    return f"{sentence}\n{serde.sanitize_text(details)}" if sentence and details else sentence


def to_run(row: sa.Row[Any]) -> Run:
    sentence, _, details = (row.error or "").partition("\n")
    return Run(
        id=row.id,
        thread_id=row.thread_id,
        state=RunState(row.state),
        draft=row.draft,
        error=sentence or row.error,
        error_details=details or None,
        dismissed=row.dismissed,
        started_at=to_time(row.started_at),
        ended_at=None if row.ended_at is None else to_time(row.ended_at),
        compacts=bool(row.compacts),
    )
