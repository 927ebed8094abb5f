"""Copy messages and checkpoints within the database, without reading their contents.

A copy keeps the stored hash of its original, so the copy of a damaged message is damaged too. The rows are listed as
JSON in a single parameter: a path may have thousands of messages in thousands of segments.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..values import serde
from ..values.history import Place
from ..values.model import Node

# The parameter for the list of rows, and the parameter for a column value shared by all copies.
_LIST = "listed_rows"
_COMMON = "common_{}"


def copy_messages(connection: sa.Connection, thread_id: str, originals: Sequence[Place], copies: Sequence[Node]) -> int:
    """Copy a path, whose places are listed from its root, into an empty segment. Return the number of copies.

    There are fewer copies than places if the database has lost messages of the path.
    """
    if not copies:
        return 0
    ids = [copy.id for copy in copies]
    listed = [(*place, *new) for place, *new in zip(originals, ids, [None, *ids[:-1]], strict=True)]
    # The new thread's runs did not write them, so data derived from them comes from elsewhere.
    common = {"thread_id": thread_id, "segment": copies[0].segment, "run_id": None}
    return _copy_rows(connection, schema.message, ("segment", "depth"), ("id", "parent_id"), listed, common)


def copy_checkpoints(
    connection: sa.Connection, copies: Sequence[tuple[str, str, int, str, int | None]], common: Mapping[str, Any]
) -> None:
    """Copy checkpoints, listed as (id, new id, new position, new message, new state). `common` columns are set in all
    copies."""
    _copy_rows(connection, schema.checkpoint, ("id",), ("id", "position", "message_id", "state_id"), copies, common)


def _copy_rows(
    connection: sa.Connection,
    table: sa.Table,
    keys: tuple[str, ...],
    changed: tuple[str, ...],
    listed: Sequence[tuple[Any, ...]],
    common: Mapping[str, Any],
) -> int:
    """Copy each row found by its `keys` columns, the first values of a listed row. The other values become the
    `changed` columns."""
    statement = _make_statement(connection.dialect.name, table, keys, changed, tuple(common))
    values = {_COMMON.format(name): value for name, value in common.items()}
    return connection.execute(statement, {_LIST: serde.to_canonical(listed), **values}).rowcount


@cache
def _make_statement(
    dialect: str, table: sa.Table, keys: tuple[str, ...], changed: tuple[str, ...], common: Collection[str]
) -> sa.Insert:
    rows = sa.bindparam(_LIST, type_=sa.Text)
    listed = (
        sa.func.json_array_elements(sa.cast(rows, sa.JSON)) if dialect == "postgresql" else sa.func.json_each(rows)
    ).table_valued("value")

    def read_value(index: int, name: str) -> sa.ColumnElement[Any]:
        if dialect == "postgresql":
            return sa.cast(listed.c.value.op("->>")(sa.literal_column(str(index))), table.c[name].type)
        return sa.func.json_extract(listed.c.value, sa.literal_column(f"'$[{index}]'"))

    is_listed = (table.c[name] == read_value(index, name) for index, name in enumerate(keys))
    columns: dict[str, sa.ColumnElement[Any]] = dict(table.c)
    columns |= {name: sa.bindparam(_COMMON.format(name), type_=table.c[name].type) for name in common}
    columns |= {name: read_value(index, name) for index, name in enumerate(changed, len(keys))}
    query = sa.select(*columns.values()).join_from(listed, table, sa.and_(*is_listed))
    # On PostgreSQL, SQLAlchemy counts the rows of an INSERT only with this option.
    return sa.insert(table).from_select(list(columns), query).execution_options(preserve_rowcount=True)
