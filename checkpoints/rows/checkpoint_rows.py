"""Read the checkpoints of a thread."""

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.database import Database
from ..storage.ranges import iterate_conditions
from ..values import history, serde, text
from ..values.errors import CheckpointNotFoundError
from ..values.history import Path
from ..values.limits import MAX_DESCRIPTION_CHARS, to_tokens
from ..values.model import MAIN, Checkpoint, CheckpointPortion, Json, Node, Removal, State, Thread
from . import message_rows, path_rows, thread_rows

_checkpoint_columns = schema.checkpoint.c
# Statements are built once, because building takes longer than SQLite's answer.
_is_live = (_checkpoint_columns.thread_id == sa.bindparam("thread_id"), _checkpoint_columns.deleted_at.is_(None))
_is_checkpoint = _checkpoint_columns.id == sa.bindparam("checkpoint_id")
_is_detached = sa.and_(_checkpoint_columns.detached, _checkpoint_columns.branch_id == sa.bindparam("branch_id"))
_all_query = sa.select(schema.checkpoint).where(*_is_live).order_by(_checkpoint_columns.position)
_one_query, _detached_query, _one_and_detached_query = (
    _all_query.where(of) for of in (_is_checkpoint, _is_detached, _is_checkpoint | _is_detached)
)
_columns_of_thread = sa.select(schema.checkpoint).where(_checkpoint_columns.deleted_at.is_(None))
_listings_query = sa.select(
    _checkpoint_columns.id,
    _checkpoint_columns.branch_id,
    _checkpoint_columns.detached,
    _checkpoint_columns.deleted_at.is_not(None),
).where(_checkpoint_columns.thread_id == sa.bindparam("thread_id"))
# Count the checkpoints that are not detached, and find the sub-agents, of a part of a path.
_count_query = sa.select(sa.func.count()).select_from(schema.checkpoint).where(*_is_live, sa.not_(_is_detached))
_agents_query = sa.select(schema.message.c.agent).where(schema.message.c.agent != MAIN).distinct()
_places_query = (
    sa.select(_checkpoint_columns.id, _checkpoint_columns.segment, _checkpoint_columns.depth)
    .where(*_is_live)
    .order_by(_checkpoint_columns.position)
)
_named_query = sa.select(_checkpoint_columns.id).where(*_is_live, _checkpoint_columns.name == sa.bindparam("name")).limit(1)
_taken_names_query = sa.select(_checkpoint_columns.name).where(
    _checkpoint_columns.thread_id == sa.bindparam("thread_id"),
    _checkpoint_columns.name.in_(sa.bindparam("names", expanding=True)),
)
# A statement names at most this many segments. Then the searched characters of a description, and the parts of a portion.
_MAX_NAMED_SEGMENTS = 200
_SHOWN_COLUMNS = (
    *(_checkpoint_columns.id, _checkpoint_columns.position, _checkpoint_columns.branch_id, _checkpoint_columns.message_id),
    *(_checkpoint_columns.segment, _checkpoint_columns.depth, _checkpoint_columns.detached, _checkpoint_columns.pinned),
)
_SEARCHED_COLUMNS = (*_SHOWN_COLUMNS, _checkpoint_columns.name, _checkpoint_columns.description)
MAX_SEARCHED_CHARS = 500
MAX_PINNED = MAX_AT_HEAD = 100


@dataclass(frozen=True, slots=True)
class CheckpointListing:
    """These columns and the branch heads decide whether a checkpoint is listed."""

    branch_id: str
    detached: bool
    is_deleted: bool


def select_checkpoints(connection: sa.Connection, thread_id: str, database: Database | None = None) -> list[Checkpoint]:
    """Return the thread's checkpoints on all branches, except deleted ones, in the order they were made.

    With `database`, each can load its state later.
    """
    return [_row_to_checkpoint(row, database) for row in connection.execute(_all_query, {"thread_id": thread_id}).all()]


def select_visible_checkpoints(
    connection: sa.Connection, thread: Thread, path: Path, database: Database | None = None
) -> list[Checkpoint]:
    """Return the visible checkpoints of the thread's branch, whose path is `path`, in the order they were made.

    Checkpoints of other branches are not read: there may be thousands for each visible checkpoint.
    """
    own = _columns_of_thread.where(_checkpoint_columns.thread_id == thread.id)
    rows = _select_on_segments(connection, own, path)
    values = {"thread_id": thread.id, "branch_id": thread.branch_id}
    found = {row.id: row for row in (*rows, *connection.execute(_detached_query, values))}
    every = (_row_to_checkpoint(row, database) for row in sorted(found.values(), key=attrgetter("position")))
    return history.filter_visible(every, thread.branch_id, path)


def _select_on_segments(connection: sa.Connection, of_thread: sa.Select[Any], path: Path) -> list[sa.Row[Any]]:
    """Return the thread's checkpoints on a path's segments. For many segments, all rows of the thread are read."""
    if len(path.last) <= _MAX_NAMED_SEGMENTS:
        return [*select_in_batches(connection, of_thread, _checkpoint_columns.segment, path.last)]
    return [row for row in connection.execute(of_thread).all() if row.segment in path.last]


def select_checkpoint_portion(
    connection: sa.Connection,
    thread: Thread,
    path: Path,
    count: int,
    words: str,
    database: Database,
    also: str | None = None,
) -> CheckpointPortion:
    """Return the newest visible checkpoints. Without `words`, add the pinned, those at the head, and the checkpoint `also`.

    `words` must occur in the name or in the first MAX_SEARCHED_CHARS of the description. Of rejected rows only the columns
    needed for this decision are read.
    """
    columns = _SEARCHED_COLUMNS if words else _SHOWN_COLUMNS
    own = sa.select(*columns).where(_checkpoint_columns.deleted_at.is_(None), _checkpoint_columns.thread_id == thread.id)
    rows = {row.id: row for row in _select_on_segments(connection, own, path)}
    detached = own.where(_checkpoint_columns.detached, _checkpoint_columns.branch_id == thread.branch_id)
    rows |= {row.id: row for row in connection.execute(detached)}
    shown = [
        row
        for row in sorted(rows.values(), key=attrgetter("position"))
        if Node("", row.segment, row.depth) in path or (row.detached and row.branch_id == thread.branch_id)
    ]
    if words:
        shown = [row for row in shown if text.contains(f"{row.name}\n{row.description[:MAX_SEARCHED_CHARS]}", words)]
    at_head = [row.id for row in shown if row.message_id == thread.head_id]
    pinned = [row.id for row in shown if row.pinned]
    others = [] if words else [*at_head[-MAX_AT_HEAD:], *pinned[-MAX_PINNED:], *(row.id for row in shown if row.id == also)]
    wanted = {row.id for row in shown[-max(1, count) :]} | set(others)
    return CheckpointPortion(select_checkpoints_by_id(connection, wanted, database), len(shown))


def select_checkpoints_by_id(connection: sa.Connection, wanted: Collection[str], database: Database) -> list[Checkpoint]:
    """Return these checkpoints in the order they were made, without deleted ones."""
    rows = select_in_batches(connection, _columns_of_thread, _checkpoint_columns.id, wanted)
    return [_row_to_checkpoint(row, database) for row in sorted(rows, key=attrgetter("position"))]


def select_live_checkpoint(connection: sa.Connection, thread_id: str, checkpoint_id: str) -> Checkpoint:
    """Return a checkpoint of the thread, on any branch. Raises `CheckpointNotFoundError`, also for deleted ones."""
    row = connection.execute(_one_query, {"thread_id": thread_id, "checkpoint_id": checkpoint_id}).one_or_none()
    if row is None:
        raise CheckpointNotFoundError(checkpoint_id)
    return _row_to_checkpoint(row)


def select_checkpoint(
    connection: sa.Connection, thread: Thread, checkpoint_id: str, path: Path, database: Database | None = None
) -> Checkpoint:
    """Return a visible checkpoint of the thread's branch, whose path is `path`. Raises `CheckpointNotFoundError`."""
    found = connection.execute(_one_query, {"thread_id": thread.id, "checkpoint_id": checkpoint_id})
    return _require_visible([_row_to_checkpoint(row, database) for row in found], thread, checkpoint_id, path)


def select_detached_checkpoints(connection: sa.Connection, thread: Thread) -> list[Checkpoint]:
    """Return the detached checkpoints visible on the thread's branch."""
    found = connection.execute(_detached_query, {"thread_id": thread.id, "branch_id": thread.branch_id})
    return [_row_to_checkpoint(row) for row in found]


def select_restore_target(
    connection: sa.Connection, thread: Thread, checkpoint_id: str, path: Path
) -> tuple[Checkpoint, list[Checkpoint]]:
    """Return the checkpoint of a restore, like `select_checkpoint`, and the later detached checkpoints. A single
    statement is used, because each statement is a round trip to a server."""
    values = {"thread_id": thread.id, "branch_id": thread.branch_id, "checkpoint_id": checkpoint_id}
    found = [_row_to_checkpoint(row) for row in connection.execute(_one_and_detached_query, values)]
    wanted = _require_visible(found, thread, checkpoint_id, path)
    return wanted, [other for other in found if other.position > wanted.position]


def _require_visible(candidates: Sequence[Checkpoint], thread: Thread, checkpoint_id: str, path: Path) -> Checkpoint:
    for checkpoint in candidates:
        if checkpoint.id == checkpoint_id and history.is_visible(checkpoint, thread.branch_id, path):
            return checkpoint
    raise CheckpointNotFoundError(checkpoint_id)


def count_removal(
    connection: sa.Connection, thread: Thread, old: Path, new: Path, detached: Sequence[Checkpoint]
) -> Removal:
    """Count what a restore from path `old` to `new` removes. `detached` are the detached checkpoints among them.

    The database counts, because the list may be long.
    """
    shared = history.measure_common_length(old, new)
    left = sum(checkpoint.node not in new for checkpoint in detached)
    own = {"thread_id": thread.id, "branch_id": thread.branch_id}
    for is_there, values in _iterate_removed(connection, schema.checkpoint, old, shared):
        left += connection.scalar(_count_query.where(is_there), {**own, **values}) or 0
    return Removal(old.length - shared, left)


def _iterate_removed(
    connection: sa.Connection, table: sa.Table, old: Path, shared: int
) -> Iterator[tuple[sa.ColumnElement[bool], Json]]:
    """Yield conditions and their values for a table's rows on a path beyond its first `shared` messages."""
    gone = path_rows.list_ranges(old, shared, old.length)
    return iterate_conditions(connection, table.c.segment, table.c.depth, gone)


def select_removed_agents(connection: sa.Connection, old: Path, new: Path) -> tuple[str, ...]:
    """Return the sub-agents with messages removed by a restore from path `old` to `new`."""
    found: set[str] = set()
    for is_there, values in _iterate_removed(connection, schema.message, old, history.measure_common_length(old, new)):
        found.update(connection.scalars(_agents_query.where(is_there), values))
    return tuple(sorted(found))


def select_listings(connection: sa.Connection, thread_id: str) -> dict[str, CheckpointListing]:
    """Return the listings of all checkpoints of the thread by id, including deleted ones."""
    rows = connection.execute(_listings_query, {"thread_id": thread_id})
    return {identifier: CheckpointListing(*listing) for identifier, *listing in rows}


def select_checkpoint_places(connection: sa.Connection, thread_id: str) -> list[tuple[str, int, int]]:
    """Return the id, segment and depth of the thread's checkpoints, in the order they were made."""
    return [(each, segment, depth) for each, segment, depth in connection.execute(_places_query, {"thread_id": thread_id})]


def select_checkpoint_states(connection: sa.Connection, thread_id: str) -> dict[str, int]:
    """Map the thread's checkpoints to their states. Checkpoints without a state are left out."""
    table = schema.checkpoint.c
    query = sa.select(table.id, table.state_id).where(table.thread_id == thread_id, table.state_id.is_not(None))
    return {row.id: row.state_id for row in connection.execute(query)}


def is_name_used(connection: sa.Connection, thread_id: str, name: str) -> bool:
    """Return whether a checkpoint on any branch of the thread has this name."""
    return connection.execute(_named_query, {"thread_id": thread_id, "name": name}).first() is not None


def select_taken_names(connection: sa.Connection, thread_id: str, wanted: Iterable[str]) -> set[str]:
    """Return the names ever used by checkpoints of the thread."""
    return set(connection.scalars(_taken_names_query, {"thread_id": thread_id, "names": list(wanted)}))


def had_checkpoint(connection: sa.Connection, thread_id: str, message_id: str) -> bool:
    """Return whether any checkpoint, deleted or not, is on this message."""
    is_there = sa.and_(_checkpoint_columns.thread_id == thread_id, _checkpoint_columns.message_id == message_id)
    return connection.execute(sa.select(_checkpoint_columns.id).where(is_there).limit(1)).first() is not None


def make_checkpoint_row(checkpoint: Checkpoint, thread: Thread) -> Json:
    """Build the row of a new checkpoint. It belongs to its own branch, or else to the thread's current branch."""
    assert checkpoint.node is not None
    return {
        "id": checkpoint.id,
        "position": checkpoint.position,
        "name": checkpoint.name,
        "thread_id": thread.id,
        "branch_id": checkpoint.branch_id or thread.branch_id,
        "message_id": checkpoint.node.id,
        "segment": checkpoint.node.segment,
        "depth": checkpoint.node.depth,
        "description": serde.sanitize_text(checkpoint.description)[:MAX_DESCRIPTION_CHARS],
        "created_by": checkpoint.created_by,
        "tokens": to_tokens(checkpoint.tokens),
        "pinned": checkpoint.pinned,
        "detached": checkpoint.detached,
        "extra": checkpoint.extra,
        "created_at": thread_rows.from_time(checkpoint.timestamp),
        "state_id": checkpoint.state_id,
        "person": checkpoint.person,
    }


def _row_to_checkpoint(row: Sequence[Any], database: Database | None = None) -> Checkpoint:
    # Unpacking is faster than looking up each column by name for a list of thousands.
    identifier, thread_id, position, branch_id, message_id, segment, depth, *described = row
    name, description, created_by, tokens, pinned, detached, extra, created_at, _deleted_at, state_id, person = described
    place, extra = Node(message_id, segment, depth), thread_rows.parse_object(extra)
    return Checkpoint(
        id=identifier,
        name=name,
        timestamp=thread_rows.to_time(created_at),
        message_count=depth + 1,
        description=description,
        created_by=created_by,
        tokens=to_tokens(tokens),
        pinned=pinned,
        node=place,
        extra=extra,
        branch_id=branch_id,
        detached=detached,
        position=position,
        load_state=partial(_load_state, database, thread_id, place, extra) if database else None,
        state_id=state_id,
        person=person,
    )


def _load_state(database: Database, thread_id: str, place: Node, extra: Json) -> State:
    with database.begin_read() as connection:
        path = history.trace_path(place, thread_rows.select_segment_parents(connection, thread_id))
        return {**copy.deepcopy(extra), "messages": message_rows.load_langchain_messages(connection, path)}
