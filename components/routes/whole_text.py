"""Texts of messages on the page's demand.

They are whole texts where the page holds only the beginning, and questions as formatted Markdown where it holds the source.
"""

from collections.abc import Callable

from fastapi import FastAPI
from langchain_core.messages import AIMessage, BaseMessage
from starlette.responses import JSONResponse, PlainTextResponse, Response

from checkpoints import MessageNotFoundError, Store
from checkpoints.values.reasoning import Reasoning
from components.services import Services
from components.views import tool_cards
from components.views.shown_text import MAX_SHOWN_CHARS


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/messages/{message_id}/text")
    async def get_text(thread_id: str, message_id: str, part: str = "", call: str = "") -> Response:
        """Return a text of a message: its own, its reasoning, a call's arguments or all its calls."""
        found = await services.read_snapshot(_read_text, services.store, thread_id, message_id, part, call)
        return PlainTextResponse(found)

    @server.get("/api/threads/{thread_id:thread}/messages/{message_id}/formatted")
    async def get_formatted(thread_id: str, message_id: str) -> Response:
        """Return the shown part of a message's text, formatted."""
        to_html = services.renderer.page()
        return JSONResponse(await services.read_snapshot(_format_text, services.store, thread_id, message_id, to_html))

    @server.get("/api/threads/{thread_id:thread}/checkpoints/{checkpoint_id}/description")
    async def get_description(thread_id: str, checkpoint_id: str) -> Response:
        checkpoint = await services.read_snapshot(services.store.get_live_checkpoint, thread_id, checkpoint_id)
        return PlainTextResponse(checkpoint.description)


def _read_text(store: Store, thread_id: str, message_id: str, part: str, call: str) -> str:
    text = find_text(store.get_message(thread_id, message_id).intact.langchain, part, call)
    if text is None:
        raise MessageNotFoundError(message_id)
    return text


def _format_text(store: Store, thread_id: str, message_id: str, to_html: Callable[[str], str]) -> dict[str, str]:
    text = str(store.get_message(thread_id, message_id).intact.langchain.text)
    return {"html": to_html(text[:MAX_SHOWN_CHARS])}


def find_text(message: BaseMessage, part: str, call_id: str) -> str | None:
    """Return the requested text of a message; None if it has no such part."""
    if not part:
        return str(message.text)
    if part == "reasoning" and isinstance(message, AIMessage):
        reasoning = Reasoning.of(message)
        return reasoning.text.strip() if reasoning else None
    if part == "calls" and tool_cards.count_calls(message):
        return tool_cards.format_calls(message)
    calls = tool_cards.list_shown_calls(message) if part == "arguments" else []
    return next((tool_cards.format_arguments(call) for call in calls if tool_cards.cut_id(call) == call_id), None)
