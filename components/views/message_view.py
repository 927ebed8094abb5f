"""Messages as the page's components show them. Pure: values in, plain JSON out."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.prices import Prices, read_usage
from agent.run import compaction
from agent.subagents.delegation import find_open_calls, find_undecided_calls
from agent.time_travel.dependence import list_call_ids, read_question_mark
from agent.time_travel.notes import TIME_TRAVEL_MARK, extract_note
from checkpoints import (
    MAIN,
    Message,
    MessageStatus,
    limits,
    pluralize,
)
from checkpoints.interchange import waymark
from checkpoints.reasoning import Reasoning
from components.views import file_links
from components.views import notes as summaries
from components.views.file_links import FileView
from components.views.fork_attempts import AttemptsByCall
from components.views.markdown import to_html_if_cheap
from components.views.notes import RemovalView, SummaryView
from components.views.subagent_work import collect_work, find_waiting_calls
from components.views.tool_cards import (
    DAMAGED_TEXT,
    MoveView,
    ToolView,
    build_waiting_card,
    describe_tools,
    fill_tool_card,
    list_sources,
)

MAX_SHOWN_REASONING_CHARS = 20_000  # of one answer; exports hold all of it


class UsageView(TypedDict):
    """The usage of an answer in tokens, and its cost in US dollars (None: its model's price is not set)."""

    input: int
    cached: int
    output: int
    reasoning: int
    cost: float | None


class ReasoningView(TypedDict):
    """The reasoning before an answer, for a folded card."""

    text: str
    more: int  # characters that are not shown
    duration_ms: int | None


class MessageView(TypedDict):
    id: str
    role: Literal["user", "assistant", "note"]
    state: Literal["done", "partial", "error"]
    html: str
    text: str
    label: str | None  # above a note, a question to an agent, or an answer that the agent replaced
    time: str
    tools: list[ToolView]
    siblings: list[str]  # ids of its alternatives and its own; empty without alternatives
    files: list[FileView]  # that a user attached
    trace: str | None  # of an answer that is traced, the address of its trace; empty while it is not known
    usage: UsageView | None  # of an answer whose provider reported it
    summary: SummaryView | None  # of a note that replaces messages: `html` is then the summary
    left: RemovalView | None  # where the agent went back
    reasoning: ReasoningView | None  # of an answer


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
    """Describe an agent's messages of a path. The view of a calling message shows its tool results and the work of others.

    Calls without a result are running while a run is `running`, and waiting while it is `waiting` for a person.
    `to_html` formats Markdown within a budget (`Renderer.page`).
    """
    views: list[MessageView] = []
    cards: dict[str, ToolView] = {}
    done_for = collect_work(path, agent)
    # The author of a damaged message is unknown: the main agent's transcript shows it.
    for stored in (message for message in path if message.agent == agent or (message.damaged and agent == MAIN)):
        if stored.damaged:
            views.append(_describe_damaged_message(stored, (siblings or {}).get(stored.id, [])))
            continue
        message = stored.langchain
        if isinstance(message, ToolMessage) and message.tool_call_id in cards:
            fill_tool_card(cards.pop(message.tool_call_id), stored, message)
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
                work["waiting"] = [build_waiting_card(each) for each in calls]
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
    is_ours = stored.run_id is not None  # an imported message may carry a note's marks: then its whole text is shown
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
        "tools": describe_tools(message, stored.agent) if isinstance(message, AIMessage) else [],
        "siblings": [],
        "files": file_links.describe_files(stored) if role == "user" else [],
        "trace": None,
        "usage": None,
        "summary": summary,
        "left": summaries.describe_goto_removal(stored),
        "reasoning": _describe_reasoning(message),
    }


def _describe_reasoning(message: BaseMessage) -> ReasoningView | None:
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None or not (text := reasoning.text.strip()):
        return None
    more = max(0, len(text) - MAX_SHOWN_REASONING_CHARS)
    return {"text": text[:MAX_SHOWN_REASONING_CHARS], "more": more, "duration_ms": reasoning.duration_ms}


def _said(stored: Message) -> str | None:
    """Return the label of a message: its author, or the number of calls that are not shown."""
    more = len(list_call_ids(stored)) - waymark.MAX_CALLS
    return f"{pluralize(more, 'more tool call')} not shown" if more > 0 else _build_question_label(stored)


def _build_question_label(stored: Message) -> str | None:
    """Return the label of a question to an agent: its author."""
    call = read_question_mark(stored)
    return None if call is None else "asked by the main agent" if call[0] == MAIN else f"asked by {call[0]}"


def _build_move_label(marks: dict[str, Any]) -> str:
    """Return the label of a move: its effect, and the sources that the agent had read before."""
    number = limits.to_number(marks.get("removed"))
    removed = "some messages" if number is None else pluralize(number, "message")
    did = "replaced an answer at this point" if marks.get("kind") == "rewind" else "went back to this point"
    read = list_sources(marks)
    return f"the agent {did} · {removed} removed" + (f" · after reading {', '.join(read)}" if read else "")


def _describe_damaged_message(stored: Message, siblings: list[str]) -> MessageView:
    """Describe a damaged message. It keeps its role, so that it can be edited or answered again."""
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
        "reasoning": None,
    }


def render_plain_text(text: str) -> str:
    """Escape a text and keep its line breaks."""
    return escape(text).replace("\n", "<br>")
