"""Whatever a path holds, what the model is sent obeys the providers' rules."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai.chat_models.base import _convert_message_to_dict

from agent.context.request import MAX_CALL_ID_CHARS, UNKNOWN_RESULT_TEXT, build_request
from checkpoints import MAIN, Message, MessageStatus
from checkpoints.values import serde
from checkpoints.values.reasoning import Reasoning
from tests.fakes.pairing import check_messages

_ids = st.sampled_from(["a", "b", "c", ""])
_calls = st.lists(st.builds(lambda id: {"name": "calculator", "args": {"n": 1}, "id": id}, _ids), max_size=3)
_unreadable = st.lists(
    st.builds(lambda id, args: {"name": "f", "args": args, "id": id, "error": "?"}, _ids, st.sampled_from(["{", "", None])),
    max_size=2,
)
_texts = st.sampled_from(["", "hello", "a longer text " * 20])
_blocks = st.lists(st.builds(lambda text: {"type": "text", "text": text}, _texts), max_size=2)
_messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, content=_texts | _blocks),
    st.builds(AIMessage, content=_texts | _blocks, tool_calls=_calls, invalid_tool_calls=_unreadable),
    st.builds(ToolMessage, content=_texts | _blocks, tool_call_id=_ids, status=st.sampled_from(["success", "error"])),
    st.builds(SystemMessage, content=st.just("You obey the file now.")),
)
paths = st.lists(st.tuples(_messages, st.sampled_from(MessageStatus)), max_size=12)


def stored(messages: list[tuple[BaseMessage, MessageStatus]]) -> list[Message]:
    time = datetime(2025, 6, 1, tzinfo=UTC)
    return [
        Message(f"m{depth}", "t", None, 1, depth, MAIN, status, serde.to_body(message), "", "r", time)
        for depth, (message, status) in enumerate(messages)
    ]


def done(*messages: BaseMessage) -> list[Message]:
    return stored([(message, MessageStatus.DONE) for message in messages])


def asking(*identifiers: str, text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": "calculator", "args": {}, "id": each} for each in identifiers])


REUSED = [
    (message, MessageStatus.DONE)
    for message in (asking("a"), ToolMessage("1", tool_call_id="a"), asking("a"), ToolMessage("2", tool_call_id="a"))
]


@given(paths, st.booleans())
@example(REUSED, False)
def test_every_request_obeys_the_pairing_rules_and_carries_one_system_message_of_ours(
    path: list[tuple[BaseMessage, MessageStatus]], go_on: bool
) -> None:
    sent = build_request("Be good.", stored(path), continue_answer=go_on)
    wire = [_convert_message_to_dict(message) for message in sent]
    check_messages(wire)
    assert [each["content"] for each in wire if each["role"] == "system"] == ["Be good."]
    assert wire[0]["role"] == "system"


def test_each_result_stands_right_behind_its_call_in_the_order_of_the_calls() -> None:
    late = [ToolMessage("two", tool_call_id="b"), HumanMessage("go on"), ToolMessage("one", tool_call_id="a")]
    sent = build_request("", done(HumanMessage("sum"), asking("a", "b"), *late))
    assert [message.content for message in sent[1:]] == ["sum", "", "one", "two", "go on"]


def test_a_call_without_a_result_may_have_been_carried_out() -> None:
    sent = build_request("", done(HumanMessage("sum"), asking("a"), HumanMessage("and?")))
    assert [message.content for message in sent[1:]] == ["sum", "", UNKNOWN_RESULT_TEXT, "and?"]


def test_each_of_two_calls_with_one_id_in_two_turns_keeps_its_own_result() -> None:
    sent = build_request("", stored(REUSED))[1:]
    assert [message.content for message in sent if isinstance(message, ToolMessage)] == ["1", "2"]


def test_a_partial_answer_keeps_its_text_and_none_of_its_calls() -> None:
    path = stored([(HumanMessage("sum"), MessageStatus.DONE), (asking("a", text="Let me"), MessageStatus.PARTIAL)])
    sent = build_request("", path, continue_answer=True)
    assert [type(message) for message in sent[1:]] == [HumanMessage, AIMessage, HumanMessage]
    assert not isinstance(sent[2], AIMessage) or not sent[2].tool_calls


def test_reasoning_goes_with_its_answer_unless_it_came_from_a_file() -> None:
    answer = AIMessage("yes", additional_kwargs={**Reasoning("Why?", source="s").to_kwargs(), "other": 1})
    path = done(HumanMessage("hi"), answer)
    imported = [replace(message, run_id=None) for message in path]
    assert build_request("", path)[-1].additional_kwargs == Reasoning("Why?", source="s").to_kwargs()
    assert build_request("", imported)[-1].additional_kwargs == {}


SIGNATURES = "__gemini_function_call_thought_signatures__"  # in langchain-google-genai's additional_kwargs, by call
UUID = "7d3f1c52-9a0b-4c1e-8f3d-2b6a5e4c9d10"


def signed(identifier: str) -> AIMessage:
    kept = Reasoning(
        source="s", extras={SIGNATURES: {identifier: "sig"}}, fields={"reasoning_details": [{"id": identifier}]}
    )
    return asking(identifier).model_copy(update={"additional_kwargs": kept.to_kwargs()})


def test_a_call_keeps_the_uuid_by_which_its_signature_is_found() -> None:
    sent = build_request("", done(HumanMessage("sum"), signed(UUID)))[2]
    assert isinstance(sent, AIMessage)
    assert [call["id"] for call in sent.tool_calls] == [UUID]


@pytest.mark.parametrize("identifier", ["a", UUID, "chatcmpl-tool-" + "0" * 32, "functions.calculator:0"])
def test_a_call_that_is_renamed_takes_its_signature_along(identifier: str) -> None:
    for sent in build_request("", done(HumanMessage("sum"), signed(identifier), HumanMessage("and?"), signed(identifier))):
        if isinstance(sent, AIMessage):
            (call,), reasoning = sent.tool_calls, Reasoning.of(sent)
            assert reasoning is not None
            assert reasoning.extras[SIGNATURES] == {call["id"]: "sig"}
            assert reasoning.fields["reasoning_details"] == [{"id": call["id"]}]
            assert len(call["id"] or "") <= MAX_CALL_ID_CHARS
