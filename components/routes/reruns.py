"""Reruns: the questions of a place that can be asked again, and the beginning of a rerun."""

from collections.abc import Mapping
from typing import Any, Required

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from agent.run.reruns import MAX_RERUN_QUESTIONS, RerunRequest, list_questions
from agent.settings import ThreadSettings
from checkpoints import Caller, Message
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from components.routes.comparison import find_place_end
from components.services import Services
from components.shapes import RequestId, parse_body
from components.views.shown_text import quote_line
from words import N_, _

UNREADABLE_TEXT = N_("(damaged)")


class _Body(TypedDict, total=False):
    place: Required[str]
    request_id: Required[RequestId]
    first: Required[str]
    model: Required[str]
    instructions: Required[str]


def add_route(server: FastAPI, services: Services) -> None:
    store = services.store

    @server.get("/api/threads/{thread_id:thread}/rerun")
    async def list_rerun_questions(thread_id: str, place: str = "") -> Response:
        """Return the questions of a place, and the conversation's own settings."""
        return JSONResponse(await services.read_snapshot(describe_choice, services, thread_id, place))

    @server.post("/api/threads/{thread_id:thread}/rerun")
    async def begin_rerun(thread_id: str, request: Request) -> Response:
        """Ask the questions of a place again. A repeated request begins nothing."""
        body = await _read_body(request)
        end_id = await services.read_snapshot(find_place_end, store, thread_id, body["place"])
        settings = {"model": body["model"], "instructions": body["instructions"]}
        wanted = RerunRequest(body["place"], end_id, body["first"], settings)
        run = await services.runner.reruns.begin(thread_id, wanted, caller=Caller(request_id=body["request_id"]))
        return JSONResponse({"run": run.id})


async def _read_body(request: Request) -> _Body:
    """Raises `MalformedRequestError`."""
    return parse_body(_Body, await request.body())


def describe_choice(services: Services, thread_id: str, place: str) -> Mapping[str, Any]:
    store = services.store
    settings = ThreadSettings.from_thread(store.get_thread(thread_id))
    questions = list_questions(store, thread_id, find_place_end(store, thread_id, place))
    return {
        "questions": [{"id": each.id, "text": _quote(each)} for each in questions],
        "models": list(services.models.specs),
        "model": settings.model,
        "default": services.models.default_spec,
        "instructions": settings.instructions,
        "max": {"questions": MAX_RERUN_QUESTIONS, "instructions": MAX_INSTRUCTIONS_CHARS},
    }


def _quote(message: Message) -> str:
    return _(UNREADABLE_TEXT) if message.damaged else quote_line(str(message.langchain.text))
