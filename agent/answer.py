"""One answer of the model: streamed, and accepted only when it is whole.

A connection that is cut in mid-answer looks like success to the libraries, and they mend broken tool arguments by guessing.
Here an answer counts only when the provider said that it is finished, and arguments only when they are JSON.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable

from agent.models.answers import as_chunk, finish_reason
from agent.numbering import Unnumbering, unnumbered
from agent.retrying import Retries
from agent.state import RunContext
from agent.usage import readable_usage
from checkpoints import serde
from checkpoints.limits import MAX_ARGUMENT_LEVELS, is_deeper, to_label

Model = Runnable[LanguageModelInput, AIMessage]
_REASONS: dict[str | None, str] = {
    "length": "The answer reached the model's length limit.",
    "content_filter": "The model provider's content filter stopped this answer.",
    "nothing": "The model sent nothing of an answer; try again.",
    "too_long": "The answer grew too long and was cut.",
}
_WHOLE = {"stop", "tool_calls"}
TOO_DEEP = f"nested deeper than {MAX_ARGUMENT_LEVELS} levels"
_log = logging.getLogger(__name__)
_KEPT = ("model_name", "model_provider", "system_fingerprint", "id")


class CutOff(Exception):
    """The answer ended before it was whole. The text is a sentence for people."""

    def __init__(self, finish_reason: str | None) -> None:
        super().__init__(_REASONS.get(finish_reason, "The connection to the model was cut before the answer was whole."))


async def stream_answer(model: Model, messages: Sequence[AnyMessage], context: RunContext) -> AIMessage:
    """The model's whole answer, its text told to the recorder as it comes.

    Asks again after a passing failure, but never once something of the answer has come. Raises `CutOff` when it is not
    whole, `TimeoutError` after too long a silence, and what the provider's library raises.
    """
    retries = Retries()
    while True:
        chunks: list[AIMessageChunk] = []
        try:
            await _stream(model, messages, context, chunks)
            return _whole(chunks)
        except Exception as error:  # of any library; all that does not pass is raised again
            pause = None if _heard(chunks) else retries.pause(error)
            if pause is None:
                raise
            _log.info("asking again in %.1f s: %s", pause, type(error).__qualname__)
        await asyncio.sleep(pause)


async def _stream(model: Model, messages: Sequence[AnyMessage], context: RunContext, chunks: list[AIMessageChunk]) -> None:
    """Add to `chunks` as they come."""
    limits, size = context.limits, 0
    unnumbering = Unnumbering()
    loop = asyncio.get_running_loop()
    # Closed at once when it is cut: the provider would go on sending, and somebody here would go on reading.
    async with asyncio.timeout(limits.idle_seconds) as deadline, aclosing(_chunks(model, messages)) as coming:
        async for chunk in coming:
            chunk = chunk if isinstance(chunk, AIMessageChunk) else as_chunk(chunk)  # noqa: PLW2901  a model that cannot stream
            deadline.reschedule(loop.time() + limits.idle_seconds)
            chunks.append(chunk)
            text = _text(chunk)[: limits.most_characters - size]
            size += len(text)
            if text or chunk.tool_call_chunks:
                context.trace.heard(text)
            if shown := unnumbering.take(text):
                context.recorder.text(shown)
            size += sum(len(call["args"] or "") for call in chunk.tool_call_chunks)
            # Also so many chunks with nothing in them: each starts the deadline anew.
            if max(size, len(chunks)) >= limits.most_characters:
                raise CutOff("too_long")
    if rest := unnumbering.rest():
        context.recorder.text(rest)


async def _chunks(model: Model, messages: Sequence[AnyMessage]) -> AsyncGenerator[AIMessage]:
    async for chunk in model.astream(list(messages)):
        yield chunk


def _heard(chunks: Sequence[AIMessageChunk]) -> bool:
    """Whether anything of an answer has come."""
    return any(_text(chunk) or chunk.tool_call_chunks for chunk in chunks)


def _text(chunk: BaseMessage) -> str:
    return chunk.content if isinstance(chunk.content, str) else str(chunk.text)


def _whole(chunks: list[AIMessageChunk]) -> AIMessage:
    merged = add_ai_message_chunks(chunks[0], *chunks[1:]) if chunks else AIMessageChunk(content="")
    # Not from the merged chunk: some servers say it twice, and merging texts joins them.
    said = [finish_reason(chunk.response_metadata) for chunk in chunks]
    reason = next((each for each in reversed(said) if each), None)
    if reason not in _WHOLE:
        raise CutOff(reason if reason or _heard(chunks) else "nothing")
    calls, unreadable = _calls(merged)
    return AIMessage(
        content=serde.writable(unnumbered(_text(merged))),
        tool_calls=calls,
        invalid_tool_calls=unreadable,
        usage_metadata=readable_usage(merged.usage_metadata),
        response_metadata={"finish_reason": reason}
        | {key: label for key in _KEPT if (label := to_label(merged.response_metadata.get(key)))},
    )


def _calls(merged: AIMessageChunk) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    calls: list[ToolCall] = []
    unreadable: list[InvalidToolCall] = []
    seen: set[str] = set()
    for chunk in merged.tool_call_chunks:
        identifier, name = to_label(chunk["id"]), to_label(chunk["name"]) or "unknown"
        text = serde.writable(chunk["args"] or "")
        if not identifier or identifier in seen:  # some servers send none, or the same for all
            identifier = f"call_{uuid.uuid4().hex[:24]}"
        seen.add(identifier)
        arguments = _arguments(text)
        if arguments is None or is_deeper(arguments, MAX_ARGUMENT_LEVELS):
            error = "not a JSON object" if arguments is None else TOO_DEEP
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
