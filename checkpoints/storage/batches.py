"""Queries for many values, in statements small enough for every database."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from .ranges import iterate_conditions

# Databases limit the values of a statement.
_BATCH_SIZE = 200
# PostgreSQL gets an array, which is a single value.
_MAX_ARRAY_VALUES = 5_000
# It matches plain ids joined by commas.
_PLAIN_IDS = re.compile(r"[A-Za-z0-9_,-]+")


def select_in_batches(
    connection: sa.Connection, query: sa.Select[Any], key: sa.ColumnElement[Any], values: Collection[Any]
) -> Iterator[sa.Row[Any]]:
    """Return the rows of a query with these keys."""
    wanted = list(values)
    is_postgresql = connection.dialect.name == "postgresql"
    size = _MAX_ARRAY_VALUES if is_postgresql else _BATCH_SIZE
    batches = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    if is_postgresql:
        # An array is a single value. The driver would read each text of a statement anew.
        kind = sa.ARRAY(key.type)
        for batch in batches:
            wanted_ids = _write_ids(batch) if isinstance(key.type, sa.Text) else ""
            value = sa.bindparam("wanted_values", type_=sa.Text if wanted_ids else kind)
            # The subquery has rows of its own: with `ANY`, a scan of the table would compare each row with each value.
            listed = sa.select(sa.func.unnest(sa.cast(value, kind) if wanted_ids else value))
            yield from connection.execute(query.where(key.in_(listed)), {"wanted_values": wanted_ids or batch})
        return
    for batch in batches:
        yield from connection.execute(query.where(key.in_(batch)))


def _write_ids(values: Sequence[str]) -> str:
    """Write texts of letters, digits, `_` and `-` as a PostgreSQL array. Return "" for other characters.

    The driver would call Python functions for each text, which takes three quarters of an import's look-up of its ids.
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
    ranges = [(place[0], place[1], place[1]) for place in places]
    for is_there, values in iterate_conditions(connection, segment, depth, ranges):
        yield from connection.execute(_limit_query(query, is_there), values)


@lru_cache(256)
def _limit_query(query: sa.Select[Any], is_there: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Add a condition of `iterate_conditions`. Cached, because SQLAlchemy walks through every part of a new query."""
    return query.where(is_there)
