"""Summaries as the page has them: the command in the composer, the card of a note, and the full text behind it.

The messages that a note stands for are where they were, off the path. A copy of the conversation may not have them.
"""

import re
from typing import Any, TypedDict
from urllib.parse import quote

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.compaction import KEY, LONGEST_FOCUS, NotCompactedError, Part
from checkpoints import Message, NotFoundError, StateError, Store, StoreUnavailableError
from components.services import Services

_COMMAND = re.compile(r"\s*/compact(?:\s+(.*))?", re.DOTALL)


class SummaryView(TypedDict):
    removed: int  # messages that it stands for
    before: int  # tokens that these took, about
    after: int  # tokens that it takes, about
    sources: list[str]  # the tools whose results were among them
    address: str  # of the full text


def command(text: str, *, attached: bool) -> Part | None:
    """What `/compact`, with what to keep above all, asks for; None for any other text. Raises `NotCompactedError`."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    if attached:
        raise NotCompactedError("Files cannot come along with /compact. Take them out, or send them first.")
    focus = (found[1] or "").strip()
    if len(focus) > LONGEST_FOCUS:
        raise NotCompactedError(f"What to keep is longer than {LONGEST_FOCUS:,} characters.")
    return Part(focus=focus)


def part(action: dict[str, Any]) -> Part:
    """What is asked for at a message."""
    return Part("from" if action.get("side") == "from" else "up_to", str(action["message"]))


def shown(stored: Message) -> SummaryView | None:
    """The card of a note; None for any other message. A file may say anything in its place."""
    marks = _marks(stored)
    counts = [marks.get(name) for name in ("removed", "before", "after")]
    if not all(isinstance(count, int) for count in counts):
        return None
    removed, before, after = (int(count or 0) for count in counts)
    sources = [str(name)[:40] for name in marks.get("sources") or []][:5]
    address = f"/api/threads/{quote(stored.thread_id)}/summaries/{quote(stored.id)}"
    return {"removed": removed, "before": before, "after": after, "sources": sources, "address": address}


def _marks(stored: Message) -> dict[str, Any]:
    marks = (stored.body["data"].get("additional_kwargs") or {}).get(KEY) if stored.type == "human" else None
    return marks if isinstance(marks, dict) else {}


def replaced(store: Store, thread_id: str, message_id: str) -> tuple[list[Message], str]:
    """The messages that a note stands for, and where the conversation stood before it.

    Raises `MessageNotFoundError` when they are not in this conversation.
    """
    marks = _marks(store.message(thread_id, message_id).intact)
    last, head = str(marks.get("last")), str(marks.get("head"))
    store.message(thread_id, head)
    return store.path_to(thread_id, last, last=int(marks.get("removed") or 0)), head


def add_route(server: FastAPI, services: Services) -> None:
    from components import views  # noqa: PLC0415  (it shows these cards)

    @server.get("/api/threads/{thread_id}/summaries/{message_id}")
    async def full_text(thread_id: str, message_id: str) -> Response:
        """Whether this browser may ask at all, the guard has decided."""
        try:
            found, head = await services.read(replaced, services.store, thread_id, message_id)
        except NotFoundError:
            return Response(status_code=404)
        except StoreUnavailableError:
            return Response(status_code=503)
        except StateError:
            return Response(status_code=410)
        return JSONResponse({"head": head, "messages": views.messages(found, running=False)})
