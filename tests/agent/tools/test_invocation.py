"""A tool that hangs keeps nothing waiting, on a thread or on the loop."""

import asyncio
import threading
from contextlib import suppress

import pytest
from langchain_core.tools import StructuredTool

from agent.tools.calculator import calculator
from agent.tools.invocation import invoke_tool, run_on_own_thread
from checkpoints import RunState
from tests.agent.running import budget, model_at, running
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say

MANY = 40  # more than a pool of the loop has threads


def test_tools_that_hang_keep_no_other_work_waiting() -> None:
    released = threading.Event()
    stuck = StructuredTool.from_function(released.wait, name="stuck", description="Hangs.")

    async def story(fake: FakeOpenAI) -> None:
        limits = {"tool_seconds": 0.1, "agent": budget(calls=MANY + 1)}
        async with model_at(fake) as model, running(model, [stuck, calculator], **limits) as chat:
            try:
                async with asyncio.timeout(60):
                    assert (await chat.say("go on")).state is RunState.DONE
                    assert (await chat.say("and on")).state is RunState.DONE
            finally:
                released.set()
            results = [text for kind, _, text in chat.said() if kind == "tool"]
            assert results == ["The tool took longer than 0.1 s and was stopped."] * MANY + ["2"]

    with FakeOpenAI() as fake:
        hanging = Calls(tuple(Call("stuck", {}) for _ in range(MANY)))
        fake.reply(hanging, Say("They hang."), Call("calculator", {"expression": "1+1"}), Say("Done."))
        asyncio.run(story(fake))


def test_a_tool_that_ignores_its_cancellation_has_a_result_at_its_limit() -> None:
    async def story(fake: FakeOpenAI) -> None:
        released = asyncio.Event()

        async def ignore_cancellation() -> None:
            while not released.is_set():
                with suppress(asyncio.CancelledError):
                    await released.wait()

        stubborn = StructuredTool.from_function(coroutine=ignore_cancellation, name="stubborn", description="Goes on.")
        async with model_at(fake) as model, running(model, [stubborn], tool_seconds=0.1) as chat:
            try:
                async with asyncio.timeout(60):
                    assert (await chat.say("go on")).state is RunState.DONE
            finally:
                released.set()

    with FakeOpenAI() as fake:
        fake.reply(Call("stubborn", {}), Say("It hangs."))
        asyncio.run(story(fake))


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("no"), SystemExit("no")])
def test_an_error_of_the_work_reaches_its_caller(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError if isinstance(error, StopIteration) else type(error)):
        asyncio.run(run_on_own_thread(fail))


def test_coroutines_stay_on_the_loop() -> None:
    async def name() -> str:
        return threading.current_thread().name

    kinds = {"coroutine": name}, {"func": lambda: threading.current_thread().name}
    tools = [StructuredTool.from_function(**kind, name="name", description="Its thread.") for kind in kinds]
    assert [asyncio.run(invoke_tool(each, {})) for each in tools] == ["MainThread", "tool"]
