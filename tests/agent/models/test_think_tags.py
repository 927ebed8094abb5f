"""Reasoning in the tags of local models is separated from the answer, however the answer is cut into pieces."""

import time

import pytest

from agent.models.think_tags import ThinkSplitter, split_thought


def split(text: str, *, takes_lone_tag: bool = True) -> tuple[str, str]:
    piece = split_thought(text, takes_lone_tag=takes_lone_tag)
    return piece.text, piece.thought


def test_reasoning_without_an_end_stays_reasoning() -> None:
    assert split("<think>for ever") == ("", "for ever")


TAGGED = [
    ("<think>a</think>b", "b", "a"),
    ("<thinking>a</think> b</thinking>c", "c", "a</think> b"),
    ("\n<thought>\na\n</thought>\n\nb", "b", "a\n"),
    ("The user says hello.\n</think>\n\nHello!", "Hello!", "The user says hello.\n"),
    ("a < b.</thought>Yes", "Yes", "a < b."),
    ("</think>\n\nHello", "Hello", ""),
    ("Try `</think>`, then\n```\n</think>\n```\nso.</think>Done", "Done", "Try `</think>`, then\n```\n</think>\n```\nso."),
    ("a</think>b</think>c", "b</think>c", "a"),
]
PLAIN = [
    "The tag `</think>` ends it.",
    "Like this:\n\n```\nHm.\n</think>\n```\nSee?",
    "Like this:\n```xml\n<think>a</think>\n```",
    "Write <think> and </think> around it.",
    "a <",
    "a </thin",
    "a </thin air>",
    "<thinker>a",
]


@pytest.mark.parametrize(("text", "answer", "thought"), [*TAGGED, *((text, text, "") for text in PLAIN)])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_an_answer_in_pieces_comes_to_the_same_as_the_whole(text: str, answer: str, thought: str, size: int) -> None:
    splitter, told, thoughts = ThinkSplitter(), "", ""
    pieces = [splitter.feed(text[at : at + size]) for at in range(0, len(text), size)]
    for piece in [*pieces, splitter.flush()]:
        assert piece.withdrawn in ("", told)
        told, thoughts = (piece.text, thoughts + piece.withdrawn) if piece.withdrawn else (told + piece.text, thoughts)
        thoughts += piece.thought
    assert (told, thoughts) == split(text) == (answer, thought)


def test_text_without_a_tag_is_passed_on_as_it_comes() -> None:
    splitter = ThinkSplitter()
    assert [splitter.feed(piece).text for piece in ("Hel", "lo a ", "< b", "</th", "ing")] == [
        "Hel",
        "lo a ",
        "< b",
        "",
        "</thing",
    ]


@pytest.mark.parametrize("size", [8, 100_000])
def test_reasoning_is_found_after_any_number_of_quoted_tags(size: int) -> None:
    for count in (1, 20_000):
        text, splitter = f"```\n{'</think>' * count}\n```\n</think>b", ThinkSplitter()
        pieces = [splitter.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert any(piece.thought or piece.withdrawn for piece in pieces)


def test_where_reasoning_has_a_field_of_its_own_a_lone_tag_is_text() -> None:
    assert split("The tag </think> ends it.", takes_lone_tag=False) == ("The tag </think> ends it.", "")


@pytest.mark.parametrize("before", ["```\n", "`"])
def test_an_answer_of_nothing_but_quoted_tags_is_split_in_a_moment(before: str) -> None:
    text, splitter, start = before + "</think>" * 20_000, ThinkSplitter(), time.thread_time()
    assert splitter.feed(text).text + splitter.flush().text == text
    assert time.thread_time() - start < 1.0  # 0.03 s; looking at all text before each tag takes 10 s
