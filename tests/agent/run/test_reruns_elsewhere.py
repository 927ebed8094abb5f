"""Reruns of two processes: what one asks by itself, the other shows, ends and goes on with."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent.preparation.requests import RerunActiveError
from agent.run.reruns import RerunRequest
from agent.tools.decisions import Decision
from checkpoints import Caller, Run, RunState
from extensions.fleet import run_worker
from tests.agent.run import two_processes
from tests.agent.run.two_processes import freeze
from tests.agent.running import Running, tool
from tests.fakes.openai import Call, Fault, Say

pytestmark = pytest.mark.slow

HANGING = Fault("hang", Say("b c"), after_tokens=1)


@pytest.fixture(autouse=True)
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_worker, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(run_worker, "POLL_SECONDS", 0.02)


def play(
    story: Callable[[Running, Running], Awaitable[None]], address: str, *replies: Any, loses: bool = True, wait: Any = None
) -> None:
    """Play after two questions, which the first process begins to ask again."""

    async def whole(one: Running, other: Running) -> None:
        for text in ("one", "two"):
            await one.say(text)
        await one.runner.reruns.begin(one.thread_id, RerunRequest("", one.path()[-1].id), caller=Caller())
        await story(one, other)

    tools = [tool("send", lambda: "sent"), tool("wait", wait)]
    answers = [Say("one it is."), Say("two it is.")]
    two_processes.play(whole, address, *answers, *replies, tools=tools, approval=["send"], loses=loses)


def latest(chat: Running) -> Run:
    run = chat.runs.get_latest_run(chat.thread_id)
    assert run is not None
    return run


def is_asking(chat: Running) -> bool:
    return chat.runner.reruns.is_asking(latest(chat))


def rests(chat: Running, state: RunState, number: int) -> bool:
    run = latest(chat)
    return run.state is state and run.rerun is not None and run.rerun.number == number


def texts(chat: Running) -> list[str]:
    return [text for *_, text in chat.said()]


def test_a_process_shows_that_another_one_goes_on(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.until(lambda: rests(one, RunState.RUNNING, 2))
        assert is_asking(other)
        await one.runner.stop(one.thread_id)
        assert not is_asking(other)

    play(story, postgres_url, Say("a"), HANGING)


@pytest.mark.parametrize("loses", [True, False], ids=["by the row", "by the wire"])
def test_a_message_at_another_process_ends_it_after_the_question_in_progress(postgres_url: str, loses: bool) -> None:
    async def story(one: Running, other: Running) -> None:
        with pytest.raises(RerunActiveError):
            await other.send("and now?")
        assert not is_asking(other)
        go.set()
        await one.until(lambda: latest(one).state is not RunState.RUNNING)
        await one.until(lambda: not one.runner.reruns._tasks)
        await other.end(await other.send("and now?"))
        assert texts(other)[-3:] == ["a", "and now?", "Fine."]

    go = asyncio.Event()
    play(story, postgres_url, Call("wait", {}), Say("a"), Say("Fine."), loses=loses, wait=go.wait)


def test_a_decision_at_another_process_lets_that_one_ask_the_next_question(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.until(lambda: rests(one, RunState.WAITING, 1))
        assert is_asking(other)
        await other.runner.decide(other.thread_id, Decision("x", "allow"), caller=Caller())
        await other.until(lambda: rests(other, RunState.DONE, 2))
        assert texts(other)[-2:] == ["two", "b"]
        assert latest(other).worker == other.runs.worker_id

    play(story, postgres_url, Call("send", {}, id="x"), Say("a"), Say("b"))


@pytest.mark.parametrize("is_left", [False, True], ids=["goes on", "was left"])
def test_a_dead_process_is_followed_unless_a_person_has_left(postgres_url: str, is_left: bool) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.until(lambda: latest(one).draft.text)
        freeze(one)
        if is_left:
            await other.runner.leave_rerun(other.thread_id)
        await other.until(lambda: rests(other, RunState.DONE, 1 if is_left else 2))
        await other.until(lambda: not other.runner.reruns._tasks)
        assert texts(other) == ["one", "b ", "c", *([] if is_left else ["two", "d"])]

    play(story, postgres_url, HANGING, Say("c"), Say("d"))


def test_a_process_that_ends_leaves_the_next_question_to_another(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.until(lambda: latest(one).draft.text)
        await one.runner.close()
        await other.until(lambda: rests(other, RunState.DONE, 2))
        assert texts(other)[-2:] == ["two", "d"]

    play(story, postgres_url, HANGING, Say("c"), Say("d"))
