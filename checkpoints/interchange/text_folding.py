"""Texts folded to their visible form, so that a search finds whatever looks the same.

Case, Unicode form and accents make no difference, nor which dash or quote stands there. Invisible characters are left out,
and white space of any length is one space. Each folded letter remembers its place.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..values.text import PLAIN_LETTERS

_MAX_CLUSTER_CHARS = 32  # Unicode's stream-safe text; putting thousands of marks in order would take quadratic time
_SPACES = re.compile("  +")
_CONTROL = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # control characters that are no white space
# Invisible characters that are not of the category Cf: joiners, fillers, and selectors of a letter's variant.
_INVISIBLE = re.compile("[\u034f\u115f\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# A part of a Hangul syllable, or a voicing sign of half width: one letter with what stands before it.
_TAIL = re.compile("[\u1160-\u11ff\uff9e\uff9f]")
_BRAILLE_BLANK = "\u2800"  # looks like a space, and is none to Python
_DASHES = (
    "\u02d7\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\u2796\u2e17\u2e1a\u2e3a"
    "\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d\U00010ead"
)
_APOSTROPHES = (
    "`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u02ca\u02cb\u055a\u05f3\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u275b"
    "\u275c\ua78c\uff07\uff40"
)
_QUOTES = "\u00ab\u00bb\u02ba\u02dd\u02ee\u05f4\u201c\u201d\u201e\u201f\u2033\u2036\u275d\u275e\u301d\u301e\u301f\uff02"
_SIGNS = (
    dict.fromkeys(map(ord, _DASHES), "-")
    | dict.fromkeys(map(ord, _APOSTROPHES), "'")
    | dict.fromkeys(map(ord, _QUOTES), '"')
)


class FoldedText(NamedTuple):
    letters: str
    # The place of each letter in the original, and the original's length.
    starts: "array[int]"

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that a span of letters stands for. A letter is never cut from its marks."""
        last = self.starts[end - 1]
        while end < len(self.letters) and self.starts[end] == last:
            end += 1
        return self.starts[start], self.starts[end]


def fold_text(text: str) -> str:
    return fold_with_places(text).letters


def fold_with_places(text: str) -> FoldedText:
    letters, starts = _fold_clusters(text)
    if "  " in letters:
        letters, starts = _join_spaces(letters, starts)
    starts.append(len(text))
    return FoldedText(letters, starts)


def _fold_clusters(text: str) -> tuple[str, "array[int]"]:
    characters = set(text)
    if all(map(_stands_alone, characters)):
        return text.translate({ord(each): _fold_cluster(each) for each in characters}), array("i", range(len(text)))
    folded: list[str] = []
    starts = array("i")
    for start, cluster in _split_clusters(text):
        letters = _fold_cluster(cluster)
        folded.append(letters)
        starts.extend([start] * len(letters))
    return "".join(folded), starts


def _join_spaces(letters: str, starts: "array[int]") -> tuple[str, "array[int]"]:
    """Keep the first space of each run."""
    kept, places, at = [""], array("i"), 0
    for run in _SPACES.finditer(letters):
        kept.append(letters[at : run.start() + 1])
        places += starts[at : run.start() + 1]
        at = run.end()
    return "".join([*kept, letters[at:]]), places + starts[at:]


def _split_clusters(text: str) -> Iterator[tuple[int, str]]:
    """Yield each letter with the marks that belong to it, after its place."""
    start, cluster = 0, ""
    for at, character in enumerate(text):
        kind = _classify(character)
        if kind == "unseen":
            continue
        if cluster and (kind == "letter" or len(cluster) == _MAX_CLUSTER_CHARS):
            yield start, cluster
            cluster = ""
        start, cluster = (start if cluster else at), cluster + character
    if cluster:
        yield start, cluster


@lru_cache(16_384)
def _stands_alone(character: str) -> bool:
    return _classify(character) == "letter" and len(_fold_cluster(character)) == 1


@lru_cache(16_384)
def _classify(character: str) -> str:
    if unicodedata.category(character) == "Cf" or _INVISIBLE.match(character) or _CONTROL.match(character):
        return "unseen"
    if _is_accent(character):
        return "unseen"
    return "mark" if unicodedata.combining(character) or _TAIL.match(character) else "letter"


def _is_accent(character: str) -> bool:
    """Return whether a mark is an accent, a stroke, a point or an enclosure. Others are vowels, or change a consonant."""
    order = unicodedata.combining(character)
    return order == 1 or 10 <= order <= 36 or order >= 200 or unicodedata.category(character) == "Me"


@lru_cache(16_384)
def _fold_cluster(cluster: str) -> str:
    if cluster.isspace() or cluster == _BRAILLE_BLANK:
        return " "
    folded = unicodedata.normalize("NFKC", cluster.translate(_SIGNS)).casefold().translate(PLAIN_LETTERS)
    bare = "".join(each for each in unicodedata.normalize("NFKD", folded) if not _is_accent(each))
    if bare.startswith(" ") or not bare:  # an accent that stands alone, such as ¨
        return cluster.casefold()
    return unicodedata.normalize("NFKC", bare).translate(_SIGNS)
