"""Read and write the columns of mutable rows, singly or in batches. See `schema.MOVABLE_TABLES`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.ownership import require_owner
from ..values.model import Json
from ..values.operation import RowChange

# These statements update a mutable row by its id.
_UPDATE_ROW: Final = {
    name: sa.update(table).where(table.c.id == sa.bindparam("row_id")) for name, table in schema.MOVABLE_TABLES.items()
}


# These columns of a thread belong to its owner's list.
_OWNERS_COLUMNS: Final = frozenset({"pinned", "archived", "tags", "deleted_at"})


def select_row(connection: sa.Connection, table: str, identifier: str, names: Iterable[str]) -> Json:
    """Return columns of a row. Raises `NoResultFound` if it is missing."""
    target = schema.MOVABLE_TABLES[table]
    row = connection.execute(sa.select(*(target.c[name] for name in names)).where(target.c.id == identifier)).one()
    return dict(row._mapping)


def select_rows(connection: sa.Connection, wanted: Iterable[tuple[str, str, Iterable[str]]]) -> dict[tuple[str, str], Json]:
    """Return columns of rows, by table and id. `wanted` gives the table, id and columns of each row.

    Raises `NoResultFound` for a missing row.
    """
    ids: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for table, identifier, names in wanted:
        ids[table, tuple(names)].append(identifier)
    found: dict[tuple[str, str], Json] = defaultdict(dict)
    for (table, names), identifiers in ids.items():
        target = schema.MOVABLE_TABLES[table].c
        query = sa.select(target.id, *(target[name].label(f"now_{name}") for name in names))
        for row in select_in_batches(connection, query, target.id, set(identifiers)):
            found[table, row[0]].update(zip(names, row[1:], strict=True))
        if any((table, identifier) not in found for identifier in identifiers):
            raise sa.exc.NoResultFound
    return dict(found)


def update_row(connection: sa.Connection, table: str, identifier: str, values: Json) -> None:
    """Write columns of a row. Raises `OwnerOnlyError`."""
    _check_columns(connection, table, identifier, values)
    connection.execute(_UPDATE_ROW[table], {"row_id": identifier, **values})


def _check_columns(connection: sa.Connection, table: str, identifier: str, columns: Json) -> None:
    """Refuse a member's change to the owner's list. Raises `OwnerOnlyError`."""
    if table == "thread" and not _OWNERS_COLUMNS.isdisjoint(columns):
        require_owner(connection, identifier)


def write_row_changes(connection: sa.Connection, changes: Sequence[RowChange]) -> bool:
    """Write recorded changes in order, in batches, since there may be thousands.

    Return False and write nothing if a row has changed since. Raises `NoResultFound` for a missing row, and
    `OwnerOnlyError`.
    """
    for each in changes:
        _check_columns(connection, each.table, each.id, each.after)
    now = select_rows(connection, [(change.table, change.id, change.before) for change in changes])
    moved: dict[tuple[str, str], Json] = defaultdict(dict)
    for change in changes:
        row = now[change.table, change.id]
        if any(row[name] != value for name, value in change.before.items()):
            return False
        row.update(change.after)
        moved[change.table, change.id].update(change.after)
    alike: dict[tuple[str, ...], list[Json]] = defaultdict(list)
    for (table, identifier), values in moved.items():
        alike[table, *values].append({"row_id": identifier, **values})
    for (table, *_), alike_rows in alike.items():
        connection.execute(_UPDATE_ROW[table], alike_rows)
    return True
