"""A tool that needs a person's leave waits for it: over every decision, new text, a restart, and two who decide at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from agent.context.request import NOT_CARRIED_OUT_TEXT
from agent.preparation.requests import NothingToDecideError
from agent.tools.decisions import DENIED_TEXT, NOT_APPROVED_TEXT, STOPPED_TEXT, UNDONE_CALL_TEXT, Decision
from checkpoints import Caller, RunState
from tests.agent.running import Running, budget, model_at, running
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]
ASK = Call("send", {"to": "Ann"}, id="1")


def play(story: Story, *replies: Any, sent: list[str] | None = None, **limits: Any) -> list[str]:
    """The story with a tool `send` that needs approval and one `look` that does not; what was sent to whom."""
    sent = [] if sent is None else sent

    async def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        await asyncio.sleep(600 if to == "nobody" else 0)
        return f"sent to {to}"

    async def look() -> str:
        """Look out of the window."""
        return "sunny"

    tools: list[BaseTool] = [StructuredTool.from_function(coroutine=send), StructuredTool.from_function(coroutine=look)]

    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, tools, approval=["send"], **limits) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []
    return sent


async def decide(chat: Running, kind: Any, call: str = "1", **fields: Any) -> RunState:
    decision = Decision(call, kind, **fields)
    return (await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))).state


def results(chat: Running) -> list[str]:
    return [text for kind, _, text in chat.said() if kind == "tool"]


@pytest.mark.parametrize(
    ("decision", "result", "sent"),
    [
        ({"kind": "allow"}, "sent to Ann", ["Ann"]),
        ({"kind": "deny"}, DENIED_TEXT, []),
        ({"kind": "respond", "text": "Ann is ill."}, "The user answered instead of the tool:\nAnn is ill.", []),
        (
            {"kind": "edit", "arguments": {"to": "Bob"}},
            '(The user changed the arguments to {"to": "Bob"}.)\nsent to Bob',
            ["Bob"],
        ),
    ],
)
def test_a_call_waits_and_is_then_done_as_decided(decision: dict[str, Any], result: str, sent: list[str]) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("write to Ann")).state is RunState.WAITING
        assert results(chat) == []
        assert await decide(chat, **decision) is RunState.DONE
        assert results(chat) == [result]
        assert fake.requests[-1]["messages"][-1]["content"] == result
        assert chat.unanswered() == set()

    assert play(story, ASK, Say("Done.")) == sent


def test_what_needs_no_leave_is_done_at_once_and_each_call_waits_for_its_own_decision() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("both")).state is RunState.WAITING
        assert results(chat) == ["sunny"]
        assert await decide(chat, "deny", "2") is RunState.WAITING
        assert len(fake.requests) == 1
        assert await decide(chat, "allow", "1") is RunState.DONE
        assert results(chat) == ["sunny", DENIED_TEXT, "sent to Ann"]
        assert chat.unanswered() == set()

    calls = Calls((ASK, Call("look", {}, id="3"), Call("send", {"to": "Bob"}, id="2")))
    assert play(story, calls, Say("Done.")) == ["Ann"]


def test_typing_instead_of_deciding_closes_the_call() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        await chat.say("never mind")
        assert [text for *_, text in chat.said()] == ["write to Ann", "", NOT_APPROVED_TEXT, "never mind", "Fine."]
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller())

    assert play(story, ASK, Say("Fine.")) == []


def test_two_who_decide_at_once_decide_once() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        both = [chat.runner.decide(chat.thread_id, Decision("1", kind), caller=Caller()) for kind in ("allow", "deny")]  # type: ignore[arg-type]
        first, second = await asyncio.gather(*both, return_exceptions=True)
        assert not isinstance(first, BaseException)
        assert isinstance(second, BaseException)
        await chat.end(first)
        assert results(chat) == ["sent to Ann"]

    assert play(story, ASK, Say("Done.")) == ["Ann"]


def test_the_same_decision_sent_twice_is_one() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        for _ in range(2):
            await chat.end(
                await chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller(request_id="wish"))
            )

    assert play(story, ASK, Say("Done.")) == ["Ann"]


def test_a_restart_leaves_the_call_waiting() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        assert chat.runs.interrupt_orphans() == []
        latest = chat.runs.get_latest_run(chat.thread_id)
        assert latest is not None
        assert latest.state is RunState.WAITING
        assert await decide(chat, "allow") is RunState.DONE

    assert play(story, ASK, Say("Done.")) == ["Ann"]


def test_a_call_that_was_gone_back_over_waits_no_more_and_again_after_the_undo() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        saved = chat.store.save(chat.thread_id).result
        await chat.say("write to Ann")
        chat.store.restore(chat.thread_id, saved)
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller())
        chat.store.undo(chat.thread_id)
        assert await decide(chat, "allow") is RunState.DONE

    assert play(story, Say("Hi."), ASK, Say("Done.")) == ["Ann"]


def test_typing_instead_and_going_back_lets_the_call_wait_again() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        saved = chat.store.save(chat.thread_id).result
        await chat.say("never mind")
        chat.store.restore(chat.thread_id, saved)
        assert await decide(chat, "allow") is RunState.DONE

    assert play(story, ASK, Say("Fine."), Say("Done.")) == ["Ann"]


def test_what_is_no_decision_runs_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("write to Ann")
        await decide(chat, "whatever")
        assert results(chat) == [DENIED_TEXT]

    assert play(story, ASK, Say("Done.")) == []


def test_stopping_what_was_allowed_closes_every_call() -> None:
    sent: list[str] = []

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("both")
        run = await chat.runner.decide(chat.thread_id, Decision("2", "allow"), caller=Caller())
        await chat.until(lambda: "nobody" in sent)
        assert await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert results(chat) == [STOPPED_TEXT, NOT_CARRIED_OUT_TEXT]
        assert chat.unanswered() == set()

    play(story, Calls((ASK, Call("send", {"to": "nobody"}, id="2"))), sent=sent)


def test_a_call_that_waits_for_a_person_waits_also_where_the_calls_beside_it_reach_a_limit() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("both")).state is RunState.WAITING
        assert results(chat) == ["sunny", NOT_CARRIED_OUT_TEXT]
        assert [each.call["id"] for each in chat.runner.inputs.load_waiting_calls(chat.thread_id)] == ["1"]
        assert await decide(chat, "allow") is RunState.DONE
        assert chat.unanswered() == set()

    calls = Calls((Call("look", {}, id="2"), ASK, Call("look", {}, id="3")))
    assert play(story, calls, Say("Done."), agent=budget(calls=1)) == ["Ann"]


def test_a_long_conversation_waits_as_a_short_one_does() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        for _ in range(3):
            await chat.say("hello")
        await chat.say("write to Ann")
        assert await decide(chat, "allow") is RunState.DONE
        roles = [message["role"] for message in fake.requests[-1]["messages"]]
        assert roles == ["system", *["user", "assistant"] * 3, "user", "assistant", "tool"]

    play(story, Say("Hi."), Say("Hi."), Say("Hi."), ASK, Say("Done."))


def test_a_decision_grants_no_fresh_budget_and_going_on_does() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert await decide(chat, "allow") is RunState.WAITING
        assert await decide(chat, "allow", "2") is RunState.STOPPED
        assert chat.runs.get_latest_run(chat.thread_id).error == "The agent reached the limit of 2 answers. Go on?"
        run = await chat.runner.continue_answer(chat.thread_id, caller=Caller())
        assert (await chat.end(run)).state is RunState.DONE
        assert len(fake.requests) == 3

    replies = [ASK, Call("send", {"to": "Bob"}, id="2"), Say("Sent.")]
    assert play(story, *replies, agent=budget(answers=2)) == ["Ann", "Bob"]


def test_calls_are_counted_on_after_a_decision() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert await decide(chat, "allow") is RunState.STOPPED
        assert results(chat) == ["sunny", "sent to Ann", NOT_CARRIED_OUT_TEXT]

    replies = [Calls((Call("look", {}, id="0"), ASK)), Call("look", {}, id="3")]
    play(story, *replies, run=budget(calls=2))


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        ({"kind": "allow"}, UNDONE_CALL_TEXT),
        ({"kind": "respond", "text": "Bob"}, UNDONE_CALL_TEXT),
        ({"kind": "deny"}, NOT_APPROVED_TEXT),
    ],
)
@pytest.mark.parametrize("back", ["undo", "restore"])
def test_a_call_whose_result_was_taken_back_is_told_to_have_had_one(decision: dict[str, str], text: str, back: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        place = chat.store.save(chat.thread_id, name="here").result
        assert await decide(chat, **decision) is RunState.DONE
        if back == "undo":
            chat.store.undo(chat.thread_id)
        else:
            chat.store.restore(chat.thread_id, place)
        await chat.say("and now?")
        assert results(chat) == [text]

    play(story, ASK, Say("Fine."), Say("Fine."))
