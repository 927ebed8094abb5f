"""Search for many patterns in folded text, in one pass over its pieces.

A pattern is plain text, or a word in which `*` matches any characters. The search takes time proportional to the text, and
one byte of memory for each of its characters, whatever the patterns.
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

from .text_folding import FoldedPiece, fold_pieces, fold_text

_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[0-9A-Za-z]{2,31});")
_WORD = re.compile("[^ ]+")
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
    """One pattern, folded. Equal patterns find the same."""

    parts: tuple[str, ...]  # the text between the stars
    is_word: bool = False
    from_start: bool = False
    to_end: bool = False

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        parts = tuple(fold_text(part).strip() for part in text.split("*") if part)
        return cls(parts, "*" in text, "*" in text and text.startswith("*"), "*" in text and text.endswith("*"))

    @cached_property
    def pilot(self) -> str:
        """The part whose absence is noticed soonest: where it is not, the others need not be looked for."""
        return max(self.parts[1:] or self.parts, key=len, default="")

    @cached_property
    def repeats(self) -> re.Pattern[str]:
        return re.compile(f"(?:{re.escape(self.parts[0])})++")


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
    if len(read) < len(text) and any(_find_spans(patterns, read)):
        places = ReadPlaces(text)
        for start, end in _find_spans(patterns, read):
            yield places.locate(start, end)


def _find_spans(patterns: Sequence[Pattern], text: str) -> Iterator[Span]:
    overlap = max((len(part) for pattern in patterns for part in pattern.parts), default=1)
    window = _Window("", array("q", [0]), 0, 0)
    cursors: list[_Cursor] | None = None
    for piece in fold_pieces(text):
        window = window.move(piece, overlap)
        if cursors is None:
            is_whole = piece.end == len(text)
            cursors = [_Cursor(each) for each in patterns if not is_whole or each.pilot in window.letters]
        for cursor in cursors:
            yield from cursor.find_spans(window)
    for cursor in cursors or ():
        if cursor.is_open:
            yield cursor.start, len(text)


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of the folded text that is searched now, with the end of the text before it, where a match may begin."""

    letters: str
    starts: "array[int]"  # one more than letters: the end of the last
    offset: int  # the number of folded letters before
    word_start: int  # the place in the original where the window's first word begins

    def move(self, piece: FoldedPiece, overlap: int) -> "_Window":
        cut = max(0, len(self.letters) - overlap)
        space = self.letters.rfind(" ", 0, cut)
        before = self.word_start if self.letters else piece.starts[0]
        word_start = before if space < 0 else self.starts[space + 1]
        starts = self.starts[cut:-1] + piece.starts
        starts.append(piece.end)
        return _Window(self.letters[cut:] + piece.letters, starts, self.offset + cut, word_start)

    def locate(self, start: int, end: int) -> Span:
        """Return the span of the original that a span of letters stands for. A letter is never cut from its marks."""
        last = self.starts[end - 1]
        while end < len(self.letters) and self.starts[end] == last:
            end += 1
        return self.starts[start], self.starts[end]


class _Cursor:
    """The state of the search for one pattern, from window to window."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._at = 0  # the number of folded letters that are searched
        self._found = 0  # parts of the current match
        self._end = self._end_at = 0  # of the last match: its place in the original, and in the folded text
        self.start = 0  # of the current match, in the original

    @property
    def is_open(self) -> bool:
        """Return whether a match goes on to the end of its word, which has not come yet."""
        return bool(self._found) and self._found == len(self._pattern.parts) and self._pattern.to_end

    def find_spans(self, window: _Window) -> Iterator[Span]:
        if not self._pattern.is_word:
            return self._find_text(window)
        return self._find_word(window) if self._pattern.parts else self._find_any_word(window)

    def _find_text(self, window: _Window) -> Iterator[Span]:
        (part,) = self._pattern.parts
        letters, at = window.letters, max(self._at - window.offset, 0)
        while (start := letters.find(part, at)) >= 0:
            at = start + len(part)
            if letters.startswith(part, at) and (run := self._pattern.repeats.match(letters, start)):
                at = run.end()
            yield window.locate(start, at)
        self._at = window.offset + at

    def _find_any_word(self, window: _Window) -> Iterator[Span]:
        for word in _WORD.finditer(window.letters, max(self._at - window.offset, 0)):
            yield window.locate(*word.span())
        self._at = window.offset + len(window.letters)

    def _find_word(self, window: _Window) -> Iterator[Span]:
        letters, at = window.letters, max(self._at - window.offset, 0)
        while True:
            if self._found == 0:
                at = self._find_first_part(window, at)
            if self._found == 0:
                break
            space = letters.find(" ", at)
            end = len(letters) if space < 0 else space
            at = self._find_other_parts(letters, at, end)
            if self._found == len(self._pattern.parts):
                at = end if self._pattern.to_end else at
                if self.is_open and space < 0:
                    break
                yield self._finish(window, at)
            elif space < 0:
                break
            else:
                at, self._found = space, 0
        self._at = window.offset + at

    def _find_first_part(self, window: _Window, at: int) -> int:
        """Find each part at its earliest place: if that fails, no other place in the word matches, so none is tried."""
        part, at = self._pattern.parts[0], self._skip_words(window.letters, at)
        place = window.letters.find(part, at)
        if place < 0:
            return max(at, len(window.letters) - len(part) + 1)
        self.start = self._find_start(window, place) if self._pattern.from_start else window.starts[place]
        self._found = 1
        return place + len(part)

    def _find_other_parts(self, letters: str, at: int, end: int) -> int:
        for part in self._pattern.parts[self._found :]:
            place = letters.find(part, at, end)
            if place < 0:
                return max(at, end - len(part) + 1)
            at = place + len(part)
            self._found += 1
        return at

    def _finish(self, window: _Window, at: int) -> Span:
        self._end = window.locate(at - 1, at)[1]
        self._end_at, self._found = window.offset + at, 0
        return self.start, self._end

    def _skip_words(self, letters: str, at: int) -> int:
        """Return the start of the next word that can match, or that does not end in this window."""
        if len(self._pattern.parts) == 1:
            return at
        place = letters.find(self._pattern.pilot, at)
        space = letters.rfind(" ", at, place if place >= 0 else len(letters))
        return max(at, space + 1)

    def _find_start(self, window: _Window, place: int) -> int:
        """Return where the word begins, or the rest of it that follows the last match."""
        after = max(self._end_at - window.offset, 0)
        space = window.letters.rfind(" ", after, place)
        return window.starts[space + 1] if space >= 0 else max(self._end, window.word_start)
