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
from words import N_, _

# The lines match, in turn: formulas' delimiters, the rest of a table's rule that the snippet cuts, escaped characters,
# bold and code, and the rows of tables.
_MARKDOWN_SIGN = re.compile(
    r"\$\$|\\[()\[\]]"
    r"|^(?:… )?[-:]*-[-:]*\|(?:\s*:?-+:?\s*\|)*\s*"
    r"|\\([!-/:-@\[-`{-~])|\*\*|`{3,}\w*"
    r"|(?:\|\s+)?\|(?:\s*:?-+:?\s*\|)+\s*|(?<=\|)\s+\|"
)
_MARKDOWN_ROLES = ("assistant", "note", "summary")
_ROLES = {
    "user": N_("You"),
    "assistant": N_("Agent"),
    "tool": N_("Tool result"),
    "note": N_("Note"),
    "summary": N_("Summary"),
    "checkpoint": N_("Checkpoint"),
}
MAX_LISTED_TITLES = 20
# The page shows this many hits. More words find the others.
MAX_LISTED_HITS = 30


class PartView(TypedDict):
    """A part of a snippet. It is text: the page never reads it as HTML."""

    text: str
    marked: bool


class HitView(TypedDict):
    thread: str
    title: str
    # The owner is named if somebody else shares the conversation; otherwise this is empty.
    owner: str
    # It is the author: another person by name, else the role in words.
    who: str
    message: str
    checkpoint: str | None
    # It is the checkpoint's name.
    name: str
    parts: list[PartView]
    time: str
    # It is "current" (on the current path), "branch" (on another branch) or "left" (on no path any more).
    standing: str
    branch: str


class TermView(TypedDict):
    """A phrase as folded words, for the page to mark. `prefix`: the last word may be only the beginning of a word."""

    words: list[str]
    prefix: bool


class PathHitsView(TypedDict):
    # The ids of messages are in the order of the conversation.
    hits: list[str]
    more: bool
    pending: bool
    term: TermView | None


class FoundView(TypedDict):
    hits: list[HitView]
    # The titles of these threads contain all words.
    threads: list[dict[str, Any]]
    more: bool
    # Messages are still to be indexed.
    pending: bool


def add_route(server: FastAPI, services: Services) -> None:
    store = services.store

    @server.get("/api/search")
    async def get_search(q: str = "", thread: str = "") -> Response:
        """Find messages and checkpoints. `thread` is the open conversation."""

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
        return _answer_place(await services.read_snapshot(store.locate_branch, thread_id, branch_id))

    @server.get("/api/threads/{thread_id:thread}/checkpoints/{checkpoint_id}/place")
    async def get_checkpoint_place(thread_id: str, checkpoint_id: str) -> Response:
        """Return the message where the page shows a checkpoint of any branch."""
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
        "who": name_other(hit.person) or _(_ROLES[hit.role]),
        "message": hit.message_id,
        "checkpoint": hit.checkpoint_id,
        "name": hit.name,
        "parts": split_snippet(hit.snippet, is_markdown=hit.role in _MARKDOWN_ROLES),
        "time": hit.created_at.isoformat(),
        "standing": hit.standing,
        "branch": hit.branch,
    }


def split_snippet(snippet: Snippet, *, is_markdown: bool = False) -> list[PartView]:
    """Split a snippet at its marks, because JavaScript counts characters differently. Remove Markdown syntax."""
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
