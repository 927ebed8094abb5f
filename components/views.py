"""Values of the store as what the page's components show. Pure: values in, plain JSON out."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent import time_travel
from agent.prices import Prices, usage_of
from agent.recording import STOPPED
from agent.time_travel import Move
from checkpoints import Branch, Checkpoint, Leaving, Message, MessageStatus, Run, RunState, Thread, counted
from components import attachments
from components.attachments import FileView
from components.markdown import to_html

DAMAGED = "This message is damaged and is not shown."


QUOTED = 300  # characters of the message that a move names


class MoveView(TypedDict):
    """What a move of the agent would do, for the person who decides about it."""

    target: str  # the beginning of the message that it names
    number: int  # counted from 1
    leaves: str
    argument: Literal["message", "content"]  # in which the agent's own words stand
    words: str


class ToolView(TypedDict):
    id: str
    name: str
    arguments: str
    status: Literal["running", "waiting", "done", "error", "stopped"]
    duration_ms: int | None
    result: str | None
    message_id: str | None
    move: MoveView | None  # of a call that would move the conversation, while it waits


class UsageView(TypedDict):
    """What an answer took, in tokens, and what it cost in US dollars (None: its model's price is not set)."""

    input: int
    cached: int
    output: int
    reasoning: int
    cost: float | None


class MessageView(TypedDict):
    id: str
    role: Literal["user", "assistant", "note"]
    state: Literal["done", "partial", "error"]
    html: str
    text: str
    label: str | None  # over a note, or over what the agent put in an answer's place
    time: str
    tools: list[ToolView]
    siblings: list[str]  # ids of the alternatives at its place, itself among them; empty when it is alone
    files: list[FileView]  # that a user attached
    trace: str | None  # of an answer that is traced, the address of its trace; empty while it is not known
    usage: UsageView | None  # of an answer whose provider told it


def messages(
    path: Sequence[Message],
    *,
    running: bool,
    waiting: bool = False,
    moves: Mapping[str, MoveView] | None = None,
    siblings: Mapping[str, list[str]] | None = None,
    traces: Mapping[str, str] | None = None,
    prices: Prices | None = None,
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
        view["usage"] = usage(stored, prices or {})
        cards.update({tool["id"]: tool for tool in view["tools"]})
        views.append(view)
    if not running:
        for tool in cards.values():
            tool["status"] = "waiting" if waiting else "stopped"
            tool["move"] = (moves or {}).get(tool["id"])
    _stop_unanswered(views[:-1])
    return views


def usage(stored: Message, prices: Prices) -> UsageView | None:
    used = usage_of(stored, prices)
    if used is None:
        return None
    cost = used.cost if used.priced else None
    return {"input": used.input, "cached": used.cached, "output": used.output, "reasoning": used.reasoning, "cost": cost}


def _stop_unanswered(views: Sequence[MessageView]) -> None:
    for view in views:
        for tool in view["tools"]:
            if tool["status"] in ("running", "waiting"):
                tool["status"] = "stopped"


def _message(stored: Message, message: BaseMessage) -> MessageView:
    text, marks = str(message.text), message.additional_kwargs.get(time_travel.KEY)
    role: Literal["user", "assistant", "note"] = "note"
    if isinstance(message, HumanMessage) and isinstance(marks, dict):
        text = time_travel.words_of(text)
    elif isinstance(message, HumanMessage):
        role = "user"
    elif isinstance(message, AIMessage):
        role = "assistant"
    return {
        "id": stored.id,
        "role": role,
        "state": "partial" if stored.status is MessageStatus.PARTIAL else "done",
        "html": to_html(text) if role == "assistant" else plain_html(text),
        "text": text,
        "label": _label(marks) if isinstance(marks, dict) else "note" if role == "note" else None,
        "time": stored.created_at.isoformat(),
        "tools": _tools(message) if isinstance(message, AIMessage) else [],
        "siblings": [],
        "files": attachments.shown(stored) if role == "user" else [],
        "trace": None,
        "usage": None,
    }


def _label(marks: dict[str, Any]) -> str:
    """What a move of the agent did here, and what it had read on the way."""
    removed = counted(marks["removed"], "message") if isinstance(marks.get("removed"), int) else "some messages"
    did = "replaced an answer here" if marks.get("kind") == "rewind" else "went back to here"
    read = [str(name)[:40] for name in marks.get("sources") or []][:5]
    return f"the agent {did} · {removed} removed" + (f" · after reading {', '.join(read)}" if read else "")


def move(value: Move, leaving: Leaving) -> MoveView:
    text = " ".join(str(value.target.langchain.text).split())
    return {
        "target": text if len(text) <= QUOTED else f"{text[:QUOTED]}…",
        "number": value.target.depth + 1,
        "leaves": str(leaving),
        "argument": "message" if value.kind == "goto" else "content",
        "words": value.reason,
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
        "label": None,
        "time": stored.created_at.isoformat(),
        "tools": [],
        "siblings": siblings,
        "files": [],
        "trace": None,
        "usage": None,
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
            move=None,
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
        "message": value.node.id if value.node and not value.detached else None,  # the one that it stands on, if it is here
        "tokens": value.tokens,
        "pinned": value.pinned,
        "here": here,
    }


def branch(value: Branch, length: int, shared: int, current: str) -> dict[str, Any]:
    """`shared`: how many messages it has in common with the current branch."""
    return {"id": value.id, "name": value.name, "current": value.id == current, "messages": length, "shared": shared}
