"""Which state is meant: the one where a conversation stands, those of its subgraphs, and those that lists have."""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from ..rows import state_rows
from ..rows.state_rows import StoredState
from ..storage import schema

_state, _thread = schema.state.c, schema.thread.c
_PORTION = 50
_standing_query = (
    state_rows.STATE_QUERY.join(schema.branch, schema.branch.c.state_id == _state.number)
    .join(schema.thread, _thread.branch_id == schema.branch.c.id)
    .where(_thread.id == sa.bindparam("of_thread"), _thread.deleted_at.is_(None))
)
_is_listed = sa.and_(_thread.deleted_at.is_(None), sa.not_(_state.hidden))
_listed_query = state_rows.STATE_QUERY.join(schema.thread, _thread.id == _state.thread_id)


def select_standing_state(connection: sa.Connection, thread_id: str) -> StoredState | None:
    """Return the state where the conversation stands: not the newest one, after an undo."""
    row = connection.execute(_standing_query, {"of_thread": thread_id}).one_or_none()
    return state_rows.parse_state(row) if row else None


def select_latest_state(connection: sa.Connection, thread_id: str, namespace: str) -> StoredState | None:
    """Return the state that a run in this namespace goes on from."""
    standing = select_standing_state(connection, thread_id)
    return select_state_below(connection, thread_id, standing, namespace) if namespace else standing


def select_state_below(
    connection: sa.Connection, thread_id: str, standing: StoredState | None, namespace: str, *, is_of_run: bool = False
) -> StoredState | None:
    """Return the state of a subgraph that a run goes on from at a state of the graph. `is_of_run`: one of the same run."""
    run_id = standing.body["metadata"].get("run_id") if standing else None
    own = _listed_query.where(_state.thread_id == thread_id, _state.namespace == namespace, _is_listed)
    with connection.execute(own.order_by(_state.checkpoint_id.desc())) as rows:
        for row in rows.yield_per(_PORTION):
            state = state_rows.parse_state(row)
            if is_of_run and state.body["metadata"].get("run_id") != run_id:
                continue
            if _is_below(connection, state, standing):
                return state
    return None


def _is_below(connection: sa.Connection, state: StoredState, standing: StoredState | None) -> bool:
    """Return whether a subgraph's state was reached from where the conversation stands, and is not of an undone run.

    Several runs may have gone on from the graph's own state, each with another answer. Which of them wrote the subgraph's
    state is seen from the state that ended its step.
    """
    root_id = state.body["metadata"].get("parents", {}).get("")
    if root_id is None:
        return standing is not None
    root = state_rows.select_state(connection, state.thread_id, "", root_id)
    if root is None:
        return _is_of_run_below(connection, state, standing)
    path = state_rows.select_path_start(connection, root.number, standing.number) if standing else []
    if root.number not in path:
        return False
    following = next((number for number in path if number != root.number), None)
    if state.body["resumed"]:
        return state_rows.find_child(connection, root, state.number) == following
    return following is None or state.number < following


def _is_of_run_below(connection: sa.Connection, state: StoredState, standing: StoredState | None) -> bool:
    """Return the same for a run whose graph writes a state only at its end (durability "exit")."""
    if state.body["begun_at"] is None:
        return False
    _, end = state_rows.find_run(connection, state)
    if end is not None:
        return standing is not None and end in state_rows.select_path_start(connection, end, standing.number)
    return bool(state.body["begun_at"] == (standing.checkpoint_id if standing else ""))


def select_listed_state(connection: sa.Connection, thread_id: str, namespace: str, checkpoint_id: str) -> StoredState | None:
    """Return the state with LangGraph's id; None for one that LangGraph's interface has removed."""
    of_state = (_state.thread_id == thread_id, _state.namespace == namespace, _state.checkpoint_id == checkpoint_id)
    row = connection.execute(_listed_query.where(*of_state, _is_listed)).one_or_none()
    return state_rows.parse_state(row) if row else None


def select_portion(
    connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]], limit: int | None, before: str | None
) -> list[StoredState]:
    """Return the newest states, at most `limit`, and older ones than `before`."""
    older = () if before is None else (_state.checkpoint_id < before,)
    query = _listed_query.where(*conditions, *older, _is_listed).order_by(_state.checkpoint_id.desc())
    return [state_rows.parse_state(row) for row in connection.execute(query.limit(min(limit or _PORTION, _PORTION)))]


def iterate_ancestors(connection: sa.Connection, state: StoredState | None) -> Iterator[StoredState]:
    """Yield the states above a state, the nearest first, unlisted ones included."""
    while state is not None and (state := state_rows.select_numbered_state(connection, state.parent)) is not None:
        yield state
