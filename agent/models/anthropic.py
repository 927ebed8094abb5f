"""Anthropic's requests: a cache for the stable prefix, and summaries of the reasoning of models that always reason."""

import re
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

CACHE = {"type": "ephemeral"}
SUMMARIZED = {"type": "adaptive", "display": "summarized"}
# From version 5 on models reason by default and leave the text out; earlier models reason only if they are asked to.
_REASONS_BY_DEFAULT = re.compile(r"claude-[a-z]+-(?:[5-9]|\d{2,})(?:\D|$)")
_REASONING_BLOCKS = ("thinking", "redacted_thinking")
_LOOP_REFUSED = re.compile(r"Expected .?thinking")
_REFUSED = re.compile(r"thinking|signature|cache_control", re.IGNORECASE)


def build_anthropic_class(base: Any) -> type[BaseChatModel]:
    """Return a subclass of the package's model. Its reasoning blocks come and go as content, as the package has them."""

    class AnthropicModel(base):  # type: ignore[misc]  # the package may be missing, so its class is known only now
        _takes_extras: bool = PrivateAttr(default=True)

        async def _astream(
            self, messages: list[BaseMessage], *args: Any, **kwargs: Any
        ) -> AsyncIterator[ChatGenerationChunk]:
            try:
                async for chunk in super()._astream(messages, *args, **kwargs):
                    yield chunk
                return
            except Exception as error:
                if getattr(error, "status_code", None) != 400 or not _REFUSED.search(str(error)):
                    raise
                bare = [_drop_blocks(message) for message in messages]
                if _LOOP_REFUSED.search(str(error)):  # a call of another model: this request is answered without reasoning
                    kwargs["thinking"] = {"type": "disabled"}
                elif bare == messages:  # otherwise its blocks do not fit any more, as after a change of the key
                    self._takes_extras = False
            async for chunk in super()._astream(bare, *args, **kwargs):
                yield chunk

        def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
            payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
            if self._takes_extras:
                mark_stable_prefix(payload)
                if "thinking" not in kwargs and _REASONS_BY_DEFAULT.match(str(payload.get("model"))):
                    payload.setdefault("thinking", dict(SUMMARIZED))
            return payload

    return AnthropicModel


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


def _drop_blocks(message: BaseMessage) -> BaseMessage:
    if not isinstance(message.content, list) or message.type != "ai":
        return message
    kept = [block for block in message.content if not isinstance(block, dict) or block.get("type") not in _REASONING_BLOCKS]
    return message if len(kept) == len(message.content) else message.model_copy(update={"content": kept or message.text})
