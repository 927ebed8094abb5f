"""The rules that Anthropic holds a list of messages to, and what langchain-anthropic would make of ours. Pure functions.

From its documentation of tool use, and from what the service was seen to refuse. Three rules are stricter than the service:
the first message must be the user's (Bedrock insists), so must the last one (newer models take no beginning of an answer),
and white space alone is no text, wherever it stands.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from tests.fakes.server import JSON, Refusal

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def as_sent(messages: Sequence[BaseMessage]) -> list[JSON]:
    """A request's messages in Anthropic's form: results are a user's, and what users say one after the other is one turn."""
    turns: list[JSON] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        role = "assistant" if isinstance(message, AIMessage) else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: BaseMessage) -> list[JSON]:
    if isinstance(message, ToolMessage):
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    uses = [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]} for call in calls]
    text = [{"type": "text", "text": message.content}] if message.content or not uses else []
    return [*(text if isinstance(message.content, str) else message.content), *uses]


def check_messages(messages: Sequence[JSON]) -> None:
    """Raises Refusal for the first turn that breaks the order, the pairing of calls and results, or has nothing in it."""
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        raise Refusal("messages: the first and the last message must use the user role")
    asked: list[str] = []
    taken: set[str] = set()
    for index, message in enumerate(messages):
        _check_results(message, asked, f"messages.{index}")
        _check_texts(message, f"messages.{index}")
        asked = [_checked(block, taken) for block in message["content"] if block["type"] == "tool_use"]
        if asked and message["role"] != "assistant":
            raise Refusal(f"messages.{index}: `tool_use` blocks can only be in assistant messages")


def with_blocks(body: JSON) -> JSON:
    """The request with each text as the block that it is short for."""
    messages = [message | {"content": _as_blocks(message["content"])} for message in body.get("messages") or ()]
    return body | {"messages": messages, "system": _as_blocks(body.get("system") or [])}


def _as_blocks(content: Any) -> list[JSON]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_thinking(body: JSON) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def check_options(body: JSON) -> None:
    """Raises Refusal for options that the service does not take, or not together."""
    for name in ("model", "max_tokens", "messages"):
        if not body.get(name):
            raise Refusal(f"{name}: Field required")
    if any(not block["text"].strip() for block in with_blocks(body)["system"]):
        raise Refusal("system: text content blocks must be non-empty")
    if (body.get("thinking") or {}).get("type", "enabled") not in ("enabled", "adaptive", "disabled"):
        raise Refusal("thinking: Input tag does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'")
    if not is_thinking(body):
        return
    if body.get("temperature", 1) != 1:
        raise Refusal("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if body.get("top_p", 1) < 0.95:
        raise Refusal("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
    if body.get("top_k") is not None:
        raise Refusal("`top_k` must be unset when thinking is enabled.")


def check_thinking(payload: JSON, issued: Collection[str]) -> None:
    """Raises Refusal where reasoning was changed, comes late, or is missing while its answer's tools are run.

    And for more marks of the cache than the service takes, or marks where it takes none.
    """
    messages = payload["messages"]
    for index, message in enumerate(messages):
        kinds = [block["type"] for block in message["content"]]
        if "redacted_thinking" not in kinds and "thinking" in kinds[1:] and kinds[0] != "thinking":
            raise Refusal(f"messages.{index}: a message with `thinking` must start with a thinking block")
        for block in message["content"]:
            if block["type"] == "thinking" and block.get("signature") not in issued:
                raise Refusal(f"messages.{index}: Invalid `signature` in `thinking` block")
            if block["type"] == "redacted_thinking" and block.get("data") not in issued:
                raise Refusal(f"messages.{index}: Invalid `data` in `redacted_thinking` block")
    is_in_loop = messages[-1]["content"][0]["type"] == "tool_result"
    begun = messages[-2]["content"][0]["type"] if is_in_loop else "thinking"
    if is_thinking(payload) and begun not in ("thinking", "redacted_thinking"):
        raise Refusal(f"Expected `thinking` or `redacted_thinking`, but found `{begun}` when `thinking` is enabled")
    blocks = [*(payload.get("system") or []), *(block for message in messages for block in message["content"])]
    marked = [block for block in (*(payload.get("tools") or []), *blocks) if block.get("cache_control") is not None]
    if strange := [block for block in marked if not _is_cache_mark(block["cache_control"])]:
        raise Refusal(f"cache_control: Input tag does not match any of the expected tags: 'ephemeral': {strange}")
    if len(marked) > 4 or any(block.get("type") in ("thinking", "redacted_thinking") for block in marked):
        raise Refusal(f"`cache_control` cannot be set there: {marked}")


def _is_cache_mark(mark: Any) -> bool:
    is_known = isinstance(mark, dict) and mark.get("type") == "ephemeral" and mark.keys() <= {"type", "ttl"}
    return is_known and mark.get("ttl", "5m") in ("5m", "1h")


def _check_results(message: JSON, asked: Sequence[str], param: str) -> None:
    kinds = [block["type"] for block in message["content"]]
    results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
    if missing := [identifier for identifier in asked if identifier not in results]:
        raise Refusal(f"{param}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}")
    if sorted(results) != sorted(asked) or (results and message["role"] != "user"):
        raise Refusal(f"{param}: unexpected or repeated `tool_use_id` in `tool_result` blocks: {results}")
    if "tool_result" in kinds[len(results) :]:
        raise Refusal(f"{param}: `tool_result` blocks must come before everything else")


def _check_texts(message: JSON, param: str) -> None:
    if not message["content"]:
        raise Refusal(f"{param}: all messages must have non-empty content")
    if any(block["type"] == "text" and not str(block["text"]).strip() for block in message["content"]):
        raise Refusal(f"{param}: text content blocks must contain non-whitespace text")


def _checked(use: JSON, taken: set[str]) -> str:
    """The id of a call, the first with it."""
    identifier: Any = use["id"]
    if not isinstance(identifier, str) or not ID.fullmatch(identifier) or identifier in taken:
        raise Refusal(f"`tool_use` ids must be unique and match '{ID.pattern}': {identifier!r}")
    if not NAME.fullmatch(use["name"]) or not isinstance(use["input"], dict):
        raise Refusal(f"`tool_use` needs a name that matches '{NAME.pattern}' and an object as input: {use!r}")
    taken.add(identifier)
    return identifier
