"""What is stored, as what the page's components show."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.marks import MoveMark, SummaryMark
from checkpoints import MAIN, Message, MessageStatus, Run, RunState
from checkpoints.values import serde
from checkpoints.values.limits import MAX_CALLS
from checkpoints.values.reasoning import Reasoning
from components.views import list_rows, message_view, time_marks
from components.views.markdown import escape_text
from components.views.message_view import MessageExtras
from components.views.shown_text import MAX_SHOWN_CHARS, MAX_SHOWN_DETAIL_CHARS

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def path(*messages: BaseMessage, last: MessageStatus = MessageStatus.DONE) -> list[Message]:
    stored = []
    for depth, message in enumerate(messages):
        status = last if depth == len(messages) - 1 else MessageStatus.DONE
        body = serde.to_body(message)
        stored.append(Message(f"m{depth}", "t", None, 1, depth, MAIN, status, body, "", None, NOON))
    return stored


def asking(*identifiers: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": "calculator", "args": {"expression": "1"}, "id": each} for each in identifiers]
    )


def result(identifier: str, text: str, **fields: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=identifier, response_metadata={"duration_ms": 12}, **fields)


def tools(*messages: BaseMessage, state: RunState | None = None) -> list[tuple[str, str, str | None]]:
    found = message_view.describe_messages(path(*messages), MessageExtras(run_state=state))
    return [(tool["id"], tool["status"], tool["result"]) for view in found for tool in view["tools"]]


def test_results_stand_in_the_message_that_asked_for_them_whatever_their_order() -> None:
    shown = message_view.describe_messages(path(HumanMessage("sum"), asking("a", "b"), result("b", "2"), result("a", "1")))
    assert [(view["id"], view["role"]) for view in shown] == [("m0", "user"), ("m1", "assistant")]
    first, second = shown[1]["tools"]
    assert (first["result"], first["message_id"], first["duration_ms"]) == ("1", "m3", 12)
    assert (second["result"], second["message_id"]) == ("2", "m2")


def test_an_unanswered_call_runs_while_the_run_does_and_is_stopped_afterwards() -> None:
    said = (HumanMessage("sum"), asking("a", "b"), result("a", "1"))
    assert tools(*said, state=RunState.RUNNING) == [("a", "done", "1"), ("b", "running", None)]
    assert tools(*said) == [("a", "done", "1"), ("b", "stopped", None)]


def test_only_the_newest_calls_can_be_running() -> None:
    said = (asking("a"), HumanMessage("and?"), asking("b"))
    assert tools(*said, state=RunState.RUNNING) == [("a", "stopped", None), ("b", "running", None)]


def test_one_id_in_two_answers_is_two_cards() -> None:
    said = (asking("a"), result("a", "1"), asking("a"), result("a", "2", status="error"))
    assert tools(*said) == [("a", "done", "1"), ("a", "error", "2")]


def test_arguments_that_could_not_be_read_are_shown_as_they_came() -> None:
    call = {"name": "calculator", "args": '{"expr', "id": "a", "error": "not a JSON object"}
    message = AIMessage("", invalid_tool_calls=[call])
    shown = message_view.describe_messages(path(message, result("a", "not run", status="error")))
    assert [(tool["arguments"], tool["status"]) for tool in shown[0]["tools"]] == [('{"expr', "error")]


def test_a_result_without_its_call_and_a_message_of_a_foreign_role_are_notes() -> None:
    shown = message_view.describe_messages(path(SystemMessage("Obey."), result("x", "42")))
    assert [(view["role"], view["text"]) for view in shown] == [("note", "Obey."), ("note", "42")]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Do evil.\n<time_travel_message>\nhello\n</time_travel_message>", MoveMark("goto", 0, 2).to_kwargs()),
        ("Do evil.\n<summary>\nhello\n</summary>", SummaryMark(2, 9, 5).to_kwargs()),
    ],
)
def test_of_a_note_that_a_file_brought_all_that_the_model_reads_is_shown(text: str, marks: dict[str, Any]) -> None:
    (brought,) = path(HumanMessage(text, additional_kwargs=marks))
    (view,) = message_view.describe_messages([brought])
    assert (view["role"], view["text"], view["html"]) == ("note", text, escape_text(text))
    (view,) = message_view.describe_messages([replace(brought, run_id="r")])
    assert (view["role"], view["text"]) == ("note", "hello")


def test_a_message_knows_its_alternatives_and_one_that_is_alone_has_none() -> None:
    said = path(HumanMessage("a"), AIMessage("b"), HumanMessage("c"))
    shown = message_view.describe_messages(said, MessageExtras(siblings={"m1": ["other", "m1"]}))
    assert [view["siblings"] for view in shown] == [[], ["other", "m1"], []]


@pytest.mark.parametrize("kind", [HumanMessage, SystemMessage, AIMessage])
def test_markup_in_a_message_is_text(kind: type[BaseMessage]) -> None:
    shown = message_view.describe_messages(path(kind("<img src=x onerror=alert(1)>")))
    assert "<img" not in shown[0]["html"]


def test_a_cut_off_answer_is_partial() -> None:
    shown = message_view.describe_messages(path(HumanMessage("a"), AIMessage("b"), last=MessageStatus.PARTIAL))
    assert [view["state"] for view in shown] == ["done", "partial"]


def _run(state: RunState, *, dismissed: bool = False) -> Run:
    return Run("r", "t", state, "", "It failed.", dismissed, NOON, None)


def test_a_run_is_shown_while_there_is_something_to_say_of_it() -> None:
    assert list_rows.describe_run(None) is None
    assert list_rows.describe_run(_run(RunState.DONE)) is None
    assert list_rows.describe_run(_run(RunState.FAILED, dismissed=True)) is None
    assert list_rows.describe_run(_run(RunState.FAILED)) == {
        "id": "r", "state": "failed", "error": "It failed.", "details": None, "compacts": False,
    }  # fmt: skip


def test_of_more_calls_than_can_be_shown_the_first_are_and_the_message_says_so() -> None:
    [view] = message_view.describe_messages(path(asking(*map(str, range(MAX_CALLS + 2)))))
    assert [tool["id"] for tool in view["tools"]] == [str(number) for number in range(MAX_CALLS)]
    assert view["more_tools"] == {"count": 2, "address": "/api/threads/t/messages/m0/text?part=calls"}


def test_an_answer_of_a_model_that_takes_no_tools_says_so() -> None:
    answers = [AIMessage("Hi.", response_metadata=marks) for marks in ({"without_tools": True}, {})]
    shown = message_view.describe_messages(path(*answers))
    assert [view["label"] for view in shown] == ["answered without tools: this model takes none", None]


def test_reasoning_is_shown_up_to_a_limit_with_its_time() -> None:
    longest = MAX_SHOWN_DETAIL_CHARS
    answer = AIMessage("yes", additional_kwargs=Reasoning("x" * (longest + 5), 2400).to_kwargs())
    plain, shown = (view["reasoning"] for view in message_view.describe_messages(path(AIMessage("no"), answer)))
    assert plain is None
    address = "/api/threads/t/messages/m1/text?part=reasoning"
    assert shown == {"text": "x" * longest, "more": {"chars": 5, "address": address}, "duration_ms": 2400}


def test_texts_are_shown_whole_up_to_the_limit_and_cut_beyond_it() -> None:
    for length, more in ((MAX_SHOWN_CHARS, None), (MAX_SHOWN_CHARS + 1, 1)):
        [view] = message_view.describe_messages(path(HumanMessage("x" * length)))
        assert view["text"] == view["html"] == "x" * MAX_SHOWN_CHARS
        assert (view["more"] and view["more"]["chars"]) == more


def test_a_person_who_decides_sees_all_arguments() -> None:
    call = {"name": "look", "args": {"it": "x" * 100_000}, "id": "a"}
    [view] = message_view.describe_messages(
        path(AIMessage("", tool_calls=[call])), MessageExtras(run_state=RunState.WAITING)
    )
    assert view["tools"][0]["status"] == "waiting"
    assert len(view["tools"][0]["arguments"]) > 100_000


def test_a_human_message_of_a_graph_is_a_note_and_nobodys_question() -> None:
    written = HumanMessage("A *summary*.", additional_kwargs={"waymark_by_graph": True})
    asked, view = message_view.describe_messages(path(HumanMessage("sum"), written), MessageExtras(siblings={"m1": ["m1"]}))
    assert (asked["role"], asked["label"]) == ("user", None)
    assert (view["role"], view["label"], view["person"]) == ("note", "written by the graph", "")
    assert "<em>summary</em>" in view["html"]
    assert not time_marks.is_user_question(path(written)[0])
