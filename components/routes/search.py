"""The search over all conversations, and the place where the page shows the hits."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import Thread
from checkpoints.search.result import MessagePlace, PathHits, SearchHit, SearchResult
from checkpoints.search.snippet import Snippet
from checkpoints.values.limits import MAX_QUERY_CHARS
from components.services import Services
from components.views.list_rows import describe_thread
from components.views.names import name_other
from components.views.notes import NOTE_RULES

SEARCH_PATH = "/api/search"
_MARKDOWN_SIGN = re.compile(
    r"\$\$|\\[()\[\]]"  # around formulas
    r"|^(?:… )?[-:]*-[-:]*\|(?:\s*:?-+:?\s*\|)*\s*"  # the rest of a table's rule that the snippet cuts
    r"|\\([!-/:-@\[-`{-~])|\*\*|`{3,}\w*"  # an escaped character; bold, code
    r"|(?:\|\s+)?\|(?:\s*:?-+:?\s*\|)+\s*|(?<=\|)\s+\|"  # the rows of tables
)
_MARKDOWN_ROLES = ("assistant", "note", "summary")
MAX_LISTED_TITLES = 20
MAX_LISTED_HITS = 30  # of the page; more are found by more words


class PartView(TypedDict):
    """A part of a snippet. It is text: the page never reads it as HTML."""

    text: str
    marked: bool


class HitView(TypedDict):
    thread: str
    title: str
    owner: str  # somebody else who shares it; empty otherwise
    role: str
    person: str  # somebody else who asked; empty otherwise
    message: str
    checkpoint: str | None
    name: str  # of the checkpoint
    parts: list[PartView]
    time: str
    standing: str  # "current", "branch" or "left"
    branch: str


class TermView(TypedDict):
    """A phrase as folded words, for the page to mark them; `prefix`: the last one is the beginning of a word."""

    words: list[str]
    prefix: bool


class PathHitsView(TypedDict):
    hits: list[str]  # ids of messages, in the order of the conversation
    more: bool
    pending: bool
    term: TermView | None


class FoundView(TypedDict):
    hits: list[HitView]
    threads: list[dict[str, Any]]  # whose titles contain all words
    more: bool
    pending: bool  # messages are still to be indexed


def add_route(server: FastAPI, services: Services) -> None:
    store = services.store

    @server.get(SEARCH_PATH)
    async def get_search(q: str = "", thread: str = "") -> Response:
        """Find messages and checkpoints; `thread` is the open conversation. The guard has checked the request."""

        def search(_lane: str) -> tuple[SearchResult, list[Thread]]:
            titled = store.list_thread_portion(archived=None, text=q[:MAX_QUERY_CHARS], limit=MAX_LISTED_TITLES)
            return store.search(
                q, datetime.now(UTC), this=thread or None, limit=MAX_LISTED_HITS, notes=NOTE_RULES
            ), titled if q.strip() else []

        found, titled = await services.read_snapshot(search, "search")
        if found.is_pending:
            services.start_indexing()
        return JSONResponse(describe_result(found, titled))

    @server.get("/api/threads/{thread_id:thread}/find")
    async def get_path_hits(thread_id: str, q: str = "") -> Response:
        """Find messages of the open conversation's current path. The guard has checked the request."""
        found = await services.read_snapshot(store.find_in_path, thread_id, q)
        if found.is_pending:
            services.start_indexing()
        return JSONResponse(describe_path_hits(found))

    @server.get("/api/threads/{thread_id:thread}/messages/{message_id}/place")
    async def get_place(thread_id: str, message_id: str) -> Response:
        """Return the message at which the page shows a message that may have left the conversation."""
        return _answer_place(await services.read_snapshot(store.locate_message, thread_id, message_id))

    @server.get("/api/threads/{thread_id:thread}/branches/{branch_id}/place")
    async def get_branch_place(thread_id: str, branch_id: str) -> Response:
        """Return the message at which the page shows a branch."""
        return _answer_place(await services.read_snapshot(store.locate_branch, thread_id, branch_id))

    @server.get("/api/threads/{thread_id:thread}/checkpoints/{checkpoint_id}/place")
    async def get_checkpoint_place(thread_id: str, checkpoint_id: str) -> Response:
        """Return the message at which the page shows a checkpoint, of whichever branch."""
        return _answer_place(await services.read_snapshot(store.locate_checkpoint, thread_id, checkpoint_id))


def _answer_place(place: MessagePlace) -> Response:
    return JSONResponse(describe_message_place(place))


def describe_message_place(place: MessagePlace) -> dict[str, str | None]:
    there = {"branch_id": place.branch_id, "there": place.branch_message_id}
    return {"message": place.message_id, "standing": place.standing, "branch": place.branch, **there}


def describe_result(found: SearchResult, titled: Sequence[Thread] = ()) -> FoundView:
    return {
        "hits": [_describe_hit(hit) for hit in found.hits],
        "threads": [describe_thread(thread) for thread in titled],
        "more": found.has_more,
        "pending": found.is_pending,
    }


def describe_path_hits(found: PathHits) -> PathHitsView:
    term: TermView | None = {"words": list(found.term.words), "prefix": found.term.is_prefix} if found.term else None
    return {"hits": list(found.message_ids), "more": found.has_more, "pending": found.is_pending, "term": term}


def _describe_hit(hit: SearchHit) -> HitView:
    return {
        "thread": hit.thread_id,
        "title": hit.title,
        "owner": name_other(hit.owner),
        "role": hit.role,
        "person": name_other(hit.person),
        "message": hit.message_id,
        "checkpoint": hit.checkpoint_id,
        "name": hit.name,
        "parts": split_snippet(hit.snippet, is_markdown=hit.role in _MARKDOWN_ROLES),
        "time": hit.created_at.isoformat(),
        "standing": hit.standing,
        "branch": hit.branch,
    }


def split_snippet(snippet: Snippet, *, is_markdown: bool = False) -> list[PartView]:
    """Split a snippet at its marks: JavaScript counts the characters of a text differently.

    Signs of Markdown are left out.
    """
    parts: list[PartView] = []
    end = 0
    for start, stop in snippet.ranges:
        first = max(start, end)
        parts += [{"text": snippet.text[end:first], "marked": False}, {"text": snippet.text[first:stop], "marked": True}]
        end = max(stop, end)
    parts.append({"text": snippet.text[end:], "marked": False})
    if is_markdown:
        parts = [{**part, "text": _MARKDOWN_SIGN.sub(r"\1", part["text"])} for part in parts]
    return [part for part in parts if part["text"]]
