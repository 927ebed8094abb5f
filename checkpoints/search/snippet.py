"""Snippets: a piece of a text around the words that were found, with their ranges. It is text, never markup."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from checkpoints.search.query import Term
from checkpoints.search.words import Word, iterate_words

MAX_SNIPPET_CHARS = 180
_MAX_CHARS_BEFORE = 40  # the first mark
_MAX_WORDS = 50_000  # looked through
_MAX_MATCHES = 200
_MAX_SHIFT_CHARS = 12  # to the beginning of a word

Match = tuple[int, int, int]  # start, end, number of the term


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line of text. `ranges` are the marked parts, as (start, end); `terms` is how many different terms they are of."""

    text: str
    ranges: tuple[tuple[int, int], ...]
    terms: int


def make_snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """Return the piece of a text with most of the terms; its beginning where none is found."""
    matches = list(islice(_find_matches(text, terms), _MAX_MATCHES))
    start, inside = _choose_window(matches)
    start = _move_to_word(text, max(0, start - _MAX_CHARS_BEFORE))
    end = min(len(text), start + MAX_SNIPPET_CHARS)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shift = len(before) - start
    ranges = tuple((first + shift, min(last, end) + shift) for first, last, _ in inside if first < end)
    line = "".join(map(_clean_character, text[start:end]))
    return Snippet(f"{before}{line}{after}", ranges, len({number for _, _, number in inside}))


def _find_matches(text: str, terms: Sequence[Term]) -> Iterator[Match]:
    longest = max((len(term.words) for term in terms), default=0)
    window: list[Word] = []
    words = islice(iterate_words(text), _MAX_WORDS)
    while longest:
        window += islice(words, longest - len(window))
        if not window:
            return
        for number, term in enumerate(terms):
            if _matches(window, term):
                yield window[0].start, window[len(term.words) - 1].end, number
                break
        window.pop(0)


def _matches(window: Sequence[Word], term: Term) -> bool:
    """Return whether a text goes on with a term."""
    *first, last = term.words
    if len(window) <= len(first) or any(word.text != wanted for word, wanted in zip(window, first, strict=False)):
        return False
    found = window[len(first)].text
    return found.startswith(last) if term.is_prefix else found == last


def _choose_window(matches: Sequence[Match]) -> tuple[int, list[Match]]:
    """Return the start of the window with most different terms, and the matches in it."""
    best: list[Match] = []
    most = 0
    for place, (start, _, _) in enumerate(matches):
        until = start + MAX_SNIPPET_CHARS - _MAX_CHARS_BEFORE
        inside = [match for match in matches[place : place + 20] if match[1] <= until] or [matches[place]]
        different = len({number for _, _, number in inside})
        if different > most:
            best, most = inside, different
    return (best[0][0] if best else 0), best


def _move_to_word(text: str, start: int) -> int:
    space = text.find(" ", start, start + _MAX_SHIFT_CHARS) if start else -1
    return space + 1 if space >= 0 else start


@lru_cache(4096)
def _clean_character(character: str) -> str:
    """Return the character, or a space for one that breaks the line, is invisible, or turns the direction of writing."""
    is_hidden = character.isspace() or unicodedata.category(character) in ("Cc", "Cf")
    return " " if is_hidden and character != "\u200d" else character
