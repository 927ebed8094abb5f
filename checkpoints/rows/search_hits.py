"""The reading half of the search: matches from the index, checked, ranked, and with their snippets.

The newest matches are taken, because no index finds the best of a million in time, and ranked: those whose terms are
near one another first, results of tools last, and the newest first.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa

from ..search import content
from ..search.query import NOTE_KINDS, THIS, Role, SearchQuery
from ..search.result import NoteRules, NoteText, SearchHit, SearchResult, Standing
from ..search.snippet import MAX_SEARCH_WORDS, MAX_WORDS, make_snippet
from ..search.words import list_words
from ..storage.ownership import name_threads
from ..storage.row_security import pass_policies
from ..values import files
from ..values.history import Place
from ..values.limits import MAX_SEARCH_HITS
from ..values.model import MAIN, Message, Node
from . import file_rows, member_rows, message_rows, search_index, tag_rows, thread_rows
from .message_places import find_branches, load_current_path
from .search_matches import WantedMatches, select_matches

_MAX_THREADS = 10_000  # whose titles are looked at
_MAX_NAMED_THREADS = 20  # that `in:` finds by their titles
_MAX_MARKED_THREADS = 100  # with a tag, whose marks are searched for
SIFTED_PORTIONS = 20  # of as many matches as are wanted, for queries that some of them may not fit


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
    is_pending = search_index.is_pending(connection)
    tags = tag_rows.match_tags(connection, owner, query.tags)
    named = _find_tagged(connection, tags, _find_threads(connection, query, owner, this))
    if query.is_empty or named == []:
        return SearchResult((), False, is_pending)
    max_matches = _limit_matches(query, most)
    wanted = WantedMatches(query, notes.phrases, owner, has_others, tags, max_matches + 1)
    with pass_policies(connection):  # the hits are built from rows that pass them
        found = select_matches(connection, wanted, named)
    rows = [row for row in found[:max_matches] if named is None or row.thread_id in named]
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


def _find_tagged(connection: sa.Connection, tags: Sequence[Sequence[str]], thread_ids: list[str] | None) -> list[str] | None:
    """Return the conversations with these tags, if they are few: the index finds them quicker by their marks."""
    if not tags or thread_ids is not None:
        return thread_ids
    found = tag_rows.select_tagged_threads(connection, tags, _MAX_MARKED_THREADS + 1)
    return None if len(found) > _MAX_MARKED_THREADS else found


def _contains(title: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether each of these words begins one of the title's."""
    return all(any(each.startswith(word) for each in title) for word in words)


def _build_hits(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], query: SearchQuery, notes: NoteRules
) -> list[SearchHit]:
    """Build the hits of rows, without damaged messages."""
    name_threads(connection, {row.thread_id: row.owner for row in rows})
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
                person=message.person if message and role == "user" and message.agent == MAIN else None,
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
