"""The newest entries of the index that match a query, of the conversations that a person may see.

Where there are others, the marks of the person's conversations are part of the query: the index gives their entries alone.
For SQLite, looking up a hundred marks takes longer than reading all matches of a rare word: it compares the places of those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..search.query import SearchQuery
from ..storage.access import exempt_query
from . import search_syntax, thread_rows
from .search_syntax import NotePhrases

_MAX_OWN_THREADS = 1_000  # of an owner among others, whose marks are searched for
_MAX_RARE_MATCHES = 20_000  # of a word, whoever wrote it
_MATCHES_OF_MARK = 20  # that SQLite reads and compares in less time than it looks up a mark
_ANY_TIME = 2**62
_EVERY_NUMBER = {"first": 0, "last": 2**62}
_OWN_THREADS = sa.text(
    "SELECT id FROM thread WHERE owner = :owner AND deleted_at IS NULL UNION ALL "
    "SELECT t.id FROM thread_member m JOIN thread t ON t.id = m.thread_id WHERE m.person = :owner AND t.deleted_at IS NULL "
    "LIMIT :most"
)
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
# The entries of others are left out before the joins, which take ten times as long. A checkpoint's has no segment.
_OWN_SEGMENTS = (
    "SELECT s.id FROM thread o CROSS JOIN segment s ON s.thread_id = o.id WHERE o.owner = :owner UNION ALL "
    "SELECT s.id FROM thread_member o CROSS JOIN segment s ON s.thread_id = o.thread_id WHERE o.person = :owner"
)
_SQLITE_RARE = f"{_SQLITE} AND (e.segment IS NULL OR e.segment IN ({_OWN_SEGMENTS})) ORDER BY w.rowid DESC LIMIT :most"
_FREQUENT_WORD = sa.text(
    "SELECT 1 FROM search_words WHERE search_words MATCH :word LIMIT 1 "
    "OFFSET (SELECT min(:most, :matches_of_mark * count(*)) FROM thread WHERE owner = :owner)"
)
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
    is_postgresql = connection.dialect.name == "postgresql"
    if not wanted.has_others or thread_ids is not None:
        return _select_newest(connection, wanted, thread_ids)
    if not is_postgresql and _has_rare_word(connection, wanted):
        return _select(connection, _SQLITE_RARE, wanted, _list_values(connection, wanted, None))
    own = _find_own(connection, wanted)
    if own is None:
        return _select_newest(connection, wanted, None)
    if is_postgresql:
        connection.exec_driver_sql(_POSTGRESQL_MARKS)
    statement = _POSTGRESQL_ALL if is_postgresql else _SQLITE_NEWEST
    return _select(connection, statement, wanted, _list_values(connection, wanted, own)) if own else ()


def _has_rare_word(connection: sa.Connection, wanted: WantedMatches) -> bool:
    """Return whether few entries have the longest word: fewer than are read in the time of the marks of the owner.

    Words that may go on are left out: SQLite reads all of their matches before the first.
    """
    terms = wanted.query.wanted_terms if len(wanted.query.alternatives) == 1 else ()
    words = [word for term in terms for word in (term.words[:-1] if term.is_prefix else term.words)]
    if not words:
        return False
    limits = {"most": _MAX_RARE_MATCHES, "matches_of_mark": _MATCHES_OF_MARK, "owner": wanted.owner}
    return connection.execute(_FREQUENT_WORD, {"word": f'"{max(words, key=len)}"', **limits}).first() is None


def _find_own(connection: sa.Connection, wanted: WantedMatches) -> list[str] | None:
    """Return an owner's conversations, and those that they are let into, if they are few."""
    found = connection.execute(_OWN_THREADS, {"owner": wanted.owner, "most": _MAX_OWN_THREADS + 1}).all()
    return None if len(found) > _MAX_OWN_THREADS else [thread_id for (thread_id,) in found]


def _select_newest(
    connection: sa.Connection, wanted: WantedMatches, thread_ids: Sequence[str] | None
) -> Sequence[sa.Row[Any]]:
    """Return the newest matches: of the entries that probably have enough, or else of all."""
    is_postgresql = connection.dialect.name == "postgresql"
    values = _list_values(connection, wanted, thread_ids)
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


def _list_values(connection: sa.Connection, wanted: WantedMatches, thread_ids: Sequence[str] | None) -> Mapping[str, Any]:
    """Return the values of a statement's parameters. `match` is empty if nothing can be found."""
    query, is_postgresql = wanted.query, connection.dialect.name == "postgresql"
    write = search_syntax.write_tsquery if is_postgresql else search_syntax.write_match
    return {
        "match": write(query, thread_ids, wanted.phrases),
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
