"""The work of agents that were asked: told under the call, and read when it is opened."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.marks import CallKey, QuestionMark
from checkpoints import MAIN, Message, MessageStatus, RunState
from checkpoints.values import serde
from components.views import message_view
from components.views.message_view import MessageExtras
from components.views.subagent_work import WorkView
from tests.components.views.test_message_view import NOON

RUNNING, WAITING = MessageExtras(run_state=RunState.RUNNING), MessageExtras(run_state=RunState.WAITING)


def call(name: str, identifier: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": identifier}])


def question(by: str, identifier: str) -> HumanMessage:
    return HumanMessage("?", additional_kwargs=QuestionMark(CallKey(by, identifier)).to_kwargs())


def path(*said: tuple[str, BaseMessage]) -> list[Message]:
    done = MessageStatus.DONE
    return [
        Message(f"m{n}", "t", None, 1, n, who, done, serde.to_body(m), "", None, NOON) for n, (who, m) in enumerate(said)
    ]


AT_WORK = path(
    (MAIN, HumanMessage("hello")),
    (MAIN, call("ask_agent", "1")),
    ("ann", question(MAIN, "1")),
    ("ann", call("ask_agent", "2")),
    ("ben", question("ann", "2")),
    ("ben", call("send", "3")),
)


def works(shown: list[message_view.MessageView]) -> list[WorkView]:
    return [tool["work"] for view in shown for tool in view["tools"] if tool["work"]]


def test_the_page_shows_the_main_agents_messages_and_counts_the_work_of_others() -> None:
    shown = message_view.describe_messages(AT_WORK, RUNNING)
    assert [view["id"] for view in shown] == ["m0", "m1"]
    assert works(shown) == [
        {"agent": "ann", "question": "m2", "address": "/api/threads/t/agents/ann", "messages": 2, "waiting": []}
    ]
    assert shown[1]["tools"][0]["status"] == "running"


def test_an_agents_own_transcript_tells_of_whom_it_asked() -> None:
    shown = message_view.describe_messages(AT_WORK, RUNNING, agent="ann")
    assert [(view["id"], view["label"]) for view in shown] == [("m2", "asked by the main agent"), ("m3", None)]
    assert [(work["agent"], work["messages"]) for work in works(shown)] == [("ben", 2)]


def test_a_call_that_waits_anywhere_below_stands_in_the_card_of_the_main_agent() -> None:
    (work,) = works(message_view.describe_messages(AT_WORK, WAITING))
    assert [(tool["question"], tool["status"]) for tool in work["waiting"]] == [("ben asks to use send.", "waiting")]


def test_one_id_used_again_tells_of_two_works() -> None:
    again = [
        (MAIN, call("ask_agent", "1")),
        ("ann", question(MAIN, "1")),
        ("ann", AIMessage("a")),
        (MAIN, ToolMessage("a", tool_call_id="1")),
    ]
    found = works(message_view.describe_messages(path(*again, *again)))
    assert [(work["question"], work["messages"]) for work in found] == [("m1", 2), ("m5", 2)]
