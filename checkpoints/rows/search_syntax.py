"""Queries and words in the syntax of each database. They are made of words alone, so nobody's text is ever parsed."""

from collections.abc import Iterable, Mapping, Sequence

from ..search import content
from ..search.query import ROLES, Feature, NoteKind, SearchQuery, Term
from ..search.words import list_words

_MAX_POSITION = 16_383  # of PostgreSQL; phrases beyond are not found there
_MAX_POSITIONS = 255  # of one word
_MAX_VECTOR_BYTES = 900_000  # PostgreSQL takes one megabyte
Group = tuple[tuple[str, ...], ...]  # marks, or words in sequence, of which one is there
NotePhrases = Mapping[NoteKind, str]
NO_PHRASES: NotePhrases = {}


def write_vector(words: Sequence[str]) -> str:
    """Write words as a `tsvector` of PostgreSQL."""
    positions: dict[str, list[str]] = {}
    size = 0
    for place, word in enumerate(words, 1):
        found = positions.get(word, [])
        size += 2 if found else len(word.encode()) + 8
        if len(found) < _MAX_POSITIONS and (size < _MAX_VECTOR_BYTES or content.is_mark(word)):
            found.append(str(min(place, _MAX_POSITION)))
            positions[word] = found
    return " ".join(f"'{word}':{','.join(found)}" for word, found in positions.items())


def write_match(query: SearchQuery, marks: Sequence[str] | None, notes: NotePhrases = NO_PHRASES) -> str:
    """Write a query for entries with one of the marks in the syntax of SQLite's FTS5; empty if nothing can be found."""
    groups = _list_groups(query, marks, notes)
    alternatives = []
    for terms in _list_alternatives(query):
        wanted = [_join(" OR ", (f'"{" ".join(words)}"' for words in group)) for group in groups]
        wanted += [_write_phrase(term) for term in terms if not term.is_excluded]
        excluded = [_write_phrase(term) for term in terms if term.is_excluded]
        if wanted:
            alternatives.append(" NOT ".join([_join(" AND ", wanted), *excluded]))
    return _join(" OR ", alternatives) if alternatives else ""


def write_tsquery(query: SearchQuery, marks: Sequence[str] | None, notes: NotePhrases = NO_PHRASES) -> str:
    """Write a query for entries with one of the marks as a `tsquery` of PostgreSQL; empty if nothing can be found."""
    groups = _list_groups(query, marks, notes)
    alternatives = []
    for terms in _list_alternatives(query):
        wanted = [_join(" | ", map(_join_sequence, group)) for group in groups]
        wanted += [_write_sequence(term) for term in terms if not term.is_excluded]
        excluded = [f"!({_write_sequence(term)})" for term in terms if term.is_excluded]
        if wanted:
            alternatives.append(_join(" & ", [*wanted, *excluded]))
    return _join(" | ", alternatives) if alternatives else ""


def _list_alternatives(query: SearchQuery) -> Sequence[Sequence[Term]]:
    return query.alternatives or ((),)


def _list_groups(query: SearchQuery, marks: Sequence[str] | None, notes: NotePhrases) -> list[Group]:
    """Return the groups that every alternative needs. A query of dates alone asks for every role."""
    phrases = {kind: tuple(list_words(phrase)) for kind, phrase in notes.items()}
    groups: list[Group] = [(_find_phrase(phrases, feature),) for feature in query.features]
    if marks is not None:
        groups.append(tuple((mark,) for mark in marks))
    roles = query.roles or (() if query.alternatives or groups else tuple(sorted(set(ROLES.values()))))
    of_roles: Group = tuple((content.mark_role(role),) for role in roles)
    if "note" in query.roles:
        of_roles += tuple(phrases.values())
    return [of_roles, *groups] if roles else groups


def _find_phrase(phrases: Mapping[NoteKind, tuple[str, ...]], feature: Feature) -> tuple[str, ...]:
    """Return the words of a kind of notes, or the mark of another feature."""
    return next((words for kind, words in phrases.items() if kind == feature), (content.mark_feature(feature),))


def _join(operator: str, parts: Iterable[str]) -> str:
    return f"({operator.join(parts)})"


def _write_phrase(term: Term) -> str:
    return f'"{" ".join(term.words)}"{" *" if term.is_prefix else ""}'


def _write_sequence(term: Term) -> str:
    return f"({_join_words(term.words)}{':*' if term.is_prefix else ''})"


def _join_sequence(words: Sequence[str]) -> str:
    return f"({_join_words(words)})"


def _join_words(words: Sequence[str]) -> str:
    return " <-> ".join(f"'{word}'" for word in words)
