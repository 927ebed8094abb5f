"""The attempts of a fork, for the card of its call."""

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict

from agent.marks import AttemptMark
from agent.subagents.forking import is_final_answer
from agent.time_travel.dependence import list_call_ids
from agent.tools.names import FORK
from checkpoints import Branch, Message, Store
from checkpoints.tree_reader import BranchRank, find_branches_after
from checkpoints.values.limits import MAX_CALLS
from components.views.shown_text import MAX_SHOWN_DETAIL_CHARS, quote_line
from words import _, ngettext


class AttemptView(TypedDict):
    """A branch opened by a fork, which may have been renamed or continued since; without an id, a prompt that has none."""

    branch: str
    name: str
    done: bool


# A card shows this many branches. The agent's own limit is half of this.
MAX_SHOWN_ATTEMPTS = 20
# Attempts are found by the ids of the calling answer and of its call.
AttemptsByCall = Mapping[tuple[str, str], list[AttemptView]]
_RESULT_FIELDS = ("branch", "answer", "failed", "details")


def read_attempts(store: Store, thread_id: str, messages: Sequence[Message]) -> AttemptsByCall:
    """Return the attempts of each fork call among these messages, in the order of the prompts.

    It reads branches only if there is such a call, and once for all calls.
    """
    asking = {(message.parent_id, call_id): message.id for message in messages for call_id in _find_fork_calls(message)}

    def rank(first: Message) -> BranchRank | None:
        """Return the call whose attempt begins with this message, and the attempt's number."""
        mark = AttemptMark.of(first)
        call = None if mark is None else (first.parent_id, mark.call_id)
        return BranchRank(call, mark.number) if mark and call in asking else None

    after = {parent_id for parent_id, _ in asking}
    begun = find_branches_after(store, thread_id, after, rank, most=MAX_SHOWN_ATTEMPTS) if asking else {}
    return {(message_id, call[1]): list(map(_view, begun.get(call, ()))) for call, message_id in asking.items()}


def _view(attempt: tuple[Branch, Message]) -> AttemptView:
    branch, last = attempt
    return AttemptView(branch=branch.id, name=branch.name, done=is_final_answer(last))


def _find_fork_calls(message: Message) -> list[str]:
    """Return the `fork` calls among the shown calls of an answer."""
    named = {call["id"]: call["name"] for call in message.body["data"].get("tool_calls") or []}
    return [call_id for call_id in list_call_ids(message)[:MAX_CALLS] if named.get(call_id) == FORK]


def list_prompts(arguments: object, *, is_waiting: bool) -> list[AttemptView]:
    """Return the prompts of a call that has no branches. A person who decides about them sees all of each."""
    prompts = arguments.get("prompts") if isinstance(arguments, dict) else None
    shown = prompts[:MAX_SHOWN_ATTEMPTS] if isinstance(prompts, list) else []
    return [AttemptView(branch="", name=str(each) if is_waiting else quote_line(str(each)), done=False) for each in shown]


def describe_progress(attempts: Sequence[AttemptView]) -> str:
    if any(each["branch"] for each in attempts):
        return _("{done} of {all} done", done=sum(each["done"] for each in attempts), all=len(attempts))
    return ngettext("{count} attempt", "{count} attempts", len(attempts))


def format_results(text: str) -> str:
    """Format a fork's result for people: each branch with its answer or failure. Any other text stays unchanged."""
    try:
        results = json.loads(text) if len(text) <= MAX_SHOWN_DETAIL_CHARS else None
    except (ValueError, RecursionError):
        # A file may hold any text.
        return text
    if not isinstance(results, list) or not all(_is_result(each) for each in results):
        return text
    lines = ["\n".join(each[field] for field in _RESULT_FIELDS if field in each) for each in results]
    return "\n\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)) or text


def _is_result(value: object) -> bool:
    return (
        isinstance(value, dict)
        and "branch" in value
        and value.keys() <= set(_RESULT_FIELDS)
        and all(isinstance(each, str) for each in value.values())
    )
