"""Values of the store as what the page's components show. Pure: values in, plain JSON out."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.recording import STOPPED
from checkpoints import Branch, Checkpoint, Message, MessageStatus, Run, RunState, Thread
from components.markdown import to_html

DAMAGED = "This message is damaged and is not shown."


class ToolView(TypedDict):
    id: str
    name: str
    arguments: str
    status: Literal["running", "waiting", "done", "error", "stopped"]
    duration_ms: int | None
    result: str | None
    message_id: str | None


class MessageView(TypedDict):
    id: str
    role: Literal["user", "assistant", "note"]
    state: Literal["done", "partial", "error"]
    html: str
    text: str
    time: str
    tools: list[ToolView]
    siblings: list[str]  # ids of the alternatives at its place, itself among them; empty when it is alone
    trace: str | None  # of an answer that is traced, the address of its trace; empty while it is not known


def messages(
    path: Sequence[Message],
    *,
    running: bool,
    waiting: bool = False,
    siblings: Mapping[str, list[str]] | None = None,
    traces: Mapping[str, str] | None = None,
) -> list[MessageView]:
    """The messages of a path; tool results stand in the message that asked for them.

    Calls without a result are at work while a run is `running`, `waiting` when it rests until a person decides.
    """
    views: list[MessageView] = []
    cards: dict[str, ToolView] = {}
    for stored in path:
        if stored.damaged:
            views.append(_damaged(stored, (siblings or {}).get(stored.id, [])))
            continue
        message = stored.langchain
        if isinstance(message, ToolMessage) and message.tool_call_id in cards:
            _fill(cards.pop(message.tool_call_id), stored, message)
            continue
        if not isinstance(message, ToolMessage):
            cards = {}
        view = _message(stored, message)
        view["siblings"] = (siblings or {}).get(stored.id, [])
        view["trace"] = (traces or {}).get(stored.id)
        cards.update({tool["id"]: tool for tool in view["tools"]})
        views.append(view)
    if not running:
        for tool in cards.values():
            tool["status"] = "waiting" if waiting else "stopped"
    _stop_unanswered(views[:-1])
    return views


def _stop_unanswered(views: Sequence[MessageView]) -> None:
    for view in views:
        for tool in view["tools"]:
            if tool["status"] in ("running", "waiting"):
                tool["status"] = "stopped"


def _message(stored: Message, message: BaseMessage) -> MessageView:
    text = str(message.text)
    role: Literal["user", "assistant", "note"] = "note"
    if isinstance(message, HumanMessage):
        role = "user"
    elif isinstance(message, AIMessage):
        role = "assistant"
    return {
        "id": stored.id,
        "role": role,
        "state": "partial" if stored.status is MessageStatus.PARTIAL else "done",
        "html": to_html(text) if role == "assistant" else plain_html(text),
        "text": text,
        "time": stored.created_at.isoformat(),
        "tools": _tools(message) if isinstance(message, AIMessage) else [],
        "siblings": [],
        "trace": None,
    }


def _damaged(stored: Message, siblings: list[str]) -> MessageView:
    """A note in the place of what cannot be trusted; it keeps its role, so that it can be edited or answered again."""
    roles: dict[str, Literal["user", "assistant"]] = {"human": "user", "ai": "assistant"}
    return {
        "id": stored.id,
        "role": roles.get(stored.type, "note"),
        "state": "error",
        "html": plain_html(DAMAGED),
        "text": "",
        "time": stored.created_at.isoformat(),
        "tools": [],
        "siblings": siblings,
        "trace": None,
    }


def plain_html(text: str) -> str:
    """Text exactly as it was written."""
    return escape(text).replace("\n", "<br>")


def _tools(message: AIMessage) -> list[ToolView]:
    readable = [(c["id"], c["name"], json.dumps(c["args"], ensure_ascii=False, indent=2)) for c in message.tool_calls]
    unreadable = [(c["id"], c["name"], c["args"] or "") for c in message.invalid_tool_calls]
    return [
        ToolView(
            id=identifier or "",
            name=name or "",
            arguments=text,
            status="running",
            duration_ms=None,
            result=None,
            message_id=None,
        )
        for identifier, name, text in [*readable, *unreadable]
    ]


def _fill(tool: ToolView, stored: Message, message: ToolMessage) -> None:
    text = str(message.text)
    tool["status"] = "stopped" if text == STOPPED else "error" if message.status == "error" else "done"
    tool["duration_ms"] = message.response_metadata.get("duration_ms")
    tool["result"] = text
    tool["message_id"] = stored.id


def thread(value: Thread, running: frozenset[str]) -> dict[str, Any]:
    return {
        "id": value.id,
        "title": value.title,
        "updated": value.updated_at.isoformat(),
        "running": value.id in running,
    }


def run(value: Run | None) -> dict[str, Any] | None:
    """A run, if there is something to say of it."""
    if value is None or value.dismissed or value.state in (RunState.DONE, RunState.WAITING):
        return None
    return {"id": value.id, "state": value.state, "error": value.error}


def checkpoint(value: Checkpoint, *, here: bool) -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "description": value.description,
        "created_by": value.created_by,
        "time": value.timestamp.isoformat(),
        "messages": value.message_count,
        "tokens": value.tokens,
        "pinned": value.pinned,
        "here": here,
    }


def branch(value: Branch, length: int, shared: int, current: str) -> dict[str, Any]:
    """`shared`: how many messages it has in common with the current branch."""
    return {"id": value.id, "name": value.name, "current": value.id == current, "messages": length, "shared": shared}
