"""Read the rows of a path's messages in a few ranges."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.ranges import Range, iterate_conditions
from ..values.history import Path

# Rows fetched at a time. Thousands of live rows would make the garbage collector scan everything.
_MAX_FETCHED_ROWS = 200


def select_path(connection: sa.Connection, columns: Sequence[str], path: Path, lower: int, upper: int) -> Iterator[Any]:
    """Read columns of the path's messages between two depths, in order."""
    table = schema.message.c
    for is_there, values in iterate_conditions(connection, table.segment, table.depth, list_ranges(path, lower, upper)):
        # Closed as soon as reading ends: an open statement keeps its snapshot for later reads of its connection.
        with connection.execute(_make_path_query(columns, is_there), values) as found:
            for rows in found.partitions(_MAX_FETCHED_ROWS):
                yield from rows


def list_ranges(path: Path, lower: int, upper: int) -> list[Range]:
    """Return a path's segments between two depths, in order, each with its first and last depth there."""
    found = []
    starts = [last + 1 for _, last in path.segments[1:]] + [0]
    for (segment, end), start in zip(path.segments, starts, strict=False):
        if end < lower:
            break
        if start < upper:
            found.append((segment, max(start, lower), min(end, upper - 1)))
    return found[::-1]


@cache
def _make_path_query(columns: Sequence[str], is_there: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Make the query for a condition of `iterate_conditions`. There are few such conditions."""
    return sa.select(*(schema.message.c[name] for name in columns)).where(is_there).order_by(schema.message.c.depth)
