"""Search for many patterns in folded text.

A pattern is plain text, or a word in which `*` matches any characters. RE2 searches for the latter in time proportional to
the text, whatever the patterns.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from html.entities import html5
from itertools import chain
from typing import Any

import re2

from .text_folding import FoldedText, fold_text, fold_with_places

_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[0-9A-Za-z]{2,31});")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
Span = tuple[int, int]


def read_escapes(written: str) -> str:
    return _ESCAPE.sub(_read_escape, written)


def _read_escape(found: re.Match[str]) -> str:
    escape = found.group()
    if escape[0] == "\\":
        return escape[1]
    return unescape(escape) if escape[1] == "#" else html5.get(escape[1:], escape)  # `unescape` reads beginnings of names


class ReadPlaces:
    """The places in a text as it was written of the characters of the text that is read."""

    def __init__(self, written: str) -> None:
        self._starts, self._ends = array("q"), array("q")  # of the escaped characters, in the text that is read
        self._written_starts, self._written_ends = array("q"), array("q")
        saved = 0
        for found in _ESCAPE.finditer(written):
            start, end = found.span()
            if _read_escape(found) == found.group():
                continue
            self._written_starts.append(start)
            self._written_ends.append(end)
            self._starts.append(start - saved)
            saved += end - start - len(_read_escape(found))
            self._ends.append(end - saved)

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the written text that a span is read from. An escape is never cut."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        if first >= 0:
            is_inside = start < self._ends[first]
            start = self._written_starts[first] if is_inside else start - self._ends[first] + self._written_ends[first]
        if last >= 0:
            is_inside = end <= self._ends[last]
            end = self._written_ends[last] if is_inside else end - self._ends[last] + self._written_ends[last]
        return start, end


@dataclass(frozen=True)
class Pattern:
    """One pattern, folded. A word with stars has the expression that finds it. Equal patterns find the same."""

    parts: tuple[str, ...]
    expression: str | None

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        # The text between the stars.
        parts = tuple(_fold_letters(part).letters.strip() for part in text.split("*") if part)
        if "*" not in text:
            return cls(parts, None)
        if not parts:
            return cls(parts, "[^ ]+")
        before, after = "[^ ]*?" * text.startswith("*"), "[^ ]*" * text.endswith("*")
        return cls(parts, before + "[^ ]*?".join(re2.escape(part) for part in parts) + after)

    def find_spans(self, folded: FoldedText) -> Iterator[Span]:
        if all(part in folded.letters for part in self.parts):
            for start, end in self._find(folded.letters):
                yield folded.locate(start, end)

    def _find(self, letters: str) -> Iterator[Span]:
        if self.expression is None:
            return _find_word(self.parts[0], letters)
        return (found.span() for found in self._compiled.finditer(letters))

    @cached_property
    def _compiled(self) -> Any:
        return re2.compile(self.expression)


def _find_word(word: str, letters: str) -> Iterator[Span]:
    """Find a word. Matches that touch or overlap are one."""
    at = letters.find(word)
    while at >= 0:
        start, end = at, at + len(word)
        while 0 <= (at := letters.find(word, at + 1)) <= end:
            end = at + len(word)
        yield start, end


def is_searchable(pattern: str) -> bool:
    """Return whether every part of a pattern has a character that is not invisible."""
    return all(fold_text(part).strip() for part in pattern.split("*") if part.strip())


def mark_matches(patterns: Sequence[Pattern], text: str) -> bytearray | None:
    """Return a 1 for each character of the text that any pattern matches, and a 0 for each other; None without a match.

    A pattern matches the text as it was written, and as Markdown shows it.
    """
    marks: bytearray | None = None
    for start, end in chain(_find_spans(patterns, text), _find_read_spans(patterns, text)):
        marks = marks or bytearray(len(text))
        marks[start:end] = b"\1" * (end - start)
    return marks


def _find_read_spans(patterns: Sequence[Pattern], text: str) -> Iterator[Span]:
    """Find the matches in a text with escapes of Markdown as they are read."""
    read = read_escapes(text) if "\\" in text or "&" in text else text
    if len(read) < len(text):
        places = ReadPlaces(text)
        for start, end in _find_spans(patterns, read):
            yield places.locate(start, end)


def _find_spans(patterns: Sequence[Pattern], text: str) -> Iterator[Span]:
    folded = _fold_letters(text)
    for pattern in patterns:
        yield from pattern.find_spans(folded)


def _fold_letters(text: str) -> FoldedText:
    """Fold a text to letters that can be written as UTF-8, which RE2 reads."""
    folded = fold_with_places(text)
    return folded._replace(letters=_HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", folded.letters))
