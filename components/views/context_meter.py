"""The context meter: how full the model's window is."""

from typing import TypedDict

from agent.context.measurement import Context, TokenChange
from words import _, ngettext


class MeterView(TypedDict):
    tokens: int
    # The provider counted the tokens; otherwise they are estimated.
    exact: bool
    # A request may take this many tokens.
    most: int
    # This many tokens are reserved for the answer.
    answer: int
    messages: int
    # The request leaves out this many messages, counted from the first message.
    left_out: int


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
    if change.after >= change.before:
        return _("Nothing to gain yet.")
    return ngettext(
        "About {count:,} token now, {after:,} afterwards.",
        "About {count:,} tokens now, {after:,} afterwards.",
        change.before,
        after=change.after,
    )
