"""Excerpts: the draft of a branch's conclusion, the note with it and quoted messages, and the place of its origin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Required

from fastapi import FastAPI, Request
from pydantic import Field
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from agent.context.prices import count_usage
from agent.marks import ExcerptMark
from agent.time_travel.excerpts import MAX_EXCERPT_MESSAGES, ExcerptRequest, build_excerpt, is_quotable
from checkpoints import Caller, Message, MessageNotFoundError, NewMessage, OperationDetail, Store
from checkpoints.tree_reader import find_message_id
from checkpoints.values.limits import MAX_READ_VALUES
from checkpoints.values.place_name import PlaceName
from components.routes.comparison import MAX_COUNTED_MESSAGES, find_place_end, name_place
from components.routes.search import describe_message_place
from components.services import Services
from components.shapes import Count, MalformedRequestError, RequestId, parse_body
from components.views.comparison_view import read_cost
from components.views.names import name_other
from components.views.places import describe_place_name
from components.views.shown_text import quote_line

# This many messages are offered for quoting, the last of the place.
MAX_OFFERED_MESSAGES = 200


class _Body(TypedDict, total=False):
    place: Required[str]
    request_id: RequestId
    version: Count | None
    text: str
    messages: Annotated[list[str], Field(max_length=MAX_EXCERPT_MESSAGES)]


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an excerpt: the place's name, and the messages unique to this place."""

    place: PlaceName
    messages: list[Message]


def add_route(server: FastAPI, services: Services) -> None:
    store = services.store

    @server.get("/api/threads/{thread_id:thread}/excerpts")
    async def list_quotable(thread_id: str, place: str = "") -> Response:
        """Return the messages of a place for an excerpt to quote."""
        origin = await services.read_snapshot(read_origin, store, thread_id, place)
        return JSONResponse(describe_origin(origin))

    @server.post("/api/threads/{thread_id:thread}/conclusion")
    async def draft_conclusion(thread_id: str, request: Request) -> Response:
        """Let the model draft the conclusion of a place. It changes nothing."""
        body = await _read_body(request)
        origin = await services.read_snapshot(read_origin, store, thread_id, body["place"])
        drafted = await services.runner.conclusions.draft(thread_id, origin.messages)
        usage = count_usage(drafted.usage, drafted.spec, services.prices)
        counts = {"input": usage.input, "cached": usage.cached, "output": usage.output, "reasoning": usage.reasoning}
        return JSONResponse({"text": drafted.text, "model": drafted.spec, "usage": {**counts, "cost": read_cost(usage)}})

    @server.post("/api/threads/{thread_id:thread}/excerpts")
    async def add_excerpt(thread_id: str, request: Request) -> Response:
        """Add an excerpt after the current position. A repeated request does nothing."""
        body = await _read_body(request)
        note, detail = await services.read_snapshot(_build_note, services, thread_id, body)
        caller = Caller(request_id=_require_op(body), expected_version=body.get("version"))
        receipt = await services.apply_change(store.append, thread_id, [note], detail=detail, caller=caller)
        return JSONResponse({"version": receipt.version, "message": receipt.result})

    @server.get("/api/threads/{thread_id:thread}/excerpts/{message_id}/place")
    async def get_origin(thread_id: str, message_id: str) -> Response:
        """Return the message where the page shows the origin of an excerpt."""
        return JSONResponse(await services.read_snapshot(_locate_origin, store, thread_id, message_id))


async def _read_body(request: Request) -> _Body:
    """Raises `MalformedRequestError`."""
    return parse_body(_Body, await request.body())


def _require_op(body: _Body) -> str:
    if not body.get("request_id"):
        raise MalformedRequestError("request_id")
    return body["request_id"]


def read_origin(store: Store, thread_id: str, place: str) -> Origin:
    """Read the messages of a place that the current position lacks. Raises `NotFoundError`."""
    ends = find_place_end(store, thread_id, place), find_place_end(store, thread_id, "")
    parted = store.compare_paths(thread_id, *ends, max_messages=MAX_COUNTED_MESSAGES, max_values=MAX_READ_VALUES)
    return Origin(name_place(store, thread_id, place), parted.left)


def describe_origin(origin: Origin) -> Mapping[str, Any]:
    offered = [message for message in origin.messages if is_quotable(message)][-MAX_OFFERED_MESSAGES:]
    return {
        "name": describe_place_name(origin.place),
        "messages": [_describe_message(each) for each in offered],
    }


def _describe_message(message: Message) -> dict[str, str]:
    is_question = message.type == "human" and not message.is_by_graph
    role, person = ("user", name_other(message.person)) if is_question else ("assistant", "")
    return {"id": message.id, "role": role, "person": person, "text": quote_line(str(message.langchain.text))}


def _build_note(services: Services, thread_id: str, body: _Body) -> tuple[NewMessage, OperationDetail]:
    services.runner.inputs.require_no_waiting_call(thread_id)
    origin = read_origin(services.store, thread_id, body["place"])
    note = build_excerpt(ExcerptRequest(body.get("text", ""), body.get("messages", [])), origin.place, origin.messages)
    return note, OperationDetail(subject="excerpt", place=origin.place.kind, name=origin.place.name)


def _locate_origin(store: Store, thread_id: str, message_id: str) -> Mapping[str, Any]:
    mark = ExcerptMark.of(store.get_message(thread_id, message_id).intact)
    if mark is None:
        raise MessageNotFoundError(message_id)
    return describe_message_place(store.locate_message(thread_id, find_message_id(store, thread_id, mark.depth, mark.last)))
