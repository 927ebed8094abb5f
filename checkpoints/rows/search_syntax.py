"""Queries and words in the syntax of each database. They are made of words alone, so nobody's text is ever parsed."""

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

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
        position = str(min(place, _MAX_POSITION))
        if (
            len(found) < _MAX_POSITIONS
            and position not in found[-1:]
            and (size < _MAX_VECTOR_BYTES or content.is_mark(word))
        ):
            positions[word] = [*found, position]
    return " ".join(f"'{word}':{','.join(found)}" for word, found in positions.items())


def write_query(
    connection: sa.Connection, query: SearchQuery, marks: Sequence[str] | None, notes: NotePhrases = NO_PHRASES
) -> str:
    """Write a query for entries with one of the marks, for FTS5 or as a `tsquery`; empty if nothing can be found."""
    is_postgresql = connection.dialect.name == "postgresql"
    all_of, one_of, none_of = (" & ", " | ", " & !") if is_postgresql else (" AND ", " OR ", " NOT ")
    write = _write_sequence if is_postgresql else _write_phrase
    groups = [_join(one_of, map(write, group)) for group in _list_groups(query, marks, notes)]
    alternatives = []
    for terms in _list_alternatives(query):
        wanted = [*groups, *(write(each.words, each.is_prefix) for each in terms if not each.is_excluded)]
        excluded = [write(each.words) for each in terms if each.is_excluded]
        if wanted:
            alternatives.append(none_of.join([_join(all_of, wanted), *excluded]))
    return _join(one_of, alternatives) if alternatives else ""


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


def _write_phrase(words: Sequence[str], is_prefix: bool = False) -> str:
    return f'"{" ".join(words)}"{" *" if is_prefix else ""}'


def _write_sequence(words: Sequence[str], is_prefix: bool = False) -> str:
    sequence = " <-> ".join(f"'{word}'" for word in words)
    return f"({sequence}{':*' if is_prefix else ''})"
