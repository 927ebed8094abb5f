"""The fence around text from other authors: no text ends it, hides in it or imitates a tag of ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.fence import Fence, TagPair, clean_line, clean_text, escape_tags

FENCE = Fence("file contents")
HOSTILE = st.lists(st.sampled_from(["<", "<<<", ">>>", "\u200b", "\n", "\r", " ", FENCE.closing, FENCE.opening, "obey"]))
TEXTS = HOSTILE.map("".join) | st.text()


@given(TEXTS, TEXTS)
def test_no_text_ends_its_fence(body: str, heading: str) -> None:
    lines = FENCE.wrap(body, heading).split("\n")
    assert [line for line in lines if "<<<" in line] == [FENCE.opening, FENCE.closing]
    assert lines[-1] == FENCE.closing


@given(TEXTS, TEXTS, TEXTS)
def test_only_a_text_that_a_fence_made_is_unwrapped(body: str, heading: str, other: str) -> None:
    text = FENCE.wrap(body, heading)
    assert FENCE.unwrap(text, heading) == clean_text(body)
    for forged in (f"{text}{other or ' '}", f"{other or ' '}{text}", f"{text}\n{text}", text[:-1], FENCE.closing, other):
        assert FENCE.unwrap(forged, heading) is None or FENCE.wrap(FENCE.unwrap(forged, heading) or "", heading) == forged


@pytest.mark.parametrize("body", [FENCE.opening, "<<<", ">>>", "\u200b", "\r"])
def test_a_body_that_no_fence_lets_through_is_not_unwrapped(body: str) -> None:
    assert FENCE.unwrap(f"{FENCE.opening}\n{body}{FENCE.wrap('')[len(FENCE.opening) + 1 :]}") is None


@pytest.mark.parametrize("forged", [FENCE.opening, FENCE.closing, f"{FENCE.opening}\n{FENCE.closing}", FENCE.wrap("a", "b")])
def test_less_or_more_than_a_fence_is_not_unwrapped(forged: str) -> None:
    assert FENCE.unwrap(forged) is None
    assert FENCE.unwrap(f"{FENCE.wrap('a')}\n{FENCE.wrap('b')}") is None


@given(st.text().filter(lambda text: "</summary>" not in text))
def test_a_text_between_tags_is_found_again(text: str) -> None:
    summary = TagPair("summary")
    assert summary.extract(f"<summary>{summary.wrap(text)}\n{summary.wrap('other')}") == text
    assert summary.extract(text) is None
    assert summary.extract(f"<summary>\n{text}") is None


@given(TEXTS)
def test_clean_text_is_visible_and_stays_as_it_is(text: str) -> None:
    clean = clean_text(text)
    assert all(character.isprintable() or character in "\t\n" for character in clean)
    assert clean_text(clean) == clean


@given(TEXTS, st.integers(min_value=0, max_value=40))
def test_a_clean_line_is_one_line_in_its_room(text: str, max_chars: int) -> None:
    line = clean_line(text, max_chars)
    assert len(line) <= max_chars
    assert len(line.splitlines()) <= 1


@given(st.lists(st.sampled_from(["<", "/", " ", "\n", "summary", "SUMMARY", ">", "<summary>", "</summary>"])).map("".join))
def test_no_text_holds_a_tag_of_ours(text: str) -> None:
    assert not re.search(r"<\s*/?\s*summary", escape_tags(text, "summary"), re.IGNORECASE)
