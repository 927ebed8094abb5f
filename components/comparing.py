"""Two places of a conversation side by side: how much they have in common, and what each holds from where they part."""

from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import BranchNotFoundError, Message, NotFoundError, Runs, RunState, Store, StoreUnavailableError
from components import views
from components.services import Services

MOST = 50  # messages of each place that are shown


class SideView(TypedDict):
    length: int  # how many messages the place holds from where they part
    messages: list[views.MessageView]  # of the first `MOST` of them
    more: int  # how many are not among those


class ComparisonView(TypedDict):
    shared: int  # how many messages both begin with
    common: str  # the beginning of the last of these
    one: SideView
    other: SideView


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/comparison")
    async def comparison(thread_id: str, one: str = "", other: str = "") -> Response:
        """Two places, each "" (where the conversation stands), "branch:ID" or "checkpoint:ID". The guard has let it in."""
        try:
            return JSONResponse(await services.read(compared, services.store, services.runs, thread_id, one, other))
        except NotFoundError:
            return Response(status_code=404)
        except StoreUnavailableError:
            return Response(status_code=503)


def compared(store: Store, runs: Runs, thread_id: str, one: str, other: str) -> ComparisonView:
    """Raises `NotFoundError` where one of the places is not there."""
    run = runs.latest(thread_id)
    ends = [_end(store, thread_id, place) for place in (one, other)]
    parted = store.difference(thread_id, *ends, most=MOST)
    is_running = run is not None and run.state is RunState.RUNNING

    def side(messages: list[Message], length: int) -> SideView:
        return {"length": length, "messages": views.messages(messages, running=is_running), "more": length - len(messages)}

    last = store.message(thread_id, parted.common) if parted.common else None
    return {
        "shared": parted.shared,
        "common": views.beginning(last) if last else "",
        "one": side(parted.one, parted.lengths[0]),
        "other": side(parted.other, parted.lengths[1]),
    }


def _end(store: Store, thread_id: str, place: str) -> str | None:
    """The last message of a place."""
    kind, _, identifier = place.partition(":")
    if kind == "checkpoint":
        node = store.checkpoint(thread_id, identifier).node
        return node.id if node else None
    if kind == "branch":
        for branch, _ in store.branches(thread_id):
            if branch.id == identifier:
                return branch.head_id
        raise BranchNotFoundError(identifier)
    return store.thread(thread_id).head_id
