"""The rules about reasoning that was issued by a service, from its guides (for all others see `dialects`).

Gemini (thought-signatures): the first call of an answer comes back with the signature that it had. Responses without
storage: a reasoning item comes back with the encrypted content that was issued, and an item of its answer behind it.
"""

from collections.abc import Collection
from typing import Any

from tests.fakes.server import JSON, Refusal

NO_SIGNATURE = "skip_thought_signature_validator"


def check_signatures(messages: list[JSON], issued: Collection[str]) -> None:
    """Raises Refusal for an answer whose first call misses the signature that it had."""
    for message in messages:
        if calls := message.get("tool_calls"):
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
