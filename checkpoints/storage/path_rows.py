"""The rows of a path's messages, read in a few ranges."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..history import Path
from . import schema

_MAX_FETCHED_ROWS = 200  # at a time: thousands that live on make the garbage collector look through everything
_MAX_RANGES = 50  # parts of a path in one statement
_RANGE = ("segment", "first", "last")


def select_path(connection: sa.Connection, columns: Sequence[str], path: Path, lower: int, upper: int) -> Iterator[Any]:
    """Read rows with columns of the path's messages between two depths, in order."""
    ranges = _list_ranges(path, lower, upper)[::-1]
    for start in range(0, len(ranges), _MAX_RANGES):
        portion = ranges[start : start + _MAX_RANGES]
        values = {f"{name}_{n}": value for n, each in enumerate(portion) for name, value in zip(_RANGE, each, strict=True)}
        # Closed as soon as nobody reads on: an open statement keeps its snapshot, also for what its connection reads next.
        with connection.execute(_make_path_query(columns, len(portion)), values) as found:
            for rows in found.partitions(_MAX_FETCHED_ROWS):
                yield from rows


def _list_ranges(path: Path, lower: int, upper: int) -> list[tuple[int, int, int]]:
    """Return the segments of a path between two depths, nearest first, each with its first and last depth there."""
    found = []
    starts = [last + 1 for _, last in path.segments[1:]] + [0]
    for (segment, end), start in zip(path.segments, starts, strict=False):
        if end < lower:
            break
        if start < upper:
            found.append((segment, max(start, lower), min(end, upper - 1)))
    return found


@cache
def _make_path_query(columns: Sequence[str], ranges: int) -> sa.Select[Any]:
    """Select the messages in so many ranges of a path. It is built once: that takes longer than SQLite's answer."""
    table = schema.message.c
    is_there = [
        sa.and_(
            table.segment == sa.bindparam(f"segment_{n}"),
            table.depth.between(sa.bindparam(f"first_{n}"), sa.bindparam(f"last_{n}")),
        )
        for n in range(ranges)
    ]
    return sa.select(*(table[name] for name in columns)).where(sa.or_(*is_there)).order_by(table.depth)
