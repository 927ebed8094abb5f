"""The cards of tool calls: arguments, status, result, and a proposed move."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage

from agent.context.request import NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT
from agent.context.subagent_memory import find_memory_move
from agent.subagents.delegation import OpenCall
from agent.time_travel.notes import extract_note
from agent.time_travel.waiting_moves import WaitingMove
from agent.tools.decisions import STOPPED_TEXT, UNDONE_CALL_TEXT, UNDONE_MOVE_TEXT
from agent.tools.names import FORK
from checkpoints import Message
from checkpoints.values import limits, serde
from checkpoints.values.limits import MAX_CALLS, MAX_LABEL_CHARS
from checkpoints.values.text import find_plain_text, shorten_line
from components.views import context_meter, operations
from components.views.fork_attempts import AttemptView, format_results
from components.views.shown_text import MAX_SHOWN_DETAIL_CHARS, MoreView, ShownText, ViewBudget
from components.views.subagent_work import WorkView
from words import N_, _, ngettext

DAMAGED_TEXT = N_("This message is damaged and is not shown.")
_STOPPED_TEXTS = (STOPPED_TEXT, NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT, UNDONE_CALL_TEXT, UNDONE_MOVE_TEXT)
# Another text shows this much of a message's beginning.
MAX_QUOTED_CHARS = 300
CallStatus = Literal["running", "waiting", "queued", "done", "error", "stopped"]
# The key has the ids of the calling message and of its call.
CardKey = tuple[str, str]


class MoveView(TypedDict):
    """The effect of a proposed move, for the person who decides about it."""

    # The move names the message that begins like this.
    target: str
    # The number is counted from 1.
    number: int
    leaves: str
    # The next request has this many tokens, before and after the move.
    tokens: str
    # The agent's own words are in this argument.
    argument: Literal["message", "content"]
    words: str
    # The agent had read these sources before. Its words may come from them.
    read: list[str]


class ToolView(TypedDict):
    id: str
    name: str
    arguments: str
    more_arguments: MoreView | None
    status: CallStatus
    duration_ms: int | None
    result: str | None
    more_result: MoreView | None
    message_id: str | None
    # A call that would move the conversation has this while it waits.
    move: MoveView | None
    attempts: list[AttemptView]
    agent: str
    work: WorkView | None


def describe_move(waiting: WaitingMove) -> MoveView:
    value = waiting.move
    return {
        "tokens": context_meter.describe_change(waiting.tokens),
        "target": quote_beginning(value.target),
        "number": value.target.depth + 1,
        "leaves": operations.describe_removal(waiting.removal),
        "argument": "message" if value.kind == "goto" else "content",
        "words": value.reason,
        "read": list_sources(value.mark.sources),
    }


def quote_beginning(message: Message) -> str:
    if message.damaged:
        return shorten_line(_(DAMAGED_TEXT), MAX_QUOTED_CHARS)
    text = str(message.langchain.text)
    plain = find_plain_text(text, MAX_QUOTED_CHARS) if message.type == "ai" else ""
    return plain or shorten_line(text, MAX_QUOTED_CHARS)


def list_sources(sources: Sequence[str]) -> list[str]:
    """Return the sources of a note, shortened for the page."""
    return [name[:40] for name in sources[:5]]


@dataclass(frozen=True)
class ToolResult:
    """The result of a call: the stored message, and its LangChain message."""

    stored: Message
    message: ToolMessage

    @property
    def status(self) -> CallStatus:
        if str(self.message.text) in _STOPPED_TEXTS:
            return "stopped"
        return "error" if self.message.status == "error" else "done"

    @property
    def text(self) -> str:
        """Return the result for people. A fork's JSON is formatted; a move within a memory shows its effect and the note."""
        text, mark = str(self.message.text), find_memory_move(self.stored)
        if self.message.name == FORK:
            return format_results(text)
        if mark is None or self.stored.run_id is None:
            # A file may hold any mark, so its whole text is shown.
            return text
        # The page counts messages from 1.
        number = mark.position + 1
        did = (
            _("{agent} replaced its answer, message {number}:", agent=self.stored.agent, number=number)
            if mark.kind == "rewind"
            else _("{agent} went back to message {number}:", agent=self.stored.agent, number=number)
        )
        removal = ngettext(
            "{count:,} message was removed from its memory.",
            "{count:,} messages were removed from its memory.",
            mark.removed,
        )
        return f"{did} {removal}\n\n{extract_note(text)}"


def list_shown_calls(message: BaseMessage | None) -> list[ToolCall | InvalidToolCall]:
    """Return the calls of a message with a card, up to the limit."""
    if not isinstance(message, AIMessage):
        return []
    calls: list[ToolCall | InvalidToolCall] = [*message.tool_calls, *message.invalid_tool_calls]
    return calls[:MAX_CALLS]


def count_calls(message: BaseMessage) -> int:
    return len(message.tool_calls) + len(message.invalid_tool_calls) if isinstance(message, AIMessage) else 0


def cut_id(call: ToolCall | InvalidToolCall) -> str:
    """Return the id of a call for the page, cut to its limit: older versions imported ids and names of any length."""
    return (call["id"] or "")[:MAX_LABEL_CHARS]


def pair_results(messages: Iterable[tuple[Message, BaseMessage | None]]) -> dict[CardKey, ToolResult]:
    """Return the results of the shown calls. A result belongs to the last message before it, other results excepted.

    Damaged messages come without a LangChain message. They are no results, and do not end a message's results.
    """
    found: dict[CardKey, ToolResult] = {}
    calling_id, open_ids = "", set[str]()
    for stored, message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id in open_ids:
                open_ids.remove(message.tool_call_id)
                found[calling_id, message.tool_call_id] = ToolResult(stored, message)
        elif message is not None:
            calling_id, open_ids = stored.id, {call["id"] or "" for call in list_shown_calls(message)}
    return found


def build_tool_card(
    call: ToolCall | InvalidToolCall,
    agent: str,
    status: CallStatus,
    budget: ViewBudget,
    *,
    calling: Message | None = None,
    result: ToolResult | None = None,
    move: MoveView | None = None,
    attempts: Sequence[AttemptView] = (),
    work: WorkView | None = None,
) -> ToolView:
    """Build the card of an agent's call. `calling` is its message; without it, the arguments are not cut."""
    found = budget.cut(result.text, result.stored, MAX_SHOWN_DETAIL_CHARS) if result else None
    shown = _cut_arguments(call, calling, status, budget)
    return {
        "id": cut_id(call),
        "name": (call["name"] or "")[:MAX_LABEL_CHARS],
        "arguments": shown.text,
        "more_arguments": shown.more,
        "status": status,
        "duration_ms": limits.to_number(result.message.response_metadata.get("duration_ms")) if result else None,
        "result": found.text if found else None,
        "more_result": found.more if found else None,
        "message_id": result.stored.id if result else None,
        "move": move,
        "attempts": list(attempts),
        "agent": agent,
        "work": work,
    }


def build_waiting_card(open_call: OpenCall, move: MoveView | None, budget: ViewBudget) -> ToolView:
    return build_tool_card(open_call.call, open_call.agent, "waiting", budget, move=move)


def _cut_arguments(
    call: ToolCall | InvalidToolCall, calling: Message | None, status: CallStatus, budget: ViewBudget
) -> ShownText:
    """Return the arguments as shown. A person who decides about them sees all of them."""
    text = format_arguments(call)
    if calling is None or status == "waiting":
        budget.take(text)
        return ShownText(text, None)
    return budget.cut(text, calling, MAX_SHOWN_DETAIL_CHARS, part="arguments", call=cut_id(call))


def format_calls(message: BaseMessage) -> str:
    """Return the names and arguments of all calls of a message as a text."""
    calls: list[ToolCall | InvalidToolCall] = []
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls]
    return "\n\n".join(f"{call['name'] or ''}\n{format_arguments(call)}" for call in calls)


def format_arguments(call: ToolCall | InvalidToolCall) -> str:
    """Return the arguments as JSON, or unchanged if they could not be parsed."""
    arguments = call["args"]
    if not isinstance(arguments, dict):
        return arguments or ""
    return serde.format_indented(arguments)
