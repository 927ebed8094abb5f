"""Insert many rows of a table. PostgreSQL gets them as JSON in a single value, because its driver would send each row
as a separate statement, which takes five times as long."""

import re
from collections.abc import Sequence
from functools import cache

import sqlalchemy as sa
from pydantic_core import to_json

from ..values.model import Json
from .column_types import CheckpointId

_MAX_PORTION_ROWS = 1_000
# PostgreSQL's functions refuse NUL in JSON.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*+\\u0000")


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Json]) -> None:
    """Insert rows with identical columns."""
    for start in range(0, len(rows), _MAX_PORTION_ROWS):
        _insert_portion(connection, table, rows[start : start + _MAX_PORTION_ROWS])


def _insert_portion(connection: sa.Connection, table: sa.Table, rows: Sequence[Json]) -> None:
    if connection.dialect.name != "postgresql" or len(rows) == 1:
        connection.execute(_make_insert(table), rows)
        return
    common = {name: value for name, value in rows[0].items() if all(row[name] == value for row in rows)}
    own = [name for name in rows[0] if name not in common]
    # A single call for all rows, which may be megabytes, would block all other threads.
    text = f"[{b','.join(map(to_json, _list_json_rows(table, own, rows))).decode()}]"
    if _has_nul(text):
        connection.execute(_make_insert(table), rows)
    else:
        values = {f"common_{name}": value for name, value in common.items()}
        connection.execute(_make_statement(table, tuple(own), tuple(common)), {"listed_rows": text, **values})


def _list_json_rows(table: sa.Table, names: Sequence[str], rows: Sequence[Json]) -> list[Json]:
    listed = [{name: row[name] for name in names} for row in rows]
    for name in names:
        if isinstance(kind := table.c[name].type, CheckpointId | sa.LargeBinary):
            for row in listed:
                raw = kind.process_bind_param(row[name], None) if isinstance(kind, CheckpointId) else row[name]
                # PostgreSQL reads bytes in a text in this form.
                row[name] = None if raw is None else f"\\x{raw.hex()}"
    return listed


def _has_nul(text: str) -> bool:
    # The expression is slow on texts with many backslashes.
    return "\\u0000" in text and _NUL.search(text) is not None


@cache
def _make_insert(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _make_statement(table: sa.Table, own: tuple[str, ...], common: tuple[str, ...]) -> sa.Insert:
    """Make the statement for JSON rows with their `own` columns. The `common` columns have the same value in all rows."""
    columns = [sa.column(name, table.c[name].type) for name in own]
    rows = sa.cast(sa.bindparam("listed_rows", type_=sa.Text), sa.JSON)
    listed = sa.func.json_to_recordset(rows).table_valued(*columns).render_derived(with_types=True)
    types = {name: table.c[name].type for name in common}
    values = [sa.cast(sa.bindparam(f"common_{name}", type_=kind), kind) for name, kind in types.items()]
    return sa.insert(table).from_select([*own, *common], sa.select(*(listed.c[name] for name in own), *values))
