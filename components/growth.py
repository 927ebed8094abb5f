"""How the context grew over the conversation, for the plot on the timeline. Asked for when somebody opens it: it reads the
whole conversation.
"""

from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent import context
from checkpoints import Store, StoreUnavailableError, ThreadNotFoundError
from components import compaction
from components.services import Services

MOST = 300  # points of the line: more would not be seen


class PointView(TypedDict):
    messages: int  # that the conversation has there
    tokens: int  # that its context takes there


class DropView(TypedDict):
    """Where a summary, or a move of the agent, stands in the place of what left."""

    messages: int
    before: int  # tokens
    after: int


class GrowthView(TypedDict):
    points: list[PointView]
    drops: list[DropView]


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/growth")
    async def growth(thread_id: str) -> Response:
        """Whether this browser may ask at all, the guard has decided."""
        try:
            return JSONResponse(await services.read(view, services.store, thread_id))
        except ThreadNotFoundError:
            return Response(status_code=404)
        except StoreUnavailableError:
            return Response(status_code=503)


def view(store: Store, thread_id: str) -> GrowthView:
    path = store.messages(thread_id)
    sizes = context.growth(path)
    step = -(-len(sizes) // MOST) or 1
    counts = sorted({*range(1, len(sizes) + 1, step), len(sizes)} - {0})
    drops: list[DropView] = []
    for place, message in enumerate(path):
        if (gone := compaction.gone(message)) is not None:
            drops.append({"messages": place + 1, "before": gone["before"], "after": gone["after"]})
    return {"points": [{"messages": count, "tokens": sizes[count - 1]} for count in counts], "drops": drops}
