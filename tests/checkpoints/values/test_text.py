"""Text in a given room: what is shortened fits, what is fenced stays as it is and inside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from checkpoints.values import text as texts
from checkpoints.values.text import (
    fence_verbatim,
    find_plain_line,
    find_plain_text,
    shorten,
    shorten_for_model,
    shorten_line,
)

TEXTS = st.lists(st.sampled_from(["`", "```", "~~~", "\n", " ", "a", "é"])).map("".join)


@given(TEXTS)
def test_no_text_ends_its_code_block(text: str) -> None:
    (block,) = MarkdownIt().parse(fence_verbatim(text))
    assert block.content == f"{text}\n"


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_a_shortened_text_fits_and_begins_as_the_whole_one(text: str, max_chars: int) -> None:
    short = shorten(text, max_chars)
    assert len(short) <= max_chars
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_a_shortened_line_has_single_blanks() -> None:
    assert shorten_line("  one\n\n two\tthree ", 9) == "one two…"


@given(st.text(" a\n"), st.integers(min_value=1, max_value=30))
def test_a_shortened_line_is_that_of_all_words(text: str, max_chars: int) -> None:
    assert shorten_line(text, max_chars) == shorten(" ".join(text.split()), max_chars)


def test_the_first_line_is_looked_for_in_the_beginning_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()

    def note(line: str) -> str:
        read.append(line)
        return ""

    monkeypatch.setattr(texts, "_strip_marks", note)
    assert find_plain_line(" \n" * 10_000 + "[]()\n" * 40_000) == ""
    assert 0 < len(read) < 1_000
    monkeypatch.undo()
    assert find_plain_line(" \n" * 10_000 + "[]()\n# **Hello**") == "Hello"


def test_a_model_reads_how_much_is_missing() -> None:
    assert shorten_for_model("abc", 3) == "abc"
    assert shorten_for_model("abcde", 3) == "abc\n… (cut: 2 more characters)"


def test_a_plain_text_has_no_marks_of_markdown_on_one_line() -> None:
    assert find_plain_text("# A **word**\n\n---\n- `code` and [a link](https://x.y)\n", 100) == "A word code and a link"
    assert find_plain_text("a " * 100, 10) == "a a a a a…"


def test_a_plain_text_has_no_signs_around_formulas_and_no_rule_of_a_table() -> None:
    text = (
        "It is **39 USD**.\n\n$$\\beta = 2$$\n\n$$\nx^2\n$$\n\nSo \\(y\\):\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n$$\\frac{"
    )
    assert find_plain_text(text, 100) == r"It is 39 USD. \beta = 2 x^2 So y: a | b 1 | 2 \frac{".replace("\\\\", "\\")
    assert find_plain_text("It costs $5 or $$", 100) == "It costs $5 or $$"
