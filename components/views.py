"""Values of the store as what the page's components show. Pure: values in, plain JSON out."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.recording import STOPPED
from checkpoints import Branch, Checkpoint, Message, MessageStatus, Operation, OperationKind, Run, RunState, Thread
from components.markdown import to_html


class ToolView(TypedDict):
    id: str
    name: str
    arguments: str
    status: Literal["running", "done", "error", "stopped"]
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


def messages(path: Sequence[Message], *, running: bool) -> list[MessageView]:
    """The messages of a path; tool results stand in the message that asked for them."""
    views: list[MessageView] = []
    cards: dict[str, ToolView] = {}
    for stored in path:
        message = stored.langchain
        if isinstance(message, ToolMessage) and message.tool_call_id in cards:
            _fill(cards.pop(message.tool_call_id), stored, message)
            continue
        if not isinstance(message, ToolMessage):
            cards = {}
        view = _message(stored, message)
        cards.update({tool["id"]: tool for tool in view["tools"]})
        views.append(view)
    if not running:
        for tool in cards.values():
            tool["status"] = "stopped"
    _stop_unanswered(views[:-1])
    return views


def _stop_unanswered(views: Sequence[MessageView]) -> None:
    for view in views:
        for tool in view["tools"]:
            if tool["status"] == "running":
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
    if value is None or value.dismissed or value.state is RunState.DONE:
        return None
    return {"id": value.id, "state": value.state, "error": value.error}


def checkpoint(value: Checkpoint, head_id: str | None) -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "description": value.description,
        "created_by": value.created_by,
        "time": value.timestamp.isoformat(),
        "messages": value.message_count,
        "tokens": value.tokens,
        "here": value.node is not None and value.node.id == head_id,
    }


def branch(value: Branch, length: int, current: str) -> dict[str, Any]:
    return {"id": value.id, "name": value.name, "current": value.id == current, "messages": length}


def notice(operation: Operation | None) -> dict[str, Any] | None:
    """The banner about the thread's last change, if it is one that took something away."""
    sentences = {
        OperationKind.RESTORE: "Restored to {}",
        OperationKind.CLEAR: "Cleared the {}",
        OperationKind.DELETE: "Deleted the {}",
        OperationKind.IMPORT: "Imported {}",
        OperationKind.EDIT: "The earlier answer was set aside",
    }
    if operation is None or operation.kind not in sentences or operation.undone:
        return None
    return {"op": str(operation.version), "text": sentences[operation.kind].format(operation.note), "undo": True}


def described(operation: Operation | None) -> str | None:
    """What undoing this operation would take back, in words."""
    if operation is None:
        return None
    words = {
        OperationKind.APPEND: "the last messages",
        OperationKind.EDIT: "the new answer",
        OperationKind.SAVE: f"saving {operation.note}",
        OperationKind.RENAME: "the new title",
        OperationKind.RESTORE: f"restoring {operation.note}",
        OperationKind.SWITCH: "switching the branch",
        OperationKind.DELETE: f"deleting the {operation.note}",
        OperationKind.CLEAR: f"clearing the {operation.note}",
        OperationKind.IMPORT: "the import",
        OperationKind.UNDO: "the undo",
    }
    return words.get(operation.kind, operation.kind)
