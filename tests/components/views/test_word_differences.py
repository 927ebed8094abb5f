"""Differences of two texts are marked in their HTML, and nothing else of it changes."""

import re
from html import escape

from hypothesis import given
from hypothesis import strategies as st

from components.views.markdown import render_markdown
from components.views.word_differences import MAX_WORDS, mark_cheap_differences, mark_differences

MARKDOWN = st.lists(
    st.sampled_from([*"ab *_`#|$<>&\"'\n", "it is ", "**red** ", "$x^2$ ", "\n\n- ", "[a](https://a.b/?c=d>e)"])
).map("".join)


def strip_marks(html: str) -> str:
    return re.sub("</?(?:ins|del)>", "", html)


def test_words_that_only_one_has_are_marked() -> None:
    marked = mark_differences(
        "<p>Green <strong>it is</strong>, my friend.</p>", "<p>Dark blue <em>it is</em>, my friend.</p>"
    )
    assert (marked.kind, marked.one, marked.other) == (
        "words",
        "<p><del>Green</del> <strong>it is</strong>, my friend.</p>",
        "<p><ins>Dark blue</ins> <em>it is</em>, my friend.</p>",
    )


@given(MARKDOWN, MARKDOWN)
def test_a_mark_changes_nothing_but_marks(one: str, other: str) -> None:
    texts = [render_markdown(text) for text in (one, other)]
    marked = mark_differences(*texts)
    assert [strip_marks(marked.one), strip_marks(marked.other)] == texts
    for html in (marked.one, marked.other):
        assert not re.search(r"<(ins|del)>[^<]*<(?!/\1>|math)", html), html  # a mark crosses no tag
        assert not re.search("<math(?:(?!</math>).)*<(?:ins|del)>", html, re.DOTALL)  # and is in no formula


@given(st.text("<>&;ab \"'/ins", max_size=40))
def test_no_text_becomes_a_tag(text: str) -> None:
    marked = mark_differences("<p>a b c d</p>", f"<p>a b c {escape(text)}</p>")
    assert set(re.findall(r"<[^>]*>", marked.other)) <= {"<p>", "</p>", "<ins>", "</ins>"}


def test_a_long_text_is_compared_by_lines() -> None:
    lines = [f"line {number} has eight words of its own" for number in range(MAX_WORDS // 8)]
    one, other = ("<br>".join(["begin", *lines, end]) for end in ("x 1", "y 1"))
    other = other.replace("begin", "start")
    marked = mark_differences(one, other)
    assert marked.kind == "lines"
    assert marked.one.startswith("<del>begin</del><br>line 0")
    assert marked.other.endswith("<br><ins>y 1</ins>")


def test_texts_that_are_too_long_or_unlike_stay_as_they_are() -> None:
    words = [" ".join(f"{letter}{number}" for number in range(2 * MAX_WORDS)) for letter in "ab"]
    assert mark_differences(*words).kind == "long"
    assert mark_differences("one two three", "four five six").kind == "rewritten"
    assert mark_differences("a", "a").kind == "same"


def test_dear_texts_are_not_begun_here() -> None:
    halves = [[f"w{n // 2 if n % 2 == side else n + 10_000 * (side + 1)}" for n in range(2_000)] for side in (0, 1)]
    assert mark_cheap_differences(*map(" ".join, halves)).kind == "long"
