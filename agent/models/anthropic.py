"""Anthropic's requests: cache marks for the stable prefix, and summaries from models that always reason.

Each model has its own HTTP client.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from agent.certificates import load_certificates
from agent.models.fallbacks import Attempt, TermsMemory, stream_with_fallbacks
from agent.models.refusal_body import read_words
from agent.models.request_bodies import PreparedRequest, choose_sent, find_prepared, list_whole

CACHE = {"type": "ephemeral"}
SUMMARIZED = {"type": "adaptive", "display": "summarized"}
DISABLED = {"thinking": {"type": "disabled"}}
# From version 5 on, models reason by default and leave the text out. Earlier models reason only on request.
_REASONS_BY_DEFAULT = re.compile(r"claude-[a-z]+-(?:[5-9]|\d{2,})(?:\D|$)")
_REASONING_BLOCKS = ("thinking", "redacted_thinking")
# Parts of a request's body.
_MESSAGE_PARTS = ("system", "messages")
# The API refuses these together with `thinking`.
_SAMPLING = ("temperature", "top_p", "top_k")
_LOOP_REFUSED = re.compile(r"Expected .?thinking")
_TERMS_KEY = "waymark_terms"


@dataclass(frozen=True, slots=True)
class AnthropicTerms:
    """The extras that a server takes, learned from its refusals."""

    takes_cache_marks: bool = True
    takes_summary: bool = True


# The package may be missing, so its class is known only at run time. It has no field for `extra_body`, although its client
# takes it.
def build_anthropic_class(base: Any) -> type[BaseChatModel]:
    """Return a subclass of the package's model. Reasoning blocks stay in the content, as the package has them."""

    class AnthropicModel(base):  # type: ignore[misc]
        extra_body: dict[str, Any] | None = None
        _memory: TermsMemory[AnthropicTerms] = PrivateAttr(default_factory=lambda: TermsMemory(AnthropicTerms()))
        prepare_request = _prepare_request

        @cached_property
        def _client(self) -> Any:
            return _separate_connections(super()._client, "DefaultHttpxClient", getattr(self, "anthropic_proxy", None))

        @cached_property
        def _async_client(self) -> Any:
            return _separate_connections(
                super()._async_client, "DefaultAsyncHttpxClient", getattr(self, "anthropic_proxy", None)
            )

        async def _astream(
            self, messages: list[BaseMessage], *args: Any, **kwargs: Any
        ) -> AsyncIterator[ChatGenerationChunk]:
            stream = super()._astream

            def send(attempt: Attempt[AnthropicTerms]) -> AsyncIterator[ChatGenerationChunk]:
                options = {**kwargs, **attempt.options, _TERMS_KEY: attempt.terms}
                chunks: AsyncIterator[ChatGenerationChunk] = stream(choose_sent(messages, attempt), *args, **options)
                return chunks

            async for chunk in stream_with_fallbacks(self, list_whole(messages), self._memory, send, drop_refused_extra):
                yield chunk

        def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
            terms = kwargs.pop(_TERMS_KEY, self._memory.terms)
            prepared = find_prepared(self._convert_input(input_).to_messages())
            payload: dict[str, Any] = super()._get_request_payload([] if prepared else input_, stop=stop, **kwargs)
            payload |= prepared.parts if prepared else {}
            _add_extras(payload, terms, self.extra_body)
            return payload

    return AnthropicModel


def _prepare_request(model: Any, messages: list[BaseMessage]) -> BaseMessage:
    """Return the request for these messages on the server's terms."""
    terms = model._memory.terms
    payload = model._get_request_payload(messages, stop=None, **{_TERMS_KEY: terms})
    parts = {name: payload[name] for name in _MESSAGE_PARTS if name in payload}
    return PreparedRequest.build(messages, parts, terms)


def _separate_connections(client: Any, http_client: str, proxy: str | None) -> Any:
    """Return the package's client with its own HTTP connections.

    The package shares connections among all models of one address in the process. Closing one client would end the runs
    of all others, and another app's connections belong to its event loop.
    """
    make_http_client = getattr(import_module("anthropic"), http_client)
    return client.copy(http_client=make_http_client(timeout=client.timeout, proxy=proxy, verify=load_certificates()))


def drop_refused_extra(attempt: Attempt[AnthropicTerms], refusal: Exception) -> Attempt[AnthropicTerms] | None:
    """Return the request without the refused extra. Reasoning blocks go first, since they may be the refused thinking."""
    words = read_words(refusal)
    if _LOOP_REFUSED.search(words):
        # The call came from another model, so this request is answered without reasoning.
        return replace(attempt.without_reasoning(), options=DISABLED)
    if "cache_control" in words and attempt.terms.takes_cache_marks:
        return replace(attempt, terms=replace(attempt.terms, takes_cache_marks=False))
    if "thinking" in words and attempt.terms.takes_summary and not attempt.has_reasoning:
        return replace(attempt, terms=replace(attempt.terms, takes_summary=False))
    return None


def _add_extras(payload: dict[str, Any], terms: AnthropicTerms, extra_body: dict[str, Any] | None) -> None:
    """Add extras to the package's request: the settings' fields, and the extras that the server takes."""
    if extra_body:
        payload["extra_body"] = {**(payload.get("extra_body") or {}), **extra_body}
    if terms.takes_cache_marks:
        mark_stable_prefix(payload)
    if terms.takes_summary:
        _ask_for_summary(payload)


def _ask_for_summary(payload: dict[str, Any]) -> None:
    # Newer clients take the sampling in the extra body.
    options = {**payload, **(payload.get("extra_body") or {})}
    is_sampled = any(options.get(name) is not None for name in _SAMPLING)
    if not is_sampled and "thinking" not in options and _REASONS_BY_DEFAULT.match(str(payload.get("model"))):
        payload["thinking"] = dict(SUMMARIZED)


def mark_stable_prefix(payload: dict[str, Any]) -> None:
    """Mark the ends of what the next request repeats: tools and instructions, and the conversation so far."""
    if isinstance(system := payload.get("system"), str) and system.strip():
        payload["system"] = [{"type": "text", "text": system}]
    if payload.get("system"):
        payload["system"][-1] = {**payload["system"][-1], "cache_control": CACHE}
    if not payload.get("messages"):
        return
    last = payload["messages"][-1]
    if isinstance(last["content"], str) and last["content"].strip():
        last["content"] = [{"type": "text", "text": last["content"]}]
    if isinstance(last["content"], list) and last["content"] and last["content"][-1].get("type") not in _REASONING_BLOCKS:
        last["content"][-1] = {**last["content"][-1], "cache_control": CACHE}
