"""Inserting many rows of a table. PostgreSQL gets them as JSON in one value of one statement, because its driver sends each
row of many as a statement of its own, which takes five times as long."""

import re
from collections.abc import Sequence
from functools import cache

import sqlalchemy as sa

from checkpoints import serde
from checkpoints.model import Json

_MAX_PORTION_ROWS = 1_000  # the encoder of JSON keeps all other threads waiting
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # PostgreSQL's functions refuse it in JSON


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Json]) -> None:
    """Insert rows, each with the same columns."""
    for start in range(0, len(rows), _MAX_PORTION_ROWS):
        _insert_portion(connection, table, rows[start : start + _MAX_PORTION_ROWS])


def _insert_portion(connection: sa.Connection, table: sa.Table, rows: Sequence[Json]) -> None:
    if connection.dialect.name == "postgresql" and len(rows) > 1 and not _has_nul(text := serde.to_canonical(rows)):
        connection.execute(_make_statement(table, tuple(rows[0])), {"listed_rows": text})
    else:
        connection.execute(_make_insert(table), rows)


def _has_nul(text: str) -> bool:
    return "\\u0000" in text and _NUL.search(text) is not None  # the expression is slow on texts with many backslashes


@cache
def _make_insert(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _make_statement(table: sa.Table, names: tuple[str, ...]) -> sa.Insert:
    columns = [sa.column(name, table.c[name].type) for name in names]
    rows = sa.cast(sa.bindparam("listed_rows", type_=sa.Text), sa.JSON)
    listed = sa.func.json_to_recordset(rows).table_valued(*columns).render_derived(with_types=True)
    return sa.insert(table).from_select(names, sa.select(*(listed.c[name] for name in names)))
