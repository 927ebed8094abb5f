"""Values of the store as what the page's components show. Pure: values in, plain JSON out."""

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from agent.context.prices import Prices, read_usage
from agent.run import compaction
from agent.subagents.delegation import OpenCall, find_open_calls, find_undecided_calls
from agent.time_travel.dependence import list_call_ids, read_question_mark
from agent.time_travel.moves import TIME_TRAVEL_MARK, Move, extract_note, read_sources
from agent.tools.approval import STOPPED_TEXT
from checkpoints import (
    MAIN,
    Branch,
    Checkpoint,
    Message,
    MessageStatus,
    Removal,
    Run,
    RunState,
    Thread,
    limits,
    pluralize,
)
from checkpoints.interchange import waymark
from checkpoints.text import shorten_line
from components.views import file_links
from components.views import notes as summaries
from components.views.file_links import FileView
from components.views.fork_attempts import AttemptsByCall, AttemptView
from components.views.markdown import to_html_if_cheap
from components.views.notes import RemovalView, SummaryView
from components.views.subagent_work import WorkView, collect_work, find_waiting_calls

DAMAGED_TEXT = "This message is damaged and is not shown."


MAX_BEGINNING_CHARS = 300  # characters of a message that another text names


class MoveView(TypedDict):
    """What a move of the agent would do, for the person who decides about it."""

    target: str  # the beginning of the message that it names
    number: int  # counted from 1
    leaves: str
    argument: Literal["message", "content"]  # in which the agent's own words stand
    words: str
    read: list[str]  # what the agent had read before: its words may come from there


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
    agent: str  # who makes the call
    work: WorkView | None  # of a call that asks an agent


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
    summary: SummaryView | None  # of a note that stands for messages: `html` is then what it says of them
    left: RemovalView | None  # where the agent went back


def describe_messages(
    path: Sequence[Message],
    *,
    running: bool,
    waiting: bool = False,
    waiting_moves: Mapping[str, MoveView] | None = None,
    siblings: Mapping[str, list[str]] | None = None,
    traces: Mapping[str, str] | None = None,
    prices: Prices | None = None,
    attempts: AttemptsByCall | None = None,
    agent: str = MAIN,
    to_html: Callable[[str], str] = to_html_if_cheap,
) -> list[MessageView]:
    """An agent's messages of a path; tool results stand in the message that asked for them, and there is told of the work
    of others.

    Calls without a result are at work while a run is `running`, `waiting` when it rests until a person decides.
    `to_html` formats Markdown within a budget (`Renderer.page`).
    """
    views: list[MessageView] = []
    cards: dict[str, ToolView] = {}
    done_for = collect_work(path, agent)
    # Whose a damaged message is cannot be told from it: it is named where everybody looks.
    for stored in (message for message in path if message.agent == agent or (message.damaged and agent == MAIN)):
        if stored.damaged:
            views.append(_describe_damaged_message(stored, (siblings or {}).get(stored.id, [])))
            continue
        message = stored.langchain
        if isinstance(message, ToolMessage) and message.tool_call_id in cards:
            _fill_tool_card(cards.pop(message.tool_call_id), stored, message)
            continue
        if not isinstance(message, ToolMessage):
            cards = {}
        view = _describe_message(stored, message, to_html)
        view["siblings"] = (siblings or {}).get(stored.id, [])
        view["trace"] = (traces or {}).get(stored.id)
        view["usage"] = describe_usage(stored, prices or {})
        for tool in view["tools"]:
            tool["work"] = done_for.get((stored.id, tool["id"]))
            tool["ways"] = (attempts or {}).get((stored.id, tool["id"]), [])
            cards[tool["id"]] = tool
        views.append(view)
    if not running:
        for call_id, calls in (find_waiting_calls(path, agent) if waiting else {}).items():
            if call_id in cards and (work := cards[call_id]["work"]) is not None:
                work["waiting"] = [_build_waiting_card(each) for each in calls]
        decided = {each.key for each in find_undecided_calls(find_open_calls(path, agent))} if waiting else set()
        for tool in cards.values():
            here = (agent, tool["id"]) in decided or tool["work"] is not None
            tool["status"] = ("waiting" if here else "queued") if waiting else "stopped"
            tool["move"] = (waiting_moves or {}).get(tool["id"])
    _stop_open_tools(views[:-1])
    return views


def describe_usage(stored: Message, prices: Prices) -> UsageView | None:
    used = read_usage(stored, prices)
    if used is None:
        return None
    cost = used.cost if used.priced else None
    return {"input": used.input, "cached": used.cached, "output": used.output, "reasoning": used.reasoning, "cost": cost}


def _stop_open_tools(views: Sequence[MessageView]) -> None:
    for view in views:
        for tool in view["tools"]:
            if tool["status"] in ("running", "waiting"):
                tool["status"] = "stopped"


def _describe_message(stored: Message, message: BaseMessage, to_html: Callable[[str], str]) -> MessageView:
    text, marks = str(message.text), message.additional_kwargs.get(TIME_TRAVEL_MARK)
    role: Literal["user", "assistant", "note"] = "note"
    summary = summaries.describe_summary(stored)
    is_ours = stored.run_id is not None  # a file may hold the marks of a note: then all that the model reads is shown
    if isinstance(message, HumanMessage) and isinstance(marks, dict):
        text = extract_note(text) if is_ours else text
    elif summary is not None:
        text = compaction.extract_summary(text) if is_ours else text
    elif isinstance(message, HumanMessage):
        role = "user"
    elif isinstance(message, AIMessage):
        role = "assistant"
    return {
        "id": stored.id,
        "role": role,
        "state": "partial" if stored.status is MessageStatus.PARTIAL else "done",
        "html": to_html(text) if role == "assistant" or (summary and is_ours) else render_plain_text(text),
        "text": text,
        "label": _build_move_label(marks)
        if isinstance(marks, dict)
        else "note"
        if role == "note" and not summary
        else _said(stored),
        "time": stored.created_at.isoformat(),
        "tools": _describe_tools(message, stored.agent) if isinstance(message, AIMessage) else [],
        "siblings": [],
        "files": file_links.describe_files(stored) if role == "user" else [],
        "trace": None,
        "usage": None,
        "summary": summary,
        "left": summaries.describe_goto_removal(stored),
    }


def _said(stored: Message) -> str | None:
    """Over a message: by whom it was asked, or that not all of its calls are shown."""
    more = len(list_call_ids(stored)) - waymark.MAX_CALLS
    return f"{pluralize(more, 'more tool call')} not shown" if more > 0 else _build_question_label(stored)


def _build_question_label(stored: Message) -> str | None:
    """Over a question that an agent was asked: by whom."""
    call = read_question_mark(stored)
    return None if call is None else "asked by the main agent" if call[0] == MAIN else f"asked by {call[0]}"


def _build_move_label(marks: dict[str, Any]) -> str:
    """What a move of the agent did here, and what it had read before."""
    number = limits.to_number(marks.get("removed"))
    removed = "some messages" if number is None else pluralize(number, "message")
    did = "replaced an answer here" if marks.get("kind") == "rewind" else "went back to here"
    read = _list_sources(marks)
    return f"the agent {did} · {removed} removed" + (f" · after reading {', '.join(read)}" if read else "")


def _list_sources(marks: object) -> list[str]:
    """The sources of a move as the page names them."""
    return [name[:40] for name in read_sources(marks)][:5]


def quote_beginning(message: Message) -> str:
    """The beginning of a message's text, on one line."""
    text = DAMAGED_TEXT if message.damaged else str(message.langchain.text)
    return shorten_line(text, MAX_BEGINNING_CHARS)


def describe_move(value: Move, removal: Removal) -> MoveView:
    return {
        "target": quote_beginning(value.target),
        "number": value.target.depth + 1,
        "leaves": f"{removal}{removal.agents_clause}",
        "argument": "message" if value.kind == "goto" else "content",
        "words": value.reason,
        "read": _list_sources(value.message.additional_kwargs[TIME_TRAVEL_MARK]),
    }


def _describe_damaged_message(stored: Message, siblings: list[str]) -> MessageView:
    """A note in the place of what cannot be trusted; it keeps its role, so that it can be edited or answered again."""
    roles: dict[str, Literal["user", "assistant"]] = {"human": "user", "ai": "assistant"}
    return {
        "id": stored.id,
        "role": roles.get(stored.type, "note"),
        "state": "error",
        "html": render_plain_text(DAMAGED_TEXT),
        "text": "",
        "label": None,
        "time": stored.created_at.isoformat(),
        "tools": [],
        "siblings": siblings,
        "files": [],
        "trace": None,
        "usage": None,
        "summary": None,
        "left": None,
    }


def render_plain_text(text: str) -> str:
    """Text exactly as it was written."""
    return escape(text).replace("\n", "<br>")


def _describe_tools(message: AIMessage, agent: str) -> list[ToolView]:
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


def _build_waiting_card(open_call: OpenCall) -> ToolView:
    """The card of a call that another agent waits with."""
    tool = _build_tool_card(
        open_call.call["id"] or "", open_call.call["name"], _format_arguments(open_call.call), open_call.agent
    )
    tool["status"] = "waiting"
    return tool


def _fill_tool_card(tool: ToolView, stored: Message, message: ToolMessage) -> None:
    text = str(message.text)
    tool["status"] = "stopped" if text == STOPPED_TEXT else "error" if message.status == "error" else "done"
    tool["duration_ms"] = limits.to_number(message.response_metadata.get("duration_ms"))
    tool["result"] = text
    tool["message_id"] = stored.id


def describe_thread(value: Thread, running: frozenset[str]) -> dict[str, Any]:
    return {
        "id": value.id,
        "title": value.title,
        "updated": value.updated_at.isoformat(),
        "running": value.id in running,
    }


def describe_run(value: Run | None) -> dict[str, Any] | None:
    """A run, if there is something to say of it."""
    if value is None or value.dismissed or value.state in (RunState.DONE, RunState.WAITING):
        return None
    return {"id": value.id, "state": value.state, "error": value.error, "compacts": value.compacts}


def describe_checkpoint(value: Checkpoint, *, is_current: bool) -> dict[str, Any]:
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
        "here": is_current,
    }


def describe_branch(value: Branch, length: int, shared: int, current: str) -> dict[str, Any]:
    """`shared`: how many messages it has in common with the current branch."""
    return {"id": value.id, "name": value.name, "current": value.id == current, "messages": length, "shared": shared}
