"""Erasure of a whole conversation, or of unreachable rows: the only operation that destroys data.

A message is reachable from a branch, from a listed checkpoint, and through undo or redo. `plan_erasure` counts the
rows. `erase` also removes them from the file: from SQLite's freed pages and from the log beside the file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from ..changes.transaction import Transaction
from ..rows import audit_rows, file_rows, operation_rows, search_index, tag_rows, thread_rows
from ..storage import schema, sqlite
from ..storage.database import Database
from ..storage.high_water_mark import ERASED
from ..storage.postgresql import allow_long_pauses
from ..store import new_id
from ..values import history
from ..values.audit_entry import AuditKind
from ..values.errors import RunActiveError
from ..values.model import Thread
from ..values.operation import Caller, OperationKind
from ..values.progress import Progress, Report, StepCounter, count_steps, ignore_progress
from . import run_erasure, state_erasure, undo_reach
from .erase_plan import ErasePlan

_branch_columns, _checkpoint_columns, _message_columns, _segment_columns = (
    schema.branch.c,
    schema.checkpoint.c,
    schema.message.c,
    schema.segment.c,
)
_TABLES_OF_THREAD = (
    *(schema.checkpoint, schema.branch, schema.message, schema.segment),
    *(schema.candidate, schema.run, schema.rerun, schema.operation, schema.thread_tag, schema.state, schema.state_write),
    schema.share,
    schema.thread_member,
)
_EMPTY_BRANCH = {"head_id": None, "name": "", "state_id": None}
_MAX_CONDITIONS = 200
# SQLite looks up each deleted message in referring tables. Only erasure needs these indexes, so only it makes them. On
# PostgreSQL they would block every move of a head, and no table refers to messages.
_SQLITE_INDEXES = {"erasing_branch": "branch (head_id)", "erasing_checkpoint": "checkpoint (message_id)"}


@dataclass(frozen=True, slots=True)
class _ThreadErasure:
    """A thread's rows to erase: messages by `segments` (segment, first erased depth), other rows by id."""

    thread: Thread
    is_whole: bool
    messages: int
    checkpoints: Sequence[str]
    branches: Sequence[str] = ()
    segments: Sequence[tuple[int, int]] = ()
    changes: int = 0
    states: Sequence[int] = ()
    runs: Sequence[str] = ()


def plan_erasure(
    database: Database, thread_id: str | None = None, *, keep_undo: bool = True, report: Report = ignore_progress
) -> ErasePlan:
    """Count the rows `erase` would erase: this conversation, or the unreachable rows of all conversations. Without
    `keep_undo`, rows restorable only by undo or redo count as unreachable, including deleted conversations. Raises
    `ThreadNotFoundError`, and `RunActiveError` while an answer is being written."""
    with database.begin_read() as connection:
        allow_long_pauses(connection)
        erasures = list(_plan_threads(connection, thread_id, keep_undo, report))
        tags = 0 if keep_undo or thread_id else tag_rows.count_removed(connection)
        return _sum_up(erasures, _select_orphan_files(connection, erasures), tags)


def erase(
    database: Database, thread_id: str | None = None, *, keep_undo: bool = True, report: Report = ignore_progress
) -> ErasePlan:
    """Erase the rows counted by `plan_erasure`, irrevocably, and return their counts. Requires exclusive use."""
    with database.begin_write() as connection:
        allow_long_pauses(connection)
        erasures = list(_plan_threads(connection, thread_id, keep_undo, report))
        lost_tags = 0 if keep_undo or thread_id else tag_rows.count_removed(connection)
        lost_files = _run_erasures(connection, erasures, report, keep_tags=keep_undo or thread_id is not None)
        detail = {"thread": thread_id, "messages": sum(each.messages for each in erasures)}
        audit_rows.insert_entry(connection, datetime.now(UTC), AuditKind.ERASE, detail)
        if connection.dialect.name == "sqlite":
            # Reported before the commit, because a report may still refuse.
            report(Progress("Rewriting the file"))
    if database.engine.dialect.name == "sqlite":
        sqlite.vacuum_file(database.engine)
    return _sum_up(erasures, lost_files, lost_tags)


def plan_owner(connection: sa.Connection, owner: str, report: Report = ignore_progress) -> ErasePlan:
    """Count an owner's conversations, including deleted conversations. Raises `RunActiveError`."""
    erasures = _plan_threads_of(connection, owner, report)
    return _sum_up(erasures, _select_orphan_files(connection, erasures), 0)


def erase_owner(connection: sa.Connection, owner: str, report: Report = ignore_progress) -> ErasePlan:
    """Erase an owner's conversations, and return their counts. Raises `RunActiveError`."""
    erasures = _plan_threads_of(connection, owner, report)
    return _sum_up(erasures, _run_erasures(connection, erasures, report, keep_tags=True), 0)


def _plan_threads_of(connection: sa.Connection, owner: str, report: Report) -> list[_ThreadErasure]:
    ids = connection.scalars(sa.select(schema.thread.c.id).where(schema.thread.c.owner == owner)).all()
    counted = count_steps(ids, report, "Counting", "conversations")
    return [each for thread_id in counted for each in _plan_threads(connection, thread_id, True, ignore_progress)]


def _run_erasures(
    connection: sa.Connection, erasures: Sequence[_ThreadErasure], report: Report, *, keep_tags: bool
) -> Sequence[str]:
    """Erase the rows. Return the hashes of the erased files."""
    indexes = _SQLITE_INDEXES if connection.dialect.name == "sqlite" else {}
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    for name, columns in indexes.items():
        connection.exec_driver_sql(f"CREATE INDEX {name} ON {columns}")
    lost_files: Sequence[str] = _select_orphan_files(connection, erasures)
    messages = StepCounter(report, "Erasing", sum(erasure.messages for erasure in erasures), "messages")
    _erase_strays(connection, {erasure.thread.id for erasure in erasures if erasure.is_whole}, messages)
    for erasure in erasures:
        _erase_rows(connection, erasure, messages)
    if any(erasure.states for erasure in erasures):
        state_erasure.erase_unnamed_values(connection)
    tag_rows.delete_unreferenced(connection, keep_removed=keep_tags)
    lost_files = file_rows.delete_orphan_files(connection, lost_files)
    search_index.merge_words(connection)
    for name in indexes:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return lost_files


def _plan_threads(
    connection: sa.Connection, thread_id: str | None, keep_undo: bool, report: Report
) -> Iterator[_ThreadErasure]:
    ids = [thread_id] if thread_id else connection.scalars(sa.select(schema.thread.c.id).order_by(schema.thread.c.id)).all()
    for identifier in count_steps(ids, report, "Counting", "conversations"):
        loaded = thread_rows.load_thread(connection, identifier, include_deleted=True)
        if loaded.active_run_id is not None:
            raise RunActiveError(identifier, loaded.active_run_id)
        thread = loaded.thread
        if thread_id or (thread.deleted and not keep_undo):
            yield _plan_whole_thread(connection, thread)
        elif erasure := _plan_unreachable(connection, thread, keep_undo):
            yield erasure


def _plan_whole_thread(connection: sa.Connection, thread: Thread) -> _ThreadErasure:
    messages = sa.select(sa.func.count()).select_from(schema.message).where(_message_columns.thread_id == thread.id)
    checkpoints = connection.scalars(
        sa.select(_checkpoint_columns.id).where(_checkpoint_columns.thread_id == thread.id)
    ).all()
    states = state_erasure.find_lost_states(connection, thread.id, ())
    return _ThreadErasure(thread, True, connection.scalar(messages) or 0, checkpoints, states=states)


def _plan_unreachable(connection: sa.Connection, thread: Thread, keep_undo: bool) -> _ThreadErasure | None:
    reach = undo_reach.list_revertible_operations(connection, thread.id)
    messages, branches, checkpoints = undo_reach.collect_references(reach if keep_undo else ())
    states = undo_reach.collect_states(reach if keep_undo else ())
    heads = sa.select(schema.branch)
    lost_branches, lost_checkpoints, branch_ids = [], [], set[str]()
    for row in connection.execute(heads.where(_branch_columns.thread_id == thread.id)):
        if row.deleted_at is None or row.id in branches:
            branch_ids.add(row.id)
            messages.update([row.head_id] if row.head_id else [])
            states.update([row.state_id] if row.state_id else [])
        elif row.head_id or row.name:
            lost_branches.append(row.id)
    forks = thread_rows.select_segment_parents(connection, thread.id)
    reached = _reach_of_messages(connection, messages, forks)
    for row in connection.execute(sa.select(schema.checkpoint).where(_checkpoint_columns.thread_id == thread.id)):
        # Like the store's list: a checkpoint on no branch's path, now or after an undo, is never shown again.
        listed = row.depth <= reached.get(row.segment, -1) or (row.detached and row.branch_id in branch_ids)
        if row.id in checkpoints or (row.deleted_at is None and listed):
            messages.add(row.message_id)
            states.update([row.state_id] if row.state_id else [])
        else:
            lost_checkpoints.append(row.id)
    count, segments = _count_beyond(connection, thread.id, _reach_of_messages(connection, messages, forks))
    changes = 0 if keep_undo else len(reach)
    lost_states = state_erasure.find_lost_states(connection, thread.id, states, segments)
    runs = run_erasure.find_lost_runs(connection, thread.id, segments)
    if not (count or lost_branches or lost_checkpoints or changes or lost_states or runs):
        return None
    return _ThreadErasure(thread, False, count, lost_checkpoints, lost_branches, segments, changes, lost_states, runs)


def _reach_of_messages(connection: sa.Connection, roots: set[str], parents: history.SegmentParents) -> dict[int, int]:
    return history.find_reachable_depths(thread_rows.select_nodes(connection, roots).values(), parents)


def _count_beyond(connection: sa.Connection, thread_id: str, kept: Mapping[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """Count the messages after the kept messages of each segment, and return the first depth of them in each."""
    own = sa.select(_segment_columns.id).where(_segment_columns.thread_id == thread_id)
    tips = sa.select(_message_columns.segment, sa.func.min(_message_columns.depth), sa.func.max(_message_columns.depth))
    total, beyond = 0, []
    for segment, first, last in connection.execute(
        tips.where(_message_columns.segment.in_(own)).group_by(_message_columns.segment)
    ):
        start = max(first, kept.get(segment, -1) + 1)
        if start <= last:
            total += last - start + 1
            beyond.append((segment, start))
    return total, beyond


def _select_orphan_files(connection: sa.Connection, erasures: Sequence[_ThreadErasure]) -> list[str]:
    whole = {erasure.thread.id for erasure in erasures if erasure.is_whole}
    starts = {segment: start for erasure in erasures for segment, start in erasure.segments}
    return file_rows.find_orphan_files(
        connection, lambda row: row.thread_id in whole or row.depth >= starts.get(row.segment, row.depth + 1)
    )


def _erase_rows(connection: sa.Connection, erasure: _ThreadErasure, messages: StepCounter) -> None:
    thread_id = erasure.thread.id
    search_index.remove_checkpoints(connection, erasure.checkpoints)
    if erasure.is_whole:
        for table in _TABLES_OF_THREAD:
            if table is schema.message:
                _erase_messages_of_thread(connection, thread_id, messages)
            connection.execute(sa.delete(table).where(table.c.thread_id == thread_id))
        connection.execute(sa.delete(schema.thread).where(schema.thread.c.id == thread_id))
        thread_rows.note_version(connection, thread_id, ERASED)
        return
    state_erasure.erase_states(connection, thread_id, erasure.states)
    run_erasure.erase_texts(connection, thread_id, erasure.runs)
    for identifier in erasure.checkpoints:
        connection.execute(sa.delete(schema.checkpoint).where(_checkpoint_columns.id == identifier))
    # The empty row stays, because it counts in the order of the other branches.
    for identifier in erasure.branches:
        connection.execute(sa.update(schema.branch).where(_branch_columns.id == identifier).values(_EMPTY_BRANCH))
    is_lost = [
        sa.and_(_message_columns.segment == segment, _message_columns.depth >= start) for segment, start in erasure.segments
    ]
    _erase_messages(connection, messages, is_lost)
    # Child segments have higher numbers.
    for segment, _ in sorted(erasure.segments, reverse=True):
        has_messages = sa.exists().where(_message_columns.segment == segment)
        connection.execute(sa.delete(schema.segment).where(_segment_columns.id == segment, ~has_messages))
    if erasure.changes:
        operation_rows.erase_contents(connection, thread_id)
        now = thread_rows.from_time(datetime.now(UTC))
        change = Transaction(
            connection, thread_rows.load_thread(connection, thread_id, include_deleted=True), now, new_id, Caller()
        )
        change.apply_and_record(OperationKind.ERASE, lambda _: None)


def _erase_strays(connection: sa.Connection, thread_ids: Collection[str], messages: StepCounter) -> None:
    """Erase messages of these conversations in segments of others, which only damage leaves behind."""
    if not thread_ids:
        return
    is_elsewhere = sa.and_(
        _segment_columns.id == _message_columns.segment, _segment_columns.thread_id != _message_columns.thread_id
    )
    query = sa.select(_message_columns.id, _message_columns.thread_id).join_from(
        schema.message, schema.segment, is_elsewhere
    )
    strays = [row.id for row in connection.execute(query) if row.thread_id in thread_ids]
    _erase_messages(connection, messages, [_message_columns.id == each for each in strays])


def _erase_messages_of_thread(connection: sa.Connection, thread_id: str, messages: StepCounter) -> None:
    """Erase a conversation's messages by segment, since messages have no index by thread. `_erase_strays` erases the
    others."""
    of_thread = _message_columns.thread_id == thread_id
    segments = connection.scalars(sa.select(_segment_columns.id).where(_segment_columns.thread_id == thread_id)).all()
    _erase_messages(connection, messages, [sa.and_(_message_columns.segment == each, of_thread) for each in segments])


def _erase_messages(connection: sa.Connection, messages: StepCounter, conditions: Sequence[sa.ColumnElement[bool]]) -> None:
    """Erase the messages for which any condition holds, with their words."""
    for start in range(0, len(conditions), _MAX_CONDITIONS):
        is_lost = sa.or_(*conditions[start : start + _MAX_CONDITIONS])
        search_index.remove_messages(connection, is_lost)
        messages.add(connection.execute(sa.delete(schema.message).where(is_lost)).rowcount)


def _sum_up(erasures: Sequence[_ThreadErasure], lost_files: Sequence[str], lost_tags: int) -> ErasePlan:
    return ErasePlan(
        threads=tuple(erasure.thread.title for erasure in erasures if erasure.is_whole),
        messages=sum(erasure.messages for erasure in erasures),
        checkpoints=sum(len(erasure.checkpoints) for erasure in erasures),
        branches=sum(len(erasure.branches) for erasure in erasures),
        changes=sum(erasure.changes for erasure in erasures),
        files=len(lost_files),
        tags=lost_tags,
        states=sum(len(erasure.states) for erasure in erasures),
        runs=sum(len(erasure.runs) for erasure in erasures),
    )
