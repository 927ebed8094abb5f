"""Read graph states and their shapes, checked against their hashes."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..values.errors import DamagedStateError
from ..values.graph_state import RowValues, hash_state, is_resting, join_body
from ..values.history import Path, Place
from ..values.model import Json, Node

_state, _message, _shape = schema.state.c, schema.message.c, schema.state_shape.c
_parent = schema.state.alias("parent_state")
# Most turns have fewer steps.
_PORTION = 20
_is_of_message = sa.and_(_message.segment == _state.segment, _message.depth == _state.depth)
STATE_QUERY = (
    sa.select(
        schema.state,
        schema.state_shape.c.body.label("shape_body"),
        _parent.c.checkpoint_id.label("stored_parent_id"),
        _parent.c.hash.label("stored_parent_hash"),
        _message.id.label("message_id"),
    )
    .outerjoin(schema.state_shape, _shape.number == _state.shape)
    .outerjoin(_parent, _parent.c.number == _state.parent)
    .outerjoin(schema.message, _is_of_message)
)
_one_query = STATE_QUERY.where(
    _state.thread_id == sa.bindparam("of_thread"),
    _state.namespace == sa.bindparam("of_namespace"),
    _state.checkpoint_id == sa.bindparam("of_checkpoint"),
)
_numbered_query = STATE_QUERY.where(_state.number == sa.bindparam("of_number"))
_is_at_rest = sa.or_(_state.run_id == _message.run_id, _state.run_id.is_(None))
_found_query = (
    sa.select(_state.number)
    .join_from(schema.message, schema.state, _is_of_message)
    .where(_state.segment == sa.bindparam("of_segment"), _state.depth <= sa.bindparam("last_depth"))
    # Worded like the index's condition, since SQLite would not use the index for `is_input = 0`.
    .where(sa.literal_column("NOT state.is_input"))
    # A later run may have begun at the same message and changed other channels. Prefer a state left by the message's
    # own run, or a later update of the state, which is a run of a single step.
    .order_by(_state.depth.desc(), sa.case((_is_at_rest, 0), else_=1), _state.number.desc())
)
_nearest_query = _found_query.limit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateName:
    """The columns by which other rows refer to a state."""

    number: int
    namespace: str
    checkpoint_id: str
    hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState(StateName):
    """A state with its place. `parent_id` is LangGraph's id of its parent. `message` is the conversation's head at
    that time."""

    thread_id: str
    parent: int | None
    parent_id: str | None
    run_id: str
    message: Node | None
    body: Json


def select_state(connection: sa.Connection, thread_id: str, namespace: str, checkpoint_id: str) -> StoredState | None:
    values = {"of_thread": thread_id, "of_namespace": namespace, "of_checkpoint": checkpoint_id}
    row = connection.execute(_one_query, values).one_or_none()
    return parse_state(row) if row else None


def select_named_states(
    connection: sa.Connection, thread_id: str, checkpoint_ids: Collection[str]
) -> dict[tuple[str, str], StoredState]:
    """Return a thread's states with these ids, by namespace and id. Raises `DamagedStateError`."""
    query = STATE_QUERY.where(_state.thread_id == thread_id)
    rows = select_in_batches(connection, query, _state.checkpoint_id, checkpoint_ids)
    return {(row.namespace, row.checkpoint_id): parse_state(row) for row in rows}


def select_numbered_state(connection: sa.Connection, number: int | None) -> StoredState | None:
    row = None if number is None else connection.execute(_numbered_query, {"of_number": number}).one_or_none()
    return parse_state(row) if row else None


def parse_state(row: Any) -> StoredState:
    """Parse a row of `STATE_QUERY`. Raises `DamagedStateError`."""
    if not is_intact(row):
        raise DamagedStateError(row.thread_id, row.checkpoint_id)
    return _parse_intact_state(row)


def _parse_intact_state(row: Any) -> StoredState:
    message = None if row.message_id is None else Node(row.message_id, row.segment, row.depth)
    run_id = row.run_id or row.checkpoint_id
    return StoredState(
        number=row.number,
        thread_id=row.thread_id,
        namespace=row.namespace,
        checkpoint_id=row.checkpoint_id,
        parent=row.parent,
        parent_id=row.stored_parent_id or row.parent_id,
        run_id=run_id,
        message=message,
        hash=row.hash,
        body=join_body(row.shape_body, row.leaves, RowValues.at(row.checkpoint_id, run_id, message)),
    )


def is_intact(row: Any) -> bool:
    """Return whether a row of `STATE_QUERY` fits its hash."""
    parent = row.stored_parent_hash or row.parent_hash or row.parent_id
    shape = row.shape_body or ""
    return bool(hash_state(row.namespace, row.checkpoint_id, parent, shape, row.leaves, row.message_id) == row.hash)


def find_state(connection: sa.Connection, path: Path) -> int | None:
    """Return the state at the end of a path: the newest state of the last message with a state."""
    return find_nearest_state(connection, path, path.length)


def find_saved_state(
    connection: sa.Connection, thread_id: str, checkpoint_id: str | None, place: Place | None
) -> int | None:
    """Return the state named by a checkpoint at a message, or None if it is elsewhere or deleted."""
    if checkpoint_id is None or place is None:
        return None
    table = schema.checkpoint.c
    is_there = (table.segment == place[0], table.depth == place[1], table.deleted_at.is_(None))
    query = sa.select(table.state_id).where(table.id == checkpoint_id, table.thread_id == thread_id, *is_there)
    found: int | None = connection.scalar(query)
    return found


def find_nearest_state(connection: sa.Connection, path: Path, length: int) -> int | None:
    """Return the newest state of a path's first `length` messages."""
    for segment, depth in path.segments:
        values = {"of_segment": segment, "last_depth": min(depth, length - 1)}
        if (number := connection.scalar(_nearest_query, values)) is not None:
            return int(number)
    return None


def find_resting_state(connection: sa.Connection, path: Path, length: int) -> int | None:
    """Return the newest state of a path's first messages in which no node is to run. A turn begins with it."""
    for segment, depth in path.segments:
        query = _found_query.params(of_segment=segment, last_depth=min(depth, length - 1))
        for offset in itertools.count(0, _PORTION):
            numbers = connection.scalars(query.limit(_PORTION).offset(offset)).all()
            if (found := next((each for each in numbers if _is_resting(connection, each)), None)) is not None:
                return int(found)
            if len(numbers) < _PORTION:
                break
    return None


def _is_resting(connection: sa.Connection, number: int) -> bool:
    """Return whether a state is intact, and LangGraph would run no node there."""
    try:
        state = select_numbered_state(connection, number)
    except DamagedStateError:
        return False
    return state is not None and is_resting(state.body["values"])


def select_states(connection: sa.Connection, thread_id: str) -> Iterator[StoredState]:
    """Yield a thread's intact states by number, including states of subgraphs."""
    rows = connection.execute(STATE_QUERY.where(_state.thread_id == thread_id).order_by(_state.number)).all()
    return (_parse_intact_state(row) for row in rows if is_intact(row))


def select_outline(connection: sa.Connection, thread_id: str) -> list[Any]:
    """Return the graph's own states by number, without content. `is_own`: the run of the state wrote its message."""
    is_own, message_id = _is_at_rest.label("is_own"), _message.id.label("message_id")
    query = sa.select(_state.number, _state.parent, _state.run_id, message_id, is_own)
    of_graph = sa.and_(_state.thread_id == thread_id, _state.namespace == "")
    joined = query.outerjoin(schema.message, sa.and_(_is_of_message, sa.not_(_state.is_input))).where(of_graph)
    return list(connection.execute(joined.order_by(_state.number)))


def select_ways_up(
    connection: sa.Connection, thread_id: str, number: int, limit: int
) -> dict[int, tuple[int | None, int | None]]:
    """Map this and earlier states of the graph to their parents and to their predecessors in time, by number."""
    own = (_state.thread_id == thread_id, _state.namespace == "", _state.number <= number)
    query = sa.select(_state.number, _state.parent).where(*own).order_by(_state.number.desc()).limit(limit + 1)
    rows = connection.execute(query).all()
    return {
        row.number: (row.parent, before.number if before else None) for row, before in zip_longest(rows[:limit], rows[1:])
    }


def find_next_own(connection: sa.Connection, state: StoredState) -> int | None:
    """Return the graph's own first state written after a subgraph's state."""
    newer = (_state.thread_id == state.thread_id, _state.namespace == "", _state.number > state.number)
    found: int | None = connection.scalar(sa.select(sa.func.min(_state.number)).where(*newer))
    return found


def select_followers(connection: sa.Connection, states: Sequence[StoredState]) -> dict[int, list[StoredState]]:
    """Map states of a thread, by number, to the intact states that follow them, newest first."""
    found: dict[int, list[StoredState]] = {}
    for namespace in {each.namespace for each in states}:
        some = [each for each in states if each.namespace == namespace]
        newer = (_state.namespace == namespace, _state.checkpoint_id > min(each.checkpoint_id for each in some))
        query = STATE_QUERY.where(_state.thread_id == some[0].thread_id, *newer, _state.parent.in_([e.number for e in some]))
        for row in connection.execute(query.order_by(_state.number.desc())):
            if is_intact(row):
                found.setdefault(row.parent, []).append(_parse_intact_state(row))
    return found


def find_run(connection: sa.Connection, state: StoredState) -> tuple[StoredState | None, int | None]:
    """Return the beginning and the final state of a run with durability "exit", given a subgraph's state in between."""
    begun_at = state.body["begun_at"]
    begun = select_state(connection, state.thread_id, "", begun_at) if begun_at else None
    return begun, None if begun_at and begun is None else find_next_own(connection, state)


def place_state(connection: sa.Connection, number: int, message: Node) -> None:
    """Move a state that names no message to another message. Its hash does not cover the place."""
    place = {"segment": message.segment, "depth": message.depth, "is_input": False}
    connection.execute(sa.update(schema.state).where(_state.number == number).values(place))


def hide_states(connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]]) -> None:
    """Unlist states. They stay for rows that refer to them, or may again after an undo."""
    connection.execute(sa.update(schema.state).where(*conditions).values(hidden=True))
