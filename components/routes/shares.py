"""The links for strangers to read a conversation: list, make and end links."""

import secrets
from typing import Annotated, Any, NotRequired

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from checkpoints.interchange.redaction import Redaction
from checkpoints.people.shares import NewShare, Share, Shares
from checkpoints.values.limits import MAX_LABEL_CHARS
from components.services import Services
from components.shapes import Count, parse_body

Id = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class _NewLink(TypedDict):
    days: Count
    checkpoint: NotRequired[Id | None]
    # Tool results are left out.
    leave_out: NotRequired[bool]
    leave_out_files: NotRequired[bool]
    # The words are one per line.
    redact: NotRequired[str]
    shows_name: NotRequired[bool]


def add_route(server: FastAPI, services: Services) -> None:
    shares = Shares(services.store)

    async def answer(thread_id: str, **more: str) -> Response:
        found = await services.read_snapshot(shares.list_links, thread_id)
        links = [_describe_link(share, name) for share, name in found]
        return JSONResponse({"links": links, "has_names": services.store.database.separates_owners, **more})

    @server.get("/api/threads/{thread_id:thread}/shares")
    async def list_links(thread_id: str) -> Response:
        return await answer(thread_id)

    @server.post("/api/threads/{thread_id:thread}/shares")
    async def make_link(thread_id: str, request: Request) -> Response:
        new, token = _parse_link(thread_id, await request.body()), secrets.token_urlsafe(32)
        await services.run_blocking(shares.make_link, token, new)
        return await answer(thread_id, token=token)

    @server.post("/api/threads/{thread_id:thread}/shares/{share_id}/revoke")
    async def revoke_link(thread_id: str, share_id: str) -> Response:
        await services.run_blocking(shares.revoke_link, thread_id, share_id)
        return await answer(thread_id)


def _parse_link(thread_id: str, body: bytes) -> NewShare:
    """Raises `MalformedRequestError` and `InvalidRedactionError`."""
    fields = parse_body(_NewLink, body)
    words = tuple(line.strip() for line in fields.get("redact", "").splitlines() if line.strip())
    results, attached = fields.get("leave_out", False), fields.get("leave_out_files", False)
    redaction = Redaction(results, words, attached) if words or results or attached else None
    return NewShare(thread_id, fields.get("checkpoint"), fields["days"], redaction, fields.get("shows_name", False))


def _describe_link(share: Share, name: str | None) -> dict[str, Any]:
    """Describe a link for the list. Its redacted words are shown to nobody."""
    return {
        "id": share.id,
        "checkpoint": share.checkpoint_id,
        "name": name,
        "redacted": share.redaction is not None,
        "shows_name": share.shows_name,
        "made_at": share.created_at.isoformat(),
        "ends_at": share.expires_at.isoformat(),
        "opened": share.opened,
    }
