"""Whatever happens in a run, its end is written and told: failing error paths, lost tasks, work that does not stop."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

import agent.run.outcome
from agent.events import RunFinished
from checkpoints import RunState, StoreUnavailableError, TakesTooLongError
from tests.agent.running import KEY, Running, model_at, raising, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


class Panic(BaseException):
    """As libraries in Rust raise it: no Exception."""


def play(story: Story, *replies: Any, tools: Sequence[BaseTool] = (), **limits: float) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, tools, **limits) as chat:
            await asyncio.wait_for(story(chat, fake), 30)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))


def fail(error: BaseException) -> Callable[..., Any]:
    def failing(*_: Any, **__: Any) -> Any:
        raise error

    return failing


@pytest.mark.parametrize("broken", [RecursionError(), Panic(), SystemExit(1)])
def test_a_failure_that_cannot_be_described_ends_its_run(
    broken: BaseException, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        ended = await chat.say("hello")
        assert (ended.state, str(ended.error)[:20]) == (RunState.FAILED, "An unknown error occ")
        assert (await chat.say("and now?")).state is RunState.DONE

    monkeypatch.setattr(agent.run.outcome, "describe_model_error", fail(broken))
    play(story, Fault("status", status=400), Say("Here again."))
    assert f"could not be described: {type(broken).__name__} at " in caplog.text


def test_a_tool_may_raise_what_is_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert chat.said()[2][2].startswith("The tool failed")

    caplog.set_level(logging.CRITICAL)
    play(story, Call("broken", {}), Say("It did not work."), tools=[tool("broken", raising(Panic()))])


def test_whatever_the_work_raises_its_run_ends() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        chat.runs.commit_message = fail(Panic())  # type: ignore[method-assign]
        assert (await chat.say("hello")).state is RunState.FAILED

    play(story, Say("Hello."))


def test_work_that_is_cancelled_by_nobody_is_interrupted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        chat.runner.active_runs.by_thread[chat.thread_id].work.cancel()
        assert (await chat.end(run)).state is RunState.INTERRUPTED

    play(story, Fault("hang"))
    assert "was cut off: its work was cancelled" in caplog.text


def test_a_run_whose_last_messages_cannot_be_written_ends_without_them(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        end = chat.runs.end_run

        def refuse(*given: Any, last_messages: Any = (), **options: Any) -> int:
            if last_messages:
                raise ValueError
            return end(*given, **options)

        chat.runs.end_run = refuse  # type: ignore[method-assign]
        assert (await chat.say("hello")).state is RunState.FAILED
        assert [text for *_, text in chat.said()] == ["hello"]

    play(story, Fault("cut", Say("one two three"), after_tokens=2))
    assert "ends without its last messages" in caplog.text


def interrupted(chat: Running) -> bool:
    told = [event for event in chat.events if isinstance(event, RunFinished)]
    return bool(told) and told[-1].state is RunState.INTERRUPTED


def test_a_run_whose_end_the_database_did_not_take_is_ended_later_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        end = chat.runs.end_run

        def refuse_while_driven(*given: Any, **options: Any) -> int:
            if chat.thread_id in chat.runner.active_runs.by_thread:
                raise ValueError("defect")
            return end(*given, **options)

        chat.runs.end_run = refuse_while_driven  # type: ignore[method-assign]
        await chat.send("hello")
        await chat.until(lambda: interrupted(chat))
        assert chat.runs.list_running_threads() == set()
        ends = [event.state for event in chat.events if isinstance(event, RunFinished)]
        assert ends == [RunState.DONE, RunState.INTERRUPTED]

    play(story, Say("Hello."), watch_seconds=0.02)
    assert "nobody drove it" in caplog.text


def test_a_run_that_is_ended_later_is_told_although_the_database_then_fails() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        def refuse(*given: Any, **options: Any) -> int:
            raise ValueError("defect")  # in the run's task, and when the watchdog reads the version

        chat.runs.end_run = refuse  # type: ignore[method-assign]
        await chat.send("hello")
        await chat.until(lambda: interrupted(chat))
        assert chat.runs.list_running_threads() == set()

    play(story, Say("Hello."), watch_seconds=0.02)


def test_a_run_whose_task_is_gone_is_ended_and_its_work_can_write_no_more(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(1)
        await chat.send("hello")
        await chat.until(fake.held.is_set)
        active = chat.runner.active_runs.by_thread[chat.thread_id]
        active.end.cancel()
        await chat.until(lambda: interrupted(chat))
        fake.release()
        await asyncio.wait({active.work})
        assert [text for _, status, text in chat.said() if status == "done"] == ["hello"]

    play(story, Say("one two three"), watch_seconds=0.02)
    assert "nobody drove it" in caplog.text


def stubborn(begun: asyncio.Event, free: asyncio.Event) -> BaseTool:
    async def act() -> str:
        begun.set()
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    return tool("stubborn", act)


def test_stopping_lets_go_of_work_that_ignores_it_and_refuses_what_it_does_later(caplog: pytest.LogCaptureFixture) -> None:
    begun, free = asyncio.Event(), asyncio.Event()

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await begun.wait()
        [work] = [active.work for active in chat.runner.active_runs.by_thread.values()]
        assert await chat.runner.stop(chat.thread_id)
        assert (work.done(), (await chat.end(run)).state) == (False, RunState.STOPPED)
        assert (await chat.say("and now?")).state is RunState.DONE
        before = (chat.said(), len(chat.events))
        free.set()
        await asyncio.wait({work})
        await chat.until(lambda: not chat.runner.active_runs.abandoned)
        assert (chat.said(), len(chat.events), len(fake.requests)) == (*before, 2)

    play(story, Call("stubborn", {}), Say("Here again."), tools=[stubborn(begun, free)], stop_seconds=0.05)
    assert "was let go of: it was stopped, and its work goes on" in caplog.text
    assert "the work that was let go of has ended" in caplog.text


def test_stopping_does_not_wait_for_a_tool_that_blocks_its_thread() -> None:
    begun, free = threading.Event(), threading.Event()

    def block() -> str:
        """Block."""
        begun.set()
        free.wait(60)
        return "late"

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await chat.until(begun.is_set)
        assert await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        free.set()

    play(story, Call("block", {}), tools=[StructuredTool.from_function(block)])


def test_the_providers_words_are_one_line_without_keys_with_the_run_and_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = f"messages[3]:\n\x1b[31m “hello” is not allowed, {KEY}"

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("hello")
        assert run.error == f"The model provider did not accept the request. (reference {run.id[:8]})"
        words = "HTTP 400: messages[3]: [31m “hello” is not allowed, *** (type: server_error)"
        assert run.error_details == words
        assert f"run {run.id} failed in the answer: OpenAIInvalidRequestError: {words}\n" in caplog.text
        assert [event.details for event in chat.events if isinstance(event, RunFinished)] == [words]

    play(story, Fault("status", status=400, message=message))
    assert KEY not in caplog.text


def test_a_failure_of_the_app_itself_has_no_details() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        chat.runs.commit_message = fail(ValueError("hello, a text of the conversation"))  # type: ignore[method-assign]
        assert (await chat.say("hello")).error_details is None

    play(story, Say("Hello."))


@pytest.mark.parametrize("error", [StoreUnavailableError("The disk is full: nothing can be saved."), TakesTooLongError()])
def test_the_log_names_an_outage_of_the_database_by_its_sentence(error: Exception) -> None:
    assert agent.run.outcome.locate_error(error) == str(error)
