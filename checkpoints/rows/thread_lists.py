"""The list of threads, read in portions: pinned threads first, then the most recently changed."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

import sqlalchemy as sa

from ..storage import schema
from ..values.limits import MAX_SHARED_THREADS
from ..values.model import ListPlace, Thread
from ..values.operation import OperationKind
from ..values.text import fold_text
from . import member_rows, tag_rows, thread_rows

_ORDER = (schema.thread.c.pinned.desc(), schema.thread.c.updated_at.desc(), schema.thread.c.id)


def select_thread_portion(
    connection: sa.Connection,
    owner: str,
    limit: int,
    archived: bool | None,
    words: Sequence[str],
    after: ListPlace | None,
    tags: Sequence[str] = (),
) -> list[Thread]:
    """Return the next threads of the list after a place, with titles that contain all words (in lower case).

    `archived` is None for both kinds. A thread must have all `tags`, given by name. Threads shared with the owner have
    no tags and are not archived.
    """
    table = schema.thread.c
    conditions = [table.owner == owner, table.deleted_at.is_(None)]
    if archived is not None:
        conditions.append(table.archived == archived)
    if after is not None:
        conditions.append(_is_after(after))
    conditions += tag_rows.has_tags(table.id, tag_rows.match_tags(connection, owner, tags))
    if words:
        conditions = [table.id.in_(_find_titles(connection, conditions, words, limit))]
    query = thread_rows.THREAD_COLUMNS.where(*conditions).order_by(*_ORDER).limit(limit)
    own = [thread_rows.parse_thread(row) for row in connection.execute(query)]
    shared = [] if archived or tags else _select_shared(connection, owner, words, after, limit)
    return sorted([*own, *shared], key=_place_thread)[:limit] if shared else own


def _select_shared(
    connection: sa.Connection, person: str, words: Sequence[str], after: ListPlace | None, limit: int
) -> list[Thread]:
    found = member_rows.select_shared_after(connection, person, after, MAX_SHARED_THREADS if words else limit)
    return [each for each in found if all(word in fold_text(each.title) for word in words)]


def _place_thread(thread: Thread) -> tuple[bool, int, str]:
    """Return the sort key for `_ORDER`."""
    return not thread.pinned, -thread_rows.from_time(thread.updated_at), thread.id


def _find_titles(
    connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]], words: Sequence[str], limit: int
) -> list[str]:
    """Return the ids of the first threads with these words. Python folds case, because databases differ in this."""
    query = sa.select(schema.thread.c.id, schema.thread.c.title).where(*conditions).order_by(*_ORDER)
    titles = connection.execute(query)
    matching = (row.id for row in titles if all(word in fold_text(row.title) for word in words))
    found = list(islice(matching, limit))
    titles.close()
    return found


def _is_after(place: ListPlace) -> sa.ColumnElement[bool]:
    table, updated = schema.thread.c, thread_rows.from_time(place.updated_at)
    is_later = sa.or_(table.updated_at < updated, sa.and_(table.updated_at == updated, table.id > place.thread_id))
    is_following = sa.and_(table.pinned == place.pinned, is_later)
    return sa.or_(is_following, table.pinned == sa.false()) if place.pinned else is_following


def select_changed_threads(connection: sa.Connection, owner: str, since: datetime, limit: int) -> list[Thread]:
    """Return the threads changed since a time, including deleted and archived threads."""
    table = schema.thread.c
    query = thread_rows.THREAD_COLUMNS.where(table.owner == owner, table.updated_at >= thread_rows.from_time(since))
    rows = connection.execute(query.order_by(table.updated_at.desc(), table.id).limit(limit))
    shared = member_rows.select_shared_since(connection, owner, since, limit)
    found = [*map(thread_rows.parse_thread, rows), *shared]
    return sorted(found, key=lambda each: (-thread_rows.from_time(each.updated_at), each.id))[:limit] if shared else found


def select_deleted_threads(connection: sa.Connection, owner: str, limit: int) -> list[Thread]:
    """Return the owner's conversations removed from the list by a deletion or its redo, last deleted first."""
    table, last = schema.thread.c, schema.operation.c
    kinds = (OperationKind.DELETE, OperationKind.REDO)
    taken_out = (last.thread_id == table.id, last.version == table.version, last.kind.in_(kinds))
    query = thread_rows.THREAD_COLUMNS.where(table.owner == owner, table.deleted_at.is_not(None))
    query = query.where(sa.exists().where(*taken_out))
    return [
        thread_rows.parse_thread(row)
        for row in connection.execute(query.order_by(table.deleted_at.desc(), table.id).limit(limit))
    ]


def find_import(connection: sa.Connection, source_hash: str, owner: str) -> Thread | None:
    """Return the listed thread imported from the document with this hash."""
    table = schema.thread.c
    query = sa.select(table.id).where(table.source == source_hash, table.owner == owner, table.deleted_at.is_(None))
    thread_id = connection.scalar(query.limit(1))
    return thread_rows.select_thread(connection, thread_id) if thread_id else None
