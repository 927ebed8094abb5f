"""What a run tells a tracer: each step with its times, however the run ends, and where in the thread it began."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

import agent.preparation.preparation
from agent.demo.model import DemoChatModel
from agent.tools.calculator import calculator
from agent.tracing.events import ModelAnswered, Prompt, RunBegun, RunEnded, ToolCarriedOut, TracedCall, TraceEvent
from checkpoints import Caller, RunState
from tests.agent.running import Running, model_at, running, tool
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say


class Listener:
    """A tracer that keeps what it is told."""

    is_on = True

    def __init__(self) -> None:
        self.told: list[TraceEvent] = []
        self.followed: list[TracedCall] = []
        self.prompts: dict[str, Prompt] = {}

    def record(self, event: TraceEvent) -> None:
        self.told.append(event)

    def follow_call(self, call: TracedCall) -> Sequence[BaseCallbackHandler]:
        self.followed.append(call)
        return ()

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return self.prompts.get(name, Prompt(name, builtin))

    def link_run(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        pass

    def kinds(self) -> list[str]:
        return [type(told).__name__ for told in self.told]

    def last(self, kind: type) -> Any:
        return next(told for told in reversed(self.told) if isinstance(told, kind))


Story = Callable[[Running, FakeOpenAI, Listener], Awaitable[None]]


def play(story: Story, *replies: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        listener = Listener()
        tools = (calculator, tool("slow", lambda: asyncio.sleep(600)))
        async with model_at(fake) as model, running(model, tools, tracer=listener) as chat:
            await story(chat, fake, listener)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))


def test_a_turn_with_tools_tells_each_step_in_order_and_with_its_times() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        run = await chat.say("How much?")
        assert listener.kinds() == [
            "RunBegun",
            "ModelAnswered",
            "ToolCarriedOut",
            "ToolCarriedOut",
            "ModelAnswered",
            "RunEnded",
        ]
        begun, asked, *tools, answered, ended = listener.told
        assert isinstance(begun, RunBegun)
        assert (begun.run_id, begun.thread_id, begun.question) == (run.id, chat.thread_id, "How much?")
        assert isinstance(asked, ModelAnswered)
        assert asked.first_token_ns is not None  # although no text came
        assert begun.timestamp_ns <= asked.began_ns <= asked.first_token_ns <= asked.ended_ns
        carried_out = {
            each.call["args"]["expression"]: each.result.text for each in tools if isinstance(each, ToolCarriedOut)
        }
        assert carried_out == {"6 * 7": "42", "1 + 1": "2"}  # beside each other: either may end first
        assert isinstance(answered, ModelAnswered)
        assert answered.answer.response_metadata["finish_reason"] == "stop"
        assert isinstance(ended, RunEnded)
        assert (ended.state, ended.error, ended.answer) == (RunState.DONE, None, "It is 42.")

    sums = Calls((Call("calculator", {"expression": "6 * 7"}), Call("calculator", {"expression": "1 + 1"})))
    play(story, sums, Say("It is 42."))


def test_a_stopped_tool_is_told_as_stopped() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        run = await chat.send("go")
        await chat.until(lambda: "ToolStarted" in [type(event).__name__ for event in chat.events])
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        stopped = listener.last(ToolCarriedOut)
        assert (stopped.call["name"], stopped.result.status) == ("slow", "error")
        assert listener.last(RunEnded).state is RunState.STOPPED

    play(story, Call("slow", {}))


def test_a_tracer_that_raises_harms_no_run(caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        listener.told = None  # type: ignore[assignment]
        assert (await chat.say("go")).state is RunState.DONE

    play(story, Call("calculator", {"expression": "1+1"}), Say("Two."))
    assert "a tracer failed" in caplog.text


def test_a_cut_answer_is_told_with_what_had_come_of_it() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        await chat.say("go")
        cut, ended = listener.told[-2:]
        assert isinstance(cut, ModelAnswered)
        assert isinstance(ended, RunEnded)
        assert cut.answer.text == ended.answer == "one two "
        assert cut.error == ended.error
        assert "was cut" in str(cut.error)
        assert ended.state is RunState.FAILED

    play(story, Fault("end", Say("one two three"), after_tokens=2))


def test_a_run_after_a_restore_tells_the_head_that_was_left_and_the_checkpoint_it_stands_on() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        await chat.say("one")
        place = listener.last(RunBegun).start
        assert (place.branch.name, place.checkpoint, place.rewound_from) == ("main", None, None)
        saved = chat.store.save(chat.thread_id, name="Good")
        await chat.say("two")
        left = chat.path()[-1].id
        assert listener.last(RunBegun).start.checkpoint.name == "Good"
        assert listener.last(RunBegun).start.rewound_from is None
        chat.store.restore(chat.thread_id, saved.result)
        await chat.say("three")
        place = listener.last(RunBegun).start
        assert (place.checkpoint.name, place.rewound_from) == ("Good", left)
        assert place.version == chat.store.get_thread(chat.thread_id).version - 1  # the answer came after it

    play(story)


def test_an_edit_and_a_retry_tell_the_head_that_they_left() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        await chat.say("one")
        question, answer = chat.path()
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        begun = listener.last(RunBegun)
        assert (begun.question, begun.start.rewound_from) == ("one", answer.id)
        again = chat.path()[-1]
        await chat.end(await chat.runner.edit(chat.thread_id, question.id, "other", caller=Caller()))
        begun = listener.last(RunBegun)
        assert (begun.question, begun.start.rewound_from) == ("other", again.id)

    play(story)


def test_the_operators_prompt_is_what_the_model_is_told_and_what_is_said_of_the_answer() -> None:
    async def story(chat: Running, fake: FakeOpenAI, listener: Listener) -> None:
        listener.prompts["system"] = Prompt("system", "Answer like a pirate.", 7)
        await chat.say("hello")
        assert fake.requests[-1]["messages"][0] == {"role": "system", "content": "Answer like a pirate."}
        assert [call.prompt.version for call in listener.followed if call.prompt] == [7]

    play(story)


def test_a_request_that_came_twice_is_told_once() -> None:
    async def story(chat: Running, _: FakeOpenAI, listener: Listener) -> None:
        first = await chat.send("hello", request="a")
        await chat.send("hello", request="a")
        await chat.end(first)
        assert listener.kinds() == ["RunBegun", "ModelAnswered", "RunEnded"]

    play(story)


def test_an_untraced_run_reads_nothing_for_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def beginning(*_: Any, **__: Any) -> RunBegun:
        raise AssertionError

    monkeypatch.setattr(agent.preparation.preparation, "build_start_event", beginning)

    async def story() -> None:
        async with running(DemoChatModel(seconds_per_token=0)) as chat:
            assert (await chat.say("hello")).state is RunState.DONE

    asyncio.run(story())
