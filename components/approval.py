"""What a person decides about a call that waits, and what they are told of it before."""

import json
from contextlib import suppress
from typing import Any

from langchain_core.messages import AIMessage

from agent.approval import Decision
from agent.time_travel import MoveRefused, planned
from agent.travelling import MOVES, elsewhere
from checkpoints import MAIN, By, Leaving, StateError, Store, serde
from components import views
from components.services import Services, asked_by


class NotAnObjectError(StateError):
    def __init__(self) -> None:
        super().__init__('The arguments are not a JSON object: write them like {"expression": "1 + 1"}.')


async def decide(services: Services, thread_id: str, action: dict[str, Any]) -> None:
    """Pass on a decision; "always" also for every later move of the agent in this conversation."""
    by, always = By(request=asked_by(action).request), bool(action.get("always"))
    await services.runner.decide(thread_id, _decision(action), by=by, always=always)


def _decision(action: dict[str, Any]) -> Decision:
    """Raises `NotAnObjectError` for changed arguments that a tool cannot be given. What is no known decision refuses."""
    call_id, text = str(action["call"]), serde.writable(str(action.get("text") or ""))
    match action["kind"]:
        case "allow":
            return Decision(call_id, "allow")
        case "respond":
            return Decision(call_id, "respond", text=text)
        case "edit":
            return Decision(call_id, "edit", arguments=_arguments(text))
    return Decision(call_id, "deny")


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = serde.exact(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise NotAnObjectError
    return arguments


def moves(store: Store, thread_id: str) -> dict[str, views.MoveView]:
    """What the moves that wait for a person would do, by the ids of their calls."""
    path, checkpoints, found = store.messages(thread_id), store.checkpoints(thread_id), {}
    asking = next((message for message in reversed(path) if message.type == "ai" and message.agent == MAIN), None)
    asked = asking.langchain if asking and not asking.damaged else None
    for call in asked.tool_calls if isinstance(asked, AIMessage) else ():
        if call["name"] in MOVES:
            with suppress(MoveRefused):
                move = planned(call, path, store.places(thread_id), elsewhere(store, thread_id))
                later = sum(checkpoint.message_count > move.kept for checkpoint in checkpoints)
                left = [m for m in path[move.kept :] if move.dropped is None or m.id in {move.target.id, *move.dropped}]
                agents = tuple(sorted({message.agent for message in left} - {MAIN}))
                found[call["id"] or ""] = views.move(move, Leaving(move.removed, later, agents))
    return found
