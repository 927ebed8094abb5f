"""Select states: the conversation's current state, those of its subgraphs, and the listed states."""

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa

from ..rows import state_rows
from ..rows.state_rows import StoredState
from ..storage import schema
from ..values.errors import DamagedStateError

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
    """Return the conversation's current state. After an undo it is not the newest."""
    row = connection.execute(_standing_query, {"of_thread": thread_id}).one_or_none()
    return state_rows.parse_state(row) if row else None


def select_latest_state(connection: sa.Connection, thread_id: str, namespace: str) -> StoredState | None:
    """Return the state from which a run in this namespace continues."""
    standing = select_standing_state(connection, thread_id)
    return select_state_below(connection, thread_id, standing, namespace) if namespace else standing


def select_state_below(
    connection: sa.Connection,
    thread_id: str,
    standing: StoredState | None,
    namespace: str,
    *,
    run_ids: Collection[str] | None = None,
) -> StoredState | None:
    """Return the subgraph state from which a run continues at a state of the graph.

    With `run_ids`, it must come from these runs or from that state's own run: a person went back, so other answers do
    not count.
    """
    own_id = standing.body["metadata"].get("run_id") if standing else None
    history = StandingHistory(connection, standing)
    own = _listed_query.where(_state.thread_id == thread_id, _state.namespace == namespace, _is_listed)
    with connection.execute(own.order_by(_state.checkpoint_id.desc())) as rows:
        for row in rows.yield_per(_PORTION):
            state = state_rows.parse_state(row)
            run_id = state.body["metadata"].get("run_id")
            is_trusted = run_ids is not None and run_id in run_ids
            if run_ids is not None and not is_trusted and run_id != own_id:
                continue
            if history.has(state, is_trusted=is_trusted):
                return state
    return None


class StandingHistory:
    """The graph's own states in order, up to the current state, without states left by an undo or a restore.

    A program that continues from a chosen state leaves nothing: as with LangGraph's own savers, all earlier states count.
    """

    def __init__(self, connection: sa.Connection, standing: StoredState | None) -> None:
        self._connection = connection
        self._standing = standing
        # The oldest state found so far.
        self._oldest = standing.number if standing else None
        self._numbers = {self._oldest}
        # Maps a state to its parent and its predecessor in time.
        self._above: dict[int, tuple[int | None, int | None]] = {}

    @classmethod
    def load(cls, connection: sa.Connection, thread_id: str) -> "StandingHistory":
        return cls(connection, select_standing_state(connection, thread_id))

    def has(self, state: StoredState, *, is_trusted: bool = False) -> bool:
        """Return whether a state counts. For a subgraph's state, its graph and the end of the run that resumed it must
        count.

        Several runs may have resumed a subgraph, each with another answer. `is_trusted` means this state's answer counts.
        """
        return self._has_subgraph(state, is_trusted=is_trusted) if state.namespace else self._has(state.number)

    def _has_subgraph(self, state: StoredState, *, is_trusted: bool) -> bool:
        root_id = state.body["metadata"].get("parents", {}).get("")
        if root_id is None:
            return self._standing is not None
        begun = state_rows.select_state(self._connection, state.thread_id, "", root_id)
        if begun is None:
            # With durability "exit", a graph writes a state only at its end.
            begun_at = state.body["begun_at"]
            begun = state_rows.select_state(self._connection, state.thread_id, "", begun_at) if begun_at else None
        elif is_trusted or not state.body["resumed"]:
            return self._has(begun.number)
        end = state_rows.find_next_own(self._connection, state)
        if end is not None:
            return self._has(end)
        return self._has(begun.number) if begun is not None else self._standing is None and state.body["begun_at"] == ""

    def _has(self, number: int) -> bool:
        while self._oldest is not None and self._oldest > number:
            self._oldest = self._find_before(self._oldest)
            self._numbers.add(self._oldest)
        return number in self._numbers

    def _find_before(self, number: int) -> int | None:
        """Return the conversation's state before a state was written: its parent, unless a program had chosen another."""
        assert self._standing is not None
        if number not in self._above:
            self._above = state_rows.select_ways_up(self._connection, self._standing.thread_id, number, _PORTION)
        parent, previous = self._above[number]
        if parent == previous:
            return parent
        try:
            state = state_rows.select_numbered_state(self._connection, number)
        except DamagedStateError:
            return parent
        left_id = state.body["begun_at"] if state else None
        left = state_rows.select_state(self._connection, self._standing.thread_id, "", left_id) if left_id else None
        return left.number if left else parent


def select_listed_state(connection: sa.Connection, thread_id: str, namespace: str, checkpoint_id: str) -> StoredState | None:
    """Return the state with LangGraph's id, or None if LangGraph's interface has removed it."""
    of_state = (_state.thread_id == thread_id, _state.namespace == namespace, _state.checkpoint_id == checkpoint_id)
    row = connection.execute(_listed_query.where(*of_state, _is_listed)).one_or_none()
    return state_rows.parse_state(row) if row else None


def select_portion(
    connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]], limit: int | None, before: str | None
) -> list[StoredState]:
    """Return the newest states, at most `limit`, older than `before`."""
    older = () if before is None else (_state.checkpoint_id < before,)
    query = _listed_query.where(*conditions, *older, _is_listed).order_by(_state.checkpoint_id.desc())
    return [state_rows.parse_state(row) for row in connection.execute(query.limit(min(limit or _PORTION, _PORTION)))]


def iterate_ancestors(connection: sa.Connection, state: StoredState | None) -> Iterator[StoredState]:
    """Yield a state's ancestors, nearest first, including unlisted states."""
    while state is not None and (state := state_rows.select_numbered_state(connection, state.parent)) is not None:
        yield state
