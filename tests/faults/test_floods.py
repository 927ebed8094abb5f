"""A model that asks for too much, says too much or never ends: budgets stop it with a notice, and others are answered."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from agent.context.request import NOT_CARRIED_OUT_TEXT
from agent.events import ToolStarted
from agent.preparation.compaction import SummaryScope
from agent.tools.calculator import calculator
from checkpoints import Run, RunState
from checkpoints.values.limits import MAX_CALLS
from checkpoints.values.operation import Caller
from tests.agent.running import Running, budget, model_at, running, tool
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say
from tests.fakes.raw import DONE, HEAD, Pieces, RawProvider, chunk, event, finish, say

pytestmark = pytest.mark.slow

HANGING = tool("slow", lambda: asyncio.sleep(600))
MEGABYTE = "x" * 1_000_000
MANY = Calls(tuple(Call("calculator", {"expression": f"{number}+1"}) for number in range(MAX_CALLS)))
THOUSAND = Calls(tuple(Call("calculator", {"expression": f"{number}+1"}) for number in range(1_000)))


async def answered(chat: Running, text: str) -> Run:
    """A turn of another conversation, to its end."""
    run = await chat.runner.send(None, text, caller=Caller())
    await chat.until(lambda: chat.store.list_messages(run.thread_id)[-1].type == "ai")
    await chat.until(lambda: not chat.runs.list_running_threads() - {chat.thread_id})
    latest = chat.runs.get_latest_run(run.thread_id)
    assert latest is not None
    return latest


def flood(*replies: Any, tools: Sequence[BaseTool] = (calculator, HANGING), **limits: Any) -> tuple[Run, Running, Any]:
    """How the flood ended, and what was said, while another conversation got its answer in the middle of it."""

    async def story(fake: FakeOpenAI) -> tuple[Run, Running, Any]:
        async with model_at(fake) as model, running(model, tools, **limits) as chat:
            run = await chat.send("please")
            await chat.until(lambda: fake.requests)  # the replies are the flood's: the next request is the other's
            other = await answered(chat, "and me?")
            assert other.state is RunState.DONE
            assert chat.store.list_messages(other.thread_id)[-1].langchain.text.startswith("You said: and me?")
            ended = await chat.end(run)
            assert chat.unanswered() == set()
            fake.script(Say("Here again."))
            assert (await chat.say("and now?")).state is RunState.DONE
            return ended, chat, chat.said()

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        return asyncio.run(story(fake))


def test_a_thousand_calls_in_one_answer_are_not_run() -> None:
    ended, _, said = flood(THOUSAND)
    assert ended.error == f"The answer asked for more than {MAX_CALLS} tool calls at once. None of them was run."
    assert [text for kind, _, text in said if kind == "tool"] == []


def test_many_calls_in_one_answer_stop_at_the_budget() -> None:
    ended, _, said = flood(MANY, agent=budget(calls=50))
    assert ended.error == "The agent reached the limit of 50 tool calls. Go on?"
    results = [text for kind, _, text in said if kind == "tool"]
    assert (len(results), results.count(NOT_CARRIED_OUT_TEXT)) == (MAX_CALLS, MAX_CALLS - 50)


@pytest.mark.parametrize(
    "tokens", [("x" * 1_000,) * 20_000, (MEGABYTE,) * 20, ("x" * 20_000_000,)], ids=["20,000", "20", "1"]
)
def test_an_answer_of_twenty_megabytes_is_cut_at_the_budget(tokens: tuple[str, ...]) -> None:
    ended, _, said = flood(Say("".join(tokens), tokens=tokens))
    assert ended.error == "The answer has more than 500,000 characters and was cut."
    assert [(kind, status, len(text)) for kind, status, text in said[1:2]] == [("ai", "partial", 500_000)]


def test_chunks_without_anything_in_them_are_no_way_to_go_on_for_ever() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, max_answer_chars=500) as chat:
            run = await chat.say("please")
            assert (run.error, len(chat.said())) == ("The answer has more than 500 pieces and was cut.", 1)
            fake.wait_for(lambda: fake.disconnects == 1)

    with FakeOpenAI() as fake:
        fake.reply(Say("", tokens=("",) * 100_000))
        asyncio.run(story(fake))


def trickle(delta: dict[str, Any]) -> Pieces:
    """An answer that gives a sign of life every now and then, and never ends."""
    return [HEAD, say("So "), *[event(chunk(delta)), 0.02] * 100_000]


@pytest.mark.parametrize(
    ("limit", "delta"),
    [("run", {}), ("run", {"content": ""}), ("run", {"content": "x"}), ("agent", {"reasoning_content": "x"})],
    ids=str,
)
def test_an_answer_that_never_ends_is_cut_at_the_seconds_of_the_budget(limit: str, delta: dict[str, Any]) -> None:
    async def story() -> None:
        provider, limits = RawProvider(trickle(delta)), {limit: budget(seconds=0.5)}
        async with provider.serve(), model_at(provider) as model, running(model, **limits) as chat:
            run = await chat.say("please")
            assert (run.state, run.error) == (RunState.STOPPED, f"The {limit} reached the limit of 0.5 seconds. Go on?")
            assert chat.said()[-1][2].startswith(chat.heard() or "please")

    asyncio.run(story())


@pytest.mark.parametrize("delta", [{}, {"content": ""}], ids=str)
def test_a_stream_of_empty_pieces_ends_at_the_idle_limit(delta: dict[str, Any]) -> None:
    async def story() -> None:
        provider = RawProvider(trickle(delta))
        async with provider.serve(), model_at(provider) as model, running(model, idle_seconds=0.5) as chat:
            run = await chat.say("please")
            assert (run.state, chat.said()[-1][1:]) == (RunState.FAILED, ("partial", "So "))

    asyncio.run(story())


def test_a_summary_that_never_ends_fails_at_the_seconds_of_the_budget() -> None:
    async def story() -> None:
        provider = RawProvider([HEAD, say("It froze over. " * 50), finish(), DONE], trickle({}))
        async with provider.serve(), model_at(provider) as model, running(model, agent=budget(seconds=3)) as chat:
            await chat.say("what happened in Ystad?")
            run = await chat.end(await chat.runner.compact(chat.thread_id, SummaryScope(), caller=Caller()))
            assert (run.state, run.error) == (RunState.FAILED, "The agent reached the limit of 3 seconds.")
            assert len(chat.said()) == 2

    asyncio.run(story())


def test_of_two_parallel_tools_one_hangs_and_the_others_result_is_kept() -> None:
    both = Calls((Call("slow", {}), Call("calculator", {"expression": "6*7"})))
    ended, chat, said = flood(both, tool_seconds=1.5)
    assert ended.state is RunState.DONE  # the model was told, and answered
    assert sum(isinstance(event, ToolStarted) for event in chat.events) == 2
    results = {text for kind, _, text in said if kind == "tool"}
    assert results == {"42", "The tool took longer than 1.5 s and was stopped."}


def test_a_tool_that_hangs_in_every_conversation_leaves_room_for_the_next() -> None:
    """More at once than there are threads for blocking work."""

    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, (calculator, HANGING)) as chat:
            runs = [await chat.runner.send(None, "please", caller=Caller()) for _ in range(12)]
            await chat.until(lambda: len(fake.requests) == 12)
            fake.script(Call("calculator", {"expression": "6*7"}), Say("It is 42."))
            assert (await chat.say("and me?")).state is RunState.DONE
            assert [text for _, _, text in chat.said()[2:]] == ["42", "It is 42."]
            assert chat.runs.list_running_threads() == {run.thread_id for run in runs}

    with FakeOpenAI() as fake:
        fake.reply(*[Call("slow", {})] * 12)
        asyncio.run(story(fake))
