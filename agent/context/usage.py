"""The tokens of an answer from its provider's report. Providers and older versions may have written any value."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata, add_usage

from checkpoints.values.limits import to_tokens


def readable_usage(reported: Any) -> UsageMetadata | None:
    """Return the valid token counts of a usage, or None if the count of input or output is invalid."""
    if not isinstance(reported, dict):
        return None
    read, written = to_tokens(reported.get("input_tokens")), to_tokens(reported.get("output_tokens"))
    if read is None or written is None:
        return None
    total = to_tokens(reported.get("total_tokens"))
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written if total is None else total)
    if details := _counts(reported.get("input_token_details")):
        usage["input_token_details"] = InputTokenDetails(**details)  # type: ignore[typeddict-item]
    if details := _counts(reported.get("output_token_details")):
        usage["output_token_details"] = OutputTokenDetails(**details)  # type: ignore[typeddict-item]
    return usage


def combine_usage(reports: Sequence[Any]) -> UsageMetadata | None:
    """Return the usage of an answer from the reports of its chunks.

    Servers may report all tokens so far in every chunk, and zeros in the last chunk: then the last report with tokens
    counts. Some libraries report the added tokens, and name the request's tokens only once: then the sum counts.
    """
    usages = [usage for report in reports if (usage := readable_usage(report)) is not None]
    counted = [usage for usage in usages if usage["input_tokens"] or usage["output_tokens"]]
    with_request = [usage for usage in counted if usage["input_tokens"]]
    if not counted:
        return usages[-1] if usages else None
    if len(with_request) > 1 or with_request == counted[-1:]:
        return next((usage for usage in reversed(with_request) if usage["output_tokens"]), with_request[-1])
    total: UsageMetadata | None = None
    for usage in counted:
        total = add_usage(total, usage)
    return readable_usage(total)


def context_tokens(usage: UsageMetadata, *, sends_reasoning: bool = False) -> int:
    """Return the tokens of an answer and its request together. Its reasoning counts if it is sent again."""
    reasoning = 0 if sends_reasoning else usage.get("output_token_details", {}).get("reasoning", 0)
    return usage["input_tokens"] + max(0, usage["output_tokens"] - reasoning)


def _counts(details: Any) -> dict[str, int]:
    """Return the entries with valid counts."""
    named = details.items() if isinstance(details, dict) else ()
    return {name: tokens for name, value in named if isinstance(name, str) and (tokens := to_tokens(value)) is not None}
