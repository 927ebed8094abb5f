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
from checkpoints import MAIN, Message
from checkpoints.values import limits, serde
from checkpoints.values.limits import MAX_CALLS, MAX_LABEL_CHARS
from checkpoints.values.text import find_plain_text, shorten_line
from components.views import context_meter, operations
from components.views.fork_attempts import AttemptView, describe_progress, format_results, list_prompts
from components.views.shown_text import MAX_SHOWN_DETAIL_CHARS, MoreView, ShownText, ViewBudget
from components.views.subagent_work import WorkView
from words import N_, _, ngettext

DAMAGED_TEXT = N_("This message is damaged and is not shown.")
_STOPPED_TEXTS = (STOPPED_TEXT, NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT, UNDONE_CALL_TEXT, UNDONE_MOVE_TEXT)
_MOVE_TEXT = N_(
    "The agent asks to go back to message {number}: {leaves} will be removed from the conversation. You can undo this."
)
_MEMORY_MOVE_TEXT = N_(
    "{agent} asks to go back to message {number} of its own memory: it will forget {leaves}. "
    "The conversation keeps all messages."
)
# Another text shows this much of a message's beginning.
MAX_QUOTED_CHARS = 300
MAX_PREVIEW_CHARS = 121
CallStatus = Literal["running", "waiting", "queued", "done", "error", "stopped"]
# The key has the ids of the calling message and of its call.
CardKey = tuple[str, str]


class MoveView(TypedDict):
    """The effect of a proposed move, for the person who decides about it."""

    # The sentence names the target by its number, counted from 1, and says what is removed.
    text: str
    # The next request, or the agent's memory, has this many tokens before and after the move.
    tokens: str
    tokens_hint: str
    # The target begins like this.
    target: str
    # The agent's own words are in this argument, below a sentence with the sources it had read before.
    argument: Literal["message", "content"]
    note_label: str
    words: str


class ToolView(TypedDict):
    id: str
    name: str
    # The arguments, or how far a fork is, on one line.
    preview: str
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
    # A waiting call asks this.
    question: str
    work: WorkView | None


def describe_move(waiting: WaitingMove) -> MoveView:
    """Describe a move. A sub-agent moves within its own memory."""
    value, is_main = waiting.move, waiting.agent == MAIN
    sources = ", ".join(list_sources(value.mark.sources))
    values = {"number": value.target.depth + 1, "leaves": operations.describe_removal(waiting.removal)}
    return {
        "text": _(_MOVE_TEXT, **values) if is_main else _(_MEMORY_MOVE_TEXT, agent=waiting.agent, **values),
        "tokens": context_meter.describe_change(waiting.tokens),
        "tokens_hint": _("The size of the model's next request") if is_main else _("The size of the agent's memory"),
        "target": quote_beginning(value.target) or _("(a call with no text)"),
        "argument": "message" if value.kind == "goto" else "content",
        "note_label": _("The agent keeps this note, after reading {sources}:", sources=sources)
        if sources
        else _("The agent keeps this note:"),
        "words": value.reason,
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
    shown, is_fork = _cut_arguments(call, calling, status, budget), call["name"] == FORK
    if is_fork and not attempts:
        attempts = list_prompts(call["args"], is_waiting=status == "waiting")
    return {
        "id": cut_id(call),
        "name": (call["name"] or "")[:MAX_LABEL_CHARS],
        "preview": describe_progress(attempts) if is_fork else _preview_arguments(call),
        "arguments": shown.text,
        "more_arguments": shown.more,
        "status": status,
        "duration_ms": limits.to_number(result.message.response_metadata.get("duration_ms")) if result else None,
        "result": found.text if found else None,
        "more_result": found.more if found else None,
        "message_id": result.stored.id if result else None,
        "move": move,
        "attempts": list(attempts),
        "question": _describe_question(call, agent) if status == "waiting" else "",
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


def _preview_arguments(call: ToolCall | InvalidToolCall) -> str:
    """Return the arguments on one line: a single text alone, several values as JSON without the outer braces."""
    values = list(call["args"].values()) if isinstance(call["args"], dict) else []
    is_text = len(values) == 1 and isinstance(values[0], str)
    text = values[0] if is_text else format_arguments(call).strip().removeprefix("{").removesuffix("}")
    return shorten_line(text, MAX_PREVIEW_CHARS)


def _describe_question(call: ToolCall | InvalidToolCall, agent: str) -> str:
    speaker = _("The agent") if agent == MAIN else agent
    if call["name"] == FORK:
        return _("{agent} asks to try these approaches, each on its own branch.", agent=speaker)
    return _("{agent} asks to use {name}.", agent=speaker, name=(call["name"] or "")[:MAX_LABEL_CHARS])


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
