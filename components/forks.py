"""What the ways that the agent tries at once have come to, for the cards of the calls that asked for them."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from agent.dependence import calls
from agent.forking import begun_by, is_answer
from agent.tools.fork import fork
from checkpoints import Message, Store


class WayView(TypedDict):
    """One branch of a fork; it may have been renamed, or gone on with, since."""

    branch: str
    name: str
    done: bool


Ways = Mapping[tuple[str, str], list[WayView]]  # by the ids of the answer that asks and of its call


def ways(store: Store, thread_id: str, held: Sequence[Message]) -> Ways:
    """Those of each call among these messages, in the order of the prompts. Read only where there is such a call."""
    found: dict[tuple[str, str], list[WayView]] = {}
    for message in held:
        for call_id in _forks(message):
            found[message.id, call_id] = _ways(store, thread_id, message.parent_id, call_id)
    return found


def _ways(store: Store, thread_id: str, after: str | None, call_id: str) -> list[WayView]:
    begun = store.going_on(thread_id, after, lambda first: begun_by(first, call_id) is not None)
    begun.sort(key=lambda each: begun_by(each[1], call_id) or 0)
    return [WayView(branch=branch.id, name=branch.name, done=is_answer(last)) for branch, _, last in begun]


def _forks(message: Message) -> list[str]:
    named = {call["id"]: call["name"] for call in message.body["data"].get("tool_calls") or []}
    return [call_id for call_id in calls(message) if named.get(call_id) == fork.name]
