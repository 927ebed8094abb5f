"""Erasing: the only thing that destroys. A whole conversation, or what nothing can reach any more.

Reached is what a branch, or a checkpoint that is listed, stands on, and what undo or redo could bring back. Counted first;
then it is gone from the file as well, with what SQLite had kept of it in freed pages and in the log beside the file.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from checkpoints import history
from checkpoints.changes.transaction import Transaction
from checkpoints.errors import RunActiveError, StoreUnavailableError
from checkpoints.model import Caller, Operation, OperationKind, Thread, pluralize
from checkpoints.storage import file_rows, rows, schema
from checkpoints.storage.database import Database
from checkpoints.store import new_id

_branch_columns, _checkpoint_columns, _message_columns, _segment_columns = (
    schema.branch.c,
    schema.checkpoint.c,
    schema.message.c,
    schema.segment.c,
)
_TABLES_OF_THREAD = (schema.checkpoint, schema.branch, schema.message, schema.segment, schema.run, schema.operation)
# Each message that goes is looked for in what may name it. Only erasing asks that, so only erasing has the indexes.
_INDEXES = {"erasing_branch": "branch (head_id)", "erasing_checkpoint": "checkpoint (message_id)"}


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """What goes. `threads` are the titles of the conversations that go whole."""

    threads: tuple[str, ...]
    messages: int
    checkpoints: int
    branches: int
    changes: int  # that can no longer be undone or brought back
    files: int = 0  # attached, that no message names then

    def __bool__(self) -> bool:
        return bool(self.threads or self.messages or self.checkpoints or self.branches or self.changes or self.files)

    def __str__(self) -> str:
        nouns = ((self.messages, "message"), (self.checkpoints, "checkpoint"), (self.files, "attached file"))
        parts = [pluralize(number, noun) for number, noun in nouns if number]
        parts += [pluralize(self.branches, "deleted branch", "deleted branches")] if self.branches else []
        parts += [f"the undo of {pluralize(self.changes, 'change')}"] if self.changes else []
        named = [f"the conversation {title!r}" for title in self.threads]
        return ", ".join([*named, *parts]) or "nothing"


@dataclass(frozen=True, slots=True)
class _ThreadErasure:
    """What goes of one thread: messages of `segments` (segment, first depth that goes), and rows by id."""

    thread: Thread
    is_whole: bool
    messages: int
    checkpoints: Sequence[str]
    branches: Sequence[str] = ()
    segments: Sequence[tuple[int, int]] = ()
    changes: int = 0


def plan_erasure(database: Database, thread_id: str | None = None, *, keep_undo: bool = True) -> ErasePlan:
    """What `erase` would take: this conversation, or of all conversations what nothing reaches.

    Without `keep_undo`, what only undo or redo could bring back goes as well, deleted conversations among it. Raises
    `ThreadNotFoundError`, and `RunActiveError` while an answer is being written.
    """
    with database.begin_read() as connection:
        goings = list(_plan_threads(connection, thread_id, keep_undo))
        return _sum_up(goings, _select_orphan_files(connection, goings))


def erase(database: Database, thread_id: str | None = None, *, keep_undo: bool = True) -> ErasePlan:
    """Destroy what `plan` counts, for good; the answer is what went. The caller holds the database alone."""
    with database.begin_write() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        for name, columns in _INDEXES.items():
            connection.exec_driver_sql(f"CREATE INDEX {name} ON {columns}")
        goings = list(_plan_threads(connection, thread_id, keep_undo))
        lost_files = _select_orphan_files(connection, goings)
        for going in goings:
            _erase_rows(connection, going)
        for hash_ in lost_files:
            connection.execute(sa.delete(schema.file).where(schema.file.c.hash == hash_))
        for name in _INDEXES:
            connection.exec_driver_sql(f"DROP INDEX {name}")
    if database.engine.dialect.name == "sqlite":
        _vacuum_file(database.engine)
    return _sum_up(goings, lost_files)


def list_revertible_operations(connection: sa.Connection, thread_id: str) -> list[Operation]:
    """The operations that undo can take back, now or after others, and the undos that redo can. The newest first."""
    found: list[Operation] = []
    is_newest = True  # nothing but undo and redo was done since
    for operation in rows.select_operations(connection, thread_id):
        if operation.kind is OperationKind.ERASE:
            break
        is_undo = operation.kind is OperationKind.UNDO
        is_ordinary = not is_undo and operation.kind is not OperationKind.REDO
        is_newest = is_newest and not is_ordinary
        if not operation.undone and (is_ordinary or (is_undo and is_newest)):
            found.append(operation)
    return found


def collect_references(operations: Sequence[Operation]) -> tuple[set[str], set[str], set[str]]:
    """The messages, branches and checkpoints that taking these back would need."""
    messages, branches, checkpoints = set[str](), set[str](), set[str]()
    for change in (change for operation in operations for change in operation.changes):
        for values in (change.before, change.after):
            messages.update(filter(None, [values.get("head_id"), values.get("message_id")]))
            branches.update(filter(None, [values.get("branch_id")]))
        if change.table != "thread":
            (branches if change.table == "branch" else checkpoints).add(change.id)
    return messages, branches, checkpoints


def _plan_threads(connection: sa.Connection, thread_id: str | None, keep_undo: bool) -> Iterator[_ThreadErasure]:
    ids = [thread_id] if thread_id else connection.scalars(sa.select(schema.thread.c.id).order_by(schema.thread.c.id)).all()
    for identifier in ids:
        standing = rows.load_thread(connection, identifier, include_deleted=True)
        if standing.active_run_id is not None:
            raise RunActiveError(identifier, standing.active_run_id)
        thread = standing.thread
        if thread_id or (thread.deleted and not keep_undo):
            yield _plan_whole_thread(connection, thread)
        elif going := _plan_unreachable(connection, thread, keep_undo):
            yield going


def _plan_whole_thread(connection: sa.Connection, thread: Thread) -> _ThreadErasure:
    messages = sa.select(sa.func.count()).select_from(schema.message).where(_message_columns.thread_id == thread.id)
    checkpoints = connection.scalars(
        sa.select(_checkpoint_columns.id).where(_checkpoint_columns.thread_id == thread.id)
    ).all()
    return _ThreadErasure(thread, True, connection.scalar(messages) or 0, checkpoints)


def _plan_unreachable(connection: sa.Connection, thread: Thread, keep_undo: bool) -> _ThreadErasure | None:
    reach = list_revertible_operations(connection, thread.id)
    messages, branches, checkpoints = collect_references(reach if keep_undo else ())
    heads = sa.select(schema.branch)
    lost_branches, lost_checkpoints, standing = [], [], set[str]()
    for row in connection.execute(heads.where(_branch_columns.thread_id == thread.id)):
        if row.deleted_at is None or row.id in branches:
            standing.add(row.id)
            messages.update([row.head_id] if row.head_id else [])
        elif row.head_id or row.name:
            lost_branches.append(row.id)
    forks = rows.select_segment_parents(connection, thread.id)
    ways = _reach_of_messages(connection, messages, forks)
    checkpoint_query = sa.select(schema.checkpoint)
    for row in connection.execute(checkpoint_query.where(_checkpoint_columns.thread_id == thread.id)):
        # As the store lists them: one that is on no branch's path, now or after an undo, is shown nowhere any more.
        listed = row.depth <= ways.get(row.segment, -1) or (row.detached and row.branch_id in standing)
        if row.id in checkpoints or (row.deleted_at is None and listed):
            messages.add(row.message_id)
        else:
            lost_checkpoints.append(row.id)
    count, segments = _count_beyond(connection, thread.id, _reach_of_messages(connection, messages, forks))
    changes = 0 if keep_undo else len(reach)
    if not (count or lost_branches or lost_checkpoints or changes):
        return None
    return _ThreadErasure(thread, False, count, lost_checkpoints, lost_branches, segments, changes)


def _reach_of_messages(connection: sa.Connection, roots: set[str], parents: history.SegmentParents) -> dict[int, int]:
    """How far each segment stands on the path to one of these messages."""
    return history.reachable_depths(rows.select_nodes(connection, roots).values(), parents)


def _count_beyond(connection: sa.Connection, thread_id: str, kept: Mapping[int, int]) -> tuple[int, list[tuple[int, int]]]:
    """How many messages stand beyond what is kept of each segment, and where they begin in it."""
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
    """The hashes of the files that no message names once these are gone."""
    whole = {going.thread.id for going in erasures if going.is_whole}
    starts = {segment: start for going in erasures for segment, start in going.segments}
    return file_rows.find_orphan_files(
        connection, lambda row: row.thread_id in whole or row.depth >= starts.get(row.segment, row.depth + 1)
    )


def _erase_rows(connection: sa.Connection, erasure: _ThreadErasure) -> None:
    thread_id = erasure.thread.id
    if erasure.is_whole:
        for table in _TABLES_OF_THREAD:
            connection.execute(sa.delete(table).where(table.c.thread_id == thread_id))
        connection.execute(sa.delete(schema.thread).where(schema.thread.c.id == thread_id))
        return
    for identifier in erasure.checkpoints:
        connection.execute(sa.delete(schema.checkpoint).where(_checkpoint_columns.id == identifier))
    for identifier in erasure.branches:  # the row stays, empty: the order of the others counts it
        connection.execute(sa.update(schema.branch).where(_branch_columns.id == identifier).values(head_id=None, name=""))
    for segment, start in erasure.segments:
        connection.execute(
            sa.delete(schema.message).where(_message_columns.segment == segment, _message_columns.depth >= start)
        )
    for segment, _ in sorted(erasure.segments, reverse=True):  # what forked off a segment has a higher number than it
        held = sa.exists().where(_message_columns.segment == segment)
        connection.execute(sa.delete(schema.segment).where(_segment_columns.id == segment, ~held))
    if erasure.changes:
        of_it = schema.operation.c.thread_id == thread_id  # names and descriptions of what is gone stand there as well
        connection.execute(sa.update(schema.operation).where(of_it).values(changes=[], detail={}))
        now = rows.from_time(datetime.now(UTC))
        change = Transaction(
            connection, rows.load_thread(connection, thread_id, include_deleted=True), now, new_id, Caller()
        )
        change.run_body(OperationKind.ERASE, lambda _: None)


def _vacuum_file(engine: sa.Engine) -> None:
    """Write the file anew without what was freed, and empty the log beside it."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        try:
            raw.execute("VACUUM")
            busy = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"What was erased may still be in the file: {error}. Erase again.") from error
    if busy:
        raise StoreUnavailableError("What was erased is still in the log beside the file: another process is reading it.")


def _sum_up(erasures: Sequence[_ThreadErasure], lost_files: Sequence[str]) -> ErasePlan:
    return ErasePlan(
        threads=tuple(going.thread.title for going in erasures if going.is_whole),
        messages=sum(going.messages for going in erasures),
        checkpoints=sum(len(going.checkpoints) for going in erasures),
        branches=sum(len(going.branches) for going in erasures),
        changes=sum(going.changes for going in erasures),
        files=len(lost_files),
    )
