"""Verification: recompute every hash, follow every link, and report the damage. It only reads, a row at a time. Its
memory depends on the segments of a thread, not on the number of messages."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import sqlalchemy as sa

from ..rows import file_rows, operation_rows, thread_rows
from ..storage import high_water_mark, schema
from ..storage.database import Database
from ..storage.postgresql import allow_long_pauses
from ..values import files, history, serde
from ..values.history import SegmentParents
from ..values.model import Node
from ..values.operation import OperationKind
from ..values.operation_detail import OperationDetail
from ..values.progress import Report, StepCounter, ignore_progress
from . import index_verification, state_verification, tag_verification, undo_reach
from .verification_report import Damage, RowCounts, VerificationReport

_message_columns, _segment_columns, _operation_columns = schema.message.c, schema.segment.c, schema.operation.c
# The rest is checked after a damaged page, or a change that is not JSON.
_READ_ERRORS = (sa.exc.DBAPIError, ValueError)
_BATCH_SIZE = 200


def verify(database: Database, report: Report = ignore_progress) -> VerificationReport:
    """Check the whole database in a single snapshot. Raises `StoreUnavailableError` only if nothing can be read at all."""
    tables = (schema.thread, schema.message, schema.checkpoint, schema.operation, schema.file, schema.state)
    with database.begin_read() as connection:
        allow_long_pauses(connection)
        messages = StepCounter(report, "Checking", _count_rows(connection, schema.message), "messages")
        found = (*_find_damages(connection, messages), *_find_lost_changes(connection, database.marked_versions))
        counts = RowCounts(*(_count_rows(connection, table) for table in tables))
        if found:
            # For damaged rows, the index has other words.
            return VerificationReport(counts, found, has_compared_index=False)
        problems, queued = _compare_index(connection, report)
    return VerificationReport(counts, tuple(map(Damage, problems)), queued)


def _compare_index(connection: sa.Connection, report: Report) -> tuple[list[str], int]:
    """Return the index's defects, and the number of queued messages and checkpoints."""
    try:
        return index_verification.compare_index(connection, report)
    except _READ_ERRORS as error:
        unreadable = f"not all of the search's index can be read: {_unwrap_driver_error(error)}"
        return [f"{unreadable}. {index_verification.REMEDY}"], 0


def _find_damages(connection: sa.Connection, messages: StepCounter) -> Iterator[Damage]:
    for part in (
        _check_sqlite,
        _check_strays,
        _check_attachments,
        tag_verification.check_tags,
        _check_channel_values,
        partial(_check_threads, messages=messages),
    ):
        try:
            yield from part(connection)
        except _READ_ERRORS as error:
            yield Damage(f"not all of the database can be read: {_unwrap_driver_error(error)}")


def _find_lost_changes(connection: sa.Connection, marked: Mapping[str, int]) -> Iterator[Damage]:
    """Find conversations older than the mark beside the file, whose log (WAL) with later changes was lost."""
    table = schema.thread.c
    # The other checks report unreadable rows.
    with suppress(sa.exc.DBAPIError):
        for thread_id, version in high_water_mark.find_lost_versions(connection, marked).items():
            title = connection.scalar(sa.select(table.title).where(table.id == thread_id))
            lost = "it was saved, and is" if title is None else f"its changes up to {version:,} were saved, and are"
            yield Damage(f"{lost} not in the file any more", thread_id, title or "")


def _unwrap_driver_error(error: Exception) -> object:
    return getattr(error, "orig", error)


def _count_rows(connection: sa.Connection, table: sa.Table) -> int:
    with suppress(sa.exc.DBAPIError):
        return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
    return 0


def _check_sqlite(connection: sa.Connection) -> Iterator[Damage]:
    """Run SQLite's checks of pages, indexes and references. PostgreSQL has checksums and constraints. `_check_strays`
    and `_check_heads` check the references without a constraint on both (decision 105)."""
    if connection.dialect.name != "sqlite":
        return
    for (finding,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if finding != "ok":
            yield Damage(f"the file: {finding}")
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        # Not every table has numbered rows.
        place = table if row is None else f"row {row} of {table}"
        yield Damage(f"the file: {place} names a {parent} that is not there")


def _check_strays(connection: sa.Connection) -> Iterator[Damage]:
    """Find messages outside their thread's segments, which a read by segment would miss."""
    query = sa.select(_message_columns.id, _message_columns.thread_id, _message_columns.depth).outerjoin(
        schema.segment,
        sa.and_(_segment_columns.id == _message_columns.segment, _segment_columns.thread_id == _message_columns.thread_id),
    )
    for row in connection.execute(query.where(_segment_columns.id.is_(None))):
        yield Damage("stands in no segment of its conversation", row.thread_id, "", row.id, row.depth + 1)


def _check_attachments(connection: sa.Connection) -> Iterator[Damage]:
    table, sound = schema.file.c, set[str]()
    # Files are read singly, since each may be large.
    for hash_ in connection.scalars(sa.select(table.hash).order_by(table.hash)).all():
        if file_rows.select_files(connection, [hash_]):
            sound.add(hash_)
        else:
            yield Damage(f"the attached file {hash_} is damaged: its content does not fit its hash")
    columns = (
        _message_columns.thread_id,
        schema.thread.c.title,
        _message_columns.id,
        _message_columns.depth,
        _message_columns.body,
    )
    query = sa.select(*columns).join_from(schema.message, schema.thread, schema.thread.c.id == _message_columns.thread_id)
    for row in connection.execute(query.where(file_rows.REFERENCES_FILE)):
        if files.find_file_hashes(row.body) - sound:
            yield Damage("has an attached file that is missing or damaged", row.thread_id, row.title, row.id, row.depth + 1)


def _check_threads(connection: sa.Connection, messages: StepCounter) -> Iterator[Damage]:
    table = schema.thread.c
    columns = (table.id, table.title, table.branch_id, table.version, table.checkpoints_made)
    for thread in connection.execute(sa.select(*columns).order_by(table.id)).all():
        try:
            parts = (partial(_check_tree, messages=messages), _check_json_columns, _check_operations, _check_states)
            for problem, message in chain.from_iterable(part(connection, thread) for part in parts):
                place = (message.id, message.depth + 1) if message else (None, None)
                yield Damage(problem, thread.id, thread.title, *place)
        except _READ_ERRORS as error:
            yield Damage(f"not all of it can be read: {_unwrap_driver_error(error)}", thread.id, thread.title)


_ThreadRow = sa.Row[Any, Any, Any, Any, Any]
Findings = Iterator[tuple[str, Node | None]]


def _check_json_columns(connection: sa.Connection, thread: _ThreadRow) -> Findings:
    """Check JSON columns. The store's tolerant parser would take damaged objects for empty objects."""
    own, table = schema.thread.c, schema.checkpoint.c
    if not _is_json_object(connection.scalar(sa.select(sa.cast(own.settings, sa.Text)).where(own.id == thread.id))):
        yield "its settings are damaged: they are no JSON object", None
    checkpoints = sa.select(table.id, table.name, sa.cast(table.extra, sa.Text).label("extra")).where(
        table.thread_id == thread.id
    )
    for row in connection.execute(checkpoints):
        if not _is_json_object(row.extra):
            yield f"the state of checkpoint {row.name!r} ({row.id}) is damaged: it is no JSON object", None
    operations = (
        sa.select(schema.operation).where(_operation_columns.thread_id == thread.id).order_by(_operation_columns.version)
    )
    for row in connection.execute(operations, execution_options={"yield_per": _BATCH_SIZE}):
        if operation_rows.parse_operation(row).damaged:
            yield f"operation {row.version:,} is damaged: what it changed cannot be read", None


def _check_channel_values(connection: sa.Connection) -> Iterator[Damage]:
    yield from map(Damage, state_verification.check_values(connection))


def _check_states(connection: sa.Connection, thread: _ThreadRow) -> Findings:
    revertible = undo_reach.list_revertible_operations(connection, thread.id)
    yield from ((problem, None) for problem in state_verification.check_states(connection, thread.id, revertible))


def _is_json_object(text: str | None) -> bool:
    try:
        return isinstance(json.loads(text or ""), dict)
    except (ValueError, RecursionError):
        return False


def _check_tree(connection: sa.Connection, thread: _ThreadRow, messages: StepCounter) -> Findings:
    forks = thread_rows.select_segment_parents(connection, thread.id)
    # Maps a segment to the last depth with a complete path.
    intact_depths: dict[int, int] = {}
    for segment, (parent, fork_depth) in sorted(forks.items()):
        if parent is not None and (parent not in forks or parent >= segment):
            yield f"segment {segment} forks from one that is not there", None
            intact_depths[segment] = -1
            continue
        yield from _check_segment(connection, thread.id, segment, parent, fork_depth, intact_depths, messages)
    yield from _check_heads(connection, thread, forks, intact_depths)


def _check_segment(
    connection: sa.Connection,
    thread_id: str,
    segment: int,
    parent: int | None,
    fork_depth: int,
    intact_depths: dict[int, int],
    messages: StepCounter,
) -> Findings:
    before = _select_message_row(connection, parent, fork_depth)
    depth = fork_depth
    is_complete = parent is None or (before is not None and intact_depths[parent] >= fork_depth)
    query = sa.select(schema.message).where(_message_columns.segment == segment).order_by(_message_columns.depth)
    for row in connection.execute(query, execution_options={"yield_per": _BATCH_SIZE}):
        node = Node(row.id, segment, row.depth)
        if row.depth != depth + 1 or (before is None and row.depth > 0):
            yield f"has none before it: those from {depth + 2:,} on are missing", node
            is_complete = False
        elif row.parent_id != (before.id if before else None):
            yield "stands after another message than the one that it names", node
        elif serde.hash_canonical_body(row.body, row.agent, row.status, before.hash if before else None) != row.hash:
            yield "is damaged: its content does not fit its hash", node
        before, depth = row, row.depth
        messages.add()
        if is_complete:
            intact_depths[segment] = depth
    intact_depths.setdefault(segment, fork_depth if is_complete else -1)


def _select_message_row(connection: sa.Connection, segment: int | None, depth: int) -> sa.Row[Any] | None:
    query = sa.select(schema.message).where(_message_columns.segment == segment, _message_columns.depth == depth)
    return None if segment is None else connection.execute(query).one_or_none()


def _check_heads(
    connection: sa.Connection, thread: _ThreadRow, parents: SegmentParents, intact_depths: dict[int, int]
) -> Findings:
    """Check that each branch and checkpoint points to a message of this thread with a complete path."""

    def is_broken(node: Node) -> bool:
        if node.segment not in parents or intact_depths[node.segment] < node.depth:
            return True
        segments = history.trace_path(node, parents).segments
        return any(depth > intact_depths.get(segment, -1) for segment, depth in segments)

    branches = connection.execute(sa.select(schema.branch).where(schema.branch.c.thread_id == thread.id)).all()
    if thread.branch_id not in {row.id for row in branches if row.deleted_at is None}:
        yield "stands on a branch that is not there", None
    table = schema.checkpoint.c
    columns = (table.id, table.name, table.message_id, table.segment, table.depth, table.position, table.branch_id)
    checkpoints = connection.execute(sa.select(*columns).where(table.thread_id == thread.id)).all()
    wanted = {row.head_id for row in branches if row.head_id} | {row.message_id for row in checkpoints}
    nodes = thread_rows.select_nodes(connection, wanted)
    for row in branches:
        if row.head_id and (row.head_id not in nodes or is_broken(nodes[row.head_id])):
            yield f"branch {row.name!r} ({row.id}) stands on a chain that is not whole", None
    known = {row.id for row in branches}
    for checkpoint in checkpoints:
        named = f"checkpoint {checkpoint.name!r} ({checkpoint.id})"
        node = nodes.get(checkpoint.message_id)
        if node is None or is_broken(node):
            yield f"{named} stands on a chain that is not whole", None
        elif (node.segment, node.depth) != (checkpoint.segment, checkpoint.depth):
            yield f"{named} counts other messages than there are before it", None
        if checkpoint.position >= thread.checkpoints_made or checkpoint.branch_id not in known:
            yield f"{named} has a place that its conversation does not know", None


def _check_operations(connection: sa.Connection, thread: _ThreadRow) -> Findings:
    """Check that versions have no gap, and that both ends of each undo agree."""
    columns = (_operation_columns[name] for name in ("version", "kind", "target", "undone_by", "detail"))
    known = connection.execute(
        sa.select(*columns).where(_operation_columns.thread_id == thread.id).order_by(_operation_columns.version)
    ).all()
    firsts = [row.version - OperationDetail.from_json(row.detail).joined for row in known]
    if [*firsts, thread.version + 1] != [1, *(row.version + 1 for row in known)]:
        yield f"its operations are not those from 1 to {thread.version:,}", None
        return
    needed = undo_reach.collect_references(undo_reach.list_revertible_operations(connection, thread.id))[0]
    if missing := needed - set(thread_rows.select_nodes(connection, needed)):
        yield f"undoing its changes needs messages that are not there: {', '.join(sorted(missing))}", None
    by_version = {row.version: row for row in known}
    # Maps the version of an undo or redo to the newest operation it reversed.
    undone: dict[int, int] = defaultdict(int)
    for row in known:
        if row.undone_by is not None:
            undone[row.undone_by] = row.version
            taker = by_version.get(row.undone_by)
            verb = OperationKind.REDO if row.kind == OperationKind.UNDO else OperationKind.UNDO
            if taker is None or taker.kind != verb or taker.version <= row.version or taker.undone_by is not None:
                yield f"operation {row.version:,} was taken back by one that does not say so", None
    for row in known:
        is_taker = row.kind in (OperationKind.UNDO, OperationKind.REDO) and row.undone_by is None
        if is_taker and (row.version not in undone or undone[row.version] != row.target):
            yield f"operation {row.version:,} took back one that does not say so", None
