"""Snippets: a piece of a text around the words that were found, with their ranges. It is text, never markup."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice

from .query import Term
from .words import Word, iterate_words

MAX_SNIPPET_CHARS = 180
_MAX_CHARS_BEFORE = 40  # the first mark
MAX_WORDS = 50_000  # of one text, looked through
MAX_SEARCH_WORDS = 250_000  # of all texts of one search
MAX_ASCII_CHARS = 300_000  # of one text: the beginnings of words are found much faster
_MAX_MATCHES = 200
_MAX_SHIFT_CHARS = 12  # to the beginning of a word

Match = tuple[int, int, int]  # start, end, number of the term


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line of text. `ranges` are the marked parts, as (start, end); `terms` is how many different terms they are of."""

    text: str
    ranges: tuple[tuple[int, int], ...]
    terms: int


def make_snippet(text: str, terms: Sequence[Term], max_words: int = MAX_WORDS) -> Snippet:
    """Return the piece of a text with most of the terms; its beginning where none is found.

    In a text with other than ASCII characters, `max_words` are looked through.
    """
    matches = list(islice(_find_matches(text, terms, max_words), _MAX_MATCHES))
    start, inside = _choose_window(matches)
    start = _move_to_word(text, max(0, start - _MAX_CHARS_BEFORE))
    end = min(len(text), start + MAX_SNIPPET_CHARS)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shift = len(before) - start
    ranges = tuple((first + shift, min(last, end) + shift) for first, last, _ in inside if first < end)
    line = "".join(map(_clean_character, text[start:end]))
    return Snippet(f"{before}{line}{after}", ranges, len({number for _, _, number in inside}))


def _find_matches(text: str, terms: Sequence[Term], max_words: int) -> Iterator[Match]:
    longest = max((len(term.words) for term in terms), default=0)
    if not longest:
        return
    is_ascii = text.isascii()
    windows = _iterate_ascii_windows(text, terms, longest) if is_ascii else _iterate_windows(text, longest, max_words)
    for window in windows:
        for number, term in enumerate(terms):
            if _matches(window, term):
                yield window[0].start, window[len(term.words) - 1].end, number
                break


def _iterate_windows(text: str, length: int, max_words: int) -> Iterator[list[Word]]:
    """Yield the words from each word on, `length` of them."""
    words = islice(iterate_words(text), max_words)
    window = list(islice(words, length))
    while window:
        yield window
        window = [*window[1:], *islice(words, 1)]


def _iterate_ascii_windows(text: str, terms: Sequence[Term], length: int) -> Iterator[list[Word]]:
    """Yield the words from each word on that some term may begin with: folded or not, it is at the same place."""
    folded = text[:MAX_ASCII_CHARS].lower()
    beginnings = {term.words[0] for term in terms if term.words}
    for start, _ in groupby(merge(*(_find_beginnings(folded, each) for each in beginnings))):
        yield list(islice(iterate_words(text, start), length))


def _find_beginnings(text: str, beginning: str) -> Iterator[int]:
    """Yield the places in a folded ASCII text at which a word has this beginning."""
    place = text.find(beginning)
    while place >= 0:
        if not (place and text[place - 1].isalnum()):
            yield place
        place = text.find(beginning, place + 1)


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
