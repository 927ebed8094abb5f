"""Channel values: an append-only log, checked against hashes when read."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.bulk_insert import insert_rows
from ..storage.ownership import open_values
from ..storage.reserved_numbers import reserve_numbers
from ..values.errors import DamagedStateError

_value = schema.channel_value.c
_insert_value = sa.insert(schema.channel_value).returning(_value.number)
_one_query = sa.select(_value.type, _value.bytes).where(_value.number == sa.bindparam("of_number"))
_delete_values = sa.delete(schema.channel_value).where(_value.number.in_(sa.bindparam("numbers", expanding=True)))


@dataclass(frozen=True, slots=True)
class Value:
    """A serialized value with its hash."""

    type: str
    data: bytes
    hash: bytes

    @classmethod
    def of(cls, kind: str, data: bytes) -> "Value":
        return cls(kind, data, hash_value(kind, data))


def hash_value(kind: str, data: bytes) -> bytes:
    return hashlib.sha256(f"{kind}:".encode() + data).digest()


def insert_many_values(connection: sa.Connection, values: Sequence[Value], thread_id: str) -> list[int]:
    """Insert a conversation's values in few statements, and return their ascending numbers."""
    if not values:
        return []
    rows = [{"type": each.type, "bytes": each.data, "hash": each.hash} for each in values]
    # Reading the numbers back takes five times as long.
    numbers = reserve_numbers(connection, schema.channel_value, len(rows))
    numbered = [{"number": number, **row} for number, row in zip(numbers, rows, strict=True)]
    with open_values(connection, thread_id):
        insert_rows(connection, schema.channel_value, numbered)
    return numbers


def insert_values(connection: sa.Connection, values: Collection[Value], thread_id: str) -> list[int]:
    """Insert a conversation's values singly, and return their ascending numbers."""
    if not values:
        return []
    rows = ({"type": each.type, "bytes": each.data, "hash": each.hash} for each in values)
    with open_values(connection, thread_id):
        return [int(connection.execute(_insert_value, row).scalar_one()) for row in rows]


def delete_values(connection: sa.Connection, numbers: Collection[int], thread_id: str) -> None:
    with open_values(connection, thread_id):
        connection.execute(_delete_values, {"numbers": list(numbers)})


def select_hashes(connection: sa.Connection, numbers: Collection[int], thread_id: str) -> dict[bytes, int]:
    return {row.hash: row.number for row in _select_rows(connection, (_value.hash, _value.number), numbers, thread_id)}


def sum_sizes(connection: sa.Connection, numbers: Collection[int], thread_id: str) -> int:
    """Return the total bytes of values."""
    return sum(size for (size,) in _select_rows(connection, (sa.func.length(_value.bytes),), numbers, thread_id))


def select_values(connection: sa.Connection, numbers: Collection[int], thread_id: str) -> dict[int, tuple[str, bytes]]:
    """Return the types and bytes of values by number, without missing values. Raises `DamagedStateError`."""
    columns = (_value.number, _value.type, _value.bytes, _value.hash)
    found = {}
    for row in _select_rows(connection, columns, numbers, thread_id):
        if hash_value(row.type, row.bytes) != row.hash:
            raise DamagedStateError(thread_id, f"value {row.number}")
        found[row.number] = (row.type, row.bytes)
    return found


def select_value(connection: sa.Connection, number: int, thread_id: str) -> tuple[str, bytes] | None:
    """Return a value's type and bytes. The statement is built once, because each turn runs it."""
    with open_values(connection, thread_id):
        row = connection.execute(_one_query, {"of_number": number}).one_or_none()
    return (row.type, row.bytes) if row else None


def _select_rows(
    connection: sa.Connection, columns: Sequence[sa.ColumnElement[Any]], numbers: Collection[int], thread_id: str
) -> list[sa.Row[Any]]:
    if not numbers:
        return []
    with open_values(connection, thread_id):
        return list(select_in_batches(connection, sa.select(*columns), _value.number, numbers))
