"""What is cut off a path before a request is built is what the request could not hold; its cost is that of what fits."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.answer_notes import SIZE_NOTE_KEY
from agent.context.path_ends import cut_tokens, cut_values
from agent.context.request import build_request, complete_tool_pairs
from agent.context.tokens import estimate_stored_tokens
from agent.context.window import fit_to_window
from checkpoints import MAIN
from checkpoints.values import limits
from tests.agent.context.test_request import asking, done
from tests.work import count_lines

WINDOW = 300  # tokens
_counted = st.builds(
    lambda estimated, missed: AIMessage(
        "counted",
        usage_metadata={"input_tokens": estimated - missed, "output_tokens": 1, "total_tokens": estimated - missed + 1},
        response_metadata={SIZE_NOTE_KEY: {"estimated": estimated}},
    ),
    st.integers(300, 600),
    st.integers(-100, 300),
)
_turns: st.SearchStrategy[list[list[BaseMessage]]] = st.lists(
    st.one_of(
        st.builds(lambda size: [HumanMessage("q" * size)], st.integers(1, 600)),
        st.builds(lambda size: [AIMessage("a" * size)], st.integers(1, 600)),
        st.builds(
            lambda calls, results: [
                asking(*map(str, range(calls))),
                *(ToolMessage("sunny " * 9, tool_call_id=str(n)) for n in range(min(calls, results))),
            ],
            st.integers(1, 8),
            st.integers(0, 8),
        ),
        st.builds(lambda answer: [answer], _counted),
    ),
    max_size=12,
)


@given(_turns)
def test_all_that_a_request_would_hold_is_in_the_cut_path(turns: list[list[BaseMessage]]) -> None:
    path = done(HumanMessage("first"), *(message for turn in turns for message in turn), HumanMessage("last"))
    cut = cut_tokens(path, list(map(estimate_stored_tokens, path)), WINDOW)
    first = next(message.depth for message in cut if message.type == "human")  # a request begins there
    assert first <= fit_to_window(build_request("", path), WINDOW).left_out_count


def test_the_last_turn_is_whole_whatever_it_holds() -> None:
    path = done(HumanMessage("old"), HumanMessage("q"), asking(*map(str, range(50))), AIMessage("a" * 9_000))
    assert [each.depth for each in cut_tokens(path, list(map(estimate_stored_tokens, path)), 10)] == [1, 2, 3]
    heavy = HumanMessage("q", additional_kwargs={"row": [0] * limits.MAX_READ_VALUES})
    path = done(HumanMessage("old"), heavy, asking("a"), asking("b"))
    assert [each.depth for each in cut_values(path, MAIN)] == [1, 2, 3]
    assert [each.depth for each in cut_values([*path, *done(HumanMessage("new"))], MAIN)] == [2, 3, 0]


def same_ids(count: int) -> list[AnyMessage]:
    return [asking(*map(str, range(8))) for _ in range(count)]


def reversed_results(count: int) -> list[AnyMessage]:
    identifiers = list(map(str, range(count)))
    return [asking(*identifiers), *(ToolMessage("x", tool_call_id=each) for each in reversed(identifiers))]


@pytest.mark.parametrize("write", [same_ids, reversed_results])
def test_twice_as_many_calls_take_twice_the_work(write: Any) -> None:
    few, many = (count_lines(partial(complete_tool_pairs, write(count))) for count in (30, 60))
    assert many < 2.2 * few
