"""One answer of the model: streamed, and accepted only when it is complete.

A connection cut in mid-answer looks like success to the libraries, and they guess at broken tool arguments. Here an
answer needs a reported end, and arguments must be JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, InvalidToolCall, ToolCall

from agent.context.numbering import NumberStripper, strip_number
from agent.context.usage import combine_usage
from agent.graph.answer_pieces import AnswerPieces
from agent.graph.retries import Retries
from agent.graph.state import Limits, RunContext
from agent.models.answer_text import read_answer_text
from agent.models.errors import attach_parameter_fields
from agent.models.finish_reasons import convert_to_chunk, read_finish_reason
from agent.models.parameters import list_chosen_fields, list_parameter_fields
from agent.models.provider_words import read_provider_words
from agent.models.reasoning import ReasoningReader, identify_source
from agent.models.think_tags import SplitPiece
from checkpoints.values import serde
from checkpoints.values.limits import (
    MAX_ARGUMENT_LEVELS,
    MAX_ARGUMENT_VALUES,
    MAX_CALLS,
    count_values,
    has_too_many_separators,
    is_deeper,
    to_label,
)
from checkpoints.values.sentence import sentence

if TYPE_CHECKING:
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable

BoundModel: TypeAlias = "Runnable[LanguageModelInput, AIMessage]"
_CUT_OFF_TEXTS: dict[str | None, str] = {
    "length": sentence("The answer reached the model's length limit."),
    "content_filter": sentence("The model provider's content filter stopped this answer."),
    "nothing": sentence("The model said nothing; try again."),
    "only_reasoning": sentence("The model reasoned but gave no answer; try again."),
    "broken_off": sentence("The model provider broke off this answer; try again."),
    "too_many_calls": f"The answer asked for more than {MAX_CALLS} tool calls at once. None of them was run.",
}
_FINISHED_REASONS = {"stop", "tool_calls"}
_ENDING_REASONS = {*_FINISHED_REASONS, "length", "content_filter"}
NOT_AN_OBJECT = "not a JSON object"
TOO_DEEP = f"nested deeper than {MAX_ARGUMENT_LEVELS} levels"
TOO_MANY_VALUES = f"more than {MAX_ARGUMENT_VALUES:,} values in all calls"
# After a finish reason, the usage may follow. Some servers do not end the stream (maximhq/bifrost#6784).
MAX_GRACE_SECONDS = 2.0
_log = logging.getLogger(__name__)
# LangChain's words for a stream without an answer.
_EMPTY_STREAM = "No generation chunks were returned"
_KEPT_METADATA = ("model_name", "model_provider", "system_fingerprint", "id")


class AnswerCutOff(Exception):
    """The answer ended before it was complete. The text is a sentence for people."""

    def __init__(self, finish_reason: str | None) -> None:
        super().__init__(
            _CUT_OFF_TEXTS.get(finish_reason, sentence("The connection to the model was cut before the answer was whole."))
        )


class AnswerTooLong(AnswerCutOff):
    def __init__(self, limit: int, unit: str) -> None:
        Exception.__init__(self, sentence("The answer has more than {limit:,} {unit} and was cut.", limit=limit, unit=unit))


class AnswerListener:
    """Receives an answer while it arrives. This class ignores it."""

    def on_token(self, text: str) -> None:
        """Receive a piece of text, empty for other pieces."""

    def on_text(self, text: str) -> None:
        """Receive text as people see it."""

    def on_reasoning(self, text: str) -> None:
        """Receive a piece of the reasoning."""

    def on_withdrawal(self) -> None:
        """Learn that all text so far was reasoning."""


@dataclass(frozen=True, slots=True)
class _RunListener(AnswerListener):
    context: RunContext

    def on_token(self, text: str) -> None:
        self.context.trace.on_token(text)

    def on_text(self, text: str) -> None:
        self.context.recorder.append_text(text)

    def on_reasoning(self, text: str) -> None:
        self.context.recorder.append_reasoning(text)

    def on_withdrawal(self) -> None:
        self.context.recorder.withdraw_text()


async def stream_answer(model: BoundModel, messages: Sequence[AnyMessage], context: RunContext) -> AIMessage:
    """Return the model's complete answer, and pass its text to the recorder (see `collect_answer`).

    Raises `LimitReached` when it takes longer than the agent or the run may work.
    """
    async with context.own_usage.limit_answer(), context.run_usage.limit_answer():
        chosen, listener = context.model, _RunListener(context)
        if chosen is None:
            return await collect_answer(model, messages, context.limits, listener=listener)
        source, model = identify_source(chosen.spec, chosen.chat), context.trace.follow_model(model, chosen.spec)
        try:
            return await collect_answer(model, messages, context.limits, source=source, listener=listener)
        except Exception as error:
            attach_parameter_fields(error, list_parameter_fields(chosen.chat), list_chosen_fields(chosen.parameters))
            raise


async def collect_answer(
    model: BoundModel,
    messages: Sequence[AnyMessage],
    limits: Limits,
    *,
    source: str = "",
    listener: AnswerListener = AnswerListener(),  # noqa: B008  it has no state
) -> AIMessage:
    """Return the model's complete answer. A passing failure is retried, but only before any part of the answer.

    Raises `AnswerCutOff` for an incomplete answer, `TimeoutError` after too long a silence, and errors of the provider's
    library.
    """
    retries = Retries()
    while True:
        pieces, reasoning = AnswerPieces(), ReasoningReader()
        try:
            await _read_stream(_iterate_chunks(model, messages), limits, listener, pieces, reasoning)
            return _assemble_answer(pieces, reasoning, source)
        except Exception as error:
            pause = None if pieces.has_content or reasoning.has_begun else retries.next_pause(error)
            if pause is None:
                raise
            _log.info("asking again in %.1f s: %s", pause, type(error).__qualname__)
        await asyncio.sleep(pause)


async def _read_stream(
    stream: AsyncGenerator[AIMessage],
    limits: Limits,
    listener: AnswerListener,
    pieces: AnswerPieces,
    reasoning: ReasoningReader,
) -> None:
    size, has_ended = 0, False
    forwarder = _AnswerForwarder(listener)
    loop = asyncio.get_running_loop()
    # Close the stream at once when it is cut, or the provider would go on sending, and this side reading.
    try:
        async with asyncio.timeout(limits.idle_seconds) as deadline, aclosing(stream) as coming:
            async for chunk in coming:
                chunk = chunk if isinstance(chunk, AIMessageChunk) else convert_to_chunk(chunk)  # noqa: PLW2901  a model that cannot stream
                told, room = read_answer_text(chunk), limits.max_answer_chars - size
                piece = reasoning.feed(chunk, told[:room])
                pieces.add(chunk)
                forwarder.forward(piece, is_call=bool(chunk.tool_call_chunks))
                size += len(piece.text) + len(piece.thought) + _count_argument_chars(chunk)
                if len(told) > room or size > limits.max_answer_chars:
                    raise AnswerTooLong(limits.max_answer_chars, "characters")
                if pieces.count > limits.max_answer_chars:
                    raise AnswerTooLong(limits.max_answer_chars, "pieces")
                is_more = bool(told or piece.thought or chunk.tool_call_chunks)
                is_last = read_finish_reason(chunk.response_metadata) in _ENDING_REASONS
                # An empty piece is no progress. Some servers name a finish reason and continue.
                if is_more or (is_last and not has_ended):
                    has_ended = is_last
                    pause = min(limits.idle_seconds, MAX_GRACE_SECONDS) if has_ended else limits.idle_seconds
                    deadline.reschedule(loop.time() + pause)
    except TimeoutError:
        if not (has_ended and deadline.expired()):
            raise
    # A library may raise anything if the connection broke off, or its end cannot be read.
    except Exception as error:
        if not has_ended or isinstance(error, AnswerCutOff) or read_provider_words(error):
            raise
        _log.info("the stream of a whole answer ended badly: %s", type(error).__qualname__)
    forwarder.forward_rest(reasoning.flush())


def _count_argument_chars(chunk: AIMessageChunk) -> int:
    return sum(len(call["args"] or "") for call in chunk.tool_call_chunks)


class _AnswerForwarder:
    """Forwards the pieces of an answer to a listener, without the number at its beginning."""

    def __init__(self, listener: AnswerListener) -> None:
        self._listener = listener
        self._unnumbering = NumberStripper()

    def forward(self, piece: SplitPiece, *, is_call: bool = False) -> None:
        if piece.withdrawn:
            self._forward_text(self._unnumbering.flush())
            self._listener.on_withdrawal()
            self._unnumbering = NumberStripper()
        if piece.thought:
            self._listener.on_reasoning(piece.thought)
        if piece.text or piece.thought or is_call:
            self._listener.on_token(piece.text)
        self._forward_text(self._unnumbering.feed(piece.text))

    def forward_rest(self, piece: SplitPiece) -> None:
        if piece.thought:
            self._listener.on_reasoning(piece.thought)
        self._forward_text(self._unnumbering.feed(piece.text) + self._unnumbering.flush())

    def _forward_text(self, text: str) -> None:
        if text:
            self._listener.on_text(text)


async def _iterate_chunks(model: BoundModel, messages: Sequence[AnyMessage]) -> AsyncGenerator[AIMessage]:
    try:
        async for chunk in model.astream(list(messages)):
            yield chunk
    except ValueError as error:
        if _EMPTY_STREAM not in str(error):
            raise


def _assemble_answer(pieces: AnswerPieces, reasoning: ReasoningReader, source: str) -> AIMessage:
    merged, reason = pieces.join(), pieces.finish_reason
    if reason not in _FINISHED_REASONS:
        raise AnswerCutOff(reason if reason or reasoning.has_begun or pieces.has_content else "nothing")
    calls = _read_tool_calls(merged)
    # Neither the page nor an import takes more calls.
    if len(calls) > MAX_CALLS:
        raise AnswerCutOff("too_many_calls")
    unreadable = [place for place, call in enumerate(calls) if "error" in call]
    text = serde.sanitize_text(strip_number(reasoning.split_answer(read_answer_text(merged))))
    if not (text.strip() or calls):
        raise AnswerCutOff("only_reasoning" if reasoning.has_begun else "nothing")
    return AIMessage(
        content=text,
        additional_kwargs=reasoning.build(merged, source, unreadable).to_kwargs(),
        tool_calls=[call for call in calls if "error" not in call],
        invalid_tool_calls=[call for call in calls if "error" in call],
        usage_metadata=combine_usage(pieces.usages),
        response_metadata={"finish_reason": reason}
        | {key: label for key in _KEPT_METADATA if (label := to_label(merged.response_metadata.get(key)))},
    )


def _read_tool_calls(merged: AIMessageChunk) -> list[ToolCall | InvalidToolCall]:
    calls: list[ToolCall | InvalidToolCall] = []
    seen: set[str] = set()
    room = MAX_ARGUMENT_VALUES
    for chunk in merged.tool_call_chunks:
        identifier, name = to_label(chunk["id"]), to_label(chunk["name"]) or "unknown"
        text = serde.sanitize_text(chunk["args"] or "")
        # Some servers send no id, or the same id for all calls.
        if not identifier or identifier in seen:
            identifier = f"call_{uuid.uuid4().hex[:24]}"
        seen.add(identifier)
        arguments, error = _parse_call_arguments(text, room)
        if error:
            calls.append(InvalidToolCall(type="invalid_tool_call", name=name, args=text, id=identifier, error=error))
        else:
            room -= count_values(arguments, room)
            calls.append(ToolCall(name=name, args=arguments, id=identifier))
    return calls


def _parse_call_arguments(text: str, max_values: int) -> tuple[dict[str, Any], str]:
    """Return the arguments, and the reason why they are not used, or an empty text."""
    try:
        if has_too_many_separators(text.encode(), max_values):
            return {}, TOO_MANY_VALUES
        value = json.loads(text or "{}")
        if isinstance(value, dict) and is_deeper(value, MAX_ARGUMENT_LEVELS):
            return {}, TOO_DEEP
        if isinstance(value, dict) and count_values(value, max_values) > max_values:
            return {}, TOO_MANY_VALUES
        return (serde.require_exact(serde.sanitize_json(value)), "") if isinstance(value, dict) else ({}, NOT_AN_OBJECT)
    # This includes numbers and texts that are JSON but cannot be stored.
    except (ValueError, TypeError, RecursionError):
        return {}, NOT_AN_OBJECT
