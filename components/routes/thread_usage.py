"""The context meter: how full the model's window is, and what the conversation took so far.

The first stands by the composer and comes with its data. The second is asked for when the meter is opened: it reads the
whole conversation.
"""

from dataclasses import asdict
from typing import TypedDict

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.prices import Prices, Usage, read_usage
from agent.context.window import Context
from checkpoints import Store
from components.services import Services


class MeterView(TypedDict):
    tokens: int
    exact: bool  # counted by the provider and not estimated
    most: int  # tokens that a request may take
    answer: int  # tokens that are kept free for the answer
    messages: int
    left_out: int  # messages, from the first one on


def read_context_meter(services: Services, thread_id: str) -> MeterView | None:
    """None where there is nothing to measure: before the first message."""
    context = services.runner.inputs.load_context(thread_id)
    return None if context is None else describe_context(context)


def describe_context(context: Context) -> MeterView:
    return {
        "tokens": context.tokens,
        "exact": context.is_exact,
        "most": context.window.max_request_tokens,
        "answer": context.window.answer_tokens,
        "messages": context.message_count,
        "left_out": context.left_out_count,
    }


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/usage")
    async def get_usage(thread_id: str) -> Response:
        """Whether this browser may ask at all, the guard has decided."""
        return JSONResponse(asdict(await services.read_snapshot(sum_usage, services.store, thread_id, services.prices)))


def sum_usage(store: Store, thread_id: str, prices: Prices) -> Usage:
    """What the answers of a conversation took, as of its head."""
    taken = (read_usage(message, prices) for message in store.list_messages(thread_id))
    return sum(filter(None, taken), Usage())
