"""Reasoning in OpenAI's two APIs: the fields that the library drops, and the terms that a server takes them back on."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai.chat_models.base import BaseChatOpenAI
from openai import BadRequestError, UnprocessableEntityError
from pydantic import PrivateAttr

from agent.models.finish_reasons import convert_to_chunk
from agent.models.reasoning import TEXT_FIELDS, WIRE_KEY, drop_reasoning, fill_blocks
from checkpoints.reasoning import Reasoning

_KEPT_FIELDS = (*TEXT_FIELDS, "reasoning_details", "extra_content")
_KNOWN_CALL_FIELDS = {"index", "id", "type", "function"}
# Google documents this value for calls of another model; it documents none for DeepSeek, which only checks the field.
NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
NO_REASONING = "(not kept)"
_DEEPSEEK = re.compile(r"deepseek", re.IGNORECASE)
_GEMINI = re.compile(r"gemini|generativelanguage\.googleapis", re.IGNORECASE)
_REASONING_DEMANDED = re.compile(
    r"(?:missing|must be passed).*reasoning_content|reasoning_content.*(?:missing|must be passed)", re.I
)
_SIGNATURE_DEMANDED = re.compile(r"missing.*thought.?signature|thought.?signature.*(?:missing|required)", re.IGNORECASE)
_SUMMARY_REFUSED = re.compile(r"summar", re.IGNORECASE)
_ENCRYPTED_REFUSED = re.compile(r"\binclude\b|encrypted.content.*not supported", re.IGNORECASE)
_ITEMS_REFUSED = re.compile(r"reasoning|thought|encrypted|extra_content", re.IGNORECASE)


@dataclass(slots=True)
class Terms:
    """The rules about reasoning that a server has shown. They are learned from its refusals, as the stream's are."""

    needs_reasoning: bool = False  # in every answer of a request
    needs_signature: bool = False  # in the first call of every answer
    takes_summary: bool = True
    takes_encrypted: bool = True
    streams: bool = True

    def learn(self, refusal: str, *, is_responses: bool) -> bool:
        """Learn from a refusal. Return whether that changes the next request."""
        if is_responses:
            return self._learn_about_responses(refusal)
        before = (self.needs_reasoning, self.needs_signature)
        self.needs_reasoning = self.needs_reasoning or bool(_REASONING_DEMANDED.search(refusal))
        self.needs_signature = self.needs_signature or bool(_SIGNATURE_DEMANDED.search(refusal))
        return before != (self.needs_reasoning, self.needs_signature)

    def _learn_about_responses(self, refusal: str) -> bool:
        before = (self.takes_summary, self.takes_encrypted)
        self.takes_summary = self.takes_summary and not _SUMMARY_REFUSED.search(refusal)
        self.takes_encrypted = self.takes_encrypted and not _ENCRYPTED_REFUSED.search(refusal)
        return before != (self.takes_summary, self.takes_encrypted)


class ReasoningFields(BaseChatOpenAI):
    """A model of OpenAI's library that keeps the reasoning of its answers and sends it back."""

    _terms: Terms = PrivateAttr(default_factory=Terms)

    @property
    def takes_reasoning(self) -> bool:
        """Return that this model reads `Reasoning` from its messages itself."""
        return True

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        name = f"{self.openai_api_base or ''} {self.model_name}"
        self._terms.needs_reasoning = bool(_DEEPSEEK.search(name))
        self._terms.needs_signature = bool(_GEMINI.search(name))

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in _stream_on_terms(self, super()._astream, messages, *args, **kwargs):
            yield chunk

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        messages = self._convert_input(input_).to_messages()
        if self.use_responses_api:
            messages = [_fill_response_items(message) for message in messages]
        payload: dict[str, Any] = super()._get_request_payload(messages, stop=stop, **kwargs)
        if "messages" not in payload:
            _remove_lone_items(payload["input"])
            self._ask_for_reasoning(payload)
        else:
            for message, entry in zip(messages, payload["messages"], strict=True):
                if isinstance(message, AIMessage):
                    _add_fields(entry, Reasoning.of(message) or Reasoning(), self._terms)
        return payload

    def _ask_for_reasoning(self, payload: dict[str, Any]) -> None:
        if self._terms.takes_summary:
            payload["reasoning"] = {"summary": "auto", **(payload.get("reasoning") or {})}
        if self._terms.takes_encrypted:
            payload["include"] = [*(payload.get("include") or ()), "reasoning.encrypted_content"]

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        converted: ChatGenerationChunk | None = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        choices = chunk.get("choices")
        if converted is not None and choices and (wire := _read_wire(choices[0].get("delta"))):
            converted.message.additional_kwargs[WIRE_KEY] = wire
        return converted

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        result: ChatResult = super()._create_chat_result(response, generation_info)
        document = response if isinstance(response, dict) else response.model_dump(warnings=False)
        for generation, choice in zip(result.generations, document["choices"], strict=True):
            if wire := _read_wire(choice.get("message")):
                generation.message.additional_kwargs[WIRE_KEY] = wire
        return result


async def _stream_on_terms(
    model: ReasoningFields,
    stream: Callable[..., AsyncIterator[ChatGenerationChunk]],
    messages: list[BaseMessage],
    *args: Any,
    **kwargs: Any,
) -> AsyncIterator[ChatGenerationChunk]:
    """Yield the answer as a stream, on the server's terms, which its refusals teach. A refused option is not tried again.

    Reasoning that is refused for another reason is left out of this one request.
    """
    terms, is_bare = model._terms, False
    while True:
        try:
            if terms.streams:
                async for chunk in stream(messages, *args, **kwargs):
                    yield chunk
                return
            yield await _generate(model, messages, *args, **kwargs)
            return
        except (BadRequestError, UnprocessableEntityError) as refusal:
            words = str(refusal)
            if terms.learn(words, is_responses=bool(model.use_responses_api)):
                continue
            if not is_bare and _ITEMS_REFUSED.search(words) and (bare := drop_reasoning(messages)) != messages:
                messages, is_bare = bare, True
                continue
            if not terms.streams or "stream" not in words:
                raise
            if "stream_options" in words and model.stream_usage:
                model.stream_usage = False
                continue
        whole = await _generate(model, messages, *args, **kwargs)
        terms.streams = False  # only now: the refusal may have mentioned streams for another reason
        yield whole
        return


async def _generate(model: ReasoningFields, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatGenerationChunk:
    result = await model._agenerate(messages, *args, **kwargs, stream=False)
    answer = result.generations[0]
    assert isinstance(answer.message, AIMessage)
    info = {"model_name": (result.llm_output or {}).get("model_name"), **(answer.generation_info or {})}
    return ChatGenerationChunk(message=convert_to_chunk(answer.message), generation_info=info)


def _read_wire(part: Any) -> dict[str, Any]:
    """Return the fields of a message, or of a piece of one, that the library drops."""
    if not isinstance(part, dict):
        return {}
    fields = {name: part[name] for name in _KEPT_FIELDS if part.get(name)}
    calls = part.get("tool_calls")
    extras = [
        (call.get("index") if isinstance(call.get("index"), int) else place, extra)
        for place, call in enumerate(calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
        and (extra := {key: value for key, value in call.items() if key not in _KNOWN_CALL_FIELDS and value is not None})
    ]
    return {"fields": fields, "calls": extras} if fields or extras else {}


def _add_fields(entry: dict[str, Any], reasoning: Reasoning, terms: Terms) -> None:
    """Add the reasoning of an answer to its message in a request of Chat Completions."""
    entry.update({name: value for name, value in reasoning.fields.items() if name in _KEPT_FIELDS})
    if reasoning.text_field in TEXT_FIELDS and reasoning.text:
        entry[reasoning.text_field] = reasoning.text
    calls = entry.get("tool_calls") or []
    for call, extra in zip(calls, reasoning.call_fields, strict=False):
        call.update({name: value for name, value in extra.items() if name not in _KNOWN_CALL_FIELDS})
    if terms.needs_reasoning:
        entry.setdefault("reasoning_content", NO_REASONING)
    if terms.needs_signature and calls and not any("extra_content" in call for call in calls):
        calls[0]["extra_content"] = NO_SIGNATURE


def _fill_response_items(message: BaseMessage) -> BaseMessage:
    """Return an answer with its reasoning items in their places, as far as they can be sent back without storage."""
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None or not isinstance(message, AIMessage):
        return message
    calls = iter(message.tool_calls)
    blocks: list[Mapping[str, Any]] = []
    for block in reasoning.blocks:
        if block.get("type") == "call" and (call := next(calls, None)) is not None:
            arguments = json.dumps(call["args"], ensure_ascii=False)
            blocks.append({"type": "function_call", "name": call["name"], "arguments": arguments, "call_id": call["id"]})
        elif block.get("type") == "text":
            blocks.append(block)
        elif block.get("encrypted_content"):
            blocks.append(
                {"type": "reasoning", "summary": block.get("summary") or [], "encrypted_content": block["encrypted_content"]}
            )
    return message.model_copy(update={"content": fill_blocks(message, blocks)}) if blocks else message


def _remove_lone_items(items: list[Any]) -> None:
    """Remove reasoning that nothing of its answer follows: the service refuses it."""
    followed = ("function_call", "message", "reasoning")
    for at in range(len(items) - 1, -1, -1):
        if items[at].get("type") != "reasoning":
            continue
        following = items[at + 1] if at + 1 < len(items) else {}
        if following.get("type") not in followed or following.get("role", "assistant") != "assistant":
            del items[at]
