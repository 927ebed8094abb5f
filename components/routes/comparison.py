"""The comparison of two positions of a conversation: the messages that they share, and the messages after those."""

from collections.abc import Callable
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import BranchNotFoundError, CheckpointNotFoundError, Message, Runs, Store
from checkpoints.limits import MAX_READ_VALUES
from components.services import Services
from components.views import message_view, tool_cards
from components.views.markdown import to_html_if_cheap

MAX_SIDE_MESSAGES = 50  # shown of each position


class SideView(TypedDict):
    length: int  # messages of the position after the shared ones
    messages: list[message_view.MessageView]  # the first `MAX_SIDE_MESSAGES` of them
    more: int  # messages that are not shown


class ComparisonView(TypedDict):
    shared: int  # messages at the beginning of both
    common: str  # the beginning of the last shared message
    one: SideView
    other: SideView


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/comparison")
    async def get_comparison(thread_id: str, one: str = "", other: str = "") -> Response:
        """Compare two positions: "" (the current one), "branch:ID", "checkpoint:ID" or "message:ID".

        The guard has checked the request.
        """
        to_html = services.renderer.page()
        return JSONResponse(
            await services.read_snapshot(
                compare_places, services.store, services.runs, thread_id, one, other, to_html=to_html
            )
        )


def compare_places(
    store: Store, runs: Runs, thread_id: str, one: str, other: str, *, to_html: Callable[[str], str] = to_html_if_cheap
) -> ComparisonView:
    """Compare two positions. Raises `NotFoundError` where one of them does not exist."""
    run = runs.get_latest_run(thread_id)
    ends = [_find_place_end(store, thread_id, place) for place in (one, other)]
    parted = store.compare_paths(thread_id, *ends, max_messages=MAX_SIDE_MESSAGES, max_values=MAX_READ_VALUES)
    state = run.state if run else None

    def describe_side(place: str, messages: list[Message], length: int) -> SideView:
        extras = message_view.MessageExtras(run_state=state if place == "" else None, to_html=to_html)
        views = message_view.describe_messages([*parted.calling_messages, *messages], extras)
        return {"length": length, "messages": views, "more": length - len(messages)}

    last = store.get_message(thread_id, parted.last_shared_id) if parted.last_shared_id else None
    return {
        "shared": parted.shared_length,
        "common": tool_cards.quote_beginning(last) if last else "",
        "one": describe_side(one, parted.left, parted.lengths[0]),
        "other": describe_side(other, parted.right, parted.lengths[1]),
    }


def _find_place_end(store: Store, thread_id: str, place: str) -> str | None:
    """Return the last message of a position."""
    kind, _, identifier = place.partition(":")
    if kind == "checkpoint":
        node = store.get_checkpoint(thread_id, identifier).node
        return node.id if node else None
    if kind == "branch":
        for branch, _ in store.list_branches(thread_id):
            if branch.id == identifier:
                return branch.head_id
        raise BranchNotFoundError(identifier)
    if kind == "message":
        return store.get_message(thread_id, identifier).id
    if place:
        raise CheckpointNotFoundError(place)
    return store.get_thread(thread_id).head_id
