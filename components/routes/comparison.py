"""The comparison of two positions of a conversation: the shared messages, and each side's messages after those."""

from collections.abc import Callable
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.prices import Prices
from checkpoints import BranchNotFoundError, CheckpointNotFoundError, Message, Runs, Store
from checkpoints.values import history
from checkpoints.values.limits import MAX_READ_VALUES
from checkpoints.values.place_name import PlaceName
from checkpoints.values.text import shorten
from components.services import Services
from components.views import message_view
from components.views.comparison_view import Side, SideView, describe_sides
from components.views.markdown import escape_text, to_html_if_cheap
from components.views.tool_cards import DAMAGED_TEXT
from components.views.word_differences import Mark, mark_cheap_differences
from words import _

# This many messages are shown of each position.
MAX_SIDE_MESSAGES = 50
# The figures of each position count this many messages.
MAX_COUNTED_MESSAGES = 5_000
# This much of the last shared message is quoted.
MAX_QUOTE_CHARS = 600


class ComparisonView(TypedDict):
    # Both positions begin with this many common messages.
    shared: int
    # It is the beginning of the last shared message, as HTML.
    common: str
    one: SideView
    other: SideView


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/comparison")
    async def get_comparison(thread_id: str, one: str = "", other: str = "") -> Response:
        """Compare two positions: "" (the current position), "branch:ID", "checkpoint:ID" or "message:ID"."""
        view = await services.read_snapshot(
            compare_places,
            services.store,
            services.runs,
            thread_id,
            one,
            other,
            prices=services.prices,
            to_html=services.renderer.page(),
            mark=services.renderer.comparison(),
        )
        return JSONResponse(view)


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

    left = build_side(one, parted.left, parted.lengths[0])
    right = build_side(other, parted.right, parted.lengths[1])
    views = describe_sides(left, right, parted.calling_messages, known_prices, mark)
    last = store.get_message(thread_id, parted.last_shared_id) if parted.last_shared_id else None
    common = _quote_message(last, to_html) if last else ""
    return {"shared": parted.shared_length, "common": common, "one": views[0], "other": views[1]}


def _quote_message(message: Message, to_html: Callable[[str], str]) -> str:
    """Return the beginning of a message as HTML. For an answer, it is formatted from Markdown."""
    if message.damaged:
        return escape_text(_(DAMAGED_TEXT))
    text = shorten(str(message.langchain.text), MAX_QUOTE_CHARS)
    return to_html(text) if message.type == "ai" else escape_text(text)


def find_place_end(store: Store, thread_id: str, place: str) -> str | None:
    """Return the id of a position's last message. Raises `NotFoundError`."""
    return _find_place(store, thread_id, place)[0]


def name_place(store: Store, thread_id: str, place: str) -> PlaceName:
    """Return the name of a position. Raises `NotFoundError`."""
    return _find_place(store, thread_id, place)[1]


def _find_place(store: Store, thread_id: str, place: str) -> tuple[str | None, PlaceName]:
    kind, _colon, identifier = place.partition(":")
    if kind == "checkpoint":
        checkpoint = store.get_checkpoint(thread_id, identifier)
        return checkpoint.node.id if checkpoint.node else None, PlaceName("checkpoint", checkpoint.name)
    if kind == "branch":
        for branch, _length in store.list_branches(thread_id):
            if branch.id == identifier:
                return branch.head_id, PlaceName("branch", branch.name)
        raise BranchNotFoundError(identifier)
    if kind == "message":
        return store.get_message(thread_id, identifier).id, PlaceName("message")
    if place:
        raise CheckpointNotFoundError(place)
    return store.get_thread(thread_id).head_id, PlaceName("current")
