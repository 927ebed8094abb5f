"""The matrix of faults, continued: tools of every kind fail or hang, stores and pools hang. Stop works meanwhile."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from agent.graph.state import Limits
from agent.tools.remote_tool import adapt_tool
from checkpoints import Run, RunState
from components.panels.chat_actions import MAX_STOP_SECONDS
from tests.agent.cast import Cast
from tests.agent.run.test_fault_matrix import (
    DISK,
    MODEL_FAULTS,
    PLACES,
    STORE_PLACES,
    Place,
    begin,
    check_next_message,
    has_ended_work,
    play,
)
from tests.agent.running import POOL_THREADS, Running, raising, tool
from tests.fakes.openai import Call, Say
from tests.rounds import sample

pytestmark = pytest.mark.slow


def build_tool(kind: str, act: Callable[[], Any]) -> BaseTool:
    """A tool of each kind: a coroutine, a function on a thread, or a tool of an MCP server."""

    async def call(_: object) -> str:
        return str(await asyncio.to_thread(act))

    if kind == "mcp":
        return adapt_tool("far", "act", "Acts.", {"type": "object", "properties": {}}, call)
    func = partial(call, None) if kind == "coroutine" else act
    return StructuredTool.from_function(
        **{"coroutine" if kind == "coroutine" else "func": func}, name="act", description="Acts.", args_schema=NO_ARGUMENTS
    )


KINDS = ("coroutine", "thread", "mcp")
NO_ARGUMENTS = {"type": "object", "properties": {}}
TOOL_ERRORS = (OSError(28, "no space"), MemoryError(), SystemExit(1), asyncio.CancelledError(), DISK)


@pytest.mark.parametrize(("kind", "error"), sample(product(KINDS, TOOL_ERRORS), 6))
def test_a_tool_that_fails_is_survived(kind: str, error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    acting = build_tool(kind, raising(error))

    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("please")).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call(acting.name, {}), Say("So.")]}, acting)
    assert f"tool {acting.name} failed" in caplog.text
    assert type(error).__name__ in caplog.text


class Hang:
    """A call that hangs until it is released."""

    def __init__(self, call: Callable[..., Any] = str) -> None:
        self.call, self.is_begun, self.is_free = call, threading.Event(), threading.Event()

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.is_begun.set()
        assert self.is_free.wait(60)
        return self.call(*args, **options)


def build_hanging_tool(kind: str, hang: Hang) -> BaseTool:
    async def wait(_: object) -> str:
        hang.is_begun.set()
        await asyncio.Event().wait()
        return ""

    if kind == "mcp":
        return adapt_tool("far", "act", "Hangs.", NO_ARGUMENTS, wait)
    return build_tool("thread", hang) if kind == "thread" else tool("act", lambda: wait(None))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_that_is_silent_is_survived(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    hang = Hang()
    silent = build_hanging_tool(kind, hang)

    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("please")).state is RunState.DONE
        await check_next_message(chat, cast)
        hang.is_free.set()

    play(story, {"main": [Call(silent.name, {}), Say("So.")]}, silent, tool_seconds=0.05)
    assert f"tool {silent.name} took longer than 0.05 s" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_stop_ends_a_run_while_its_tool_hangs(kind: str) -> None:
    hang = Hang()
    silent = build_hanging_tool(kind, hang)

    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("please")
        await chat.until(hang.is_begun.is_set)
        await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert not hang.is_free.is_set()
        hang.is_free.set()
        await check_next_message(chat, cast)

    play(story, {"main": [Call(silent.name, {})]}, silent)


async def check_stop(chat: Running, run: Run, hang: Hang) -> None:
    """Stop, and see that the page hears it while the fault still hangs. Its end may have to wait for the fault."""
    await chat.runner.stop(chat.thread_id, max_seconds=0)
    await chat.until(lambda: has_ended_work(chat))
    assert not hang.is_free.is_set()
    hang.is_free.set()
    assert (await chat.end(run)).state in (RunState.STOPPED, RunState.DONE)


def test_stop_waits_for_work_less_than_a_second() -> None:
    assert Limits().stop_seconds < MAX_STOP_SECONDS <= 1


@pytest.mark.parametrize("method", STORE_PLACES)
def test_stop_is_published_while_the_store_hangs(method: str) -> None:
    place = PLACES[STORE_PLACES[method]]

    async def story(chat: Running, cast: Cast) -> None:
        for text in place.earlier:
            await chat.say(text)
        hang = Hang(getattr(chat.runs, method))
        setattr(chat.runs, method, hang)
        run = await begin(chat, Place(compacts=place.compacts))
        await chat.until(hang.is_begun.is_set)
        await check_stop(chat, run, hang)
        await check_next_message(chat, cast)

    last = MODEL_FAULTS["silence in the middle"] if method == "save_drafts" else Say("one two three")
    play(story, {"main": [*place.before, last]})


def test_stop_is_published_while_every_thread_of_the_pool_hangs() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("please")
        await chat.until(chat.heard)
        hang = Hang()
        for _ in range(POOL_THREADS):
            chat.runner.parts.blocking.pool.submit(hang)
        await check_stop(chat, run, hang)
        await check_next_message(chat, cast)

    play(story, {"main": [MODEL_FAULTS["silence in the middle"]]})


def test_stop_ends_a_run_whose_model_waits_for_a_thread_of_the_loops_own_pool() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        hang = Hang()
        with ThreadPoolExecutor(1) as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            pool.submit(hang)
            await chat.until(hang.is_begun.is_set)
            run = await chat.send("please")
            await chat.runner.stop(chat.thread_id)
            assert (await chat.end(run)).state is RunState.STOPPED
            assert not hang.is_free.is_set()
            hang.is_free.set()
            await check_next_message(chat, cast)

    play(story, {"main": [Say("So.")]})
