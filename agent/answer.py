"""One answer of the model: streamed, and accepted only when it is whole.

A connection that is cut in mid-answer looks like success to the libraries, and they mend broken tool arguments by guessing.
Here an answer counts only when the provider said that it is finished, and arguments only when they are JSON.
"""

import asyncio
import json
import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable

from agent.numbering import Unnumbering, unnumbered
from agent.state import RunContext
from checkpoints import serde

Model = Runnable[LanguageModelInput, AIMessage]
_REASONS: dict[str | None, str] = {
    "length": "The answer reached the model's length limit.",
    "content_filter": "The model provider's content filter stopped this answer.",
    "too_long": "The answer grew too long and was cut.",
}
_WHOLE = {"stop", "tool_calls"}
_KEPT = ("model_name", "model_provider", "system_fingerprint", "id")


class CutOff(Exception):
    """The answer ended before it was whole. The text is a sentence for people."""

    def __init__(self, finish_reason: str | None) -> None:
        super().__init__(_REASONS.get(finish_reason, "The connection to the model was cut before the answer was whole."))


async def stream_answer(model: Model, messages: Sequence[AnyMessage], context: RunContext) -> AIMessage:
    """The model's whole answer, its text told to the recorder as it comes.

    Raises `CutOff` when it is not whole, `TimeoutError` after too long a silence, and what the provider's library raises.
    """
    limits, size = context.limits, 0
    unnumbering = Unnumbering()
    chunks: list[AIMessageChunk] = []
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(limits.idle_seconds) as deadline:
        async for chunk in model.astream(list(messages)):
            assert isinstance(chunk, AIMessageChunk)
            deadline.reschedule(loop.time() + limits.idle_seconds)
            chunks.append(chunk)
            text = _text(chunk)[: limits.most_characters - size]
            size += len(text)
            if text or chunk.tool_call_chunks:
                context.trace.heard(text)
            if shown := unnumbering.take(text):
                context.recorder.text(shown)
            size += sum(len(call["args"] or "") for call in chunk.tool_call_chunks)
            if size >= limits.most_characters:
                raise CutOff("too_long")
    if rest := unnumbering.rest():
        context.recorder.text(rest)
    return _whole(chunks)


def _text(chunk: BaseMessage) -> str:
    return chunk.content if isinstance(chunk.content, str) else str(chunk.text)


def _whole(chunks: list[AIMessageChunk]) -> AIMessage:
    merged = add_ai_message_chunks(chunks[0], *chunks[1:]) if chunks else AIMessageChunk(content="")
    # Not from the merged chunk: some servers say it twice, and merging texts joins them.
    said = [chunk.response_metadata.get("finish_reason") for chunk in chunks]
    reason = next((each for each in reversed(said) if each), None)
    if reason not in _WHOLE:
        raise CutOff(reason)
    calls, unreadable = _calls(merged)
    return AIMessage(
        content=serde.writable(unnumbered(_text(merged))),
        tool_calls=calls,
        invalid_tool_calls=unreadable,
        usage_metadata=merged.usage_metadata,
        response_metadata={"finish_reason": reason}
        | {key: merged.response_metadata[key] for key in _KEPT if key in merged.response_metadata},
    )


def _calls(merged: AIMessageChunk) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    calls: list[ToolCall] = []
    unreadable: list[InvalidToolCall] = []
    seen: set[str] = set()
    for chunk in merged.tool_call_chunks:
        identifier, name, text = chunk["id"] or "", chunk["name"] or "unknown", serde.writable(chunk["args"] or "")
        if not identifier or identifier in seen:  # some servers send none, or the same for all
            identifier = f"call_{uuid.uuid4().hex[:24]}"
        seen.add(identifier)
        arguments = _arguments(text)
        if arguments is None:
            error = "not a JSON object"
            unreadable.append(InvalidToolCall(type="invalid_tool_call", name=name, args=text, id=identifier, error=error))
        else:
            calls.append(ToolCall(name=name, args=arguments, id=identifier))
    return calls, unreadable


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "{}")
        return serde.exact(value) if isinstance(value, dict) else None
    except (ValueError, TypeError, RecursionError):  # also numbers and texts that are JSON but cannot be kept
        return None
