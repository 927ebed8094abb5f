"""Conditions for rows in parts of a path, each a segment between two depths. A path may have thousands of parts."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

# A segment, and its first and last depth.
Range = tuple[int, int, int]
_NAMES = ("segment", "first", "last")
# SQLite plans each range of a statement.
_MAX_RANGES = 100
# PostgreSQL gets the ranges in three array values, and plans them once.
_MAX_ARRAY_RANGES = 5_000


def iterate_conditions(
    connection: sa.Connection, segment: sa.ColumnElement[int], depth: sa.ColumnElement[int], ranges: Sequence[Range]
) -> Iterator[tuple[sa.ColumnElement[bool], dict[str, Any]]]:
    """Yield conditions with their values. Together their statements find the rows in all ranges, in order.

    SQLite would read the whole table for a list of pairs.
    """
    is_postgresql = connection.dialect.name == "postgresql"
    size = _MAX_ARRAY_RANGES if is_postgresql else _MAX_RANGES
    for start in range(0, len(ranges), size):
        portion = ranges[start : start + size]
        if is_postgresql:
            yield (
                _make_array_condition(segment, depth),
                dict(zip(_NAMES, map(list, zip(*portion, strict=True)), strict=True)),
            )
        else:
            values = {
                f"{name}_{n}": value for n, each in enumerate(portion) for name, value in zip(_NAMES, each, strict=True)
            }
            yield _make_condition(segment, depth, len(portion)), values


@cache
def _make_condition(segment: sa.ColumnElement[int], depth: sa.ColumnElement[int], count: int) -> sa.ColumnElement[bool]:
    """Make the condition for `count` ranges. Cached, because building it takes longer than SQLite's answer."""
    return sa.or_(
        *(
            sa.and_(
                segment == sa.bindparam(f"segment_{n}"), depth.between(sa.bindparam(f"first_{n}"), sa.bindparam(f"last_{n}"))
            )
            for n in range(count)
        )
    )


@cache
def _make_array_condition(segment: sa.ColumnElement[int], depth: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    arrays = [sa.bindparam(name, type_=sa.ARRAY(segment.type)) for name in _NAMES]
    part = sa.func.unnest(*arrays).table_valued(*(sa.column(name, segment.type) for name in _NAMES)).render_derived("part")
    return sa.and_(segment == part.c.segment, depth.between(part.c.first, part.c.last))
