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
from components.views.shown_text import MAX_SHOWN_DETAIL_CHARS, MoreCallsView, MoreView, ViewBudget, build_address
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

MAX_SHOWN_SPEC_CHARS = 100  # a file may name any text as the model


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
    more: MoreView | None
    duration_ms: int | None


class MessageView(TypedDict):
    id: str
    role: Literal["user", "assistant", "note"]
    state: Literal["done", "partial", "error"]
    html: str
    text: str
    more: MoreView | None  # of a long text, of which the page holds the beginning
    person: str  # the name of another person who asked; in a document, the word for whoever asked
    label: str | None  # above a note, a question to an agent, or an answer that the agent replaced
    time: str
    tools: list[ToolView]
    more_tools: MoreCallsView | None  # calls without a card
    siblings: list[str]  # ids of its alternatives and its own; empty without alternatives
    files: list[FileView]  # that a user attached
    trace: str | None  # of an answer that is traced, the address of its trace; empty while it is not known
    usage: UsageView | None  # of an answer whose provider reported it
    model: str | None  # of an answer, the spec of the model that wrote it, where it is known
    summary: SummaryView | None  # of a note that replaces messages: `html` is then the summary
    left: RemovalView | None  # where the agent went back
    excerpt: ExcerptView | None  # of a note that a person brought from another branch
    reasoning: ReasoningView | None  # of an answer


@dataclass(frozen=True)
class MessageExtras:
    """Facts that the views show beside the messages: about the run, and about messages and calls by their ids."""

    run_state: RunState | None = None  # of the run at the path's end: its open calls are running, waiting or stopped
    decidable_ids: Collection[str] | None = None  # of calls; None: all that wait. A user graph asks by itself about others
    waiting_moves: Mapping[str, MoveView] = field(default_factory=dict)  # by call
    siblings: Mapping[str, list[str]] = field(default_factory=dict)  # alternatives, by message
    trace_links: Mapping[str, str] = field(default_factory=dict)  # by message
    prices: Prices = field(default_factory=dict)  # by model
    attempts: AttemptsByCall = field(default_factory=dict)
    to_html: Callable[[str], str] = to_html_if_cheap  # formats Markdown, within a budget (`Renderer.page`)
    portions: int = 1  # of messages that the user asked for
    name_asker: Callable[[str | None], str] = name_other
    budget: ViewBudget | None = None  # another than that of a view


NO_EXTRAS = MessageExtras()


def describe_messages(path: Sequence[Message], extras: MessageExtras = NO_EXTRAS, *, agent: str = MAIN) -> list[MessageView]:
    """Describe an agent's messages of a path. The view of a calling message shows its results and the work of others."""
    # The author of a damaged message is unknown: the main agent's transcript shows it.
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
        # A user graph asks by itself about the calls of its sub-agents.
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
    """The results and the work of the calls of a path, and the calls among them that are open."""

    results: Mapping[CardKey, ToolResult]
    work: Mapping[CardKey, WorkView]
    open_message_id: str | None  # of the only message whose calls may still get results
    last_message_id: str | None  # of those shown
    undecided_ids: frozenset[str]  # calls that wait for a person
    waiting_calls: Mapping[str, list[OpenCall]]  # of sub-agents, by the open call that they work for


def _find_undecided_ids(path: Sequence[Message], agent: str, decidable_ids: Collection[str] | None) -> Iterator[str]:
    for open_call in find_undecided_calls(find_open_calls(path, agent)):
        call_id = open_call.call["id"] or ""
        if open_call.agent == agent and (decidable_ids is None or call_id in decidable_ids):
            yield call_id


def _build_call_cards(
    stored: Message, message: BaseMessage, extras: MessageExtras, calls: _PathCalls, budget: ViewBudget
) -> tuple[list[ToolView], MoreCallsView | None]:
    """Return the cards of a message's calls, and its calls without one."""
    shown = list_shown_calls(message)
    cards = [_build_call_card(stored, call, extras, calls, budget) for call in shown[: budget.take_calls(len(shown))]]
    missing = count_calls(message) - len(cards)
    more: MoreCallsView = {"count": missing, "address": build_address(stored, part="calls")}
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
    """Return the status of a call without a result; `is_last`: no message is shown after the calling one."""
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
    is_by_model = role == "assistant" or (role == "user" and stored.agent != MAIN)  # an agent asks sub-agents
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
    """Return the word for the person who asked; empty where nobody did: agents ask sub-agents."""
    return extras.name_asker(stored.person) if role == "user" and stored.agent == MAIN else ""


def _read_role(
    stored: Message, message: BaseMessage, *, is_summary: bool, excerpt: tuple[ExcerptView, str] | None
) -> tuple[Literal["user", "assistant", "note"], str]:
    """Return the speaker, and the text to show. Of an imported message with a note's marks, the whole text is shown."""
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
    return shorten_line(read_spec(stored.body["data"].get("response_metadata")), MAX_SHOWN_SPEC_CHARS) or None


def _describe_reasoning(stored: Message, message: BaseMessage, budget: ViewBudget) -> ReasoningView | None:
    reasoning = Reasoning.of(message) if isinstance(message, AIMessage) else None
    if reasoning is None or not (text := reasoning.text.strip()):
        return None
    shown = budget.cut(text, stored, MAX_SHOWN_DETAIL_CHARS, part="reasoning")
    return {"text": shown.text, "more": shown.more, "duration_ms": reasoning.duration_ms}


def _describe_damaged_message(stored: Message, extras: MessageExtras) -> MessageView:
    """Describe a damaged message. It keeps its role, so that it can be edited or answered again."""
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
