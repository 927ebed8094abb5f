"""Verify graph states: their hashes, their parents, and everything they name."""

from collections.abc import Iterator

import sqlalchemy as sa

from ..rows import state_rows, thread_rows, value_rows
from ..rows.state_rows import StoredState
from ..storage import schema
from ..storage.batches import select_in_batches
from ..values.graph_state import INPUT_CHANNEL, list_all_numbers, list_paths
from ..values.operation import Operation
from .undo_reach import collect_states

_state, _value = schema.state.c, schema.channel_value.c
_BATCH_SIZE = 200
_HOLDERS = ((schema.branch, "branch"), (schema.checkpoint, "checkpoint"))


def check_values(connection: sa.Connection) -> Iterator[str]:
    """Find channel values that do not fit their hashes."""
    query = sa.select(schema.channel_value).order_by(_value.number)
    for row in connection.execute(query, execution_options={"yield_per": _BATCH_SIZE}):
        if value_rows.hash_value(row.type, row.bytes) != row.hash:
            yield f"value {row.number} of a graph's channel is damaged: it does not fit its hash"


def check_states(connection: sa.Connection, thread_id: str, operations: list[Operation]) -> Iterator[str]:
    """Find a thread's damaged states, and references to missing states. `operations` are those that can be undone."""
    query = state_rows.STATE_QUERY.where(_state.thread_id == thread_id).order_by(_state.number)
    known: set[int] = set()
    for row in connection.execute(query, execution_options={"yield_per": _BATCH_SIZE}):
        if row.namespace == "":
            known.add(row.number)
        if row.parent is not None and row.stored_parent_hash is None:
            yield f"state {row.checkpoint_id} follows one that is not there"
        elif not state_rows.is_intact(row):
            yield f"state {row.checkpoint_id} is damaged: it does not fit its hash"
        else:
            yield from _check_names(connection, state_rows.parse_state(row))
    for table, noun in _HOLDERS:
        for holder in connection.execute(sa.select(table.c.name, table.c.state_id).where(table.c.thread_id == thread_id)):
            if holder.state_id is not None and holder.state_id not in known:
                yield f"{noun} {holder.name!r} stands on a state that is not there"
    if missing := collect_states(operations) - known:
        yield f"undoing its changes needs states that are not there: {', '.join(map(str, sorted(missing)))}"


def _check_names(connection: sa.Connection, state: StoredState) -> Iterator[str]:
    """Check that the values and messages named by a state exist."""
    values = {name: reference for name, reference in state.body["values"].items() if name != INPUT_CHANNEL}
    numbers = set(list_all_numbers({**state.body, "values": values}))
    if numbers - {row.number for row in select_in_batches(connection, sa.select(_value.number), _value.number, numbers)}:
        yield f"state {state.checkpoint_id} names values that are not there"
    for message_id, length in list_paths(values):
        node = thread_rows.select_nodes(connection, [message_id]).get(message_id) if message_id else None
        if (node.depth + 1 if node else 0) != length:
            yield f"state {state.checkpoint_id} names messages that are not there"
