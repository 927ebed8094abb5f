"""A view shows its newest messages whole, and of all others the beginnings that its budget leaves."""

import json
from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from checkpoints.values.limits import MAX_CALLS, MAX_LABEL_CHARS
from components.routes.whole_text import find_text
from components.views import shown_text
from components.views.markdown import render_markdown, to_plain_html
from components.views.message_view import MessageExtras, MessageView, describe_messages
from components.views.shown_text import MAX_PORTIONS, MAX_SHORT_CHARS, MAX_SHOWN_CHARS, MAX_VIEW_CALLS, MAX_VIEW_CHARS
from tests.components.views.test_message_view import path

COUNT = 2 * MAX_VIEW_CHARS // MAX_SHOWN_CHARS


def describe(*messages: BaseMessage, to_html: Callable[[str], str] = to_plain_html, portions: int = 1) -> list[MessageView]:
    return describe_messages(path(*messages), MessageExtras(to_html=to_html, portions=portions))


def call(number: int, arguments: str = "", name: str = "look") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"it": arguments}, "id": f"call_{number}"}])


@pytest.mark.parametrize("message", [HumanMessage("\n" * 60_000), AIMessage("<" * 60_000), AIMessage("x" * 60_000)])
@pytest.mark.parametrize("portions", [1, 2, 1_000])
def test_a_view_has_a_budget_and_its_newest_messages_come_first(message: BaseMessage, portions: int) -> None:
    views = describe(*[message] * (COUNT * MAX_PORTIONS), portions=portions)
    lengths = [len(view["text"]) for view in views]
    assert lengths[-1] == MAX_SHOWN_CHARS
    assert lengths[0] == MAX_SHORT_CHARS
    assert sorted(lengths) == lengths
    assert all(view["more"] and view["more"]["chars"] == 60_000 - len(view["text"]) for view in views)
    beyond = 5 * MAX_SHORT_CHARS * len(views) + MAX_SHOWN_CHARS
    assert sum(len(view["text"] + view["html"]) for view in views) <= MAX_VIEW_CHARS * min(portions, MAX_PORTIONS) + beyond


def test_no_text_is_formatted_whose_html_has_no_place() -> None:
    """It would cost the same again at each view."""
    formatted: list[str] = []

    def to_html(text: str) -> str:
        formatted.append(text)
        return text * 25

    small, large = AIMessage("small"), AIMessage("x" * 10_000)
    views = describe(small, *[large] * 20, small, to_html=to_html)
    assert [len(text) for text in formatted] == [5, *[10_000] * 4, 5]
    assert views[-5]["html"] == to_plain_html("x" * MAX_SHORT_CHARS)
    assert [views[0]["html"], views[-1]["html"]] == ["small" * 25] * 2


def test_details_take_from_the_same_budget() -> None:
    messages = [
        each
        for number in range(MAX_VIEW_CALLS)
        for each in (call(number, "x" * 30_000), ToolMessage("y" * 30_000, tool_call_id=f"call_{number}"))
    ]
    views = describe(*messages)
    assert len(json.dumps(views)) <= MAX_VIEW_CHARS + 2 * len(views) * (MAX_SHORT_CHARS + 500)
    assert [len(views[place]["tools"][0]["result"] or "") for place in (0, -1)] == [MAX_SHORT_CHARS, 20_000]


def test_the_newest_calls_have_a_card_and_all_are_in_a_text() -> None:
    calls = [{"name": f"look_{n}", "args": {"at": n}, "id": f"{n}"} for n in range(MAX_CALLS)]
    answer = AIMessage("", tool_calls=calls)
    views = describe(*[answer] * 5)
    assert [len(view["tools"]) for view in views] == [0, 0, 0, MAX_CALLS, MAX_CALLS]
    assert views[-1]["more_tools"] is None
    assert views[0]["more_tools"] == {"count": MAX_CALLS, "address": "/api/threads/t/messages/m0/text?part=calls"}
    text = find_text(answer, "calls", "") or ""
    assert text.startswith('look_0\n{\n  "at": 0\n}\n\nlook_1\n')
    assert text.count("look_") == MAX_CALLS
    assert find_text(AIMessage("no call"), "calls", "") is None


def test_names_and_ids_of_any_length_are_cut_and_their_arguments_found() -> None:
    answer = AIMessage("", tool_calls=[{"name": "n" * 100_000, "args": {"it": "x" * 30_000}, "id": "i" * 100_000}])
    [view] = describe(answer)
    [card] = view["tools"]
    assert (card["name"], card["id"]) == ("n" * MAX_LABEL_CHARS, "i" * MAX_LABEL_CHARS)
    assert len(json.dumps(card)) < 25_000
    assert len(find_text(answer, "arguments", card["id"]) or "") > 30_000


def test_many_arguments_are_indented_and_cut() -> None:
    [view] = describe(AIMessage("", tool_calls=[{"name": "look", "args": {f"k{n}": n for n in range(5_000)}, "id": "a"}]))
    assert view["tools"][0]["arguments"].startswith('{\n  "k0": 0')
    assert len(view["tools"][0]["arguments"]) <= shown_text.MAX_SHOWN_DETAIL_CHARS + 1


def test_a_view_within_its_budget_is_whole() -> None:
    texts = [f"**{n}** " + "word " * 100 for n in range(50)]
    views = describe(*map(AIMessage, texts), to_html=render_markdown)
    assert [view["html"] for view in views] == list(map(render_markdown, texts))
    assert shown_text.cut_shown_text("short", path(HumanMessage("x"))[0]).more is None
