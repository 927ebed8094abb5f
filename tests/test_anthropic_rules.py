"""The judge of what Anthropic takes: it lets pass what is right and refuses each kind of mistake."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tests.fakes.anthropic_rules import as_sent, check_messages
from tests.fakes.server import Refusal

ASK, SYSTEM = HumanMessage("hi"), SystemMessage("Be kind.")


def calling(*ids: str, name: str = "look") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": each} for each in ids])


def result(call_id: str) -> ToolMessage:
    return ToolMessage("", tool_call_id=call_id)


@pytest.mark.parametrize(
    "messages",
    [
        [ASK],
        [SYSTEM, ASK, calling("1", "2"), result("2"), result("1"), HumanMessage("and?"), AIMessage("so"), ASK],
        [ASK, HumanMessage("more"), AIMessage("one"), AIMessage("two"), ASK],
        [HumanMessage([{"type": "text", "text": "see"}, {"type": "image", "source": {}}])],
    ],
)
def test_what_is_right_passes(messages: list[BaseMessage]) -> None:
    check_messages(as_sent(messages))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [AIMessage("first"), ASK],
        [ASK, AIMessage("last")],
        [HumanMessage(" \n")],
        [HumanMessage("")],
        [ASK, AIMessage(""), ASK],
        [ASK, calling("1"), ASK],
        [ASK, calling("1"), HumanMessage("text first"), result("1")],
        [ASK, calling("1"), result("1"), result("1")],
        [ASK, calling("1"), result("2")],
        [ASK, result("1")],
        [ASK, calling("1"), result("1"), AIMessage("so"), result("1")],
        [ASK, calling("1"), result("1"), calling("1"), result("1")],
        [ASK, calling("a b"), result("a b")],
        [ASK, calling("1", name="no.dots"), result("1")],
    ],
)
def test_each_mistake_is_refused(messages: list[BaseMessage]) -> None:
    with pytest.raises(Refusal):
        check_messages(as_sent(messages))
