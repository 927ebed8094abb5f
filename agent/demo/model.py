"""A deterministic model without a key or a network. It demonstrates Waymark, and its answers say so.

It streams like a provider: in words, and with the arguments of calls in pieces.
"""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata, add_ai_message_chunks
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.demo.answers import DemoAnswer, choose_answer, shorten_answer

# Arguments arrive in pieces of this size, as from a provider.
ARGUMENT_FRAGMENT_CHARS = 6


class DemoChatModel(BaseChatModel):
    """Answers from the conversation alone: the same messages give the same answer and call ids."""

    seconds_per_token: float = 0.02
    tool_names: frozenset[str] = frozenset()
    # The answers are the first sentences of the other demo's answers.
    is_brief: bool = False

    @property
    def _llm_type(self) -> str:
        return "demo"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> "DemoChatModel":
        names = frozenset(str(convert_to_openai_tool(tool)["function"]["name"]) for tool in tools)
        return self.model_copy(update={"tool_names": names})

    def _choose_answer(self, messages: Sequence[BaseMessage]) -> DemoAnswer:
        answer = choose_answer(messages, self.tool_names)
        return shorten_answer(answer) if self.is_brief else answer

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for message in _split_answer(self._choose_answer(messages), messages):
            chunk = ChatGenerationChunk(message=message)
            time.sleep(self.seconds_per_token)
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for message in _split_answer(self._choose_answer(messages), messages):
            chunk = ChatGenerationChunk(message=message)
            await asyncio.sleep(self.seconds_per_token)
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        first, *others = _split_answer(self._choose_answer(messages), messages)
        chunk = add_ai_message_chunks(first, *others)
        message = AIMessage(
            content=chunk.content,
            tool_calls=chunk.tool_calls,
            response_metadata=chunk.response_metadata,
            usage_metadata=chunk.usage_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)


def _split_answer(answer: DemoAnswer, messages: Sequence[BaseMessage]) -> Iterator[AIMessageChunk]:
    """Yield the answer in a provider's order: words, then each call's name and its arguments in pieces, then the end."""
    for word in re.findall(r"\s*\S+\s*", answer.text):
        yield AIMessageChunk(content=word)
    fingerprint = _hash_messages(messages)
    for index, call in enumerate(answer.calls):
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield _make_call_chunk(index, name=call.name, identity=f"call_{fingerprint}_{index}")
        for start in range(0, len(arguments), ARGUMENT_FRAGMENT_CHARS):
            yield _make_call_chunk(index, arguments=arguments[start : start + ARGUMENT_FRAGMENT_CHARS])
    input_tokens = sum(len(message.text) for message in messages) // 4 + 1
    output_tokens = (len(answer.text) + sum(len(str(call.arguments)) for call in answer.calls)) // 4 + 1
    yield AIMessageChunk(
        content="",
        response_metadata={"finish_reason": "tool_calls" if answer.calls else "stop", "model_name": "demo"},
        usage_metadata=UsageMetadata(
            input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=input_tokens + output_tokens
        ),
        chunk_position="last",
    )


def _make_call_chunk(
    index: int, *, name: str | None = None, identity: str | None = None, arguments: str = ""
) -> AIMessageChunk:
    return AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name=name, args=arguments, id=identity, index=index)]
    )


def _hash_messages(messages: Sequence[BaseMessage]) -> str:
    contents = [[message.type, message.text, getattr(message, "tool_call_id", None)] for message in messages]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:20]
