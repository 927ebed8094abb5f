"""Portions of the list of conversations, loaded for scrolling, for the words of a filter, and for the archive."""

from datetime import UTC, datetime
from typing import Any, TypedDict

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from checkpoints import ListPlace, Store, Thread
from checkpoints.values.limits import MAX_QUERY_CHARS, MAX_SELECTED_THREADS
from components.services import Services
from components.shapes import MalformedRequestError
from components.views.list_rows import describe_thread

# A portion has this many conversations.
MAX_LISTED_THREADS = 100
ARCHIVED_OF_VIEW = {"listed": False, "archived": True, "all": None}


class ThreadPortion(TypedDict):
    threads: list[dict[str, Any]]
    more: bool


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads")
    async def get_threads(request: Request) -> Response:
        """List conversations of a view (`listed`, `archived`, `all`) whose titles contain the words of `q`."""
        return JSONResponse(await services.read_snapshot(read_query, services.store, request.query_params))

    @server.get("/api/runs")
    async def get_runs() -> Response:
        """Name the conversations with a run in progress. A page asks while it knows of a run elsewhere."""
        running = await services.read_snapshot(services.runs.list_running_threads)
        return JSONResponse({"running": sorted(running)})


def read_query(store: Store, query: QueryParams) -> ThreadPortion:
    view, limit = query.get("view", "listed"), query.get("limit", str(MAX_LISTED_THREADS))
    if view not in ARCHIVED_OF_VIEW or not (limit.isascii() and limit.isdecimal()):
        raise MalformedRequestError("view" if view not in ARCHIVED_OF_VIEW else "limit")
    count = min(int(limit[:6]), MAX_SELECTED_THREADS)
    return read_thread_portion(store, view, query.get("q", "")[:MAX_QUERY_CHARS], _parse_place(query), count)


def _parse_place(query: QueryParams) -> ListPlace | None:
    """Return the place after which the portion begins, or None for the first portion. Raises `MalformedRequestError`."""
    if "after" not in query:
        return None
    try:
        updated = datetime.fromisoformat(query.get("updated", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise MalformedRequestError("updated") from None
    return ListPlace(query.get("pinned") == "true", updated, query["after"])


def read_thread_portion(
    store: Store, view: str = "listed", text: str = "", after: ListPlace | None = None, limit: int = MAX_LISTED_THREADS
) -> ThreadPortion:
    """Read a portion of the list, and whether more conversations follow."""
    archived = ARCHIVED_OF_VIEW[view]
    found: list[Thread] = store.list_thread_portion(archived=archived, text=text, after=after, limit=limit + 1)
    return {"threads": [describe_thread(thread) for thread in found[:limit]], "more": len(found) > limit}
