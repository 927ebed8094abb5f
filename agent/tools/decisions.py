"""Approval of a tool call: a person's decision, and its result for the model. The graph applies it (graph/approval)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

NOT_APPROVED_TEXT = "Not approved: the user went on without it."
STOPPED_TEXT = "Stopped before it finished."
UNDONE_CALL_TEXT = (
    "This call was made and had a result, and then the user took that back. "
    "Any effects outside of this conversation remain: look before you call it again."
)
UNDONE_MOVE_TEXT = "This move was made, and then the user took it back. Do not make it again unless the user asks for it."
DENIED_TEXT = "The user did not allow this call."


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a call: allow it, change its arguments, answer it, or deny it."""

    call_id: str
    kind: Literal["allow", "edit", "respond", "deny"]
    # The arguments of an edit, and the text of a response.
    arguments: dict[str, Any] | None = None
    text: str = ""


class AwaitingDecision(Exception):
    """The run waits until a person has decided about a call."""


def apply_changes(call: ToolCall, decision: Decision | None) -> ToolCall:
    """Return the call with a person's changed arguments."""
    return call if decision is None or decision.arguments is None else {**call, "args": decision.arguments}


def format_response(decision: Decision) -> str:
    return f"The user answered instead of the tool:\n{decision.text}"


def make_refusal(call: ToolCall, text: str = NOT_APPROVED_TEXT) -> ToolMessage:
    """Return the result of a call without a decision when the user went on."""
    return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def find_unanswered_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Return the last answer's calls without a result, or none if another message follows it."""
    results: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in results]
        if not isinstance(message, ToolMessage):
            return []
        results.add(message.tool_call_id)
    return []
