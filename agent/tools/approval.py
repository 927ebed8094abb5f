"""Asking a person before a tool runs: what they can decide, and what the model is told of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

NOT_APPROVED_TEXT = "Not approved: the user went on without it."
STOPPED_TEXT = "Stopped before it finished."
DENIED_TEXT = "The user did not allow this call."


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about one call: let it run, let it run with other arguments, answer in its place, or refuse."""

    call_id: str
    kind: Literal["allow", "edit", "respond", "deny"]
    arguments: dict[str, Any] | None = None  # of an edit
    text: str = ""  # of a response


class AwaitingDecision(Exception):
    """The run cannot go on before a person has decided about a call."""


def format_response(decision: Decision) -> str:
    return f"The user answered instead of the tool:\n{decision.text}"


def make_refusal(call: ToolCall, text: str = NOT_APPROVED_TEXT) -> ToolMessage:
    """The result of a call that was not carried out: the user did not decide about it, but went on."""
    return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def find_unanswered_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The calls of the last answer that have no result yet; none if something else was said after it."""
    results: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in results]
        if not isinstance(message, ToolMessage):
            return []
        results.add(message.tool_call_id)
    return []
