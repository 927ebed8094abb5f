"""Text in a given room: what is shortened fits, what is fenced stays as it is and inside."""

import time

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
    assert find_plain_text(text, 100) == "It is 39 USD. β = 2 x² So y: a | b 1 | 2"
    assert find_plain_text("It costs $5 or $$", 100) == "It costs $5 or $$"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"Solve $\frac{a}{b} \le \sqrt{x_1}$ for $\alpha$", "Solve a/b ≤ √x₁ for α"),
        (r"\(\lim_{x \to 0} \sin x^{10}\) in $\mathbb{R}^n$ at $90^\circ$", "lim_x → 0 sin x¹⁰ in Rⁿ at 90°"),
        ("$$\n\\left(x^2\\right)\n$$\nmore", "(x²)"),
        ("From $5 to $10, or `$PATH` and `$HOME`", "From $5 to $10, or $PATH and $HOME"),
        (r"\begin{equation}x^2\label{eq:1}\end{equation}", "x²"),
        ("\\begin{align*}\n  x &= 1 \\\\\n  y &= 2\n\\end{align*}\nmore", "x = 1 y = 2"),
        (r"Invert $$\begin{pmatrix}1&2\\3&4\end{pmatrix}$$ by hand", "Invert 1 2 3 4 by hand"),
        (r"\begin{equation*}\begin{array}{c|c}1&2\\\hline 3&4\end{array}\end{equation*}", "1 2 3 4"),
        ("\\begin{alignat}{2}\nx &= 1" + r"\quad" * 100 + "\n\\end{alignat}", "x = 1"),
        ("\\begin{gather}\n\nnever closed", "never closed"),
        ("$$x^2\n= y$$", "x² = y"),
        ("\\[x^2\n= y\\] is it", "x² = y is it"),
        (r"What does \begin{equation} do in `\begin{x}a\end{x}`?", r"What does \begin{equation} do in \begin{x}a\end{x}?"),
    ],
)
def test_a_plain_line_has_formulas_as_people_type_them(text: str, plain: str) -> None:
    assert find_plain_line(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("这是**“重点”**内容，*还*有~~（旧）~~的", "这是“重点”内容，还有（旧）的"),
        ("これは**「重要」**です", "これは「重要」です"),
        ("**_Both_** and ~~**gone**~~", "Both and gone"),
        (r"No \*mark\*, but 2*3*4, __init__ and 变量_名_字", "No *mark*, but 2*3*4, __init__ and 变量_名_字"),
    ],
)
def test_a_plain_line_has_no_marks_in_any_script(text: str, plain: str) -> None:
    assert find_plain_line(text) == plain


@pytest.mark.parametrize("text", ["\\[\n", "$$\n", "**a", "\\frac{", "$a", " \n\\[", "\\begin{a}\n", "\\begin{a}"])
def test_a_plain_line_of_marks_without_end_is_found_at_once(text: str) -> None:
    started = time.thread_time()
    find_plain_line(text * 2_000)
    find_plain_text(text * 2_000, 1_000)
    assert time.thread_time() - started < 0.5
