"""Which card a result fills, and which status a call has, in a conversation with everything that can happen to calls."""

import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from agent.context.request import NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT
from agent.marks import CallKey, MoveMark, QuestionMark
from agent.tools.decisions import STOPPED_TEXT
from checkpoints import MAIN, Message, MessageStatus, RunState
from checkpoints.values import limits, serde
from components.views.message_view import MessageExtras, describe_messages
from components.views.shown_text import MAX_BEGINNING_CHARS, ViewBudget
from components.views.tool_cards import build_tool_card, format_arguments
from tests.components.views.test_message_view import NOON
from tests.work import count_lines


def calls(*named: tuple[str, str]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": identifier} for name, identifier in named])


@pytest.mark.parametrize("arguments", [{}, {"a": [1, "é\n", None, 2.5, {}]}, {"n": 10**400}])
def test_arguments_are_indented(arguments: dict[str, Any]) -> None:
    call = ToolCall(name="look", args=arguments, id="a")
    assert format_arguments(call) == json.dumps(arguments, ensure_ascii=False, indent=2)


def test_deep_arguments_are_written_in_few_steps() -> None:
    """Python's own encoder takes 100 times as many: one for each level above each value."""
    arguments: dict[str, Any] = {}
    for _ in range(limits.MAX_ARGUMENT_LEVELS):
        arguments = {"a": arguments}
    assert count_lines(lambda: format_arguments(ToolCall(name="look", args=arguments, id="a"))) < 100


PREVIEWS: list[tuple[dict[str, Any] | str, str]] = [
    ({}, ""),
    ({"query": "two\n lines"}, "two lines"),
    ({"a": "x", "b": [1]}, '"a": "x", "b": [ 1 ]'),
    ({"a": "x" * 200}, "x" * 120 + "…"),
    ('{"a": "x', '"a": "x'),
]


@pytest.mark.parametrize(("arguments", "preview"), PREVIEWS)
def test_the_line_of_a_call_is_its_only_text_or_its_values(arguments: dict[str, Any] | str, preview: str) -> None:
    call: Any = {"name": "look", "args": arguments, "id": "a"}
    assert build_tool_card(call, MAIN, "done", ViewBudget(str))["preview"] == preview


def test_a_fork_that_has_not_begun_lists_its_prompts_whole_only_for_a_decision() -> None:
    call = ToolCall(name="fork", args={"prompts": ["tea", "x " * 300]}, id="a")
    waiting, stopped = (build_tool_card(call, MAIN, status, ViewBudget(str)) for status in ("waiting", "stopped"))
    assert (waiting["preview"], [each["name"] for each in waiting["attempts"]]) == ("2 attempts", ["tea", "x " * 300])
    assert len(stopped["attempts"][1]["name"]) == MAX_BEGINNING_CHARS


def question(by: str, identifier: str) -> HumanMessage:
    return HumanMessage("?", additional_kwargs=QuestionMark(CallKey(by, identifier)).to_kwargs())


def result(identifier: str, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=identifier)


SAID: list[tuple[str, BaseMessage]] = [
    (MAIN, HumanMessage("hello")),
    (MAIN, calls(("look", "a"), ("look", "b"))),
    (MAIN, result("b", STOPPED_TEXT)),
    (MAIN, result("z", "of no call")),
    (MAIN, AIMessage("So.")),
    (MAIN, calls(("look", "a"), ("ask_agent", "b"), ("goto", "c"))),
    (MAIN, result("a", "1")),
    ("ann", question(MAIN, "b")),
    ("ann", calls(("send", "s"))),
]
PATH = [
    Message(f"m{n}", "t", None, 1, n, who, MessageStatus.DONE, serde.to_body(m), "", None, NOON)
    for n, (who, m) in enumerate(SAID)
]
MOVE: Any = {"target": "hello"}
ATTEMPTS: Any = [{"branch": "b1", "name": "One", "done": True}]


def cards(state: RunState | None, path: list[Message] = PATH) -> list[tuple[str, str, str, str | None]]:
    views = describe_messages(path, MessageExtras(run_state=state))
    return [(view["id"], tool["id"], tool["status"], tool["result"]) for view in views for tool in view["tools"]]


@pytest.mark.parametrize(
    ("state", "asked", "moving"),
    [
        (RunState.RUNNING, "running", "running"),
        (RunState.WAITING, "waiting", "queued"),
        (RunState.FAILED, "stopped", "stopped"),
        (None, "stopped", "stopped"),
    ],
)
def test_results_and_statuses_of_a_rich_conversation(state: RunState | None, asked: str, moving: str) -> None:
    assert cards(state) == [
        ("m1", "a", "stopped", None),
        ("m1", "b", "stopped", STOPPED_TEXT),
        ("m5", "a", "done", "1"),
        ("m5", "b", asked, None),
        ("m5", "c", moving, None),
    ]


@pytest.mark.parametrize("text", [STOPPED_TEXT, NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT])
def test_a_call_that_the_end_of_its_run_cut_off_is_shown_as_stopped(text: str) -> None:
    said = [(MAIN, calls(("look", "a"))), (MAIN, result("a", text))]
    path = [replace(PATH[n], agent=who, body=serde.to_body(message)) for n, (who, message) in enumerate(said)]
    assert [card[2:] for card in cards(None, path)] == [("stopped", text)]


def test_views_are_of_all_messages_but_the_results_that_a_card_shows() -> None:
    assert [(view["id"], view["role"]) for view in describe_messages(PATH)] == [
        ("m0", "user"),
        ("m1", "assistant"),
        ("m3", "note"),
        ("m4", "assistant"),
        ("m5", "assistant"),
    ]


def test_a_damaged_result_fills_no_card_and_stops_the_calls_before_it() -> None:
    damaged = replace(PATH[6], damaged=True)
    assert cards(RunState.RUNNING, [*PATH[:6], damaged])[2:] == [("m5", each, "stopped", None) for each in "abc"]


def test_the_extras_of_a_call_are_on_its_card_alone() -> None:
    extras = MessageExtras(RunState.WAITING, waiting_moves={"a": MOVE, "c": MOVE}, attempts={("m1", "a"): ATTEMPTS})
    found = [tool for view in describe_messages(PATH, extras) for tool in view["tools"]]
    assert [tool["move"] for tool in found] == [None, None, None, None, MOVE]
    assert [tool["attempts"] for tool in found] == [ATTEMPTS, [], [], [], []]


def test_the_card_of_a_question_names_the_work_and_the_calls_that_wait_in_it() -> None:
    found = [tool["work"] for tool in describe_messages(PATH, MessageExtras(RunState.WAITING))[-1]["tools"]]
    [waiting] = found[1]["waiting"] if found[1] else []
    assert [work and (work["agent"], work["messages"]) for work in found] == [None, ("ann", 2), None]
    assert (waiting["id"], waiting["question"], waiting["status"]) == ("s", "ann asks to use send.", "waiting")


def test_describing_a_path_twice_gives_the_same() -> None:
    extras = MessageExtras(RunState.WAITING, waiting_moves={"c": MOVE})
    assert describe_messages(PATH, extras) == describe_messages(PATH, extras)


def test_a_move_within_a_memory_is_a_result_that_shows_the_note() -> None:
    text = "<system_message>\nGone.\n</system_message>\n<time_travel_message>\nWrite to Cid.\n</time_travel_message>"
    went = ToolMessage(text, tool_call_id="g", additional_kwargs=MoveMark("goto", 1, 3).to_kwargs())
    said = [("ann", calls(("goto", "g"))), ("ann", went)]
    path = [replace(PATH[n], agent=who, body=serde.to_body(m), run_id="r") for n, (who, m) in enumerate(said)]
    (card,) = describe_messages(path, agent="ann")[0]["tools"]
    shown = "ann went back to message 2: 3 messages were removed from its memory.\n\nWrite to Cid."
    assert (card["status"], card["result"]) == ("done", shown)
    (imported,) = describe_messages([path[0], replace(path[1], run_id=None)], agent="ann")[0]["tools"]
    assert imported["result"] == text
