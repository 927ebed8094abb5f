"""The writes of tasks in a graph's step, stored until the next state holds them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..values.graph_state import OWN_PREFIXES

_write = schema.state_write.c
_insert_write = sa.insert(schema.state_write)
_COLUMNS = (
    _write.checkpoint_id,
    _write.task_path,
    _write.task_id,
    _write.position,
    _write.channel,
    _write.type,
    _write.bytes,
    _write.resumed,
)
_is_of_state = (
    _write.thread_id == sa.bindparam("of_thread"),
    _write.namespace == sa.bindparam("of_namespace"),
    _write.checkpoint_id == sa.bindparam("of_checkpoint"),
    _write.late == sa.bindparam("are_late"),
)
_of_state_query = sa.select(*_COLUMNS).where(*_is_of_state)
_stored_query = sa.select(_write.task_id, _write.position, _write.resumed).where(*_is_of_state)
_delete_special = sa.delete(schema.state_write).where(
    *_is_of_state,
    _write.task_id == sa.bindparam("of_task"),
    _write.position == sa.bindparam("at_position"),
    _write.resumed == sa.bindparam("are_resumed"),
)
_special = schema.state_write.alias("special")
_COPIED_AT_ONCE = 200
# LangGraph's numbers of its special channels.
_RESUME_POSITION, _INTERRUPT_POSITION = -4, -3
_is_interrupted = sa.exists().where(
    _special.c.thread_id == sa.bindparam("of_thread"),
    _special.c.namespace == sa.bindparam("of_namespace"),
    _special.c.checkpoint_id == sa.bindparam("of_checkpoint"),
    _special.c.position < 0,
    sa.not_(_special.c.resumed),
    sa.not_(_special.c.late),
)
_is_question = sa.and_(_write.position == _INTERRUPT_POSITION, sa.not_(_write.late))
_is_of_this_run = sa.and_(sa.bindparam("is_same_run", type_=sa.Boolean), _write.position >= 0, ~_is_interrupted)
_delete_applied = (
    sa.delete(schema.state_write)
    .where(
        *_is_of_state,
        sa.or_(
            _write.channel.in_(sa.bindparam("whole_channels", expanding=True)),
            *(_write.channel.startswith(prefix, autoescape=True) for prefix in OWN_PREFIXES),
        ),
        sa.or_(_write.resumed, _is_of_this_run),
    )
    .returning(*_COLUMNS)
)


@dataclass(frozen=True, slots=True)
class StateKey:
    """LangGraph's names for a state, whose writes are those of the step after it.

    `are_late` means the writes of the step before the state, which came only once the state was written.
    """

    thread_id: str
    namespace: str
    checkpoint_id: str
    are_late: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        state = {"of_thread": self.thread_id, "of_namespace": self.namespace, "of_checkpoint": self.checkpoint_id}
        return {**state, "are_late": self.are_late}


@dataclass(frozen=True, slots=True)
class Write:
    """A value written by a task to a channel. Special channels, such as an interrupt's, have negative positions."""

    task_path: str
    task_id: str
    position: int
    channel: str
    type: str
    data: bytes
    # A run that began at the state wrote it.
    resumed: bool = False

    @property
    def place(self) -> tuple[str, str, int]:
        """The sort key by which LangGraph orders the writes of a step."""
        return self.task_path, self.task_id, self.position


def insert_writes(
    connection: sa.Connection, key: StateKey, task_id: str, writes: Sequence[Write], *, is_resumed: bool
) -> None:
    """Store a task's writes. In ordinary channels the first write of a position counts, in special channels the last.

    `is_resumed` means the run began at this state, whose step had been interrupted. The interrupt stays beside a later
    interrupt, for an undo.
    """
    rows_of_step = connection.execute(_stored_query, key.parameters).all()
    stored = {(row.position, row.resumed) for row in rows_of_step if row.task_id == task_id}
    positions = {row.position for row in rows_of_step} | {each.position for each in writes}
    resumed = is_resumed or _RESUME_POSITION in positions
    taken = {position for position, _ in stored}
    kept = {each.position: each for each in writes if each.position < 0 or each.position not in taken}
    for position in kept:
        if (position, resumed) in stored:
            place = {"of_task": task_id, "at_position": position, "are_resumed": resumed}
            connection.execute(_delete_special, {**key.parameters, **place})
    insert_many_writes(connection, [(key, replace(each, task_id=task_id, resumed=resumed)) for each in kept.values()])


def insert_many_writes(connection: sa.Connection, writes: Sequence[tuple[StateKey, Write]]) -> None:
    """Store writes at places that are still free."""
    rows = [
        {
            "thread_id": key.thread_id,
            "namespace": key.namespace,
            "checkpoint_id": key.checkpoint_id,
            "task_id": each.task_id,
            "position": each.position,
            "task_path": each.task_path,
            "channel": each.channel,
            "type": each.type,
            "bytes": each.data,
            "resumed": each.resumed,
            "late": key.are_late,
        }
        for key, each in writes
    ]
    if rows:
        connection.execute(_insert_write, rows)


def select_writes(
    connection: sa.Connection, thread_id: str, namespace: str, checkpoint_ids: Collection[str], *, are_late: bool = False
) -> dict[str, list[Write]]:
    """Return the writes of states, by LangGraph's state id and in the order LangGraph applies them.

    Writes of a run that continued from the state replace earlier writes. Late writes, of the step before a state, are
    returned alone and only if they are asked for.
    """
    found: dict[str, dict[tuple[str, str, int], Write]] = {}
    rows = _select_rows(connection, thread_id, namespace, checkpoint_ids, are_late=are_late)
    for row in sorted(rows, key=lambda row: bool(row.resumed)):
        write = _parse_write(row)
        found.setdefault(row.checkpoint_id, {})[write.place] = write
    return {checkpoint_id: [write for _, write in sorted(writes.items())] for checkpoint_id, writes in found.items()}


def select_first_writes(connection: sa.Connection, thread_id: str, namespace: str, checkpoint_id: str) -> list[Write]:
    """Return a state's writes from before any run continued from it."""
    rows = _select_rows(connection, thread_id, namespace, [checkpoint_id])
    return sorted((_parse_write(row) for row in rows if not row.resumed), key=lambda each: each.place)


def _parse_write(row: Any) -> Write:
    return Write(row.task_path, row.task_id, row.position, row.channel, row.type, row.bytes, bool(row.resumed))


def _select_rows(
    connection: sa.Connection, thread_id: str, namespace: str, checkpoint_ids: Collection[str], *, are_late: bool = False
) -> Iterable[sa.Row[Any]]:
    if len(checkpoint_ids) == 1:
        # The prebuilt statement serves each beginning run.
        (checkpoint_id,) = checkpoint_ids
        key = StateKey(thread_id, namespace, checkpoint_id, are_late)
        return connection.execute(_of_state_query, key.parameters)
    of_thread = (_write.thread_id == thread_id, _write.namespace == namespace, _write.late == are_late)
    query = sa.select(*_COLUMNS).where(*of_thread)
    return select_in_batches(connection, query, _write.checkpoint_id, checkpoint_ids)


def select_asking_states(connection: sa.Connection, thread_id: str) -> set[int]:
    """Return the graph's own states with tasks that have asked a person."""
    state = schema.state.c
    is_of_write = (state.namespace == "", state.checkpoint_id == _write.checkpoint_id, state.thread_id == _write.thread_id)
    asked = (_write.thread_id == thread_id, _write.namespace == "", _is_question)
    query = sa.select(state.number).join_from(schema.state, schema.state_write, sa.and_(*is_of_write)).where(*asked)
    return set(connection.scalars(query))


def has_open_task(thread_id: sa.ColumnElement[str], number: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return the condition for a task of the graph's own state that has asked a person and has no result."""
    state, result = schema.state.c, schema.state_write.alias().c
    is_of_state = (state.thread_id == thread_id, state.number == number, state.namespace == "")
    is_asked = (_write.thread_id == thread_id, _write.namespace == "", _write.checkpoint_id == state.checkpoint_id)
    keys = ("thread_id", "namespace", "checkpoint_id", "task_id")
    is_result = (*(result[name] == _write[name] for name in keys), result.position >= 0)
    asks = (_is_question, ~sa.exists().where(*is_result))
    return sa.exists().where(*is_of_state, *is_asked, *asks)


def copy_writes(connection: sa.Connection, source_id: str, thread_id: str, states: Collection[tuple[str, str]]) -> None:
    """Copy the writes of a conversation's states, given by namespace and LangGraph's id, to another conversation."""
    columns = {column.name: column for column in schema.state_write.c}
    query = sa.select(*(columns | {"thread_id": sa.literal(thread_id)}).values()).where(_write.thread_id == source_id)
    of_states = sa.tuple_(_write.namespace, _write.checkpoint_id)
    keys = list(states)
    for start in range(0, len(keys), _COPIED_AT_ONCE):
        some = query.where(of_states.in_(keys[start : start + _COPIED_AT_ONCE]))
        connection.execute(sa.insert(schema.state_write).from_select(list(columns), some))


def take_applied_writes(
    connection: sa.Connection, key: StateKey, whole_channels: Collection[str], *, is_same_run: bool
) -> list[Write]:
    """Delete and return the writes held by the next state: to its `whole_channels`, and to LangGraph's own channels.

    Writes from before an interrupt stay. So do all earlier writes if another run began the step. The conversation may return
    to it, and wait for the same answer again.
    """
    values = {**key.parameters, "whole_channels": list(whole_channels), "is_same_run": is_same_run}
    return [_parse_write(row) for row in connection.execute(_delete_applied, values)]
