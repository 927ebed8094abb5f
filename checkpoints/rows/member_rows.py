"""Rows of conversation members, and the conversations shared with a person."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from ..storage import schema
from ..storage.access import find_access
from ..values.model import ListPlace, Thread, ThreadRole
from . import thread_rows

_member, _thread = schema.thread_member.c, schema.thread.c
_IS_SHARED = sa.and_(_member.thread_id == _thread.id, _member.person == sa.bindparam("owner"))
_shared_query = thread_rows.THREAD_COLUMNS.join(schema.thread_member, _IS_SHARED)
_roles_query = (
    sa.select(_member.thread_id, _member.role)
    .join(schema.thread, _thread.id == _member.thread_id)
    .where(_member.person == sa.bindparam("owner"), _thread.deleted_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class Member:
    """A person let into a conversation by its owner."""

    person: str
    role: ThreadRole
    added_by: str
    added_at: datetime


def select_members(connection: sa.Connection, thread_id: str) -> list[Member]:
    """Return a conversation's members, oldest membership first."""
    query = sa.select(schema.thread_member).where(_member.thread_id == thread_id)
    rows = connection.execute(query.order_by(_member.added_at, _member.person))
    return [Member(row.person, ThreadRole(row.role), row.added_by, thread_rows.to_time(row.added_at)) for row in rows]


def insert_member(connection: sa.Connection, thread_id: str, member: Member) -> None:
    row = {"person": member.person, "role": member.role, "added_by": member.added_by}
    time = thread_rows.from_time(member.added_at)
    connection.execute(sa.insert(schema.thread_member).values(thread_id=thread_id, **row, added_at=time))


def update_role(connection: sa.Connection, thread_id: str, person: str, role: ThreadRole) -> bool:
    """Change a member's role. Return whether the member exists."""
    changing = sa.update(schema.thread_member).where(_member.thread_id == thread_id, _member.person == person)
    return bool(connection.execute(changing.values(role=role)).rowcount)


def delete_member(connection: sa.Connection, thread_id: str, person: str) -> bool:
    """Remove a member. Return whether they were a member."""
    leaving = sa.delete(schema.thread_member).where(_member.thread_id == thread_id, _member.person == person)
    return bool(connection.execute(leaving).rowcount)


def count_shared(connection: sa.Connection, person: str) -> int:
    """Count the conversations shared with a person, without deleted ones."""
    table = schema.thread_member.join(schema.thread, schema.thread.c.id == _member.thread_id)
    counted = sa.select(sa.func.count()).select_from(table)
    return connection.scalar(counted.where(_member.person == person, schema.thread.c.deleted_at.is_(None))) or 0


def select_shared_roles(connection: sa.Connection, person: str) -> dict[str, ThreadRole]:
    """Return the acting person's roles in the conversations of others. Empty where people are not told apart."""
    if find_access(connection) is None:
        return {}
    return {row.thread_id: ThreadRole(row.role) for row in connection.execute(_roles_query, {"owner": person})}


def select_shared(
    connection: sa.Connection, person: str, *conditions: sa.ColumnElement[bool], limit: int | None = None
) -> Sequence[Thread]:
    """Return the conversations shared with the acting person, most recently changed first."""
    if find_access(connection) is None:
        return ()
    query = _shared_query.where(*conditions).order_by(_thread.updated_at.desc(), _thread.id).limit(limit)
    return [thread_rows.hide_listing(thread_rows.parse_thread(row)) for row in connection.execute(query, {"owner": person})]


def select_shared_after(connection: sa.Connection, person: str, after: ListPlace | None, limit: int) -> Sequence[Thread]:
    """Return shared conversations after a place in the person's list. None of them is pinned there."""
    conditions: list[sa.ColumnElement[bool]] = [_thread.deleted_at.is_(None)]
    if after is not None and not after.pinned:
        updated = thread_rows.from_time(after.updated_at)
        is_later = sa.and_(_thread.updated_at == updated, _thread.id > after.thread_id)
        conditions.append(sa.or_(_thread.updated_at < updated, is_later))
    return select_shared(connection, person, *conditions, limit=limit)


def select_shared_since(connection: sa.Connection, person: str, since: datetime, limit: int) -> Sequence[Thread]:
    """Return conversations changed, or shared with the person, since a time. Deleted conversations are included."""
    time = thread_rows.from_time(since)
    is_new = sa.or_(_thread.updated_at >= time, _member.added_at >= time)
    return select_shared(connection, person, is_new, limit=limit)
