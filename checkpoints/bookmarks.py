"""Reading the checkpoints of a thread: rows of a connection as values."""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from checkpoints import history, rows, schema
from checkpoints.database import Database
from checkpoints.errors import CheckpointNotFoundError
from checkpoints.history import Path
from checkpoints.model import MAIN, Checkpoint, Json, Leaving, Node, State, Thread

_table = schema.checkpoint.c
# Put together once: building a statement takes longer than SQLite takes to answer it.
_own = (_table.thread_id == sa.bindparam("thread_id"), _table.deleted_at.is_(None))
_is_wanted = _table.id == sa.bindparam("checkpoint_id")
_is_aside = sa.and_(_table.detached, _table.branch_id == sa.bindparam("branch_id"))
_every = sa.select(schema.checkpoint).where(*_own).order_by(_table.position)
_one, _aside, _one_and_aside = _every.where(_is_wanted), _every.where(_is_aside), _every.where(_is_wanted | _is_aside)
_on_a_stretch = sa.select(sa.func.count()).where(
    *_own,
    sa.not_(_is_aside),
    _table.segment == sa.bindparam("segment"),
    _table.depth.between(sa.bindparam("first"), sa.bindparam("last")),
)
_ids = sa.select(_table.id).where(_own[0])
_names = sa.select(_table.name).where(*_own)


def every(connection: sa.Connection, thread_id: str, database: Database | None = None) -> list[Checkpoint]:
    """The thread's checkpoints that are not deleted, on whatever branch, in the order they were made.

    With the database at hand, each can read its state later.
    """
    return [_checkpoint(row, database) for row in connection.execute(_every, {"thread_id": thread_id}).all()]


def one(
    connection: sa.Connection, thread: Thread, checkpoint_id: str, path: Path, database: Database | None = None
) -> Checkpoint:
    """One of the checkpoints that the thread's branch shows, whose path is `path`. Raises `CheckpointNotFoundError`."""
    row = connection.execute(_one, {"thread_id": thread.id, "checkpoint_id": checkpoint_id}).one_or_none()
    found = None if row is None else _checkpoint(row, database)
    if found is None or not history.is_listed(found, thread.branch_id, path):
        raise CheckpointNotFoundError(checkpoint_id)
    return found


def aside(connection: sa.Connection, thread: Thread) -> list[Checkpoint]:
    """The detached checkpoints that the thread's branch shows."""
    found = connection.execute(_aside, {"thread_id": thread.id, "branch_id": thread.branch_id})
    return [_checkpoint(row) for row in found]


def target(connection: sa.Connection, thread: Thread, checkpoint_id: str, path: Path) -> tuple[Checkpoint, list[Checkpoint]]:
    """A checkpoint as `one` finds it, and of those `aside` the ones that were made after it, in one statement: what a
    restore asks for, and on a server each statement is a way there and back.
    """
    values = {"thread_id": thread.id, "branch_id": thread.branch_id, "checkpoint_id": checkpoint_id}
    found = [_checkpoint(row) for row in connection.execute(_one_and_aside, values)]
    for wanted in history.listed(found, thread.branch_id, path):
        if wanted.id == checkpoint_id:
            return wanted, [other for other in found if other.order > wanted.order]
    raise CheckpointNotFoundError(checkpoint_id)


def leaving(connection: sa.Connection, thread: Thread, old: Path, new: Path, aside: Sequence[Checkpoint]) -> Leaving:
    """What a restore from the path `old` to `new` takes out of the thread; `aside` are the detached ones that it takes.

    Counted by the database: the list may be long.
    """
    shared = history.common_length(old, new)
    left = sum(checkpoint.node not in new for checkpoint in aside)
    for segment, last in old.stretches:
        if last < shared:
            break
        stretch = {"segment": segment, "first": shared, "last": last}
        left += connection.scalar(_on_a_stretch, {"thread_id": thread.id, "branch_id": thread.branch_id, **stretch}) or 0
    return Leaving(old.length - shared, left)


def agents_leaving(connection: sa.Connection, old: Path, new: Path) -> tuple[str, ...]:
    """The sub-agents of which a restore from the path `old` to `new` takes messages out."""
    shared = history.common_length(old, new)
    table = schema.message.c
    found: set[str] = set()
    for segment, last in old.stretches:
        on_the_way = (table.segment == segment, table.depth.between(shared, last), table.agent != MAIN)
        found.update(connection.scalars(sa.select(table.agent).where(*on_the_way).distinct()))
    return tuple(sorted(found))


def ids(connection: sa.Connection, thread_id: str) -> set[str]:
    """Of all that the thread ever had, deleted ones included."""
    return set(connection.scalars(_ids, {"thread_id": thread_id}))


def names(connection: sa.Connection, thread_id: str) -> set[str]:
    """The names of the thread's checkpoints, on whatever branch."""
    return set(connection.scalars(_names, {"thread_id": thread_id}))


def is_marked(connection: sa.Connection, thread_id: str, message_id: str) -> bool:
    """Whether a checkpoint stands on this message, or ever stood there."""
    found = sa.select(_table.id).where(_table.thread_id == thread_id, _table.message_id == message_id).limit(1)
    return connection.execute(found).first() is not None


def _checkpoint(row: Sequence[Any], database: Database | None = None) -> Checkpoint:
    # Unpacked: by name, each column of a list of thousands would be looked up anew.
    identifier, thread_id, position, branch_id, message_id, segment, depth, *described = row
    name, description, created_by, tokens, pinned, detached, extra, created_at, _deleted_at = described
    place, extra = Node(message_id, segment, depth), rows.to_object(extra)
    return Checkpoint(
        id=identifier,
        name=name,
        timestamp=rows.to_time(created_at),
        message_count=depth + 1,
        description=description,
        created_by=created_by,
        tokens=tokens,
        pinned=pinned,
        node=place,
        extra=extra,
        branch_id=branch_id,
        detached=detached,
        order=position,
        load=partial(_state, database, thread_id, place, extra) if database else None,
    )


def _state(database: Database, thread_id: str, place: Node, extra: Json) -> State:
    with database.reading() as connection:
        found = rows.messages(connection, history.path_to(place, rows.forks(connection, thread_id)))
    return {**copy.deepcopy(extra), "messages": [m.langchain for m in found]}
