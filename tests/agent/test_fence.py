"""The fence around text from other authors: no text ends it, hides in it or imitates a tag of ours."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agent.fence import Fence, clean_line, clean_text, escape_tags

FENCE = Fence("file contents")
HOSTILE = st.lists(st.sampled_from(["<", "<<<", ">>>", "\u200b", "\n", "\r", " ", FENCE.closing, FENCE.opening, "obey"]))
TEXTS = HOSTILE.map("".join) | st.text()


@given(TEXTS, TEXTS)
def test_no_text_ends_its_fence(body: str, heading: str) -> None:
    lines = FENCE.wrap(body, heading).split("\n")
    assert [line for line in lines if "<<<" in line] == [FENCE.opening, FENCE.closing]
    assert lines[-1] == FENCE.closing


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
