"""Erase unreachable graph states, and values no state names afterwards."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ..rows import state_rows
from ..rows.state_rows import StoredState
from ..storage import schema
from ..values.graph_state import list_all_numbers
from ..values.history import Place

_state, _write, _value = schema.state.c, schema.state_write.c, schema.channel_value.c
_MAX_NUMBERS = 500
_BATCH_SIZE = 200


def find_lost_states(
    connection: sa.Connection, thread_id: str, roots: Collection[int], lost_messages: Iterable[Place] = ()
) -> list[int]:
    """Return a thread's states that are neither roots nor ancestors of a root.

    They include states unlisted by LangGraph's `prune`, and states whose messages are lost: in each segment of
    `lost_messages`, from the given depth on.
    """
    columns = (_state.number, _state.parent, _state.hidden, _state.segment, _state.depth)
    rows = connection.execute(sa.select(*columns).where(_of(thread_id))).all()
    parents, starts = {row.number: row.parent for row in rows}, dict(lost_messages)
    replayed = _select_states_with_writes(connection, thread_id)
    left = {row.number for row in rows if row.hidden or (row.segment in starts and row.depth >= starts[row.segment])}
    ended = left - set(roots) - replayed
    kept: set[int] = set()
    for root in roots:
        number: int | None = root
        while number is not None and number in parents and number not in kept and number not in ended:
            kept.add(number)
            number = parents[number]
    kept |= _find_subgraph_states(connection, thread_id, kept)
    return sorted(set(parents) - kept)


def _of(thread_id: str) -> sa.ColumnElement[bool]:
    return _state.thread_id == thread_id


def _select_states_with_writes(connection: sa.Connection, thread_id: str) -> set[int]:
    """Return the states whose writes LangGraph needs to rebuild a DeltaChannel of later states."""
    is_same = (_write.namespace == _state.namespace, _write.checkpoint_id == _state.checkpoint_id, sa.not_(_write.late))
    query = sa.select(_state.number).where(_of(thread_id), sa.exists().where(_write.thread_id == thread_id, *is_same))
    return set(connection.scalars(query))


def _find_subgraph_states(connection: sa.Connection, thread_id: str, roots: Collection[int]) -> set[int]:
    """Return the states of subgraphs reached from these states of the graph."""
    ids = sa.select(_state.number, _state.checkpoint_id).where(_of(thread_id), _state.namespace == "")
    kept = {row.checkpoint_id for row in connection.execute(ids) if row.number in roots}
    found = set()
    for row in _read_states(connection, _of(thread_id), _state.namespace != ""):
        state = state_rows.parse_state(row)
        root_id = state.body["metadata"].get("parents", {}).get("")
        if root_id is None or root_id in kept or (state.body["begun_at"] is not None and _is_kept(connection, state, roots)):
            found.add(state.number)
    return found


def _is_kept(connection: sa.Connection, state: StoredState, roots: Collection[int]) -> bool:
    """Return whether a root ends the run of a subgraph's state, or begins it if the run has not ended."""
    begun, end = state_rows.find_run(connection, state)
    if end is None:
        return begun is not None and begun.number in roots
    return end in roots


def _read_states(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> sa.Result[Any]:
    query = state_rows.STATE_QUERY.where(*conditions)
    return connection.execute(query, execution_options={"yield_per": _BATCH_SIZE})


def erase_states(connection: sa.Connection, thread_id: str, numbers: Sequence[int]) -> None:
    """Erase states with their writes. Their children store the parent's hash, which their own hash covers."""
    parent = schema.state.alias()
    for start in range(0, len(numbers), _MAX_NUMBERS):
        portion = numbers[start : start + _MAX_NUMBERS]
        above = parent.c.number == _state.parent
        orphaned = sa.update(schema.state).where(_state.parent.in_(portion))
        columns = {"parent_hash": parent.c.hash, "parent_id": parent.c.checkpoint_id}
        copied = {name: sa.select(column).where(above).scalar_subquery() for name, column in columns.items()}
        connection.execute(orphaned.values(**copied, parent=None))
        connection.execute(sa.delete(schema.state).where(_state.number.in_(portion)))
    is_same = (
        _state.thread_id == _write.thread_id,
        _state.namespace == _write.namespace,
        _state.checkpoint_id == _write.checkpoint_id,
    )
    connection.execute(sa.delete(schema.state_write).where(_write.thread_id == thread_id, ~sa.exists().where(*is_same)))


def erase_unnamed_values(connection: sa.Connection) -> None:
    """Erase values no state names, and unused shapes.

    PostgreSQL keeps the shapes, since another transaction may be writing a state with one of them. They contain only
    names from a graph's code.
    """
    # Read first: later states may bring values that are not checked here.
    stored = connection.scalars(sa.select(_value.number)).all()
    named: set[int] = set()
    for row in _read_states(connection):
        named.update(list_all_numbers(state_rows.parse_state(row).body))
    lost = [number for number in stored if number not in named]
    for start in range(0, len(lost), _MAX_NUMBERS):
        portion = lost[start : start + _MAX_NUMBERS]
        connection.execute(sa.delete(schema.channel_value).where(_value.number.in_(portion)))
    if connection.dialect.name == "sqlite":
        shape = schema.state_shape
        connection.execute(sa.delete(shape).where(~sa.exists().where(_state.shape == shape.c.number)))
