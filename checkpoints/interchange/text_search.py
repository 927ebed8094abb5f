"""Search for text as people read it: letters in any case and any encoding, any white space, no invisible characters.

A text is folded first (NFKC and case folding), and each folded character remembers its place. The search takes time
proportional to the text, whatever the pattern.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(r"\S+")
# A letter with its combining marks, or a Hangul syllable in parts: NFKC makes one letter of each.
_MAX_CLUSTER_CHARS = 32  # Unicode's stream-safe text; putting thousands of marks in order would take quadratic time
_CLUSTER_TAIL = range(0x1160, 0x1200)
# Invisible characters that are not of the category Cf: joiners, fillers, and selectors of a letter's variant.
_CONTROL = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # control characters that are no white space
_INVISIBLE = re.compile("[\u034f\u115f\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text to be searched. `starts` and `ends` are the places of each of its characters in the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that a span of the folded text stands for; a letter is never cut."""
        return self.starts[start], self.ends[end - 1]


def fold_text(text: str) -> FoldedText:
    if text.isascii() and not _CONTROL.search(text):
        return FoldedText(text.lower(), range(len(text)), range(1, len(text) + 1))
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, cluster, end in _split_clusters(text):
        letters = _fold_cluster(cluster)
        folded.append(letters)
        starts += [start] * len(letters)
        ends += [end] * len(letters)
    return FoldedText("".join(folded), starts, ends)


def _split_clusters(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each letter with its marks, without invisible characters, between its places in the text."""
    start, cluster, end = 0, "", 0
    for at, character in enumerate(text):
        kind = _classify(character)
        if kind == "invisible":
            continue
        if cluster and (kind == "letter" or len(cluster) == _MAX_CLUSTER_CHARS):
            yield start, cluster, end
            cluster = ""
        start, cluster, end = (start if cluster else at), cluster + character, at + 1
    if cluster:
        yield start, cluster, end


@lru_cache(4096)
def _classify(character: str) -> str:
    if unicodedata.category(character) == "Cf" or _INVISIBLE.match(character) or _CONTROL.match(character):
        return "invisible"
    return "mark" if unicodedata.combining(character) or ord(character) in _CLUSTER_TAIL else "letter"


@lru_cache(4096)
def _fold_cluster(cluster: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold())


class Matcher:
    """One pattern: plain text, or a word in which `*` matches any characters."""

    def __init__(self, pattern: str) -> None:
        self._parts = [_compile_part(part) for part in pattern.split("*") if part]
        self._is_word = "*" in pattern
        self._from_start, self._to_end = pattern.startswith("*"), pattern.endswith("*")

    def find_spans(self, folded: FoldedText) -> Iterator[tuple[int, int]]:
        """Yield the spans of the original text that match."""
        for start, end in self._find_folded_spans(folded.text):
            yield folded.locate(start, end)

    def _find_folded_spans(self, text: str) -> Iterator[tuple[int, int]]:
        if not self._is_word:
            yield from (found.span() for found in self._parts[0].finditer(text))
            return
        for token in _TOKEN.finditer(text):
            at = token.start()
            while at < token.end() and (span := self._match_word(text, at, token.end())):
                yield span
                at = span[1]

    def _match_word(self, text: str, at: int, end: int) -> tuple[int, int] | None:
        """Match each part at its earliest position: if that fails, no other position matches, so none is tried."""
        start = at if self._from_start else None
        for part in self._parts:
            if (found := part.search(text, at, end)) is None:
                return None
            start = found.start() if start is None else start
            at = found.end()
        return at if start is None else start, end if self._to_end else at


def is_searchable(pattern: str) -> bool:
    """Return whether every part of a pattern has a character that is not invisible."""
    return all(fold_text(part).text.strip() for part in pattern.split("*") if part.strip())


def _compile_part(part: str) -> re.Pattern[str]:
    # Possessive: many spaces are passed once, not once for each number of them.
    return re.compile(r"\s++".join(map(re.escape, fold_text(part).text.split())))
