"""Reasoning in OpenAI's two APIs: fields the library drops, and a server's terms for taking them back."""

import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai.chat_models.base import BaseChatOpenAI, _construct_lc_result_from_responses_api
from pydantic import PrivateAttr

from agent.message_cache import MessageCache
from agent.models.fallbacks import Attempt, TermsMemory, stream_with_fallbacks
from agent.models.json_streams import WholeResponse
from agent.models.message_rules import answer_results, join_questions, shorten_call_ids
from agent.models.reasoning import TEXT_FIELDS, WIRE_KEY, fill_blocks
from agent.models.refusal_body import read_words
from agent.models.request_bodies import KeptEntries, KeptEntry, PreparedRequest, choose_sent, find_prepared, list_whole
from agent.models.whole_answers import convert_result, generate_whole
from checkpoints.values.reasoning import Reasoning

_KEPT_FIELDS = (*TEXT_FIELDS, "reasoning_details", "extra_content")
_KNOWN_CALL_FIELDS = {"index", "id", "type", "function"}
# Google documents this value for calls of another model. DeepSeek documents none, and only checks the field.
NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
NO_REASONING = "(not kept)"
_HOST_TERMS = {
    "api.deepseek.com": {"needs_reasoning": True},
    "generativelanguage.googleapis.com": {"needs_signature": True},
    # Mistral reports usage unasked, and takes no unknown field.
    "api.mistral.ai": {
        "needs_short_ids": True,
        "needs_answered_results": True,
        "takes_usage": False,
        "takes_completion_tokens": False,
    },
}
_DEMANDS = {
    "needs_reasoning": r"(?:missing|must be passed).*reasoning_content|reasoning_content.*(?:missing|must be passed)",
    "needs_signature": r"missing.*thought.?signature|thought.?signature.*(?:missing|required)",
    "needs_short_ids": r"tool call id was .* length of 9",
    "needs_answered_results": r"unexpected role '?user'? after role '?tool",
    "needs_joined_questions": r"roles must alternate",
}
# A stream that broke off refuses nothing.
_STREAM_REFUSED = re.compile(
    r"stream_options|\bstream(?:s|ing|ed)?\b(?!\s+(?:error|was|has|closed|reset|ended|failed|broke|disconnected))",
    re.IGNORECASE,
)
_COMPLETION_TOKENS_REFUSED = re.compile(
    r"(?:extra|unknown|unrecognized|unsupported|unexpected)\b.*max_completion_tokens(?!\W+instead)"
    r"|max_completion_tokens.*(?:extra|unknown|unrecognized|unsupported|not permitted|not supported)",
    re.IGNORECASE,
)
_NAMED_FIELD = r"(?:parameter|argument|field|property|input)\W+"
_SUMMARY_REFUSED = re.compile(rf"reasoning\.summary|reasoning summar|{_NAMED_FIELD}reasoning\b", re.IGNORECASE)
_ENCRYPTED_REFUSED = re.compile(rf"encrypted.content\W+(?:is )?not supported|{_NAMED_FIELD}include\b", re.IGNORECASE)
_TERMS_KEY = "waymark_terms"


@dataclass(frozen=True, slots=True)
class Terms:
    """The rules of a server about its requests, learned from its refusals (see `fallbacks`)."""

    # Required in every answer of a request, or in the first call of every answer.
    needs_reasoning: bool = False
    needs_signature: bool = False
    needs_short_ids: bool = False
    # No user's message may directly follow a result, or another user's message.
    needs_answered_results: bool = False
    needs_joined_questions: bool = False
    takes_summary: bool = True
    takes_encrypted: bool = True
    # Takes the request for usage in a stream, or `max_completion_tokens` instead of `max_tokens`.
    takes_usage: bool = True
    takes_completion_tokens: bool = True
    streams: bool = True

    @property
    def changes_entries(self) -> bool:
        """Return whether a message's entry in a request depends on other messages, or changes with the request."""
        return self.needs_short_ids or self.needs_answered_results or self.needs_joined_questions


def change_terms(attempt: Attempt[Terms], refusal: Exception, *, is_responses: bool) -> Attempt[Terms] | None:
    """Return the request on the terms that a refusal shows, or None if it shows none."""
    words = read_words(refusal)
    changes = _read_responses_terms(refusal, words) if is_responses else _read_chat_terms(attempt, words)
    if not changes and _STREAM_REFUSED.search(words):
        is_usage = "stream_options" in words and attempt.terms.takes_usage
        changes = {"takes_usage": False} if is_usage else {"streams": False}
    return replace(attempt, terms=replace(attempt.terms, **changes)) if changes else None


def _read_chat_terms(attempt: Attempt[Terms], words: str) -> dict[str, bool]:
    if demanded := next((name for name, demand in _DEMANDS.items() if re.search(demand, words, re.IGNORECASE)), None):
        return {demanded: True}
    if _COMPLETION_TOKENS_REFUSED.search(words) and attempt.terms.takes_completion_tokens:
        return {"takes_completion_tokens": False}
    if attempt.has_reasoning:
        # The refused field may be the request's own reasoning, which goes first.
        return {}
    named = {"needs_reasoning": "reasoning_content", "needs_signature": "extra_content"}
    return {name: False for name, key in named.items() if key in words and getattr(attempt.terms, name)}


def _read_responses_terms(refusal: Exception, words: str) -> dict[str, bool]:
    """Return the options refused by name. A sentence may contain words such as “include” for another reason."""
    param = str(getattr(refusal, "param", None) or "")
    refused = {
        "takes_summary": param in ("reasoning", "reasoning.summary") or _SUMMARY_REFUSED.search(words),
        "takes_encrypted": param.startswith("include") or _ENCRYPTED_REFUSED.search(words),
    }
    return {name: False for name, found in refused.items() if found}


def _make_entries() -> defaultdict[Terms, MessageCache[dict[str, Any]]]:
    return defaultdict(MessageCache)


class ReasoningFields(BaseChatOpenAI):
    """A model of OpenAI's library. It keeps its answers' reasoning and sends it back."""

    _memory: TermsMemory[Terms] = PrivateAttr(default_factory=lambda: TermsMemory(Terms()))
    _entries: defaultdict[Terms, MessageCache[dict[str, Any]]] = PrivateAttr(default_factory=_make_entries)

    @property
    def takes_reasoning(self) -> bool:
        return True

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        # The host decides, since other servers of the same model refuse the fields.
        address = self.openai_api_base or getattr(self, "api_base", None)
        self._memory.terms = Terms(**_HOST_TERMS.get(urlsplit(str(address or "")).hostname or "", {}))

    def prepare_request(self, messages: list[BaseMessage]) -> BaseMessage:
        """Return the request for these messages on the server's terms, with its JSON."""
        terms, name = self._memory.terms, "input" if self.use_responses_api else "messages"
        entries = self._get_request_payload(messages, stop=None, **{_TERMS_KEY: terms})[name]
        return PreparedRequest.build(messages, {name: KeptEntries(entries)}, terms)

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        stream = super()._astream

        async def send(attempt: Attempt[Terms]) -> AsyncIterator[ChatGenerationChunk]:
            options = {**kwargs, _TERMS_KEY: attempt.terms}
            if not attempt.terms.streams:
                yield await generate_whole(self, list(attempt.messages), *args, **options)
                return
            sent = choose_sent(messages, attempt)
            whole = None
            try:
                async for chunk in stream(sent, *args, **options):
                    yield chunk
            except WholeResponse as error:
                whole = error.response
            if whole is not None:
                yield convert_result(_construct_lc_result_from_responses_api(whole, output_version=self.output_version))

        fallback = partial(change_terms, is_responses=bool(self.use_responses_api))
        async for chunk in stream_with_fallbacks(self, list_whole(messages), self._memory, send, fallback):
            yield chunk

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        terms: Terms = kwargs.pop(_TERMS_KEY, self._memory.terms)
        # The library would look at each message twice, and nearly all inputs are lists of messages.
        if isinstance(input_, list) and all(isinstance(each, BaseMessage) for each in input_):
            messages: list[Any] = input_
        else:
            messages = self._convert_input(input_).to_messages()
        prepared = find_prepared(messages)
        if prepared is not None:
            messages = []
        if self.use_responses_api:
            messages = [_fill_response_items(message) for message in messages]
        # Then an entry depends on its message alone.
        keeps = not (self.use_responses_api or terms.changes_entries)
        known = self._entries[terms] if keeps else MessageCache[dict[str, Any]]()
        entries = [known.find(message) for message in messages]
        new = [message for message, entry in zip(messages, entries, strict=True) if entry is None]
        payload: dict[str, Any] = super()._get_request_payload(new, stop=stop, **kwargs)
        if "messages" not in payload:
            _remove_lone_items(payload["input"])
            _ask_for_reasoning(payload, terms)
        else:
            for message, entry in zip(new, payload["messages"], strict=True):
                if isinstance(message, AIMessage):
                    _add_fields(entry, Reasoning.of(message) or Reasoning(), terms)
                known.keep(message, KeptEntry(entry) if keeps else entry)
            payload["messages"] = [entry or known.find(each) for each, entry in zip(messages, entries, strict=True)]
            _apply_rules(payload["messages"], terms)
        payload |= prepared.parts if prepared else {}
        if not terms.takes_usage:
            payload.pop("stream_options", None)
        if not terms.takes_completion_tokens and "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload

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


def _apply_rules(entries: list[dict[str, Any]], terms: Terms) -> None:
    if terms.needs_short_ids:
        shorten_call_ids(entries)
    if terms.needs_answered_results:
        answer_results(entries)
    if terms.needs_joined_questions:
        join_questions(entries)


def _ask_for_reasoning(payload: dict[str, Any], terms: Terms) -> None:
    if terms.takes_summary:
        payload["reasoning"] = {"summary": "auto", **(payload.get("reasoning") or {})}
    if terms.takes_encrypted:
        payload["include"] = [*(payload.get("include") or ()), "reasoning.encrypted_content"]


def _read_wire(part: Any) -> dict[str, Any]:
    """Return the fields of a message, or of a piece, that the library drops."""
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
    """Return an answer with its reasoning items in their places, if they can be sent back without storage."""
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
    """Remove reasoning items that nothing of their answer follows, since the service refuses them."""
    followed = ("function_call", "message", "reasoning")
    for at in range(len(items) - 1, -1, -1):
        if items[at].get("type") != "reasoning":
            continue
        following = items[at + 1] if at + 1 < len(items) else {}
        if following.get("type") not in followed or following.get("role", "assistant") != "assistant":
            del items[at]
