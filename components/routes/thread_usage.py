"""The tokens and the cost of a whole conversation. The page requests them when the context meter is opened."""

from dataclasses import asdict, replace

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.prices import Prices, Usage, count_usage, read_usage
from checkpoints import Runs, Store
from components.services import Services


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/usage")
    async def get_usage(thread_id: str) -> Response:
        """Return the usage of a conversation. The guard has checked the request."""
        answers = await services.read_snapshot(sum_usage, services.store, thread_id, services.prices)
        title = await services.read_snapshot(read_title_usage, services.runs, thread_id, services.prices)
        return JSONResponse(asdict(answers + title))


def read_title_usage(runs: Runs, thread_id: str, prices: Prices) -> Usage:
    """Return the usage of the call for the conversation's title, which counts as no answer."""
    found = runs.find_title(thread_id)
    if found is None or not found.detail.usage:
        return Usage()
    return replace(count_usage(found.detail.usage, found.detail.model, prices), answers=0, priced=0)


def sum_usage(store: Store, thread_id: str, prices: Prices) -> Usage:
    """Sum the usage of a conversation's answers, as of its head."""
    taken = (read_usage(message, prices) for message in store.list_messages(thread_id))
    return sum(filter(None, taken), Usage())
