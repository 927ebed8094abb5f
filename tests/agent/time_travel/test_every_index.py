"""From a conversation with all that there is in it, the agent goes to every message and replaces every answer.

What any agent asks its model after that keeps to the rules of OpenAI, which the fake holds it to, and of Anthropic; and undo
brings back exactly what was there.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages

from agent.marks import CallKey, QuestionMark
from agent.time_travel.policy import Policy
from agent.tools.decisions import Decision
from checkpoints import MAIN, Caller, Message, MessageStatus, NewMessage, OperationKind, RunState
from checkpoints.values import serde
from tests.agent.cast import Cast, agent, perform
from tests.agent.running import Running
from tests.checkpoints.conversations import picture
from tests.fakes.anthropic_rules import as_sent, check_messages
from tests.fakes.openai import Call, Say
from tests.rounds import sample

pytestmark = pytest.mark.slow

PEOPLE = [agent("ann", "send"), agent("ben")]
NOTE = "Remember only this."


def letter(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "send", "args": {"to": each}, "id": each} for each in ids])


def asking(**calls: str) -> AIMessage:
    made: Any = [
        {"name": "ask_agent", "args": {"agent": who, "question": "?"}, "id": call_id} for call_id, who in calls.items()
    ]
    return AIMessage("I ask them.", tool_calls=made)


def question(call_id: str, by: str = MAIN) -> HumanMessage:
    return HumanMessage(f"What of {call_id}?", additional_kwargs=QuestionMark(CallKey(by, call_id)).to_kwargs())


def result(call_id: str, name: str = "send") -> ToolMessage:
    return ToolMessage(f"result of {call_id}", tool_call_id=call_id, name=name)


# Two calls in one answer, two agents that are asked at once, one of which calls tools, and an answer that was cut off.
CHAIN: Sequence[tuple[str, BaseMessage]] = (
    (MAIN, HumanMessage("hello")),
    (MAIN, letter("c1", "c2")),
    (MAIN, result("c2")),
    (MAIN, result("c1")),
    (MAIN, AIMessage("Both are sent.")),
    (MAIN, HumanMessage("ask them")),
    (MAIN, asking(m1="ann", m2="ben")),
    ("ann", question("m1")),
    ("ben", question("m2")),
    ("ann", letter("s1", "s2")),
    ("ben", AIMessage("from ben")),
    (MAIN, result("m2", "ask_agent")),
    ("ann", result("s1")),
    ("ann", result("s2")),
    ("ann", AIMessage("from ann")),
    (MAIN, result("m1", "ask_agent")),
    (MAIN, AIMessage("They agree.")),
)


async def build(chat: Running, cast: Cast) -> None:
    """Twenty-three messages with a previous goto, a cut-off answer, checkpoints and a branch."""
    chat.store.append(chat.thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in CHAIN])
    chat.store.save(chat.thread_id, name="Agreed")
    cast.parts[MAIN] = [Call("goto", {"position": "msg_16", "message": NOTE}, id="g"), Say("On from there.")]
    await chat.say("a wrong way")
    await chat.end(await chat.runner.decide(chat.thread_id, Decision("g", "allow"), caller=Caller()))
    half = NewMessage(serde.to_body(AIMessage("Half of")), status=MessageStatus.PARTIAL)
    chat.store.append(chat.thread_id, [NewMessage(serde.to_body(HumanMessage("and?"))), half])
    await chat.say("Thank you")
    chat.store.save(chat.thread_id, name="Thanked")
    branch = chat.store.get_thread(chat.thread_id).branch_id
    chat.store.fork(chat.thread_id, chat.path()[4].id, name="Elsewhere")
    chat.store.switch(chat.thread_id, branch)
    assert len(chat.path()) == len(CHAIN) + 6


def state(chat: Running) -> tuple[list[str], dict[str, Any]]:
    """All that a move may change: the path by its hashes, the heads, the branches and the checkpoints."""
    return [message.hash for message in chat.path()], picture(chat.store, chat.thread_id)


async def expect_exact_undo(chat: Running, cast: Cast, call: Call, start: object) -> None:
    """Let the agent move, judge what is asked then, and take it all back."""
    first, cast.parts[MAIN] = len(cast.requests), [call]
    assert (await chat.say("move")).state is RunState.WAITING, call
    before = state(chat)
    run = await chat.runner.decide(chat.thread_id, Decision("move", "allow"), caller=Caller())
    assert (await chat.end(run)).state is RunState.DONE, call
    made = [op.kind for op in chat.store.list_operations(chat.thread_id, last=20) if op.undo_group == run.id]
    assert made.count(OperationKind.GOTO) + made.count(OperationKind.REWIND) == 1, call
    if call.name == "rewind":  # of the main agent's own answer: only then something is asked
        await chat.say("next")
        chat.store.undo(chat.thread_id)
    assert len(cast.requests) > first + 1
    for request in cast.requests[first:]:
        check_messages(as_sent(convert_to_messages(request["messages"])))
    while chat.store.find_undoable(chat.thread_id).undo_group == run.id:  # type: ignore[union-attr]
        chat.store.undo(chat.thread_id)
    assert state(chat) == before, call
    chat.store.undo(chat.thread_id)
    assert state(chat) == start, call


@pytest.mark.parametrize("keep_target", sample([True, False], 1))
def test_from_every_message_the_next_request_is_valid_and_undo_is_exact(keep_target: bool) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await build(chat, cast)
        start = state(chat)
        for index in range(len(chat.path())):
            arguments = {"position": f"msg_{index}", "message": NOTE, "keep_target": keep_target}
            await expect_exact_undo(chat, cast, Call("goto", arguments, id="move"), start)

    perform(story, *PEOPLE, policy="ask")


def answers(path: Sequence[Message], who: str) -> int:
    return sum(m.agent == who and m.type == "ai" and not m.body["data"].get("tool_calls") for m in path)


@pytest.mark.parametrize("keep_independent", sample([False, True], 1))
def test_every_answer_of_every_agent_can_be_replaced_and_put_back(keep_independent: bool) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await build(chat, cast)
        start = state(chat)
        for who, count in ((MAIN, 5), ("ann", 1), ("ben", 1)):
            assert answers(chat.path(), who) == count
            for n in range(1, count + 1):
                arguments = {"n": n - (n % 2) * (count + 1), "content": "Better.", "agent": who}
                arguments["keep_independent"] = keep_independent
                await expect_exact_undo(chat, cast, Call("rewind", arguments, id="move"), start)

    perform(story, *PEOPLE, policy="ask")


STRANGE = (
    AIMessage("I greet you first."),
    HumanMessage(""),
    AIMessage(" \n"),
    letter("c1"),
    HumanMessage(" "),
    AIMessage(""),
)


@pytest.mark.parametrize("policy", ["off", "allow"])
def test_what_an_import_begins_with_and_what_says_nothing_make_no_request_invalid(policy: Policy) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        chat.store.append(chat.thread_id, [NewMessage(serde.to_body(message)) for message in STRANGE])
        await chat.say("hello")
        check_messages(as_sent(convert_to_messages(cast.requests[-1]["messages"])))
        assert "I greet you first." in str(cast.requests[-1])

    perform(story, *PEOPLE, policy=policy)
