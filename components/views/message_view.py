"""Messages as the page's components show them. Pure: values in, plain JSON out."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, InvalidToolCall, ToolCall

from agent.context.prices import Prices, read_usage
from agent.marks import MoveMark
from agent.preparation import compaction
from agent.subagents.delegation import OpenCall, find_open_calls, find_undecided_calls
from agent.time_travel.notes import extract_note
from checkpoints import MAIN, Message, MessageStatus, RunState
from checkpoints.values.answer_spec import read_spec
from checkpoints.values.limits import MAX_LABEL_CHARS
from checkpoints.values.reasoning import Reasoning
from checkpoints.values.text import shorten_line
from components.views import file_links
from components.views import notes as summaries
from components.views.file_links import FileView
from components.views.fork_attempts import AttemptsByCall
from components.views.labels import build_label
from components.views.markdown import escape_text, to_html_if_cheap
from components.views.names import name_other
from components.views.notes import ExcerptView, RemovalView, SummaryView
from components.views.shown_text import MAX_SHOWN_DETAIL_CHARS, MoreCallsView, MoreView, ViewBudget, build_text_address
from components.views.subagent_work import WorkView, collect_work, find_waiting_calls
from components.views.tool_cards import (
    DAMAGED_TEXT,
    CallStatus,
    CardKey,
    MoveView,
    ToolResult,
    ToolView,
    build_tool_card,
    build_waiting_card,
    count_calls,
    list_shown_calls,
    pair_results,
)
from words import _

# A file may name any text as the model.


class UsageView(TypedDict):
    input: int
    cached: int
    output: int
    reasoning: int
    # The cost is in US dollars; it is None if the model has no price.
    cost: float | None


class ReasoningView(TypedDict):
    text: str
    more: MoreView | None
    duration_ms: int | None


class MessageView(TypedDict):
    id: str
    role: Literal["user", "assistant", "note"]
    state: Literal["done", "partial", "error"]
    html: str
    text: str
    more: MoreView | None
    # Another person who asked is named; in a document, it is the word for whoever asked.
    person: str
    label: str | None
    time: str
    tools: list[ToolView]
    more_tools: MoreCallsView | None
    siblings: list[str]
    files: list[FileView]
    trace: str | None
    usage: UsageView | None
    model: str | None
    # A note that replaces messages (`html` is then the summary), a step back of the agent, and an excerpt have these.
    summary: SummaryView | None
    left: RemovalView | None
    excerpt: ExcerptView | None
    reasoning: ReasoningView | None


@dataclass(frozen=True)
class MessageExtras:
    """Facts for the views beside the messages: about the run, and about messages and calls by their ids."""

    # The run is at the path's end: its open calls are running, waiting or stopped.
    run_state: RunState | None = None
    # A person can decide these calls; None means all waiting calls. A user graph, and its sub-agents, ask by themselves.
    decidable_ids: Collection[str] | None = None
    # Moves are by call, alternatives and trace addresses by message, and prices by model.
    waiting_moves: Mapping[str, MoveView] = field(default_factory=dict)
    siblings: Mapping[str, list[str]] = field(default_factory=dict)
    trace_links: Mapping[str, str] = field(default_factory=dict)
    prices: Prices = field(default_factory=dict)
    attempts: AttemptsByCall = field(default_factory=dict)
    to_html: Callable[[str], str] = to_html_if_cheap
    portions: int = 1
    name_asker: Callable[[str | None], str] = name_other
    budget: ViewBudget | None = None


NO_EXTRAS = MessageExtras()


def describe_messages(path: Sequence[Message], extras: MessageExtras = NO_EXTRAS, *, agent: str = MAIN) -> list[MessageView]:
    """Describe an agent's messages of a path. The view of a calling message shows its results and the work of others."""
    # A damaged message's author is unknown, so the main agent's transcript shows it.
    messages = [
        (stored, None if stored.damaged else stored.langchain)
        for stored in path
        if stored.agent == agent or (stored.damaged and agent == MAIN)
    ]
    results = pair_results(messages)
    result_ids = {result.stored.id for result in results.values()}
    shown = [(stored, message) for stored, message in messages if stored.id not in result_ids]
    is_waiting = extras.run_state is RunState.WAITING
    calls = _PathCalls(
        results,
        collect_work(path, agent),
        open_message_id=next((s.id for s, m in reversed(shown) if m is not None and m.type != "tool"), None),
        last_message_id=shown[-1][0].id if shown else None,
        undecided_ids=frozenset(_find_undecided_ids(path, agent, extras.decidable_ids) if is_waiting else ()),
        waiting_calls=find_waiting_calls(path, agent) if is_waiting and extras.decidable_ids is None else {},
    )
    budget = extras.budget or ViewBudget(extras.to_html, extras.portions)
    newest_first = [
        _describe_message(stored, message, extras, calls, budget)
        if message is not None
        else _describe_damaged_message(stored, extras)
        for stored, message in reversed(shown)
    ]
    return newest_first[::-1]


@dataclass(frozen=True)
class _PathCalls:
    results: Mapping[CardKey, ToolResult]
    work: Mapping[CardKey, WorkView]
    # Only the calls of this message may still get results.
    open_message_id: str | None
    last_message_id: str | None
    undecided_ids: frozenset[str]
    waiting_calls: Mapping[str, list[OpenCall]]


def _find_undecided_ids(path: Sequence[Message], agent: str, decidable_ids: Collection[str] | None) -> Iterator[str]:
    for open_call in find_undecided_calls(find_open_calls(path, agent)):
        call_id = open_call.call["id"] or ""
        if open_call.agent == agent and (decidable_ids is None or call_id in decidable_ids):
            yield call_id


def _build_call_cards(
    stored: Message, message: BaseMessage, extras: MessageExtras, calls: _PathCalls, budget: ViewBudget
) -> tuple[list[ToolView], MoreCallsView | None]:
    shown = list_shown_calls(message)
    cards = [_build_call_card(stored, call, extras, calls, budget) for call in shown[: budget.take_calls(len(shown))]]
    missing = count_calls(message) - len(cards)
    more: MoreCallsView = {"count": missing, "address": build_text_address(stored, part="calls")}
    return cards, more if missing else None


def _build_call_card(
    stored: Message, call: ToolCall | InvalidToolCall, extras: MessageExtras, calls: _PathCalls, budget: ViewBudget
) -> ToolView:
    call_id = call["id"] or ""
    key = (stored.id, call_id)
    result, work = calls.results.get(key), calls.work.get(key)
    if result is not None:
        status, move = result.status, None
    elif stored.id != calls.open_message_id:
        status, move = "stopped", None
    else:
        is_decidable = work is not None or call_id in calls.undecided_ids
        is_last = stored.id == calls.last_message_id
        status, move = _choose_open_status(extras.run_state, is_decidable, is_last), extras.waiting_moves.get(call_id)
        if work is not None and call_id in calls.waiting_calls:
            waiting = calls.waiting_calls[call_id]
            moves = extras.waiting_moves
            cards = [build_waiting_card(each, moves.get(each.call["id"] or ""), budget) for each in waiting]
            work = {**work, "waiting": cards}
    attempts = extras.attempts.get(key, ())
    return build_tool_card(
        call, stored.agent, status, budget, calling=stored, result=result, move=move, attempts=attempts, work=work
    )


def _choose_open_status(run_state: RunState | None, is_decidable: bool, is_last: bool) -> CallStatus:
    """Return the status of a call without a result. `is_last`: no message is shown after the calling message."""
    if run_state is RunState.WAITING and not is_decidable:
        return "queued"
    if not is_last:
        return "stopped"
    return "running" if run_state is RunState.RUNNING else "waiting" if run_state is RunState.WAITING else "stopped"


def describe_usage(stored: Message, prices: Prices) -> UsageView | None:
    used = read_usage(stored, prices)
    if used is None:
        return None
    cost = used.cost if used.priced else None
    return {"input": used.input, "cached": used.cached, "output": used.output, "reasoning": used.reasoning, "cost": cost}


def _describe_message(
    stored: Message, message: BaseMessage, extras: MessageExtras, calls: _PathCalls, budget: ViewBudget
) -> MessageView:
    summary, excerpt = summaries.describe_summary(stored), summaries.describe_excerpt(stored, str(message.text))
    role, text = _read_role(stored, message, is_summary=summary is not None, excerpt=excerpt)
    is_by_model = role == "assistant" or (role == "user" and stored.agent != MAIN)
    is_formatted = is_by_model or stored.is_by_graph or excerpt or (summary and stored.run_id is not None)
    shown, html = budget.format(text, stored) if is_formatted else budget.escape(text, stored)
    tools, more_tools = _build_call_cards(stored, message, extras, calls, budget)
    return {
        "id": stored.id,
        "role": role,
        "state": "partial" if stored.status is MessageStatus.PARTIAL else "done",
        "html": html,
        "text": shown.text,
        "more": shown.more,
        "person": _name_asker(stored, role, extras),
        "label": build_label(stored, is_note=role == "note" and not (summary or excerpt)),
        "time": stored.created_at.isoformat(),
        "tools": tools,
        "more_tools": more_tools,
        "siblings": extras.siblings.get(stored.id, []),
        "files": file_links.describe_files(stored) if role == "user" else [],
        "trace": extras.trace_links.get(stored.id),
        "usage": describe_usage(stored, extras.prices),
        "model": _describe_model(stored) if role == "assistant" else None,
        "summary": summary,
        "left": summaries.describe_goto_removal(stored),
        "excerpt": excerpt[0] if excerpt else None,
        "reasoning": _describe_reasoning(stored, message, budget),
    }


def _name_asker(stored: Message, role: str, extras: MessageExtras) -> str:
    """Return the word for the person who asked; empty if an agent asked a sub-agent."""
    return extras.name_asker(stored.person) if role == "user" and stored.agent == MAIN else ""


def _read_role(
    stored: Message, message: BaseMessage, *, is_summary: bool, excerpt: tuple[ExcerptView, str] | None
) -> tuple[Literal["user", "assistant", "note"], str]:
    """Return the speaker and the text to show. An imported message with a note's marks shows its whole text."""
    text, is_ours = str(message.text), stored.run_id is not None
    if isinstance(message, HumanMessage) and MoveMark.of(stored) is not None:
        return "note", extract_note(text) if is_ours else text
    if is_summary:
        return "note", compaction.extract_summary(text) if is_ours else text
    if excerpt is not None:
        return "note", excerpt[1]
    if isinstance(message, HumanMessage) and not stored.is_by_graph:
        return "user", text
    return ("assistant" if isinstance(message, AIMessage) else "note"), text


def _describe_model(stored: Message) -> str | None:
    return shorten_line(read_spec(stored.body["data"].get("response_metadata")), MAX_LABEL_CHARS) or None


def _describe_reasoning(stored: Message, message: BaseMessage, budget: ViewBudget) -> ReasoningView | None:
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None or not (text := reasoning.text.strip()):
        return None
    shown = budget.cut(text, stored, MAX_SHOWN_DETAIL_CHARS, part="reasoning")
    return {"text": shown.text, "more": shown.more, "duration_ms": reasoning.duration_ms}


def _describe_damaged_message(stored: Message, extras: MessageExtras) -> MessageView:
    """Describe a damaged message. It keeps its role, so it can be edited or answered again."""
    roles: dict[str, Literal["user", "assistant"]] = {"human": "user", "ai": "assistant"}
    return {
        "id": stored.id,
        "role": roles.get(stored.type, "note"),
        "state": "error",
        "html": escape_text(_(DAMAGED_TEXT)),
        "text": "",
        "more": None,
        "person": _name_asker(stored, roles.get(stored.type, ""), extras),
        "label": None,
        "time": stored.created_at.isoformat(),
        "tools": [],
        "more_tools": None,
        "siblings": extras.siblings.get(stored.id, []),
        "files": [],
        "trace": None,
        "usage": None,
        "model": None,
        "summary": None,
        "left": None,
        "excerpt": None,
        "reasoning": None,
    }
