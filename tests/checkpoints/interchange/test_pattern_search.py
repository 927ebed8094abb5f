"""A search finds what a plain search finds, at the same places, in time and memory like the text."""

import re
import sys
import time
import tracemalloc
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from checkpoints.interchange.pattern_search import Pattern, is_searchable, mark_matches
from checkpoints.interchange.redaction import Redaction
from checkpoints.interchange.text_folding import fold_text, fold_with_places
from tests.rounds import given_examples

LETTERS = "abß \n-–’'é\u0301\u0336\u200b\u3099かﾞ한\u1100\u1161\u11abﷺ\u00a8"
texts = st.text(LETTERS, max_size=40)
patterns = st.text("ab* -'é" + LETTERS, min_size=1, max_size=5)


def search_plainly(pattern: str, text: str) -> set[int]:
    """Return the places that a pattern matches: each part at its earliest place in a word, and then the next match."""
    folded, starts = fold_with_places(text)
    found = set[int]()
    for start, end in _find_plainly([fold_text(part).strip() for part in pattern.split("*")], folded):
        last = next(place for place in starts[end:] if place > starts[end - 1])
        found |= set(range(starts[start], last))
    return found


def _find_plainly(parts: list[str], folded: str) -> Iterator[tuple[int, int]]:
    if len(parts) == 1:
        yield from (each.span(1) for each in re.finditer(f"(?=({re.escape(parts[0])}))", folded))
        return
    for word in re.finditer("[^ ]+", folded):
        at = word.start()
        while at < word.end():
            start, inner = at, [part for part in parts if part]
            for index, part in enumerate(inner):
                place = folded.find(part, at, word.end())
                if place < 0:
                    break
                start = place if parts[0] and index == 0 else start
                at = place + len(part)
            else:
                at = at if parts[-1] else word.end()
                yield start, at
                continue
            break


def list_marks(patterns: list[str], text: str) -> set[int]:
    marks = mark_matches([Pattern.parse(pattern) for pattern in patterns], text) or b""
    return {place for place, mark in enumerate(marks) if mark}


def is_pattern(text: str) -> bool:
    words = len(fold_text(text).split())
    return bool(text.strip()) and is_searchable(text) and not ("*" in text and words > 1)


@given_examples(400, 5_000, patterns, texts)
def test_a_pattern_finds_what_a_plain_search_finds(pattern: str, text: str) -> None:
    pattern = pattern.strip()
    assume(is_pattern(pattern))
    assert list_marks([pattern], text) == search_plainly(pattern, text)


@given_examples(200, 2_000, st.sampled_from(["anna", "aaa", "abab", "abaab", "a"]), st.text("anb ", max_size=30))
def test_of_a_word_that_overlaps_itself_no_rest_stays(word: str, text: str) -> None:
    assert list_marks([word], text) == search_plainly(word, text)


@given_examples(100, 1_000, st.lists(patterns.map(str.strip).filter(is_pattern), max_size=4), texts)
def test_several_patterns_find_together_what_each_finds(several: list[str], text: str) -> None:
    alone = [list_marks([pattern], text) for pattern in several]
    assert list_marks(several, text) == set[int]().union(*alone)


@given_examples(200, 3_000, st.text(max_size=60) | texts)
def test_each_folded_letter_stands_where_it_came_from(text: str) -> None:
    *places, end = fold_with_places(text).starts
    assert end == len(text)
    assert places == sorted(places)
    assert all(0 <= place < len(text) for place in places)
    cuts = [*dict.fromkeys(places), len(text)]
    for start, end in pairwise(cuts):
        assert fold_text(text[start:end]).strip() in fold_text(text)


@pytest.mark.parametrize("pattern", ["a\ud83d", "\ud83d*", "b"])
def test_half_of_a_pair_costs_no_search(pattern: str) -> None:
    assert Redaction(patterns=(pattern,)).redact_text("x a\ud83db y")


def test_every_dash_and_every_space_of_unicode_is_folded() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    folded = {each: fold_text(each) for each in every if unicodedata.category(each) in ("Pd", "Zs")}
    assert {fold for each, fold in folded.items() if unicodedata.category(each) == "Pd"} == {"-"}
    assert {fold for each, fold in folded.items() if unicodedata.category(each) == "Zs"} == {" "}


HOSTILE = {
    "the issue": ([f"*{chr(97 + i % 26)}{'b' * 90}{i}" for i in range(100)], "a "),
    "everywhere": (["a", "A", "a*", "*a"], "a "),
    "a word that overlaps itself": (["a" * 100 + "b" + "a" * 99], "a" * 100 + "b" + "a" * 99),
    "one word": (["a*b", "*a*", "a" * 200, "*a*c"], "a"),
    "marks": (["secret", "s*x", "*"], "s\u0336"),
    "expansions": (["secret", "a*z"], "ﷺ"),
    "spaces": (["a b", "a*b"], "a \n\t"),
}


def _measure_seconds(redaction: Redaction, text: str) -> float:
    began = time.process_time()
    redaction.redact_text(text)
    return time.process_time() - began


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    words, unit = HOSTILE[name]
    redaction = Redaction(patterns=tuple(words))
    short, long = unit * (40_000 // len(unit)), unit * (320_000 // len(unit))
    assert _measure_seconds(redaction, long) < 24 * max(min(_measure_seconds(redaction, short) for _ in range(3)), 0.01)


@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_a_small_multiple_of_the_folded_text(name: str) -> None:
    words, unit = HOSTILE[name]
    redaction, text = Redaction(patterns=tuple(words)), unit * (40_000 // len(unit))
    redaction.redact_text(text)
    tracemalloc.start()
    try:
        redaction.redact_text(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000 + 40 * len(fold_text(text))
    finally:
        tracemalloc.stop()
