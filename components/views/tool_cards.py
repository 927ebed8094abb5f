"""The cards of tool calls: arguments, status, result, and the move that a call proposes."""

import json
from typing import Literal, TypedDict

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from agent.subagents.delegation import OpenCall
from agent.time_travel.moves import Move, read_sources
from agent.time_travel.notes import TIME_TRAVEL_MARK
from agent.tools.approval import STOPPED_TEXT
from checkpoints import Message, Removal, limits
from checkpoints.interchange import waymark
from checkpoints.text import shorten_line
from components.views.fork_attempts import AttemptView
from components.views.subagent_work import WorkView

DAMAGED_TEXT = "This message is damaged and is not shown."


MAX_BEGINNING_CHARS = 300  # characters of a message that another text names


class TokenChange(TypedDict):
    """The size of the conversation in a request, before and after a move: estimates."""

    before: int
    after: int


class MoveView(TypedDict):
    """The effect of a proposed move, for the person who decides about it."""

    target: str  # the beginning of the message that it names
    number: int  # counted from 1
    leaves: str
    tokens: TokenChange
    argument: Literal["message", "content"]  # with the agent's own words
    words: str
    read: list[str]  # sources that the agent had read before: its words may come from them


class ToolView(TypedDict):
    id: str
    name: str
    arguments: str
    status: Literal["running", "waiting", "queued", "done", "error", "stopped"]
    duration_ms: int | None
    result: str | None
    message_id: str | None
    move: MoveView | None  # of a call that would move the conversation, while it waits
    ways: list[AttemptView]  # of a fork: its branches
    agent: str  # the calling agent
    work: WorkView | None  # of a call to another agent


def describe_move(value: Move, removal: Removal, tokens: TokenChange) -> MoveView:
    return {
        "tokens": tokens,
        "target": quote_beginning(value.target),
        "number": value.target.depth + 1,
        "leaves": f"{removal}{removal.agents_clause}",
        "argument": "message" if value.kind == "goto" else "content",
        "words": value.reason,
        "read": list_sources(value.message.additional_kwargs[TIME_TRAVEL_MARK]),
    }


def quote_beginning(message: Message) -> str:
    """Return the beginning of a message's text, on one line."""
    text = DAMAGED_TEXT if message.damaged else str(message.langchain.text)
    return shorten_line(text, MAX_BEGINNING_CHARS)


def list_sources(marks: object) -> list[str]:
    """Return the sources of a move as the page names them."""
    return [name[:40] for name in read_sources(marks)][:5]


def describe_tools(message: AIMessage, agent: str) -> list[ToolView]:
    readable = [(c["id"], c["name"], _format_arguments(c)) for c in message.tool_calls]
    unreadable = [(c["id"], c["name"], c["args"] or "") for c in message.invalid_tool_calls]
    shown = [*readable, *unreadable][: waymark.MAX_CALLS]
    return [_build_tool_card(identifier or "", name or "", text, agent) for identifier, name, text in shown]


def _format_arguments(call: ToolCall) -> str:
    return json.dumps(call["args"], ensure_ascii=False, indent=2)


def _build_tool_card(identifier: str, name: str, arguments: str, agent: str) -> ToolView:
    return {
        "id": identifier,
        "name": name,
        "arguments": arguments,
        "status": "running",
        "duration_ms": None,
        "result": None,
        "message_id": None,
        "move": None,
        "ways": [],
        "agent": agent,
        "work": None,
    }


def build_waiting_card(open_call: OpenCall) -> ToolView:
    """Build the card of another agent's waiting call."""
    tool = _build_tool_card(
        open_call.call["id"] or "", open_call.call["name"], _format_arguments(open_call.call), open_call.agent
    )
    tool["status"] = "waiting"
    return tool


def fill_tool_card(tool: ToolView, stored: Message, message: ToolMessage) -> None:
    text = str(message.text)
    tool["status"] = "stopped" if text == STOPPED_TEXT else "error" if message.status == "error" else "done"
    tool["duration_ms"] = limits.to_number(message.response_metadata.get("duration_ms"))
    tool["result"] = text
    tool["message_id"] = stored.id
