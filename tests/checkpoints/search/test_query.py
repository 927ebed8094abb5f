"""Any text is a query: what it means, and where a snippet of a text is marked."""

import sys
import tracemalloc
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.search.query import SearchQuery, Term, parse_query
from checkpoints.search.snippet import MAX_SNIPPET_CHARS, make_snippet
from checkpoints.search.words import MAX_WORD_CHARS, iterate_words, list_words
from checkpoints.values.limits import MAX_QUERY_CHARS, MAX_QUERY_WORDS
from tests.work import count_lines

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
MEANINGS = {
    "red apple ": SearchQuery(((Term(("red",)), Term(("apple",))),)),
    "red app": SearchQuery(((Term(("red",)), Term(("app",), is_prefix=True)),)),
    "re": SearchQuery(((Term(("re",)),),)),
    "app* red ": SearchQuery(((Term(("app",), is_prefix=True), Term(("red",))),)),
    '"Red Apple"': SearchQuery(((Term(("red", "apple")),),)),
    '"red apple': SearchQuery(((Term(("red", "apple"), is_prefix=True),),)),
    "a -b or c ": SearchQuery(((Term(("a",)), Term(("b",), is_excluded=True)), (Term(("c",)),))),
    "get_weather() ": SearchQuery(((Term(("get", "weather")),),)),
    "role:me role:AI x ": SearchQuery(((Term(("x",)),),), roles=("user", "assistant")),
    "has:summary has:Move role:note": SearchQuery(roles=("note",), features=("summary", "move")),
    "has:code has:link": SearchQuery(features=("code", "link")),
    'in:this in:"My trip"': SearchQuery(places=("this", "My trip")),
    'tag:work Tag:"to do" tag: ': SearchQuery(((Term(("tag",)),),), tags=("work", "to do")),
    "before:2024-12": SearchQuery(before=datetime(2024, 12, 1, tzinfo=UTC)),
    "after:2024-12": SearchQuery(after=datetime(2025, 1, 1, tzinfo=UTC)),
    "after:2024-12-31": SearchQuery(after=datetime(2025, 1, 1, tzinfo=UTC)),
    "before:yesterday": SearchQuery(before=datetime(2025, 5, 31, tzinfo=UTC)),
    "role:nobody ": SearchQuery(((Term(("role", "nobody")),),)),
    "before:2024-02-31 ": SearchQuery(((Term(("before", "2024", "02", "31")),),)),
    "": SearchQuery(),
    "- or () ": SearchQuery(),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_query_means_what_it_says(text: str) -> None:
    assert parse_query(text, NOW) == MEANINGS[text]


def test_a_query_is_read_up_to_its_limit_of_characters() -> None:
    filling = '"' + "-" * (MAX_QUERY_CHARS - 5) + '" '
    assert [term.words for term in parse_query(f"{filling}ab", NOW).wanted_terms] == [("ab",)]
    assert [term.words for term in parse_query(f"{filling}abc", NOW).wanted_terms] == [("ab",)]


@given(st.text())
def test_every_text_is_a_query_of_limited_size(text: str) -> None:
    terms = [term for terms in parse_query(text, NOW).alternatives for term in terms]
    words = [word for term in terms for word in term.words]
    assert len(words) <= MAX_QUERY_WORDS
    assert all(word.isalnum() and len(word) <= MAX_WORD_CHARS for word in words)


@given(st.text())
def test_the_words_of_a_text_are_those_of_its_places(text: str) -> None:
    found = list(iterate_words(text))
    assert [word.text for word in found] == list_words(text)
    assert all(list_words(text[word.start : word.end]) == [word.text] for word in found)


@pytest.mark.parametrize("letters", ["x", "x\u0301", "\u00e9"])
def test_a_word_of_megabytes_takes_no_memory(letters: str) -> None:
    text = letters * 1_000_000 + "\u00e9 end"
    limit = 2 * sys.getsizeof(text)  # a place copies the word
    tracemalloc.start()
    found = list_words(text)
    places = list(iterate_words(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [word.text for word in places]
    assert peak < limit


def test_no_more_of_a_text_is_read_than_its_words_are_taken() -> None:
    assert count_lines(lambda: list_words("word " * 200_000, 20)) < 200


@given(st.text(), st.text(min_size=1))
def test_what_is_marked_is_what_was_asked_for(text: str, wanted: str) -> None:
    asked = tuple(list_words(wanted)[:1])
    snippet = make_snippet(text, [Term(asked)] if asked else [])
    marked = [snippet.text[start:end] for start, end in snippet.ranges]
    assert bool(marked) == (bool(asked) and asked[0] in list_words(text))
    assert all(tuple(list_words(each)) == asked for each in marked)
    assert len(snippet.text) <= MAX_SNIPPET_CHARS + 4


_pieces = st.lists(st.sampled_from(["a", "ab", "abc", "B", " ", "_", "-", "1"]), max_size=40).map("".join)
_terms = st.lists(
    st.builds(Term, st.lists(st.sampled_from(["a", "ab", "abc", "b"]), min_size=1, max_size=3).map(tuple), st.booleans()),
    max_size=3,
)


@given(_pieces, _terms)
def test_the_same_is_marked_in_a_text_of_ascii_as_in_any_other(text: str, terms: list[Term]) -> None:
    found, expected = make_snippet(text, terms), make_snippet(f"{text} \u00e9", terms)
    assert (found.ranges, found.terms) == (expected.ranges, expected.terms)


def test_a_long_text_is_not_split_into_words_for_the_few_that_are_found() -> None:
    text, terms = f"{'filler ' * 2_000}apple", parse_query("apple ", NOW).wanted_terms
    assert count_lines(lambda: make_snippet(text, terms)) < 2_000


def test_a_snippet_shows_the_place_with_most_of_the_words() -> None:
    text = "red " + "filler " * 60 + "a green and red apple " + "filler " * 60
    snippet = make_snippet(text, parse_query("red green ", NOW).wanted_terms)
    assert [snippet.text[start:end] for start, end in snippet.ranges] == ["green", "red"]
    assert (snippet.text.startswith("… "), snippet.text.endswith(" …"), snippet.terms) == (True, True, 2)


def test_a_snippet_is_one_line_without_invisible_characters() -> None:
    assert make_snippet("a\nb\u202ec\x07d", []).text == "a b c d"
