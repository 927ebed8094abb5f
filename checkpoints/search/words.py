"""The words of a text, as they are indexed and searched for on every database.

A word is a run of letters and digits without case and accents. A character of a script without spaces is a word of its
own, so that a longer word there is a phrase. Both databases get these words alone, and have no rules of their own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ..values.text import fold_text

MAX_WORD_CHARS = 64  # of a longer word, such as a key in base64, the beginning counts
# Thai, Lao, Burmese, Khmer, kana and ideographs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_ACCENTS = "\u0300-\u036f"
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
# Possessive: to go back, a word of megabytes would take a hundred bytes for each of its letters.
_WORD = re.compile(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]++|[{_ACCENTS}]++)++")


@dataclass(frozen=True, slots=True)
class Word:
    """A folded word, and its place in the text."""

    text: str
    start: int
    end: int


def iterate_words(text: str, start: int = 0) -> Iterator[Word]:
    """Yield the words of a text in order, from a place on at which one begins."""
    if text.isascii():
        for found in _ASCII_WORD.finditer(text, start):
            yield Word(found[0].lower()[:MAX_WORD_CHARS], found.start(), found.end())
        return
    for found in _WORD.finditer(text, start):
        if folded := _fold_word(found[0]):
            yield Word(folded, found.start(), found.end())


def list_words(text: str, max_words: int | None = None) -> list[str]:
    """Return the folded words of a text in order, the first `max_words`."""
    found = (_ASCII_WORD if text.isascii() else _WORD).finditer(text)
    return list(islice(filter(None, (_fold_word(each[0]) for each in found)), max_words))


def _fold_word(word: str) -> str:
    return word.lower()[:MAX_WORD_CHARS] if word.isascii() else _fold_letters(word[: 2 * MAX_WORD_CHARS])


@lru_cache(4096)
def _fold_letters(word: str) -> str:
    """Fold a word; characters that are neither letter nor digit afterwards are left out."""
    return "".join(each for each in fold_text(word) if each.isalnum())[:MAX_WORD_CHARS]
