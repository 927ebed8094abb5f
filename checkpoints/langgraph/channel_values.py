"""Channel values as references: small scalars inline, lists by item, everything else by its stored bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ..rows import value_rows
from ..rows.value_rows import Value
from ..values.graph_state import Reference, join_runs, read_kind

# LangGraph has no public name for what its saver is given of a DeltaChannel.
DeltaSnapshot: Any = _DeltaSnapshot
_MAX_INLINE_CHARS = 64
# Smaller lists are stored whole, because a row takes more room than a small item.
_MAX_WHOLE_LIST_BYTES = 256


def unwrap_value(value: Any) -> Any:
    """Return the value inside a DeltaChannel's snapshot. Any other value is returned unchanged."""
    return value.value if isinstance(value, DeltaSnapshot) else value


def is_inline(value: Any) -> bool:
    """Return whether a value is its own reference."""
    return value is None or type(value) in (bool, int, float) or (type(value) is str and len(value) <= _MAX_INLINE_CHARS)


def name_value(
    connection: sa.Connection, thread_id: str, serde: SerializerProtocol, old: Reference, value: Any
) -> Reference:
    """Return the reference to a value. Parts shared with the former value are not written again."""
    if is_inline(value):
        return value
    if type(value) is list:
        items = [Value.of(*serde.dumps_typed(item)) for item in value]
        if not items or sum(len(item.data) for item in items) > _MAX_WHOLE_LIST_BYTES:
            return ["r", join_runs(_name_items(connection, thread_id, old, items))]
    return ["v", _name_items(connection, thread_id, old, [Value.of(*serde.dumps_typed(value))])[0]]


def _name_items(connection: sa.Connection, thread_id: str, old: Reference, items: Sequence[Value]) -> list[int]:
    numbers = value_rows.select_hashes(connection, list_numbers(old), thread_id)
    new = {item.hash: item for item in items if item.hash not in numbers}
    numbers |= zip(new, value_rows.insert_values(connection, [*new.values()], thread_id), strict=True)
    return [numbers[item.hash] for item in items]


def list_numbers(reference: Reference) -> list[int]:
    """Return the numbers of a reference's stored values, in order."""
    return [number for first, last in list_runs(reference) for number in range(first, last + 1)]


def list_runs(reference: Reference) -> list[tuple[int, int]]:
    """Return the first and last number of each run of stored values of a reference, in order."""
    if read_kind(reference) == "v":
        return [(reference[1], reference[1])]
    return [(first, last) for first, last in reference[1]] if read_kind(reference) == "r" else []


def read_value(serde: SerializerProtocol, reference: Reference, stored: Mapping[int, tuple[str, bytes]]) -> Any:
    """Return a new value. `stored` holds the bytes of the reference."""
    match read_kind(reference):
        case "v":
            return serde.loads_typed(stored[reference[1]])
        case "r":
            return [serde.loads_typed(stored[number]) for number in list_numbers(reference)]
    return reference
