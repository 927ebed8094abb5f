"""Read and insert threads, their branches and nodes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.access import find_access, forget_member_role
from ..storage.batches import select_in_batches
from ..values import history
from ..values.errors import BranchNotFoundError, MessageNotFoundError, ThreadNotFoundError
from ..values.history import Path, SegmentParents
from ..values.model import Branch, Json, Node, Thread
from ..values.run import RunState

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_time(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


def from_time(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def parse_object(value: Any) -> Json:
    """Return a column's JSON object, or an empty object if damaged: see `serde.parse_leniently`."""
    return value if isinstance(value, dict) else {}


def parse_tags(stored: Any) -> tuple[str, ...]:
    """Return a column's tag ids, or none if damaged."""
    return tuple(each for each in stored if isinstance(each, str)) if isinstance(stored, list) else ()


@dataclass(frozen=True, slots=True)
class LoadedThread:
    """A thread with facts needed by every change of it and every read of its path. `head_node` is also None if the
    database has lost the head. `has_states` means graph states. `active_attempt`, `asker` (the person who asked, where
    people are told apart) and `has_draft` belong to the active run."""

    thread: Thread
    active_run_id: str | None
    head_node: Node | None
    has_states: bool = False
    active_attempt: int | None = None
    asker: str | None = None
    has_draft: bool = False

    @property
    def head(self) -> Node | None:
        """The thread's head. Raises `MessageNotFoundError` if the database has lost that message."""
        if self.thread.head_id is not None and self.head_node is None:
            raise MessageNotFoundError(self.thread.head_id)
        return self.head_node


@dataclass(frozen=True, slots=True, kw_only=True)
class NewThread:
    """An empty thread to insert. `source_hash` is the hash of the document it is imported from."""

    id: str
    branch_id: str
    owner: str
    title: str
    settings: Mapping[str, str]
    source_hash: str | None


# Each branch with its last message, None for an empty branch or a lost message.
BranchHeads = list[tuple[Branch, Node | None]]

THREAD_COLUMNS = sa.select(schema.thread, schema.branch.c.head_id, schema.branch.c.state_id).join(
    schema.branch, schema.branch.c.id == schema.thread.c.branch_id
)
_lock_thread = sa.select(schema.thread.c.id).where(schema.thread.c.id == sa.bindparam("thread_id")).with_for_update()
# Every change runs these statements. They are built once, because building takes longer than SQLite's answer.
_head, _run = schema.message.c, schema.run.c
_is_head = sa.and_(_head.id == schema.branch.c.head_id, _head.thread_id == schema.thread.c.id)
# A literal: the index of running runs is only used when the statement itself asks for them.
_is_running = sa.and_(_run.thread_id == schema.thread.c.id, _run.state == sa.literal_column(f"'{RunState.RUNNING}'"))
_has_states = sa.exists().where(schema.state.c.thread_id == schema.thread.c.id)
_has_draft = sa.or_(_run.draft != "", _run.draft_reasoning != "")
_running = (_run.id.label("running"), _run.attempt, _run.person.label("asker"), _has_draft.label("has_draft"))
_thread_query = (
    THREAD_COLUMNS.add_columns(_head.segment, _head.depth, *_running, _has_states.label("has_states"))
    .where(schema.thread.c.id == sa.bindparam("thread_id"))
    .outerjoin(schema.message, _is_head)
    .outerjoin(schema.run, _is_running)
)
_node_query = sa.select(schema.message.c.id, schema.message.c.segment, schema.message.c.depth).where(
    schema.message.c.id == sa.bindparam("message_id"), schema.message.c.thread_id == sa.bindparam("thread_id")
)
_segment_parents_query = sa.select(schema.segment.c.id, schema.segment.c.parent, schema.segment.c.fork_depth).where(
    schema.segment.c.thread_id == sa.bindparam("thread_id")
)
_branch = schema.branch.c
_branch_heads_query = (
    sa.select(_branch.id, _branch.name, _branch.head_id, _branch.state_id, _head.segment, _head.depth)
    .outerjoin(schema.message, _head.id == _branch.head_id)
    .where(_branch.thread_id == sa.bindparam("thread_id"), _branch.deleted_at.is_(None))
    .order_by(_branch.position)
)
_insert_thread, _insert_branch = sa.insert(schema.thread), sa.insert(schema.branch)


def select_thread(connection: sa.Connection, thread_id: str, *, include_deleted: bool = False) -> Thread:
    return load_thread(connection, thread_id, include_deleted=include_deleted).thread


def load_thread(connection: sa.Connection, thread_id: str, *, include_deleted: bool = False) -> LoadedThread:
    """Return a thread with its head. A view of the page needs it a dozen times, so it is read once per connection."""
    known: dict[str, LoadedThread] = connection.get_execution_options().get("threads", {})
    loaded = known.get(thread_id) or _read_thread(connection, thread_id)
    if loaded.thread.deleted and not include_deleted:
        raise ThreadNotFoundError(thread_id)
    known[thread_id] = loaded
    return loaded


def load_on_branch(connection: sa.Connection, loaded: LoadedThread, branch_id: str) -> LoadedThread:
    """Return a thread as if it were on another branch."""
    branch = select_branch(connection, branch_id, loaded.thread.id)
    thread = replace(loaded.thread, branch_id=branch_id, head_id=branch.head_id, state_id=branch.state_id)
    return replace(loaded, thread=thread, head_node=select_node(connection, branch.head_id, thread.id))


def _read_thread(connection: sa.Connection, thread_id: str) -> LoadedThread:
    if connection.get_execution_options().get("holding"):
        # Lock in a separate statement: a joined SELECT that waits for the lock would see the branch from before the wait.
        connection.execute(_lock_thread, {"thread_id": thread_id})
        # The owner may have removed the person meanwhile.
        forget_member_role(connection, thread_id)
    row = connection.execute(_thread_query, {"thread_id": thread_id}).one_or_none()
    if row is None:
        raise ThreadNotFoundError(thread_id)
    place = None if row.segment is None else Node(row.head_id, row.segment, row.depth)
    thread, facts = _show_thread(connection, parse_thread(row)), (bool(row.has_states), row.attempt, row.asker)
    return LoadedThread(thread, row.running, place, *facts, has_draft=bool(row.has_draft))


def _show_thread(connection: sa.Connection, thread: Thread) -> Thread:
    access = find_access(connection)
    return thread if access is None or access.owner == thread.owner else hide_listing(thread)


def hide_listing(thread: Thread) -> Thread:
    """Hide a thread's place in its owner's list from members: pins, archive and tags."""
    return replace(thread, pinned=False, archived=False, tags=())


def insert_thread(connection: sa.Connection, new: NewThread, now: datetime) -> LoadedThread:
    """Insert a thread with its branch “main”."""
    time, settings = from_time(now), dict(new.settings)
    row: Json = {"id": new.id, "owner": new.owner, "title": new.title, "settings": settings, "branch_id": new.branch_id}
    times = {"created_at": time, "updated_at": time}
    connection.execute(_insert_thread, {**row, **times, "version": 0, "checkpoints_made": 0, "source": new.source_hash})
    main = {"id": new.branch_id, "thread_id": new.id, "position": 0, "name": "main", "created_at": time}
    connection.execute(_insert_branch, main)
    note_version(connection, new.id, 0)
    at = to_time(time)
    made = Thread(**row, head_id=None, version=0, created_at=at, updated_at=at, deleted=False)
    return LoadedThread(made, active_run_id=None, head_node=None)


def note_version(connection: sa.Connection, thread_id: str, version: int) -> None:
    """Note a version written by this transaction. Once committed, it must not get lost (see high_water_mark)."""
    versions: dict[str, int] = connection.get_execution_options().get("versions", {})
    versions[thread_id] = version


def select_threads(connection: sa.Connection, owner: str | None, limit: int) -> list[Thread]:
    """Return the conversations of an owner (None: of all), most recently changed first."""
    table = schema.thread.c
    query = THREAD_COLUMNS.where(table.deleted_at.is_(None), table.owner == owner if owner else sa.true())
    return [parse_thread(row) for row in connection.execute(query.order_by(table.updated_at.desc(), table.id).limit(limit))]


def parse_thread(row: sa.Row[Any]) -> Thread:
    return Thread(
        id=row.id,
        owner=row.owner,
        title=row.title,
        settings=parse_object(row.settings),
        branch_id=row.branch_id,
        head_id=row.head_id,
        version=row.version,
        created_at=to_time(row.created_at),
        updated_at=to_time(row.updated_at),
        deleted=row.deleted_at is not None,
        pinned=row.pinned,
        archived=row.archived,
        tags=parse_tags(row.tags),
        state_id=row.state_id,
    )


def select_segment_parents(connection: sa.Connection, thread_id: str) -> SegmentParents:
    """Return the thread's segments. A view needs them several times, at one moment, so they are read once."""
    known: dict[str, SegmentParents] | None = connection.get_execution_options().get("forks")
    if known is not None and thread_id in known:
        return known[thread_id]
    found = {
        identifier: (parent, depth)
        for identifier, parent, depth in connection.execute(_segment_parents_query, {"thread_id": thread_id}).all()
    }
    if known is not None:
        known[thread_id] = found
    return found


def select_last_depths(connection: sa.Connection, thread_id: str) -> dict[int, int]:
    """Return the last depth of each segment of the thread."""
    table = schema.message.c
    own = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == thread_id)
    query = (
        sa.select(table.segment, sa.func.max(table.depth).label("last_depth"))
        .where(table.segment.in_(own))
        .group_by(table.segment)
    )
    return {row.segment: row.last_depth for row in connection.execute(query).all()}


def select_node(connection: sa.Connection, message_id: str | None, thread_id: str) -> Node | None:
    """Return a message's place. Raises `MessageNotFoundError` if it is not in this thread."""
    if message_id is None:
        return None
    row = connection.execute(_node_query, {"message_id": message_id, "thread_id": thread_id}).one_or_none()
    if row is None:
        raise MessageNotFoundError(message_id)
    return Node(row.id, row.segment, row.depth)


def select_nodes(connection: sa.Connection, message_ids: Collection[str]) -> dict[str, Node]:
    table = schema.message.c
    query = sa.select(table.id, table.segment, table.depth)
    rows = select_in_batches(connection, query, table.id, message_ids)
    return {row.id: Node(row.id, row.segment, row.depth) for row in rows}


def select_path_node(connection: sa.Connection, thread: Thread, path: Path, message_id: str | None) -> Node | None:
    """Return a message's place on this path. Raises `MessageNotFoundError` if it is elsewhere."""
    node = select_node(connection, message_id, thread.id)
    if message_id is not None and node not in path:
        raise MessageNotFoundError(message_id)
    return node


def load_current_path(connection: sa.Connection, thread_id: str) -> tuple[Thread, Path]:
    found = load_thread(connection, thread_id)
    return found.thread, _load_path_to(connection, thread_id, found.head)


def load_path(connection: sa.Connection, thread_id: str, message_id: str | None) -> Path:
    return _load_path_to(connection, thread_id, select_node(connection, message_id, thread_id))


def _load_path_to(connection: sa.Connection, thread_id: str, node: Node | None) -> Path:
    """Return the path to a message. A view needs the current path several times, so it is traced once."""
    if node is None:
        return history.EMPTY_PATH
    known: dict[Node, Path] = connection.get_execution_options().get("paths", {})
    if node not in known:
        known[node] = history.trace_path(node, select_segment_parents(connection, thread_id))
    return known[node]


def select_branches(connection: sa.Connection, thread_id: str) -> list[Branch]:
    return [branch for branch, _ in select_branch_heads(connection, thread_id)]


def select_branch_heads(connection: sa.Connection, thread_id: str) -> BranchHeads:
    """Return the thread's branches with their last messages, read once for a view of the page. A single statement with a
    join, because there may be thousands of branches."""
    known: dict[str, BranchHeads] | None = connection.get_execution_options().get("branch_heads")
    if known is not None and thread_id in known:
        return known[thread_id]
    rows = connection.execute(_branch_heads_query, {"thread_id": thread_id}).all()
    found = [
        (Branch(id_, thread_id, name, head_id, state_id), None if segment is None else Node(head_id, segment, depth))
        for id_, name, head_id, state_id, segment, depth in rows
    ]
    if known is not None:
        known[thread_id] = found
    return found


def select_branch(connection: sa.Connection, branch_id: str, thread_id: str) -> Branch:
    is_own = (_branch.id == branch_id, _branch.thread_id == thread_id, _branch.deleted_at.is_(None))
    own = sa.select(schema.branch).where(*is_own)
    row = connection.execute(own).one_or_none()
    if row is None:
        raise BranchNotFoundError(branch_id)
    return Branch(row.id, row.thread_id, row.name, row.head_id, row.state_id)
