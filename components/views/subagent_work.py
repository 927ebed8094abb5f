"""The work of sub-agents, as the page shows it under the call. Pure: values in, plain JSON out."""

from collections.abc import Sequence
from typing import Any, TypedDict
from urllib.parse import quote

from agent.marks import QuestionMark
from agent.subagents.delegation import OpenCall, find_open_calls, find_undecided_calls
from agent.time_travel.dependence import list_call_ids
from checkpoints import Message
from checkpoints.values.thread_ids import write_thread_id
from server.addresses import build_address


class WorkView(TypedDict):
    agent: str
    # The question to the agent has this id.
    question: str
    # The agent's messages are here. A page may show the work before its own address names the conversation.
    address: str
    messages: int
    # These calls (`ToolView`), of this agent and of the agents below it, wait for a person.
    waiting: list[Any]


def collect_work(path: Sequence[Message], asker: str) -> dict[tuple[str, str], WorkView]:
    """Collect the work of other agents, by the calling message and the call's id."""
    found: dict[tuple[str, str], WorkView] = {}
    current: dict[str, WorkView] = {}
    asking: Message | None = None
    for message in path:
        if message.agent == asker:
            asking = message if list_call_ids(message) else asking
            continue
        if (question := QuestionMark.of(message)) is not None:
            current.pop(message.agent, None)
            call = question.call
            if asking is not None and call.agent == asker and call.call_id in list_call_ids(asking):
                current[message.agent] = found[asking.id, call.call_id] = _begin_work(message)
        if message.agent in current:
            current[message.agent]["messages"] += 1
    return found


def _begin_work(question: Message) -> WorkView:
    address = build_address(f"/api/threads/{write_thread_id(question.thread_id)}/agents/{quote(question.agent)}")
    return {"agent": question.agent, "question": question.id, "address": address, "messages": 0, "waiting": []}


def find_waiting_calls(path: Sequence[Message], asker: str) -> dict[str, list[OpenCall]]:
    """Return sub-agents' calls that wait for a person, by the open call behind them."""
    return {
        each.call["id"] or "": find_undecided_calls(
            find_open_calls([m for m in path if m.depth > each.question.depth], each.question.agent)
        )
        for each in find_open_calls(path, asker)
        if each.agent == asker and each.question is not None
    }
