"""What the ways that the agent tries at once have come to, for the cards of the calls that asked for them."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from agent.subagents.forking import find_attempt_number, is_final_answer
from agent.time_travel.dependence import list_call_ids
from agent.tools.fork import fork
from checkpoints import Message, Store


class AttemptView(TypedDict):
    """One branch of a fork; it may have been renamed, or gone on with, since."""

    branch: str
    name: str
    done: bool


AttemptsByCall = Mapping[tuple[str, str], list[AttemptView]]  # by the ids of the answer that asks and of its call


def read_attempts(store: Store, thread_id: str, messages: Sequence[Message]) -> AttemptsByCall:
    """Those of each call among these messages, in the order of the prompts. Read only where there is such a call."""
    found: dict[tuple[str, str], list[AttemptView]] = {}
    for message in messages:
        for call_id in _find_fork_calls(message):
            found[message.id, call_id] = _read_call_attempts(store, thread_id, message.parent_id, call_id)
    return found


def _read_call_attempts(store: Store, thread_id: str, parent_id: str | None, call_id: str) -> list[AttemptView]:
    begun = store.find_branches_after(thread_id, parent_id, lambda first: find_attempt_number(first, call_id) is not None)
    begun.sort(key=lambda each: find_attempt_number(each[1], call_id) or 0)
    return [AttemptView(branch=branch.id, name=branch.name, done=is_final_answer(last)) for branch, _, last in begun]


def _find_fork_calls(message: Message) -> list[str]:
    named = {call["id"]: call["name"] for call in message.body["data"].get("tool_calls") or []}
    return [call_id for call_id in list_call_ids(message) if named.get(call_id) == fork.name]
