"""The tokens and the cost of a whole conversation. The page requests them when the context meter is opened."""

from dataclasses import asdict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.prices import Prices, Usage, read_usage
from checkpoints import Store
from components.services import Services


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/usage")
    async def get_usage(thread_id: str) -> Response:
        """Return the usage of a conversation. The guard has checked the request."""
        return JSONResponse(asdict(await services.read_snapshot(sum_usage, services.store, thread_id, services.prices)))


def sum_usage(store: Store, thread_id: str, prices: Prices) -> Usage:
    """Sum the usage of a conversation's answers, as of its head."""
    taken = (read_usage(message, prices) for message in store.list_messages(thread_id))
    return sum(filter(None, taken), Usage())
