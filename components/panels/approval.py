"""The decisions of a person about waiting tool calls, and the previews of the moves among them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import AIMessage

from agent.context.tokens import estimate_stored_tokens, estimate_tokens
from agent.time_travel.executor import describe_origins
from agent.time_travel.moves import Move, MoveRefused, plan_move
from agent.time_travel.protocol import MOVE_NAMES
from agent.tools.approval import Decision
from checkpoints import MAIN, Caller, Message, Removal, StateError, Store, serde
from components.services import Services, read_caller
from components.views import tool_cards


class ArgumentsNotObjectError(StateError):
    def __init__(self) -> None:
        super().__init__('The arguments are not a JSON object: write them like {"expression": "1 + 1"}.')


async def submit_decision(services: Services, thread_id: str, fields: Mapping[str, Any]) -> None:
    """Pass on a decision; "always" also for every later move of the agent in this conversation."""
    caller, always = Caller(request_id=read_caller(fields).request_id), bool(fields.get("always"))
    await services.runner.decide(thread_id, _parse_decision(fields), caller=caller, allow_moves=always)


def _parse_decision(fields: Mapping[str, Any]) -> Decision:
    """Parse a decision; an unknown kind denies. Raises `ArgumentsNotObjectError` for arguments that no tool can take."""
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


def describe_waiting_moves(store: Store, thread_id: str) -> dict[str, tool_cards.MoveView]:
    """Describe the moves that wait for a person, by the ids of their calls."""
    path, checkpoints, found = store.list_messages(thread_id), store.list_checkpoints(thread_id), {}
    calling_message = next((message for message in reversed(path) if message.type == "ai" and message.agent == MAIN), None)
    answer = calling_message.langchain if calling_message and not calling_message.damaged else None
    for call in answer.tool_calls if isinstance(answer, AIMessage) else ():
        if call["name"] in MOVE_NAMES:
            with suppress(MoveRefused):
                move = plan_move(call, path, store.map_checkpoint_depths(thread_id), describe_origins(store, thread_id))
                later = sum(checkpoint.message_count > move.kept_count for checkpoint in checkpoints)
                removed_messages = [
                    m
                    for m in path[move.kept_count :]
                    if move.dropped_ids is None or m.id in {move.target.id, *move.dropped_ids}
                ]
                agents = tuple(sorted({message.agent for message in removed_messages} - {MAIN}))
                removal, tokens = Removal(move.removed_count, later, agents), _estimate_change(move, path, removed_messages)
                found[call["id"] or ""] = tool_cards.describe_move(move, removal, tokens)
    return found


def _estimate_change(move: Move, path: Sequence[Message], removed_messages: Sequence[Message]) -> tool_cards.TokenChange:
    """Estimate the tokens of the main agent's messages, before and after a move."""
    before, removed = (
        sum(estimate_stored_tokens(message) for message in messages if message.agent == MAIN)
        for messages in (path, removed_messages)
    )
    added = estimate_tokens(move.message) if move.agent == MAIN else 0
    return {"before": before, "after": before - removed + added}
