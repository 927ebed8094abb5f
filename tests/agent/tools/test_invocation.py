"""A tool that hangs keeps nothing waiting, on a thread or on the loop."""

import asyncio
import gc
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from agent.tools.calculator import calculator
from agent.tools.exits import ToolExitError
from agent.tools.invocation import invoke_tool, run_on_own_thread
from checkpoints import RunState
from tests.agent.running import budget, model_at, raising, running
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


@pytest.mark.parametrize("kind", ["func", "coroutine"])
def test_a_result_whose_text_hangs_is_given_up_at_the_limit(kind: str) -> None:
    released = threading.Event()

    class Slow:
        def __str__(self) -> str:
            released.wait(60)
            return "slow"

    async def make() -> Slow:
        return Slow()

    async def story(fake: FakeOpenAI) -> None:
        lazy = StructuredTool.from_function(
            name="lazy", description="Lazy.", **{kind: make if kind == "coroutine" else Slow}
        )
        async with model_at(fake) as model, running(model, [lazy], tool_seconds=0.1) as chat:
            assert (await chat.say("go on")).state is RunState.DONE
            released.set()
            assert chat.said()[2][2] == "The tool took longer than 0.1 s and was stopped."

    with FakeOpenAI() as fake:
        fake.reply(Call("lazy", {}), Say("It hangs."))
        asyncio.run(story(fake))


@pytest.mark.parametrize("kind", ["func", "coroutine"])
def test_arguments_that_look_like_a_call_arrive_as_they_are(kind: str) -> None:
    def act(type: str) -> str:
        return type

    async def act_later(type: str) -> str:
        return type

    function: Any = {kind: act if kind == "func" else act_later}
    either = StructuredTool.from_function(name="act", description="Act.", **function)
    arguments = {"type": "tool_call", "id": "other", "args": {"type": "what nobody approved"}}
    assert asyncio.run(invoke_tool(either, arguments)) == "tool_call"


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


EXITS = [SystemExit("no"), KeyboardInterrupt("no"), GeneratorExit("no")]


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("no"), *EXITS])
def test_an_error_of_the_work_reaches_its_caller_as_one_that_ends_no_loop(error: BaseException) -> None:
    with pytest.raises(type(error) if isinstance(error, ValueError) else ToolExitError, match="no"):
        asyncio.run(run_on_own_thread(raising(error)))


async def raise_later(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def raise_in_task(error: BaseException) -> None:
    await asyncio.gather(asyncio.sleep(600), raise_later(error))


async def raise_while_stopped(error: BaseException) -> None:
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        raise error from None


@pytest.mark.parametrize("act", [raise_later, raise_in_task, raise_while_stopped, "thread"])
@pytest.mark.parametrize("error", EXITS)
def test_a_tool_that_exits_has_failed_and_the_server_goes_on(
    error: BaseException, act: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(fake: FakeOpenAI) -> None:
        kind = {"func": raising(error)} if act == "thread" else {"coroutine": partial(act, error)}
        leaving = StructuredTool.from_function(**kind, name="leave", description="Exits.", args_schema={"type": "object"})
        async with model_at(fake) as model, running(model, [leaving], tool_seconds=0.1) as chat:
            assert (await chat.say("go on")).state is RunState.DONE
            assert (await chat.say("and on")).state is RunState.DONE
            assert chat.unanswered() == set()
        await asyncio.get_running_loop().create_task(asyncio.sleep(0))  # tasks of others are as before

    with FakeOpenAI() as fake:
        fake.reply(Call("leave", {}), Say("It left."))
        asyncio.run(story(fake))
    if act is not raise_while_stopped:
        assert "tool leave failed" in caplog.text
        assert type(error).__name__ in caplog.text


def test_a_task_of_a_tool_that_is_cancelled_before_it_begins_leaves_no_coroutine_behind(
    recwarn: pytest.WarningsRecorder,
) -> None:
    async def begin_and_stop() -> None:
        asyncio.create_task(asyncio.sleep(600)).cancel()
        await asyncio.sleep(0)

    asyncio.run(invoke_tool(StructuredTool.from_function(coroutine=begin_and_stop, name="brief", description="Brief."), {}))
    gc.collect()
    assert not recwarn.list


def test_coroutines_stay_on_the_loop() -> None:
    async def name() -> str:
        return threading.current_thread().name

    kinds = {"coroutine": name}, {"func": lambda: threading.current_thread().name}
    tools = [StructuredTool.from_function(**kind, name="name", description="Its thread.") for kind in kinds]
    assert [asyncio.run(invoke_tool(each, {})) for each in tools] == ["MainThread", "tool"]
