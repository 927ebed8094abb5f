"""The place where a note from another branch comes from. The page requests it to go there."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.marks import ExcerptMark
from checkpoints import MessageNotFoundError, Store
from checkpoints.tree_reader import find_message_id
from components.routes.search import describe_message_place
from components.services import Services


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/excerpts/{message_id}/place")
    async def get_origin(thread_id: str, message_id: str) -> Response:
        """Return the message where the page shows the origin of an excerpt."""
        return JSONResponse(await services.read_snapshot(_locate_origin, services.store, thread_id, message_id))


def _locate_origin(store: Store, thread_id: str, message_id: str) -> Mapping[str, Any]:
    mark = ExcerptMark.of(store.get_message(thread_id, message_id).intact)
    if mark is None:
        raise MessageNotFoundError(message_id)
    return describe_message_place(store.locate_message(thread_id, find_message_id(store, thread_id, mark.depth, mark.last)))
