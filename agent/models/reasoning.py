"""Reasoning in a model's stream, and in later requests to the model that made it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, HumanMessage

from agent.models.think_tags import SplitPiece, ThinkSplitter, split_thought
from checkpoints.values.reasoning import Item, Reasoning, drop_reasoning_entry

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# A key of a chunk's `additional_kwargs`. It holds the fields of Chat Completions that the library drops.
WIRE_KEY = "waymark_wire"
TEXT_FIELDS = ("reasoning_content", "reasoning")
REASONING_BLOCKS = {"thinking", "redacted_thinking", "reasoning", "reasoning_content"}
_CALL_BLOCKS = {"tool_use", "function_call", "tool_call"}
# The library's own entries of `additional_kwargs`.
_ANSWER_KWARGS = {"tool_calls", "function_call", "parsed", "refusal", "audio"}
_LIBRARY_KWARGS = {*_ANSWER_KWARGS, WIRE_KEY, *TEXT_FIELDS}


def identify_source(spec: str, chat: BaseChatModel) -> str:
    """Return the source of a model's items: its spec and a fingerprint of its address. No other model takes the items."""
    address = next(
        (str(value) for name in ("openai_api_base", "azure_endpoint") if (value := getattr(chat, name, None))), ""
    )
    return f"{spec}#{hashlib.sha256(address.encode()).hexdigest()[:8]}" if address else spec


class ReasoningReader:
    """Separates the reasoning of an answer from its text while it streams."""

    def __init__(self) -> None:
        self._splitter = ThinkSplitter()
        self._texts: list[str] = []
        # The reasoning comes apart from the text.
        self._has_field = False
        # The start of text that may yet turn out to be reasoning.
        self._answered_at: float | None = None
        self._begun_at: float | None = None
        self._ended_at: float | None = None
        self._text_field = ""
        self._fields: dict[str, Any] = {}
        self._call_fields: dict[int, dict[str, Any]] = {}

    @property
    def has_begun(self) -> bool:
        return self._begun_at is not None

    def feed(self, chunk: AIMessageChunk, text: str) -> SplitPiece:
        """Return the answer's text and its reasoning in a chunk, whose whole text is `text`."""
        wire = chunk.additional_kwargs.pop(WIRE_KEY, {})
        self._keep_fields(wire)
        thought = _read_wire_text(wire) or _read_block_texts(chunk) or self._read_package_text(chunk)
        if thought:
            self._has_field = True
            self._splitter.expect_no_lone_tag()
        piece = self._splitter.feed(text)
        piece = replace(piece, thought=thought + piece.thought)
        self._note(piece, is_over=bool(piece.text or chunk.tool_call_chunks))
        return piece

    def flush(self) -> SplitPiece:
        """Return the rest of the text and of the reasoning at the end of the stream."""
        piece = self._splitter.flush()
        self._note(piece, is_over=True)
        return piece

    def split_answer(self, text: str) -> str:
        """Return the text of the complete answer, without reasoning."""
        return split_thought(text, takes_lone_tag=not self._has_field).text

    def build(self, merged: AIMessageChunk, source: str, unreadable_places: Sequence[int] = ()) -> Reasoning:
        """Return the reasoning of the complete answer. `unreadable_places` are the positions of its invalid calls."""
        indexes = [chunk["index"] for chunk in merged.tool_call_chunks]
        calls = [
            self._call_fields.get(index if isinstance(index, int) else place, {}) for place, index in enumerate(indexes)
        ]
        seconds = (self._ended_at or time.monotonic()) - self._begun_at if self._begun_at is not None else 0.0
        extras = {key: value for key, value in merged.additional_kwargs.items() if key not in _LIBRARY_KWARGS}
        return Reasoning(
            text="".join(self._texts),
            duration_ms=round(seconds * 1000),
            source=source,
            text_field=self._text_field,
            fields=self._fields,
            call_fields=calls,
            unreadable_places=unreadable_places,
            blocks=_read_blocks(merged.content),
            extras=extras,
        )

    def _read_package_text(self, chunk: AIMessageChunk) -> str:
        """Return the reasoning beside a chunk's content, as some packages put it."""
        name = next((name for name in TEXT_FIELDS if isinstance(chunk.additional_kwargs.get(name), str)), "")
        self._text_field = self._text_field or name
        return str(chunk.additional_kwargs[name]) if name else ""

    def _note(self, piece: SplitPiece, *, is_over: bool) -> None:
        if piece.withdrawn:
            self._begun_at = self._begun_at or self._answered_at
        if thought := piece.withdrawn + piece.thought:
            self._begun_at, self._ended_at = self._begun_at or time.monotonic(), None
            self._texts.append(thought)
        if piece.text:
            self._answered_at = self._answered_at or time.monotonic()
        if is_over and self._begun_at is not None and self._ended_at is None:
            self._ended_at = time.monotonic()

    def _keep_fields(self, wire: Mapping[str, Any]) -> None:
        for name, value in wire.get("fields", {}).items():
            if name in TEXT_FIELDS:
                self._text_field = self._text_field or name
            elif isinstance(value, list):
                self._fields[name] = merge_details(self._fields.get(name, []), value)
            else:
                self._fields[name] = value
        for index, extra in wire.get("calls", []):
            self._call_fields.setdefault(index, {}).update(extra)


def merge_details(known: list[Any], added: Sequence[Any]) -> list[Any]:
    """Join the pieces of OpenRouter's `reasoning_details` by their type and index."""
    merged = list(known)
    for piece in added:
        place = next((at for at, each in enumerate(merged) if _is_same_detail(each, piece)), None)
        if place is None:
            merged.append(piece)
            continue
        joined = {**merged[place], **{key: value for key, value in piece.items() if value is not None}}
        for key in ("text", "summary", "data"):
            if isinstance(before := merged[place].get(key), str) and isinstance(more := piece.get(key), str):
                joined[key] = before + more
        merged[place] = joined
    return merged


def _is_same_detail(one: Any, other: Any) -> bool:
    both = isinstance(one, dict) and isinstance(other, dict)
    return both and other.get("index") is not None and all(one.get(key) == other.get(key) for key in ("type", "index"))


def _read_wire_text(wire: Mapping[str, Any]) -> str:
    fields = wire.get("fields", {})
    return next((fields[name] for name in TEXT_FIELDS if isinstance(fields.get(name), str) and fields[name]), "")


def _read_block_texts(chunk: AIMessageChunk) -> str:
    return "".join(map(_read_block_text, chunk.content)) if isinstance(chunk.content, list) else ""


def _read_block_text(block: Any) -> str:
    """Return the text of a reasoning block from Anthropic, Responses, Mistral or Bedrock."""
    if not isinstance(block, dict) or block.get("type") not in REASONING_BLOCKS:
        return ""
    for key in ("thinking", "reasoning", "summary", "content", "reasoning_content", "text"):
        value = block.get(key)
        if isinstance(value, dict):
            value = value.get("text")
        if isinstance(value, list):
            value = "".join(_read_summary_part(part) for part in value if isinstance(part, dict))
        if isinstance(value, str) and value:
            return value
    return ""


def _read_summary_part(part: Mapping[str, Any]) -> str:
    """Return a part of a summary. Responses begins each further part with an empty text."""
    text = part.get("text")
    if part.get("type") == "summary_text" and text == "" and part.get("index"):
        return "\n\n"
    return text if isinstance(text, str) else ""


def _read_blocks(content: Any) -> list[Item]:
    """Return the provider's items in an answer's content, and the places of its text and its calls."""
    blocks: list[Item] = []
    for block in content if isinstance(content, list) else []:
        kind = block.get("type") if isinstance(block, dict) else "text"
        if kind in REASONING_BLOCKS:
            blocks.append(_drop_indexes(block))
        elif kind in _CALL_BLOCKS:
            blocks.append({"type": "call"})
        elif kind == "text" and {"type": "text"} not in blocks:
            blocks.append({"type": "text"})
    return blocks if any(block["type"] in REASONING_BLOCKS for block in blocks) else []


def _drop_indexes(value: Any) -> Any:
    """Return a block without the numbers by which the library joins its pieces."""
    if isinstance(value, dict):
        return {key: _drop_indexes(each) for key, each in value.items() if key != "index"}
    return [_drop_indexes(each) for each in value] if isinstance(value, list) else value


def restore_reasoning(messages: Sequence[AnyMessage], source: str, chat: BaseChatModel) -> list[AnyMessage]:
    """Return a request's messages with only the reasoning that its model takes back, in the model's form."""
    selected = select_reasoning(messages, source)
    return selected if getattr(chat, "takes_reasoning", False) else list(map(_restore_message, selected))


def select_reasoning(messages: Sequence[AnyMessage], source: str) -> list[AnyMessage]:
    """Return a request's messages with only the reasoning that its model takes back.

    Fields of calls always go back. Other reasoning goes back within a turn that calls tools, since providers ignore it
    elsewhere.
    """
    # Most conversations need no further look.
    if not any(message.additional_kwargs for message in messages):
        return list(messages)
    return [
        _select_in_message(message, source, in_loop=in_loop)
        for message, in_loop in zip(messages, _find_tool_turns(messages), strict=True)
    ]


def _find_tool_turns(messages: Sequence[AnyMessage]) -> list[bool]:
    """Return for each message whether its turn, from one user's message to the next, calls tools."""
    turns: list[int] = []
    for message in messages:
        turns.append((turns[-1] if turns else 0) + isinstance(message, HumanMessage))
    calling = {
        turn for message, turn in zip(messages, turns, strict=True) if isinstance(message, AIMessage) and message.tool_calls
    }
    return [turn in calling for turn in turns]


def _select_in_message(message: AnyMessage, source: str, *, in_loop: bool) -> AnyMessage:
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None:
        return message
    if reasoning.source == source and in_loop:
        return message
    others = drop_reasoning_entry(message.additional_kwargs)
    if reasoning.source == source:
        others |= replace(reasoning, text="", text_field="", fields={}, blocks=()).to_kwargs()
    return message.model_copy(update={"additional_kwargs": others})


def _restore_message(message: AnyMessage) -> AnyMessage:
    """Return a message in the form of a provider's package, which reads no `Reasoning`."""
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None:
        return message
    others = drop_reasoning_entry(message.additional_kwargs)
    content = fill_blocks(message, reasoning.blocks) if reasoning.blocks else message.content
    extras = {**reasoning.extras, **({reasoning.text_field: reasoning.text} if reasoning.text_field else {})}
    return message.model_copy(update={"additional_kwargs": {**others, **extras}, "content": content})


def fill_blocks(message: AnyMessage, blocks: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the content of an answer with its items in their places. The library adds missing calls.

    Text without a place, such as a number, comes before the calls, since nothing may stand between a call and its
    result.
    """
    text = [{"type": "text", "text": message.text}] if message.text else []
    has_place = any(block.get("type") == "text" for block in blocks)
    content: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text" or (kind in _CALL_BLOCKS and not has_place):
            content, text = content + text, []
        if kind not in ("text", "call"):
            content.append(dict(block))
    return content + text


def drop_reasoning(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages without reasoning in any form. Messages without reasoning stay the same objects."""
    return [_drop_reasoning(message) if isinstance(message, AIMessage) else message for message in messages]


def _drop_reasoning(message: AIMessage) -> AIMessage:
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key in _ANSWER_KWARGS}
    content = message.content
    if isinstance(content, list):
        content = [part for part in content if not isinstance(part, dict) or part.get("type") not in REASONING_BLOCKS]
    if len(kwargs) == len(message.additional_kwargs) and len(content) == len(message.content):
        return message
    return message.model_copy(update={"additional_kwargs": kwargs, "content": content or str(message.text)})
