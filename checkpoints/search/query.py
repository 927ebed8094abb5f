"""The query that a user types: words, “phrases”, -exclusions, `or`, beginnings of words, and filters.

The grammar is that of PostgreSQL's `websearch_to_tsquery`, with filters: every text is a query, and none is an error.
A filter with an unknown value is a text like any other.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from ..values.limits import MAX_QUERY_CHARS, MAX_QUERY_WORDS
from .words import list_words

MIN_PREFIX_CHARS = 3  # a shorter beginning is one of too many words
Role = Literal["user", "assistant", "tool", "note", "checkpoint"]
NoteKind = Literal["summary", "move", "excerpt"]  # the kinds of notes
Feature = Literal["file", "image", "code", "link", "tool"] | NoteKind
ROLES: Mapping[str, Role] = {
    **{"user": "user", "me": "user", "you": "user", "assistant": "assistant", "ai": "assistant", "agent": "assistant"},
    **{"tool": "tool", "note": "note", "checkpoint": "checkpoint"},
}
NOTE_KINDS: Mapping[str, NoteKind] = {"summary": "summary", "move": "move", "excerpt": "excerpt"}
FEATURES: Mapping[str, Feature] = {
    **{"file": "file", "image": "image", "code": "code", "link": "link", "tool": "tool"},
    **NOTE_KINDS,
}
THIS = "this"  # the open conversation, in the filter `in:`
_PIECE = re.compile(r'(?P<minus>-?)(?:(?P<key>[a-zA-Z]+):)?(?:"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))')
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_OR = ("or", "|")


@dataclass(frozen=True, slots=True)
class Term:
    """Words in sequence. The last one of a prefix term is the beginning of a word."""

    words: tuple[str, ...]
    is_prefix: bool = False
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query: one of the alternatives must hold with all its terms, and every filter."""

    alternatives: tuple[tuple[Term, ...], ...] = ()
    roles: tuple[Role, ...] = ()  # one of these
    features: tuple[Feature, ...] = ()  # all of these
    places: tuple[str, ...] = ()  # conversations by words of their titles, or `THIS`; one of these
    tags: tuple[str, ...] = ()  # names; all of these
    before: datetime | None = None
    after: datetime | None = None  # the first moment that counts

    @property
    def is_empty(self) -> bool:
        """Whether nothing is searched for."""
        filters = self.roles or self.features or self.places or self.tags or self.before or self.after
        return not filters and not any(self.wanted_terms)

    @property
    def wanted_terms(self) -> tuple[Term, ...]:
        """The terms to be marked in a snippet."""
        return tuple(term for terms in self.alternatives for term in terms if not term.is_excluded)


def parse_query(text: str, now: datetime) -> SearchQuery:
    """Parse a query, cut to its limits. A last word that is still being typed is the beginning of a word."""
    text = text[:MAX_QUERY_CHARS]
    alternatives: list[list[Term]] = [[]]
    filters: dict[str, list[Any]] = defaultdict(list)
    words_left = MAX_QUERY_WORDS
    for found in _PIECE.finditer(text):
        if found["word"] and found[0].lower() in _OR:
            alternatives.append([])
        elif found["key"] and not found["minus"] and (taken := _read_filter(found["key"], _read_value(found), now)):
            filters[taken[0]].append(taken[1])
        elif words := list_words(found[0])[:words_left]:
            words_left -= len(words)
            is_open = found.end() == len(text) and not found["end"]
            alternatives[-1].append(_make_term(words, found, is_open))
    before, after = (filters.pop(name, [None])[-1] for name in ("before", "after"))
    lists = {name: tuple(values) for name, values in filters.items()}
    return SearchQuery(tuple(tuple(terms) for terms in alternatives if terms), before=before, after=after, **lists)


def parse_phrase(text: str) -> Term | None:
    """Return the words of a text as one phrase, whose last word may go on; None for a text without words."""
    text = text[:MAX_QUERY_CHARS]
    words = list_words(text)[:MAX_QUERY_WORDS]
    return Term(tuple(words), len(words[-1]) >= MIN_PREFIX_CHARS and not text[-1].isspace()) if words else None


def split_tags(text: str) -> tuple[str, list[str]]:
    """Return a text without its filters `tag:NAME`, and the names."""
    found = [each for each in _PIECE.finditer(text) if _is_tag(each)]
    for each in reversed(found):
        text = f"{text[: each.start()]} {text[each.end() :]}"
    return text, [_read_value(each) for each in found]


def _is_tag(found: re.Match[str]) -> bool:
    return not found["minus"] and (found["key"] or "").lower() == "tag" and bool(_read_value(found))


def _read_value(found: re.Match[str]) -> str:
    return str(found["word"] or found["phrase"] or "").strip()


def _make_term(words: list[str], found: re.Match[str], is_open: bool) -> Term:
    may_continue = is_open or (found["word"] or "").endswith("*")
    is_prefix = may_continue and len(words[-1]) >= MIN_PREFIX_CHARS and not found["minus"]
    return Term(tuple(words), is_prefix, bool(found["minus"]))


def _read_filter(key: str, value: str, now: datetime) -> tuple[str, Any] | None:
    """Return the field of a query that a filter fills, and its value; None for a text like any other."""
    span = _parse_date(value, now)
    fields: Mapping[str, tuple[str, Any]] = {
        "role": ("roles", ROLES.get(value.lower())),
        "has": ("features", FEATURES.get(value.lower())),
        "in": ("places", THIS if value.lower() == THIS else value),
        "tag": ("tags", value),
        "before": ("before", span and span[0]),
        "after": ("after", span and span[1]),
    }
    found = fields.get(key.lower())
    return found if found and found[1] else None


def _parse_date(value: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the first moment of a day, a month or a year in UTC, and the first moment after it; None for another text."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days_ago = {"today": 0, "yesterday": 1}.get(value.lower())
    if days_ago is not None:
        day = today - timedelta(days=days_ago)
        return day, day + timedelta(days=1)
    if (found := _DATE.fullmatch(value)) is None:
        return None
    year, month, day_of_month = (int(part) if part else None for part in found.groups())
    try:
        first = datetime(year or 0, month or 1, day_of_month or 1, tzinfo=UTC)
        if day_of_month:
            return first, first + timedelta(days=1)
        next_year, next_month = (first.year + 1, 1) if not month or month == 12 else (first.year, month + 1)
        return first, first.replace(year=next_year, month=next_month)
    except (ValueError, OverflowError):  # the 31st of February, the year 0 or 10000
        return None
