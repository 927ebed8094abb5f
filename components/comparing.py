"""The comparison of two positions of a conversation: the shared messages, and each side's messages after those."""

from collections.abc import Callable
from typing import TypedDict

from agent.context.prices import Prices
from checkpoints import Message, Runs, Store
from checkpoints.values import history
from checkpoints.values.limits import MAX_READ_VALUES
from checkpoints.values.text import shorten
from components.places import MAX_COUNTED_MESSAGES, find_place_end
from components.views import message_view
from components.views.comparison_view import Row, Side, SideView, align_turns, describe_sides
from components.views.markdown import escape_text, to_html_if_cheap
from components.views.tool_cards import DAMAGED_TEXT
from components.views.word_differences import Mark, mark_cheap_differences
from words import _

# This many messages are shown of each position.
MAX_SIDE_MESSAGES = 50
# This much of the last shared message is quoted.
MAX_QUOTE_CHARS = 600


class ComparisonView(TypedDict):
    # Both positions begin with this many common messages.
    shared: int
    # It is the beginning of the last shared message, as HTML.
    common: str
    one: SideView
    other: SideView
    # The turns of both by their numbers, those with the same question beside each other.
    rows: list[Row]


def compare_places(
    store: Store,
    runs: Runs,
    thread_id: str,
    one: str,
    other: str,
    *,
    prices: Prices | None = None,
    to_html: Callable[[str], str] = to_html_if_cheap,
    mark: Mark = mark_cheap_differences,
) -> ComparisonView:
    """Compare two positions. Raises `NotFoundError` if either does not exist."""
    run = runs.get_latest_run(thread_id)
    known_prices = prices or {}
    ends = [find_place_end(store, thread_id, place) for place in (one, other)]
    parted = store.compare_paths(thread_id, *ends, max_messages=MAX_COUNTED_MESSAGES, max_values=MAX_READ_VALUES)

    def build_side(place: str, messages: list[Message], length: int) -> Side:
        shown = messages if length <= MAX_SIDE_MESSAGES else history.drop_open_calls(messages[:MAX_SIDE_MESSAGES])
        state = run.state if run and place == "" else None
        extras = message_view.MessageExtras(run_state=state, to_html=to_html, prices=known_prices)
        return Side(shown, messages, length, extras)

    sides = [
        build_side(one, parted.left, parted.lengths[0]),
        build_side(other, parted.right, parted.lengths[1]),
    ]
    views = describe_sides(sides, parted.calling_messages, known_prices)
    rows = align_turns(views, mark)
    last = store.get_message(thread_id, parted.last_shared_id) if parted.last_shared_id else None
    common = _quote_message(last, to_html) if last else ""
    return {"shared": parted.shared_length, "common": common, "one": views[0], "other": views[1], "rows": rows}


def _quote_message(message: Message, to_html: Callable[[str], str]) -> str:
    """Return the beginning of a message as HTML. For an answer, it is formatted from Markdown."""
    if message.damaged:
        return escape_text(_(DAMAGED_TEXT))
    text = shorten(str(message.langchain.text), MAX_QUOTE_CHARS)
    return to_html(text) if message.type == "ai" else escape_text(text)
