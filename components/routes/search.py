"""The search over all conversations, and the place where the page shows what was found."""

from datetime import UTC, datetime
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints.search.result import SearchHit, SearchResult
from checkpoints.search.snippet import Snippet
from components.services import Services

SEARCH_PATH = "/api/search"
MAX_LISTED_HITS = 30  # of the page; more are found by more words


class PartView(TypedDict):
    """A part of a snippet. It is text: the page never reads it as HTML."""

    text: str
    marked: bool


class HitView(TypedDict):
    thread: str
    title: str
    role: str
    message: str
    checkpoint: str | None
    name: str  # of the checkpoint
    parts: list[PartView]
    time: str
    standing: str  # "current", "branch" or "left"
    branch: str


class FoundView(TypedDict):
    hits: list[HitView]
    more: bool
    pending: bool  # messages are still to be indexed


def add_route(server: FastAPI, services: Services) -> None:
    store = services.store

    @server.get(SEARCH_PATH)
    async def get_search(q: str = "", thread: str = "") -> Response:
        """Find messages and checkpoints; `thread` is the open conversation. The guard has checked the request."""

        def search(_lane: str) -> SearchResult:
            return store.search(q, datetime.now(UTC), this=thread or None, limit=MAX_LISTED_HITS)

        found = await services.read_snapshot(search, "search")
        if found.is_pending:
            services.start_indexing()
        return JSONResponse(describe_result(found))

    @server.get("/api/threads/{thread_id}/messages/{message_id}/place")
    async def get_place(thread_id: str, message_id: str) -> Response:
        """Return the message at which the page shows a message that may have left the conversation."""
        place = await services.read_snapshot(store.locate_message, thread_id, message_id)
        return JSONResponse({"message": place.message_id, "standing": place.standing, "branch": place.branch})


def describe_result(found: SearchResult) -> FoundView:
    return {"hits": [_describe_hit(hit) for hit in found.hits], "more": found.has_more, "pending": found.is_pending}


def _describe_hit(hit: SearchHit) -> HitView:
    return {
        "thread": hit.thread_id,
        "title": hit.title,
        "role": hit.role,
        "message": hit.message_id,
        "checkpoint": hit.checkpoint_id,
        "name": hit.name,
        "parts": split_snippet(hit.snippet),
        "time": hit.created_at.isoformat(),
        "standing": hit.standing,
        "branch": hit.branch,
    }


def split_snippet(snippet: Snippet) -> list[PartView]:
    """Split a snippet at its marks: JavaScript counts the characters of a text differently."""
    parts: list[PartView] = []
    end = 0
    for start, stop in snippet.ranges:
        first = max(start, end)
        parts += [{"text": snippet.text[end:first], "marked": False}, {"text": snippet.text[first:stop], "marked": True}]
        end = max(stop, end)
    parts.append({"text": snippet.text[end:], "marked": False})
    return [part for part in parts if part["text"]]
