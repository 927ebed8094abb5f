"""The rules about reasoning of the services that speak Chat Completions or Responses, from their guides.

DeepSeek (thinking_mode): an answer that calls tools comes back with its `reasoning_content`. Gemini (thought-signatures):
the first call of an answer comes back with the signature that it had. OpenAI takes neither field. Responses without
storage: a reasoning item comes back with the encrypted content that was issued, and an item of its answer behind it.
"""

from collections.abc import Collection
from typing import Any, Literal

from tests.fakes.server import JSON, Refusal

Manner = Literal["openai", "deepseek", "gemini"]
FIELDS: dict[Manner, set[str]] = {"openai": set(), "deepseek": {"reasoning_content"}, "gemini": {"extra_content"}}
MESSAGE = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call", "annotations"}
CALL = {"id", "type", "function"}
NO_SIGNATURE = "skip_thought_signature_validator"


def check_fields(messages: Any, manner: Manner, issued: Collection[str]) -> None:
    """Raises Refusal for a field that the service does not know, and for one that it wants and misses."""
    for index, message in enumerate(messages):
        calls = message.get("tool_calls") or []
        if strange := set(message) - MESSAGE - FIELDS[manner]:
            raise Refusal(f"Unrecognized request argument supplied: messages[{index}].{strange.pop()}")
        if strange := {key for call in calls for key in call} - CALL - FIELDS[manner]:
            raise Refusal(f"Unrecognized request argument supplied: messages[{index}].tool_calls.{strange.pop()}")
        if calls and manner == "deepseek" and not message.get("reasoning_content"):
            raise Refusal("The `reasoning_content` in the thinking mode must be passed back to the API.")
        if calls and manner == "gemini":
            _check_signature(calls[0], issued)


def _check_signature(call: JSON, issued: Collection[str]) -> None:
    signature = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
    if not signature:
        raise Refusal("Function call is missing a thought_signature in functionCall parts.")
    if signature != NO_SIGNATURE and signature not in issued:
        raise Refusal("Thought signature is not valid.")


def check_items(items: Any, issued: Collection[str]) -> None:
    """Raises Refusal for a reasoning item that was not issued here, or that stands alone."""
    for index, item in enumerate(items):
        if not isinstance(item, dict) or item.get("type") != "reasoning":
            continue
        if item.get("encrypted_content") not in issued:
            raise Refusal("The encrypted content for a reasoning item could not be verified.", param=f"input[{index}]")
        following = items[index + 1] if index + 1 < len(items) else {}
        kind = following.get("type", "message")
        if kind not in ("message", "function_call", "reasoning") or following.get("role", "assistant") != "assistant":
            raise Refusal(
                "Item of type 'reasoning' was provided without its required following item.", param=f"input[{index}]"
            )
