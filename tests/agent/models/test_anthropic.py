"""Anthropic's reasoning goes back unchanged while tools run, and what requests repeat is marked for its cache."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, SystemMessage, convert_to_messages
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr

from agent.models.anthropic import build_anthropic_class
from checkpoints import RunState
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import Running, running
from tests.fakes.anthropic_rules import as_sent, check_messages, check_thinking
from tests.fakes.server import Refusal

THOUGHT = [
    {"type": "thinking", "thinking": "A ", "index": 0},
    {"type": "thinking", "thinking": "product.", "index": 0},
    {"type": "thinking", "thinking": "", "signature": "signed 1", "index": 0},
    {"type": "redacted_thinking", "data": "opaque", "index": 1},
]


class BadRequestError(Exception):
    """As the service's library raises it."""

    status_code = 400


class Package(BaseChatModel):
    """The part of langchain-anthropic that is used: its payload, and its blocks in a stream."""

    model: str = "claude-opus-5"
    issued: list[str] = Field(default=["signed 1", "opaque"])
    refused: list[str] = Field(default_factory=list)
    _payloads: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **_: Any) -> dict[str, Any]:
        messages = convert_to_messages(input_)
        system = next((message.text for message in messages if isinstance(message, SystemMessage)), None)
        return {"model": self.model, "system": system, "messages": as_sent(messages)}

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        payload = self._get_request_payload(messages)
        try:
            check_messages(payload["messages"])
            check_thinking(payload, self.issued)
        except Refusal as refusal:
            self.refused.append(refusal.text)
            raise BadRequestError(refusal.text) from None
        self._payloads.append(payload)
        is_first = len(self._payloads) == 1
        blocks = (
            [*THOUGHT, {"type": "text", "text": "Let me see.", "index": 2}]
            if is_first
            else [{"type": "text", "text": "42."}]
        )
        for block in blocks:
            yield ChatGenerationChunk(message=AIMessageChunk(content=[block]))
        call = tool_call_chunk(name="calculator", args='{"expression": "6 * 7"}', id="toolu_1", index=3)
        end = {"stop_reason": "tool_use" if is_first else "end_turn"}
        last = AIMessageChunk(content="", tool_call_chunks=[call] if is_first else [], response_metadata=end)
        yield ChatGenerationChunk(message=last)

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("answers are streamed")


def talk(model: Any, *said: str) -> list[Running]:
    async def whole() -> list[Running]:
        async with running(model) as chat:
            for text in said:
                assert (await chat.say(text)).state is RunState.DONE
            thoughts = [kept.text if (kept := Reasoning.of(each.langchain)) else "" for each in chat.path()]
            assert thoughts[1] == "A product."
        return []

    return asyncio.run(whole())


def test_thinking_goes_back_with_its_signature_before_its_call() -> None:
    model: Any = build_anthropic_class(Package)()
    talk(model, "what is 6*7?")
    answer = model._payloads[-1]["messages"][1]["content"]
    assert [block["type"] for block in answer] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert answer[:2] == [
        {"type": "thinking", "thinking": "A product.", "signature": "signed 1"},
        {"type": "redacted_thinking", "data": "opaque"},
    ]
    assert model._payloads[0]["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_the_stable_prefix_is_marked_for_the_cache() -> None:
    model: Any = build_anthropic_class(Package)()
    talk(model, "what is 6*7?")
    for payload in model._payloads:
        assert payload["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert payload["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("name", "is_asked"), [("claude-sonnet-5", True), ("claude-opus-4-7", False), ("claude-3-5-haiku", False)]
)
def test_only_models_that_always_reason_are_asked_for_a_summary(name: str, is_asked: bool) -> None:
    payload = build_anthropic_class(Package)(model=name)._get_request_payload([("user", "hi")])
    assert ("thinking" in payload) is is_asked


def test_thinking_that_does_not_fit_any_more_is_left_out() -> None:
    model: Any = build_anthropic_class(Package)(model="claude-opus-4-7", refused=[])
    model.issued = []  # as after a change of the key
    talk(model, "what is 6*7?", "thanks")
    assert "signature" in model.refused[0]
    assert "thinking" not in str(model._payloads[-1]["messages"])
