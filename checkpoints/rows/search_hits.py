"""The reading half of the search: matches from the index, checked, ranked, and with their snippets.

The newest matches are taken, because no index finds the best of a million in time, and ranked: those whose terms are
near one another first, results of tools last, and the newest first.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa

from ..search import content
from ..search.query import NOTE_KINDS, THIS, Role, SearchQuery
from ..search.result import NoteRules, NoteText, SearchHit, SearchResult, Standing
from ..search.snippet import MAX_SEARCH_WORDS, MAX_WORDS, make_snippet
from ..search.words import list_words
from ..storage import schema
from ..storage.access import exempt_query
from ..storage.row_security import pass_policies
from ..values import files
from ..values.history import Place
from ..values.limits import MAX_SEARCH_HITS
from ..values.model import Message, Node
from . import file_rows, member_rows, message_rows, search_queue, search_syntax, tag_rows, thread_rows
from .message_places import find_branches, load_current_path

_MAX_THREADS = 10_000  # whose titles are looked at
_MAX_NAMED_THREADS = 20  # that `in:` finds by their titles
_MAX_MARKED_THREADS = 100  # with a tag, whose marks are searched for
_MAX_OWN_THREADS = 1_000  # of an owner among others, whose marks are searched for
SIFTED_PORTIONS = 20  # of as many matches as are wanted, for queries that some of them may not fit
_ANY_TIME = 2**62
_IS_OWN, _IS_OWN_OR_SHARED = "t.owner = :owner", "(t.owner = :owner OR t.id IN :shared)"
_COLUMNS = (
    "SELECT e.number, e.created_at, t.id AS thread_id, t.title, t.owner, e.segment, e.depth, "
    "c.id AS checkpoint_id, c.name, c.description, c.message_id, c.segment AS at_segment, c.depth AS at_depth "
)
# CROSS JOIN: SQLite keeps this order, in which the index gives the newest first and only as many as are needed.
_HAS_TAG = "AND t.id IN (SELECT thread_id FROM thread_tag WHERE tag_id IN :{})"  # the name of a parameter
_SQLITE = (
    f"{_COLUMNS} FROM search_words w CROSS JOIN search_entry e ON e.number = w.rowid "
    "LEFT JOIN message m ON m.segment = e.segment AND m.depth = e.depth LEFT JOIN checkpoint c ON c.id = e.checkpoint_id "
    "CROSS JOIN thread t ON t.id = coalesce(m.thread_id, c.thread_id) "
    "WHERE search_words MATCH :match AND w.rowid BETWEEN :first AND :last "
    "AND e.created_at >= :after AND e.created_at < :before "
    "AND {owner} AND t.deleted_at IS NULL {tags} ORDER BY w.rowid DESC LIMIT :most"
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
_EVERY_NUMBER = {"first": 0, "last": 2**62}


def search(
    connection: sa.Connection,
    query: SearchQuery,
    owner: str,
    this: str | None,
    most: int,
    *,
    has_others: bool,
    notes: NoteRules,
) -> SearchResult:
    """Find the entries of an owner, among those of others; `this` is the conversation that `in:this` means."""
    most = min(most, MAX_SEARCH_HITS)
    is_pending = search_queue.is_pending(connection)
    tags = tag_rows.match_tags(connection, owner, query.tags)
    shared = member_rows.select_shared_ids(connection, owner)
    named = _find_tagged(connection, tags, _find_threads(connection, query, owner, this))
    thread_ids = _find_own(connection, owner, shared) if has_others and named is None else named  # not those of all others
    is_own = named is None and thread_ids is not None
    is_postgresql = connection.dialect.name == "postgresql"
    match = (search_syntax.write_tsquery if is_postgresql else search_syntax.write_match)(query, thread_ids, notes.phrases)
    if query.is_empty or not match or thread_ids == []:
        return SearchResult((), False, is_pending)
    max_matches = _limit_matches(query, most)
    values = {
        "match": match,
        "owner": owner,
        "after": thread_rows.from_time(query.after) if query.after else -_ANY_TIME,
        "before": thread_rows.from_time(query.before) if query.before else _ANY_TIME,
        "most": max_matches + 1,
        **({"shared": shared} if shared else {}),
        **{f"tags{number}": group for number, group in enumerate(tags)},
    }
    has_dates = bool(query.before or query.after)
    with pass_policies(connection):  # the hits are built from rows that pass them
        found = _select_matches(connection, values, len(tags), has_dates=has_dates, is_own=is_own)
    rows = [row for row in found[:max_matches] if thread_ids is None or row.thread_id in thread_ids]
    hits, has_more = _take_hits(connection, rows, query, notes, most)
    return SearchResult(tuple(_rank(hits)), has_more or len(found) > max_matches, is_pending)


def _take_hits(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], query: SearchQuery, notes: NoteRules, most: int
) -> tuple[list[SearchHit], bool]:
    """Return up to `most` hits, built in portions, and whether there are more. A match may be no hit."""
    hits = list[SearchHit]()
    for start in range(0, len(rows), most):
        hits += _build_hits(connection, rows[start : start + most], query, notes)
        if len(hits) >= most:
            return hits[:most], len(hits) > most or start + most < len(rows)
    return hits, False


def _limit_matches(query: SearchQuery, most: int) -> int:
    """Return how many matches are looked at: more where some of them may be another kind of message, told by its text."""
    is_sifted = "note" in query.roles or "user" in query.roles or bool(NOTE_KINDS.keys() & set(query.features))
    return most * SIFTED_PORTIONS if is_sifted else most


def _select_matches(
    connection: sa.Connection, values: Mapping[str, Any], tag_count: int, *, has_dates: bool, is_own: bool
) -> Sequence[sa.Row[Any]]:
    """Return the newest matches: of the entries that probably have enough, or else of all, such as the owner's few own."""
    is_postgresql = connection.dialect.name == "postgresql"
    if is_own and is_postgresql:  # which takes each mark for a frequent word, and would read all entries
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    has_shared = "shared" in values
    every = _write_statement(_POSTGRESQL_ALL if is_postgresql else _SQLITE, tag_count, has_shared)
    if not is_own and (is_postgresql or has_dates):
        newest, is_whole = (_limit_to_dates if has_dates else _limit_to_newest)(connection, values)
        statement = (_POSTGRESQL_DATED if has_dates else _POSTGRESQL_NEWEST) if is_postgresql else _SQLITE
        found = connection.execute(_write_statement(statement, tag_count, has_shared), newest).all()
        if is_whole or len(found) == values["most"]:
            return found
    return connection.execute(every, {**values, **_EVERY_NUMBER}).all()


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


def _find_threads(connection: sa.Connection, query: SearchQuery, owner: str, this: str | None) -> list[str] | None:
    """Return the conversations that the query names, in which alone it searches; None if it names none."""
    if not query.places:
        return None
    found = {this} if this and THIS in query.places else set[str]()
    named = [list_words(place) for place in query.places if place != THIS]
    others = member_rows.select_shared(connection, owner, limit=_MAX_THREADS) if named else ()
    for thread in [*thread_rows.select_threads(connection, owner, _MAX_THREADS), *others] if named else ():
        title = list_words(thread.title)
        if any(words and _contains(title, words) for words in named) and len(found) < _MAX_NAMED_THREADS:
            found.add(thread.id)
    return sorted(found)


def _find_own(connection: sa.Connection, owner: str, shared: Sequence[str]) -> list[str] | None:
    """Return an owner's conversations, and those that they are let into, if they are few."""
    table = schema.thread.c
    query = sa.select(table.id).where(table.owner == owner, table.deleted_at.is_(None)).limit(_MAX_OWN_THREADS + 1)
    found = [*connection.scalars(query), *shared]
    return None if len(found) > _MAX_OWN_THREADS else found


def _find_tagged(connection: sa.Connection, tags: Sequence[Sequence[str]], thread_ids: list[str] | None) -> list[str] | None:
    """Return the conversations with these tags, if they are few: the index finds them quicker by their marks."""
    if not tags or thread_ids is not None:
        return thread_ids
    found = tag_rows.select_tagged_threads(connection, tags, _MAX_MARKED_THREADS + 1)
    return None if len(found) > _MAX_MARKED_THREADS else found


@cache
def _write_statement(statement: str, tag_count: int, has_shared: bool) -> sa.TextClause:
    """Return a statement that also asks for so many tags, or also finds shared conversations."""
    names = [f"tags{number}" for number in range(tag_count)]
    conditions = " ".join(map(_HAS_TAG.format, names))
    text = statement.format(tags=conditions, owner=_IS_OWN_OR_SHARED if has_shared else _IS_OWN)
    names += ["shared"] if has_shared else []
    return sa.text(text).bindparams(*[sa.bindparam(name, expanding=True) for name in names])


def _contains(title: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether each of these words begins one of the title's."""
    return all(any(each.startswith(word) for each in title) for word in words)


def _build_hits(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], query: SearchQuery, notes: NoteRules
) -> list[SearchHit]:
    """Build the hits of rows, without damaged messages."""
    messages = message_rows.select_messages_at(connection, [(r.segment, r.depth) for r in rows if r.segment is not None])
    contents = _select_contents(connection, messages.values())
    nodes = {row.number: _find_node(row, messages) for row in rows}
    places = _describe_places(connection, rows, nodes)
    hits, max_words = [], min(MAX_WORDS, MAX_SEARCH_WORDS // max(1, len(rows)))
    for row in rows:
        node, message = nodes[row.number], messages.get((row.segment, row.depth))
        if node is None or (message is not None and message.damaged):
            continue
        note = notes.read(message) if message else None
        role, texts = (note.role, [note.text]) if note else _read_hit(row, message, contents)
        if not _is_wanted(query, role, note):
            continue
        standing, branch = places[node.place]
        hits.append(
            SearchHit(
                thread_id=row.thread_id,
                title=row.title,
                owner=row.owner,
                role=role,
                message_id=node.id,
                depth=node.depth,
                checkpoint_id=row.checkpoint_id,
                name=row.name or "",
                snippet=make_snippet("\n".join(texts), query.wanted_terms, max_words),
                created_at=thread_rows.to_time(row.created_at),
                standing=standing,
                branch=branch,
            )
        )
    return hits


def _read_hit(
    row: sa.Row[Any], message: Message | None, contents: Mapping[str, bytes]
) -> tuple[Role | Literal["summary"], list[str]]:
    """Return the role of a hit that is no note, and the texts to quote."""
    if message is None:
        return "checkpoint", [row.name, row.description]
    return content.read_role(message.body), content.list_texts(message.body, contents)


def _is_wanted(query: SearchQuery, role: Role | Literal["summary"], note: NoteText | None) -> bool:
    """Return whether a hit has the roles and the kinds of notes that the query names: the index knows no notes."""
    kinds = NOTE_KINDS.keys() & set(query.features)
    if kinds and (note is None or kinds != {note.kind}):
        return False
    return not query.roles or ("note" if note else role) in query.roles


def _select_contents(connection: sa.Connection, messages: Collection[Message]) -> dict[str, bytes]:
    parts = (part for each in messages for part in files.find_file_parts(each.body["data"].get("content")))
    hashes = {part["file"] for part in parts}
    return file_rows.select_texts(connection, hashes) if hashes else {}


def _find_node(row: sa.Row[Any], messages: Mapping[Place, Message]) -> Node | None:
    """Return where a hit stands; None if the database has lost its message."""
    if row.checkpoint_id is not None:
        return Node(row.message_id, row.at_segment, row.at_depth)
    message = messages.get((row.segment, row.depth))
    return Node(message.id, message.segment, message.depth) if message else None


def _rank(hits: Sequence[SearchHit]) -> list[SearchHit]:
    return sorted(hits, key=lambda hit: (-hit.snippet.terms, hit.role == "tool"))  # stable: the newest are first


def _describe_places(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], nodes: Mapping[int, Node | None]
) -> dict[Place, tuple[Standing, str]]:
    """Return whether the current path has each place, or which branch."""
    by_thread: dict[str, list[Node]] = defaultdict(list)
    for row in rows:
        if (node := nodes[row.number]) is not None:
            by_thread[row.thread_id].append(node)
    found: dict[Place, tuple[Standing, str]] = {}
    for thread_id, of_thread in by_thread.items():
        path = load_current_path(connection, thread_id)
        found |= {node.place: ("current", "") for node in of_thread if node in path}
        others = find_branches(connection, thread_id, [node.place for node in of_thread if node not in path])
        found |= {place: ("branch", branch.name) if branch else ("left", "") for place, branch in others.items()}
    return found
