"""Queries for many values, in statements of a size that every database accepts."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from .ranges import iterate_conditions

_BATCH_SIZE = 200  # values in one statement: databases limit how many it may carry
_MAX_ARRAY_VALUES = 5_000  # in the one value that PostgreSQL gets
_PLAIN_IDS = re.compile(r"[A-Za-z0-9_,-]+")  # joined by commas


def select_in_batches(
    connection: sa.Connection, query: sa.Select[Any], key: sa.ColumnElement[Any], values: Collection[Any]
) -> Iterator[sa.Row[Any]]:
    """Return the rows of a query whose key is one of these values."""
    wanted = list(values)
    is_postgresql = connection.dialect.name == "postgresql"
    size = _MAX_ARRAY_VALUES if is_postgresql else _BATCH_SIZE
    batches = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    if is_postgresql:  # one value, an array: its driver reads each text of a statement anew
        kind = sa.ARRAY(key.type)
        for batch in batches:
            wanted_ids = _write_ids(batch) if isinstance(key.type, sa.Text) else ""
            value = sa.bindparam("wanted_values", type_=sa.Text if wanted_ids else kind)
            # Rows of their own: a table that is read as a whole would compare each of its rows with each value of `ANY`.
            listed = sa.select(sa.func.unnest(sa.cast(value, kind) if wanted_ids else value))
            yield from connection.execute(query.where(key.in_(listed)), {"wanted_values": wanted_ids or batch})
        return
    for batch in batches:
        yield from connection.execute(query.where(key.in_(batch)))


def _write_ids(values: Sequence[str]) -> str:
    """Write texts of letters, digits, `_` and `-` as an array of PostgreSQL; empty where one has other characters.

    Its driver would call functions of Python for each: three quarters of the time in which an import looks for its ids.
    """
    joined = ",".join(values)
    is_plain = _PLAIN_IDS.fullmatch(joined) and joined.count(",") == len(values) - 1
    return '{"' + joined.replace(",", '","') + '"}' if is_plain else ""


def select_at_places(
    connection: sa.Connection,
    query: sa.Select[Any],
    segment: sa.ColumnElement[int],
    depth: sa.ColumnElement[int],
    places: Collection[tuple[int, int]],
) -> Iterator[sa.Row[Any]]:
    """Return the rows of a query at one of these places."""
    ranges = [(place[0], place[1], place[1]) for place in places]
    for is_there, values in iterate_conditions(connection, segment, depth, ranges):
        yield from connection.execute(_limit_query(query, is_there), values)


@lru_cache(256)
def _limit_query(query: sa.Select[Any], is_there: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Limit a query to a condition of `iterate_conditions`. SQLAlchemy looks through every part of a new one."""
    return query.where(is_there)
