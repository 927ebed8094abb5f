"""Every place where a run waits, with every way in which that fails: the run ends, and the next message works."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.run.compaction import SummaryScope
from agent.tools.approval import Decision
from checkpoints import Caller, Run, RunState, StoreUnavailableError
from tests.agent.cast import Cast, agent, ask
from tests.agent.running import Running, model_at, raising, running, tool
from tests.fakes.openai import Call, Fault, Say

LONG = "The harbour of Ystad froze over that year, and nobody crossed it. " * 40
DISK = StoreUnavailableError("The disk is full.")
MODEL_FAULTS = {
    "error": Fault("status", status=400, message="No."),
    "silence": Fault("hang"),
    "silence in the middle": Fault("hang", Say("one two three"), after_tokens=1),
    "cut": Fault("cut", Say("one two three"), after_tokens=1),
    "early end": Fault("end", Say("one two three"), after_tokens=1),
}
STORE_FAULTS = {"full disk": DISK, "own defect": RuntimeError("defect"), "cancelled": asyncio.CancelledError()}
Story = Callable[[Running, Cast], Awaitable[None]]


@dataclass(frozen=True)
class Place:
    """A place where a run waits for a model: the lines before the one that fails, and the part that has them."""

    before: Sequence[Any] = ()
    part: str = "main"
    earlier: Sequence[str] = ()  # messages of earlier runs
    compacts: bool = False
    is_survived: bool = False  # the agent goes on without the answer
    lines: dict[str, Sequence[Any]] = field(default_factory=dict)  # of the other parts


PLACES = {
    "model": Place(),
    "model after a tool": Place(before=[Call("act", {})]),
    "sub-agent": Place(part="ann", is_survived=True, lines={"main": [ask("ann", "1"), Say("So.")]}),
    "branch": Place(before=[Call("fork", {"prompts": ["a"]})], is_survived=True),
    "compaction": Place(before=[Say(LONG)], earlier=["hello"], compacts=True),
}


def play(story: Story, parts: dict[str, Sequence[Any]], act: Callable[[], Any] = str, **more: Any) -> None:
    async def whole(cast: Cast) -> None:
        limits = {"idle_seconds": 0.3, "tool_seconds": 0.3, "watch_seconds": 0.05, **more}
        agents = {"ann": agent("ann")}
        async with (
            model_at(cast) as model,
            running(model, (tool("act", act),), agents=agents, time_travel="allow", **limits) as chat,
        ):
            await story(chat, cast)

    with Cast(**parts) as cast:
        asyncio.run(whole(cast))


async def begin(chat: Running, place: Place) -> Run:
    for text in place.earlier:
        await chat.say(text)
    if place.compacts:
        return await chat.runner.compact(chat.thread_id, SummaryScope(), caller=Caller())
    return await chat.send("please")


async def check_next_message(chat: Running, cast: Cast) -> None:
    for lines in cast.parts.values():
        lines.clear()
    assert (await chat.say("and now?")).state is RunState.DONE
    assert chat.unanswered() == set()
    assert cast.violations == []


@pytest.mark.parametrize("fault", MODEL_FAULTS)
@pytest.mark.parametrize("name", PLACES)
def test_a_model_that_fails_ends_the_run_with_a_sentence_or_is_survived(
    name: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = PLACES[name]
    parts = {**place.lines, place.part: [*place.before, MODEL_FAULTS[fault], *([Say("So.")] if place.is_survived else [])]}

    async def story(chat: Running, cast: Cast) -> None:
        run = await begin(chat, place)
        ended = await chat.end(run)
        assert ended.state is (RunState.DONE if place.is_survived else RunState.FAILED)
        assert run.id in caplog.text or "cut" in str(ended.error) or place.is_survived
        await check_next_message(chat, cast)

    caplog.set_level(logging.WARNING)
    play(story, parts)


@pytest.mark.parametrize("name", PLACES)
def test_stop_works_while_a_model_is_silent(name: str) -> None:
    place = PLACES[name]

    async def story(chat: Running, cast: Cast) -> None:
        run = await begin(chat, place)
        asked = len(place.before) + sum(len(lines) > 0 for lines in place.lines.values()) + 1
        await chat.until(lambda: len(cast.requests) >= asked)
        await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        await check_next_message(chat, cast)

    play(story, {**place.lines, place.part: [*place.before, Fault("hang")]}, idle_seconds=60)


@pytest.mark.parametrize("error", [OSError(28, "no space"), MemoryError(), asyncio.CancelledError(), DISK])
def test_a_tool_that_fails_is_survived(error: BaseException) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("please")).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, raising(error))


@pytest.mark.parametrize("fault", STORE_FAULTS)
@pytest.mark.parametrize("method", ["commit_message", "save_drafts", "end_run", "branch_off", "replace_with_summary"])
def test_a_store_that_fails_once_or_for_a_while_holds_no_thread(
    method: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"branch_off": "branch", "replace_with_summary": "compaction"}.get(method, "model")
    place = PLACES[name]

    async def story(chat: Running, cast: Cast) -> None:
        for text in place.earlier:
            await chat.say(text)
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, method, lambda *_, **__: raising(STORE_FAULTS[fault])())
            run = await begin(chat, Place(compacts=place.compacts))
            await chat.end(run)
        await chat.until(lambda: chat.thread_id not in chat.runs.list_running_threads())
        await check_next_message(chat, cast)

    play(story, {"main": [*place.before, Say("one two three")]})


@pytest.mark.parametrize("fault", ["full disk", "own defect"])
def test_a_call_that_waits_for_a_person_waits_on_when_the_decision_cannot_be_written(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("please")).state is RunState.WAITING
        (waiting,) = chat.runner.inputs.load_waiting_calls(chat.thread_id)
        decision = Decision(waiting.call["id"] or "", "allow")
        with monkeypatch.context() as broken:
            broken.setattr(chat.runs, "begin_run", lambda *_, **__: raising(STORE_FAULTS[fault])())
            with pytest.raises(type(STORE_FAULTS[fault])):
                await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        run = await chat.runner.decide(chat.thread_id, decision, caller=Caller())
        assert (await chat.end(run)).state is RunState.DONE
        await check_next_message(chat, cast)

    play(story, {"main": [Call("act", {}), Say("So.")]}, approval=["act"])
