"""A person's decisions about waiting tool calls, and previews of the moves among those calls."""

import json
from collections.abc import Mapping
from typing import Any

from agent.preparation.inputs import RunInputs
from agent.preparation.requests import EndDelayedError
from agent.tools.decisions import Decision
from checkpoints import Caller, RunActiveError, StateError
from checkpoints.values import serde
from checkpoints.values.sentence import sentence
from components.services import Services, read_caller
from components.views import tool_cards


class ArgumentsNotObjectError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence('The arguments are not a JSON object: write them like {"expression": "1 + 1"}.'))


class AnswerLateError(StateError):
    """Another answer came first. The page shows this error once the graph rests and its question is still open."""

    def __init__(self) -> None:
        super().__init__(sentence("Another answer came first. You can send this one now."))


async def submit_decision(services: Services, thread_id: str, fields: Mapping[str, Any]) -> None:
    """Pass on a decision. "always" also allows every later move of the agent in this conversation."""
    caller, always = Caller(request_id=read_caller(fields).request_id), bool(fields.get("always"))
    await services.runner.decide(thread_id, _parse_decision(fields), caller=caller, allow_moves=always)


async def submit_answer(services: Services, thread_id: str, fields: Mapping[str, Any]) -> None:
    """Pass on an answer, JSON or text, to a user graph's question. Without a question, let the graph continue."""
    question_id, text = str(fields["call"]), serde.sanitize_text(str(fields.get("text") or ""))
    answers = {question_id: _parse_answer(text)} if question_id else {}
    seen = {question_id: str(fields["key"])} if fields.get("key") else {}
    caller = Caller(request_id=read_caller(fields).request_id)
    try:
        await services.runner.resume(thread_id, answers, caller=caller, seen=seen)
    except RunActiveError as error:
        raise error if isinstance(error, EndDelayedError) else AnswerLateError from error


def _parse_answer(text: str) -> Any:
    try:
        return serde.require_exact({"answer": json.loads(text)})["answer"]
    except (ValueError, TypeError, RecursionError):
        return text


def _parse_decision(fields: Mapping[str, Any]) -> Decision:
    """Parse a decision; an unknown kind denies. Raises `ArgumentsNotObjectError` for arguments that are no object."""
    call_id, text = str(fields["call"]), serde.sanitize_text(str(fields.get("text") or ""))
    match fields["kind"]:
        case "allow":
            return Decision(call_id, "allow")
        case "respond":
            return Decision(call_id, "respond", text=text)
        case "edit":
            return Decision(call_id, "edit", arguments=_parse_arguments(text))
    return Decision(call_id, "deny")


def _parse_arguments(text: str) -> dict[str, Any]:
    try:
        arguments = serde.require_exact(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ArgumentsNotObjectError
    return arguments


def describe_waiting_moves(inputs: RunInputs, thread_id: str) -> dict[str, tool_cards.MoveView]:
    """Describe the moves that wait for a person's decision, by call id."""
    found = inputs.preview_moves(thread_id)
    return {call_id: tool_cards.describe_move(waiting) for call_id, waiting in found.items()}
