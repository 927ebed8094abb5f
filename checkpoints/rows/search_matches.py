"""The newest entries of the index that match a query, of the conversations that a person may see.

Where there are others, marks are part of the query, and the index gives the person's entries alone. On SQLite these are the
mark of the owner and those of shared conversations, on PostgreSQL those of all conversations that the person may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..search.content import list_owner_marks, mark_thread
from ..search.query import SearchQuery
from ..storage.access import exempt_query
from . import search_syntax, thread_rows
from .search_index import find_marked_owner
from .search_syntax import NotePhrases

_MAX_MARKED_THREADS = 1_000  # of an owner among others, whose marks are searched for
_ANY_TIME = 2**62
_EVERY_NUMBER = {"first": 0, "last": 2**62}
_OWN = "SELECT id FROM thread WHERE owner = :owner AND deleted_at IS NULL"
_SHARED = (
    "SELECT t.id FROM thread_member m JOIN thread t ON t.id = m.thread_id WHERE m.person = :owner AND t.deleted_at IS NULL"
)
_SHARED_THREADS = sa.text(f"{_SHARED} LIMIT :most")
_OWN_THREADS = sa.text(f"{_OWN} UNION ALL {_SHARED} LIMIT :most")
_IS_OWN = "t.owner = :owner"
_IS_OWN_OR_SHARED = "(t.owner = :owner OR t.id IN (SELECT thread_id FROM thread_member WHERE person = :owner))"
_HAS_TAG = "AND t.id IN (SELECT thread_id FROM thread_tag WHERE tag_id IN :{})"  # the name of a parameter
_COLUMNS = (
    "SELECT e.number, e.created_at, t.id AS thread_id, t.title, t.owner, e.segment, e.depth, "
    "c.id AS checkpoint_id, c.name, c.description, c.message_id, c.segment AS at_segment, c.depth AS at_depth "
)
# CROSS JOIN: SQLite keeps this order, in which the index gives the newest first and only as many as are needed.
_SQLITE = (
    f"{_COLUMNS} FROM search_words w CROSS JOIN search_entry e ON e.number = w.rowid "
    "LEFT JOIN message m ON m.segment = e.segment AND m.depth = e.depth LEFT JOIN checkpoint c ON c.id = e.checkpoint_id "
    "CROSS JOIN thread t ON t.id = coalesce(m.thread_id, c.thread_id) "
    "WHERE search_words MATCH :match AND w.rowid BETWEEN :first AND :last "
    "AND e.created_at >= :after AND e.created_at < :before "
    "AND {owner} AND t.deleted_at IS NULL {tags} "
)
_SQLITE_NEWEST = f"{_SQLITE} ORDER BY w.rowid DESC LIMIT :most"
_POSTGRESQL = (
    f"{_COLUMNS} FROM search_entry e "
    "LEFT JOIN message m ON m.segment = e.segment AND m.depth = e.depth LEFT JOIN checkpoint c ON c.id = e.checkpoint_id "
    "JOIN thread t ON t.id = coalesce(m.thread_id, c.thread_id) "
    "WHERE e.words @@ CAST(:match AS tsquery) AND e.created_at >= :after AND e.created_at < :before "
    "AND {owner} AND t.deleted_at IS NULL {tags} "
)
# PostgreSQL cannot tell how frequent words are together, and no index of words knows dates. Among the newest entries, or
# those of the dates, frequent words are found in order; where these have too few, the index finds all of a rare one. The sum
# keeps PostgreSQL from reading all entries in order.
_MAX_NEWEST_ENTRIES = 20_000
_LAST_NUMBER = exempt_query(sa.text("SELECT max(number) FROM search_entry"))
_NEWEST_OF_DATES = exempt_query(
    sa.text(
        "SELECT min(number) AS first, max(number) AS last, min(created_at) AS after, count(*) AS total FROM "
        "(SELECT number, created_at FROM search_entry WHERE created_at >= :after AND created_at < :before "
        "ORDER BY created_at DESC, number DESC LIMIT :newest) dated"
    )
)
_POSTGRESQL_NEWEST = f"{_POSTGRESQL} AND e.number BETWEEN :first AND :last ORDER BY e.number DESC LIMIT :most"
_POSTGRESQL_DATED = f"{_POSTGRESQL} ORDER BY e.created_at DESC, e.number DESC LIMIT :most"
_POSTGRESQL_ALL = f"{_POSTGRESQL} ORDER BY e.number + 0 DESC LIMIT :most"
# It takes each mark for a frequent word: for few rows it would read tables, start processes, and compile the statement.
_POSTGRESQL_MARKS = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; "
    "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off"
)


@dataclass(frozen=True, slots=True)
class WantedMatches:
    """What is searched for, by whom, and how many matches are wanted."""

    query: SearchQuery
    phrases: NotePhrases
    owner: str
    has_others: bool  # the owner is one of many, who may let one another into conversations
    tags: Sequence[Sequence[str]]  # ids: a conversation must have one of each group
    most: int


def select_matches(
    connection: sa.Connection, wanted: WantedMatches, thread_ids: Sequence[str] | None
) -> Sequence[sa.Row[Any]]:
    """Return the newest matches: in these conversations, or in all that the owner may see."""
    if thread_ids is not None:
        return _select_newest(connection, wanted, list(map(mark_thread, thread_ids)))
    marks = _list_own_marks(connection, wanted) if wanted.has_others else None
    if marks is None:
        return _select_newest(connection, wanted, None)
    is_postgresql = connection.dialect.name == "postgresql"
    if is_postgresql:
        connection.exec_driver_sql(_POSTGRESQL_MARKS)
    statement = _POSTGRESQL_ALL if is_postgresql else _SQLITE_NEWEST
    return _select(connection, statement, wanted, _list_values(connection, wanted, marks)) if marks else ()


def _list_own_marks(connection: sa.Connection, wanted: WantedMatches) -> list[str] | None:
    """Return the marks that all entries have that a person may see; None if they are too many."""
    marked = find_marked_owner(connection, wanted.owner)
    query = _SHARED_THREADS if marked is not None else _OWN_THREADS
    thread_ids = connection.scalars(query, {"owner": wanted.owner, "most": _MAX_MARKED_THREADS + 1}).all()
    if len(thread_ids) > _MAX_MARKED_THREADS:
        return None
    return [*list_owner_marks(marked), *map(mark_thread, thread_ids)]


def _select_newest(connection: sa.Connection, wanted: WantedMatches, marks: Sequence[str] | None) -> Sequence[sa.Row[Any]]:
    """Return the newest matches with one of the marks: of the entries that probably have enough, or else of all."""
    is_postgresql = connection.dialect.name == "postgresql"
    values = _list_values(connection, wanted, marks)
    has_dates = bool(wanted.query.before or wanted.query.after)
    if is_postgresql or has_dates:
        newest, is_whole = (_limit_to_dates if has_dates else _limit_to_newest)(connection, values)
        statement = (_POSTGRESQL_DATED if has_dates else _POSTGRESQL_NEWEST) if is_postgresql else _SQLITE_NEWEST
        found = _select(connection, statement, wanted, newest)
        if is_whole or len(found) == wanted.most:
            return found
    return _select(connection, _POSTGRESQL_ALL if is_postgresql else _SQLITE_NEWEST, wanted, values)


def _limit_to_newest(connection: sa.Connection, values: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the values that take the newest entries alone, and whether these are all."""
    last = connection.scalar(_LAST_NUMBER) or 0
    first = last - _MAX_NEWEST_ENTRIES + 1
    return {**values, "first": first, "last": last}, first <= 1


def _limit_to_dates(connection: sa.Connection, values: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the values that take the newest entries of the dates alone, and whether these are all."""
    row = connection.execute(_NEWEST_OF_DATES, {**values, "newest": _MAX_NEWEST_ENTRIES}).one()
    limits = {"first": row.first or 0, "last": row.last or 0, "after": row.after or values["after"]}
    return {**values, **limits}, row.total < _MAX_NEWEST_ENTRIES


def _list_values(connection: sa.Connection, wanted: WantedMatches, marks: Sequence[str] | None) -> Mapping[str, Any]:
    """Return the values of a statement's parameters. `match` is empty if nothing can be found."""
    query = wanted.query
    return {
        "match": search_syntax.write_query(connection, query, marks, wanted.phrases),
        "owner": wanted.owner,
        "after": thread_rows.from_time(query.after) if query.after else -_ANY_TIME,
        "before": thread_rows.from_time(query.before) if query.before else _ANY_TIME,
        "most": wanted.most,
        **_EVERY_NUMBER,
        **{f"tags{number}": group for number, group in enumerate(wanted.tags)},
    }


def _select(
    connection: sa.Connection, statement: str, wanted: WantedMatches, values: Mapping[str, Any]
) -> Sequence[sa.Row[Any]]:
    query = _write_statement(statement, len(wanted.tags), wanted.has_others)
    return connection.execute(query, values).all() if values["match"] else ()


@cache
def _write_statement(statement: str, tag_count: int, has_others: bool) -> sa.TextClause:
    """Return a statement that also asks for so many tags, or also finds shared conversations."""
    names = [f"tags{number}" for number in range(tag_count)]
    conditions = " ".join(map(_HAS_TAG.format, names))
    text = statement.format(tags=conditions, owner=_IS_OWN_OR_SHARED if has_others else _IS_OWN)
    return sa.text(text).bindparams(*[sa.bindparam(name, expanding=True) for name in names])
