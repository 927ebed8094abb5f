"""Message numbers are put before what a model reads, and taken off what it writes, in whatever pieces it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.numbering import NumberStripper, NumberStyle, prefix_number, strip_number


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("[msg_3] Hello", "Hello"),
        (" [msg_3]\n[msg_4] Hello [msg_5]", "Hello [msg_5]"),
        ("[msg_3]", ""),
        ("[m3] Hello", "Hello"),
        ("[m3]\n[msg_4] Hello", "Hello"),
        ("[m] Hello", "[m] Hello"),
        ("  Hello", "  Hello"),
        ("[msg_x] Hello", "[msg_x] Hello"),
        ("[msg_٣] Hello", "[msg_٣] Hello"),
        ("[1] Hello", "[1] Hello"),
        ("[msg", "[msg"),
        ("", ""),
    ],
)
def test_an_imitated_number_at_the_beginning_is_taken_off_and_nothing_else(written: str, kept: str) -> None:
    assert strip_number(written) == kept


@given(st.integers(0, 10**6), st.text(), st.sampled_from(["msg", "short"]))
def test_what_was_numbered_comes_back(position: int, text: str, style: NumberStyle) -> None:
    assert strip_number(prefix_number(position, text, style)) == strip_number(text).lstrip()


def test_without_numbers_the_text_stays() -> None:
    assert prefix_number(3, "Hello", "off") == "Hello"


PIECES = st.lists(st.sampled_from(["[", "msg_", "1", "23", "]", " ", "\n", "[msg_7] ", "[m7] ", "Hello", "[x]", "m", "s"]))


@given(PIECES)
def test_in_pieces_it_is_the_same_text(pieces: list[str]) -> None:
    unnumbering = NumberStripper()
    assert "".join(map(unnumbering.feed, pieces)) + unnumbering.flush() == strip_number("".join(pieces))


def test_ordinary_text_is_not_held_back() -> None:
    unnumbering = NumberStripper()
    assert [unnumbering.feed(piece) for piece in ("Hel", "lo", " [msg_1]")] == ["Hel", "lo", " [msg_1]"]


def test_endless_spaces_are_not_held_back_for_ever() -> None:
    unnumbering = NumberStripper()
    assert sum(len(unnumbering.feed(" " * 50)) for _ in range(10)) >= 250
