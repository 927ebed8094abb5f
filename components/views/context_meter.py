"""The context meter: how full the model's window is."""

from typing import TypedDict

from agent.context.measurement import Context, TokenChange
from words import ngettext


class MeterView(TypedDict):
    tokens: int
    exact: bool  # counted by the provider and not estimated
    most: int  # tokens that a request may take
    answer: int  # tokens that are kept free for the answer
    messages: int
    left_out: int  # messages, from the first one on


def describe_context(context: Context) -> MeterView:
    return {
        "tokens": context.tokens,
        "exact": context.is_exact,
        "most": context.window.max_request_tokens,
        "answer": context.window.answer_tokens,
        "messages": context.message_count,
        "left_out": context.left_out_count,
    }


def describe_change(change: TokenChange) -> str:
    """Return the size of the next request before and after a change, as the meter counts it."""
    return ngettext(
        "About {count:,} token now, {after:,} afterwards.",
        "About {count:,} tokens now, {after:,} afterwards.",
        change.before,
        after=change.after,
    )
