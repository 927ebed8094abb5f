"""A long request is looked at no more often than it has to be: the work is counted, and its outcome stays the same."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agent.context import attachments
from agent.context.window import find_start
from agent.models import reasoning


def find_start_by_sums(sizes: Sequence[int], turns: Sequence[bool], max_tokens: int) -> int:
    """Return the first beginning of a turn from which all fits, or else the last one."""
    to_end = list(accumulate(reversed(sizes)))[::-1]
    begins = [index for index, is_begin in enumerate(turns) if is_begin]
    if not begins or to_end[0] <= max_tokens:
        return 0
    return next((start for start in begins if to_end[start] <= max_tokens), begins[-1])


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1), st.integers(-5, 60))
def test_a_request_begins_where_its_sums_say(messages: list[tuple[int, bool]], max_tokens: int) -> None:
    sizes, turns = [size for size, _ in messages], [is_begin for _, is_begin in messages]
    assert find_start(sizes, turns.__getitem__, max_tokens) == find_start_by_sums(sizes, turns, max_tokens)


def test_the_start_of_a_full_window_is_looked_for_near_it_alone() -> None:
    asked: list[int] = []

    def begins_turn(index: int) -> bool:
        asked.append(index)
        return index % 4 == 0

    assert find_start([10] * 1_000, begins_turn, 5_015) == 500
    assert asked == [499, 500]


def test_no_message_is_looked_into_for_files_or_reasoning_that_none_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("looked into")

    monkeypatch.setattr(attachments, "_substitute_files", refuse)
    monkeypatch.setattr(reasoning, "_find_tool_turns", refuse)
    path: list[AnyMessage] = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
    sent = [attachments.load_attachments(path, refuse), attachments.describe_attachments(path)]
    assert [*sent, reasoning.select_reasoning(path, "s")] == [path] * 3
