"""Read and insert operations."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import find_role
from ..values.model import Json, ThreadRole
from ..values.operation import Operation, OperationKind, RowChange
from ..values.operation_detail import NO_DETAIL, OperationDetail
from . import thread_rows

# Built once, like the statements of the other modules.
_INSERT_OPERATION = sa.insert(schema.operation)
_columns = schema.operation.c
_is_operation = (_columns.thread_id == sa.bindparam("of_thread"), _columns.version == sa.bindparam("of_version"))
_one_query = sa.select(schema.operation).where(*_is_operation)
_request_query = sa.select(schema.operation).where(
    _columns.thread_id == sa.bindparam("of_thread"), _columns.request_id == sa.bindparam("of_request")
)
_known_query = sa.select(
    sa.exists().where(schema.run.c.id == sa.bindparam("of_request")),
    sa.exists().where(_columns.thread_id == sa.bindparam("of_thread"), _columns.request_id == sa.bindparam("of_request")),
)
_update_operation = sa.update(schema.operation).where(*_is_operation)
_are_erased = sa.func.length(sa.cast(_columns.changes, sa.Text)) <= len("[]")
_ABRIDGED_COLUMNS = (
    *(column for column in _columns if column is not _columns.changes),
    # The column is NULL unless the changes were erased.
    sa.case((_are_erased, _columns.changes)).label("changes"),
)


def select_operations(
    connection: sa.Connection,
    thread_id: str,
    *conditions: sa.ColumnElement[bool],
    limit: int | None = None,
    abridged: bool = False,
) -> Sequence[Operation]:
    """Return the thread's operations, newest first.

    Abridged operations omit their changes: a list does not show them, and an operation may have changed ten thousand rows.
    """
    query, values = _make_query(abridged=abridged, limited=limit is not None), {"of_thread": thread_id}
    query = query.where(*conditions) if conditions else query
    rows = connection.execute(query, values if limit is None else {**values, "of_limit": limit}).all()
    return _parse_rows(connection, thread_id, rows, abridged=abridged)


def _parse_rows(
    connection: sa.Connection, thread_id: str, rows: Sequence[sa.Row[Any]], *, abridged: bool = False
) -> Sequence[Operation]:
    found = [parse_operation(row, abridged=abridged) for row in rows]
    return found if find_role(connection, thread_id) is ThreadRole.OWNER else [_hide_tags(each) for each in found]


@cache
def _make_query(*, abridged: bool, limited: bool) -> sa.Select[Any]:
    columns = _ABRIDGED_COLUMNS if abridged else tuple(_columns)
    query = sa.select(*columns).where(_columns.thread_id == sa.bindparam("of_thread")).order_by(_columns.version.desc())
    return query.limit(sa.bindparam("of_limit")) if limited else query


def _hide_tags(operation: Operation) -> Operation:
    """Remove tag names from an operation. They belong to the owner."""
    if operation.kind is not OperationKind.TAG:
        return operation
    return replace(operation, detail=replace(operation.detail, added=[], removed=[]))


def insert_operation(connection: sa.Connection, operation: Operation, request_id: str | None) -> None:
    values = {
        "thread_id": operation.thread_id,
        "version": operation.version,
        "kind": operation.kind,
        "actor": operation.actor,
        "grouped": operation.undo_group,
        "changes": _format_changes(operation.changes),
        "detail": operation.detail.to_json(),
        "result": operation.result,
        "target": operation.target,
        "request_id": request_id,
        "person": operation.person,
        "created_at": thread_rows.from_time(operation.created_at),
    }
    connection.execute(_INSERT_OPERATION, values)


def select_operation(connection: sa.Connection, thread_id: str, version: int) -> Operation | None:
    row = connection.execute(_one_query, {"of_thread": thread_id, "of_version": version}).one_or_none()
    return parse_operation(row) if row else None


def replace_operation(connection: sa.Connection, newest: Operation, joined: Operation) -> None:
    """Rewrite the thread's newest operation with more changes, and perhaps a higher version."""
    place = {"of_thread": newest.thread_id, "of_version": newest.version}
    values: Json = {"changes": _format_changes(joined.changes), "result": joined.result}
    if joined.version != newest.version:
        values |= {"version": joined.version, "detail": joined.detail.to_json()}
    connection.execute(_update_operation, {**place, **values})


def erase_contents(connection: sa.Connection, thread_id: str) -> None:
    """Erase the changes, names and descriptions in a thread's operations. Their versions stay."""
    of_thread = _columns.thread_id == thread_id
    details = connection.execute(sa.select(_columns.version, _columns.detail).where(of_thread)).all()
    connection.execute(sa.update(schema.operation).where(of_thread).values(changes=[], detail={}))
    parsed = [(row.version, OperationDetail.from_json(row.detail)) for row in details]
    kept = [
        {"of_thread": thread_id, "of_version": version, "detail": detail.to_json()}
        for version, whole in parsed
        if (detail := OperationDetail(joined=whole.joined, standing=whole.standing)) != NO_DETAIL
    ]
    if kept:
        connection.execute(_update_operation, kept)


def _format_changes(changes: Sequence[RowChange]) -> list[list[Any]]:
    return [[each.table, each.id, each.before, each.after] for each in changes]


def select_undone_groups(connection: sa.Connection, thread_id: str) -> set[str]:
    """Return the groups, such as runs, with all operations undone."""
    query = sa.select(_columns.grouped).where(_columns.thread_id == thread_id, _columns.grouped.is_not(None))
    are_undone = sa.func.count() == sa.func.count(_columns.undone_by)
    return set(connection.scalars(query.group_by(_columns.grouped).having(are_undone)))


def find_request(connection: sa.Connection, thread_id: str, request_id: str) -> Operation | None:
    """Return the operation recorded by an earlier call of this request."""
    rows = connection.execute(_request_query, {"of_thread": thread_id, "of_request": request_id}).all()
    found = _parse_rows(connection, thread_id, rows)
    return found[0] if found else None


def is_known_request(connection: sa.Connection, thread_id: str, request_id: str) -> bool:
    """Return whether the request has begun a run or changed the thread. Each send asks, so this is a single statement."""
    found = connection.execute(_known_query, {"of_thread": thread_id, "of_request": request_id}).one()
    return any(found)


def parse_operation(row: sa.Row[Any], *, abridged: bool = False) -> Operation:
    left_out = abridged and row.changes is None
    changes = () if left_out else _parse_changes(row.changes)
    return Operation(
        thread_id=row.thread_id,
        version=row.version,
        kind=OperationKind(row.kind),
        actor=row.actor,
        undo_group=row.grouped,
        changes=changes or (),
        detail=OperationDetail.from_json(row.detail),
        result=row.result,
        undone=row.undone_by is not None,
        created_at=thread_rows.to_time(row.created_at),
        target=row.target,
        person=row.person,
        damaged=changes is None,
        abridged=left_out,
    )


def _parse_changes(stored: Any) -> tuple[RowChange, ...] | None:
    """Parse an operation's changes, or return None if the stored value has another shape."""
    if not isinstance(stored, list) or not all(isinstance(each, list) and len(each) == 4 for each in stored):
        return None
    return tuple(RowChange(*each) for each in stored) if all(_is_row_change(*each) for each in stored) else None


def _is_row_change(table: Any, identifier: Any, before: Any, after: Any) -> bool:
    if table not in schema.MOVABLE_TABLES or not isinstance(identifier, str):
        return False
    columns = schema.MOVABLE_TABLES[table].c
    return all(
        isinstance(values, dict)
        and values.keys() == before.keys()
        and all(_fits_column(columns, *each) for each in values.items())
        for values in (before, after)
    )


def _fits_column(columns: sa.ColumnCollection[str, sa.Column[Any]], name: str, value: Any) -> bool:
    if name not in columns:
        return False
    return bool(columns[name].nullable) if value is None else isinstance(value, columns[name].type.python_type)
