"""Reasoning is kept within bounds, and what a file says of it is never trusted."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from checkpoints.values.limits import MAX_ITEM_LEVELS, MAX_ITEM_VALUES, MAX_ITEMS_CHARS, MAX_REASONING_CHARS
from checkpoints.values.reasoning import REASONING_KEY, Reasoning


def kept(reasoning: Reasoning) -> Reasoning | None:
    return Reasoning.of(AIMessage("", additional_kwargs=reasoning.to_kwargs()))


def nested(levels: int) -> Any:
    return {} if levels == 0 else {"in": nested(levels - 1)}


def test_reasoning_comes_back_as_it_was() -> None:
    whole = Reasoning(
        "Why?", 1500, "openai:some", "reasoning_content", {"a": 1}, [{"b": 2}], [{"type": "text"}], {"c": [3]}, [1]
    )
    assert kept(whole) == whole


@pytest.mark.parametrize(
    "item",
    [
        nested(MAX_ITEM_LEVELS),
        {"data": "x" * MAX_ITEMS_CHARS},
        {"list": [0] * MAX_ITEM_VALUES},
        {"n": float("nan")},
        {"t": (1,)},
        {"s": "\ud800"},
        {"z": "\0"},
    ],
)
def test_items_that_cannot_be_kept_are_left_out_and_the_text_stays(item: Any) -> None:
    found = kept(Reasoning("Why?", fields=item))
    assert found is not None
    assert (found.text, found.fields) == ("Why?", {})


def test_the_text_has_a_limit_and_no_character_that_a_database_refuses() -> None:
    found = kept(Reasoning("\0" + "x" * MAX_REASONING_CHARS))
    assert found is not None
    assert (len(found.text), found.text[0]) == (MAX_REASONING_CHARS, "\ufffd")


def test_an_answer_without_reasoning_carries_nothing() -> None:
    assert Reasoning("", 12, "openai:some", "reasoning_content", {}, [{}, {}]).to_kwargs() == {}


@pytest.mark.parametrize(
    "value", [None, [], "text", {"text": 1, "blocks": {}, "call_fields": [3], "duration_ms": -1, "fields": []}]
)
def test_any_shape_in_a_file_is_read(value: Any) -> None:
    found = Reasoning.of(AIMessage("", additional_kwargs={REASONING_KEY: value}))
    assert found is None or (found.text, found.fields, found.blocks) == ("", {}, [])
