"""Several models answer at once in one of two processes: what the other one does to their answers, and goes on with."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agent.events import CandidateProgress, TextDelta
from checkpoints import Caller, Candidate, CandidateKey, Database, Run, Runs, RunState, Store
from extensions.fleet import run_worker
from extensions.fleet.workers import Workers
from tests.agent.run.two_processes import TestWire, Wires, freeze, pause_messages_with_calls
from tests.agent.running import Running, Several, model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

pytestmark = pytest.mark.slow

Story = Callable[[Running, Running, FakeOpenAI, FakeOpenAI], Awaitable[None]]
SOME, OTHER = "openai:some", "openai:other"
HANGING = Fault("hang", Say("one two three"), after_tokens=1)
begun: list[str] = []


@pytest.fixture(autouse=True)
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_worker, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(run_worker, "HANDOVER_SECONDS", 0.05)
    begun.clear()


async def look() -> str:
    begun.append("look")
    await asyncio.sleep(600)
    return "never"


def play(story: Story, address: str, *, loses: bool = True) -> None:
    """Play with two processes and two models, each of which has a provider of its own."""

    async def whole(one: FakeOpenAI, two: FakeOpenAI) -> None:
        wires, ways = Wires(loses=loses), list[dict[str, Any]]()
        for _ in range(2):
            database = Database.open_url(address)
            member = Workers.join(Store(database), "test")
            member._judges_from = 0
            ways.append({"database": database, "workers": member, "wire": partial(TestWire, wires)})
        tools = [tool("look", look), tool("hear", lambda: "heard")]
        async with model_at(one) as some, model_at(two, OTHER) as other:
            models = Several({SOME: some, OTHER: other}, SOME)
            async with (
                running(some, tools, models=models, **ways[0]) as first,
                running(some, tools, models=models, **ways[1], thread_id=first.thread_id) as second,
            ):
                await story(first, second, one, two)

    with FakeOpenAI() as one, FakeOpenAI() as two:
        asyncio.run(whole(one, two))
        assert one.violations == two.violations == []


async def ask(chat: Running) -> Run:
    return await chat.runner.send(chat.thread_id, "which?", caller=Caller(), models=(SOME, OTHER))


def candidate(chat: Running, run: Run, number: int) -> Candidate:
    return chat.runs.list_candidates(run.id)[number - 1]


def written(chat: Running, run: Run, number: int) -> list[tuple[str, str, str]]:
    """Return what a candidate has written, as (type, status, text)."""
    head = candidate(chat, run, number).head_id
    path = chat.store.list_messages_to(chat.thread_id, head) if head else []
    return [(each.type, each.status.value, str(each.langchain.text)) for each in path[1:]]


@pytest.mark.parametrize("loses", [True, False], ids=["by a heartbeat", "by the wire"])
def test_one_model_is_tried_again_from_another_process_while_the_other_writes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, loses: bool
) -> None:
    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        if not loses:
            monkeypatch.setattr(run_worker, "BEAT_SECONDS", 60)
        some.reply(Fault("status", status=401), Say("At last."))
        second.reply(Say("one two three"))
        second.hold(1)
        run = await ask(one)
        await one.until(lambda: candidate(one, run, 1).state is RunState.FAILED)
        await other.runner.retry_candidate(one.thread_id, CandidateKey(run.id, 1), caller=Caller())
        await one.until(lambda: candidate(one, run, 1).state is RunState.DONE)
        second.release()
        assert (await one.end(run)).attempt == 1  # by the process that drives it
        assert written(other, run, 1) == [("ai", "done", "At last.")]
        assert written(other, run, 2) == [("ai", "done", "one two three")]

    play(story, postgres_url, loses=loses)


def test_an_answer_that_ends_while_its_row_is_looked_at_is_not_written_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        some.reply(Say("done"), Say("once more"))
        second.reply(Say("one two three"))
        second.hold(1)
        run = await ask(one)
        await one.until(lambda: candidate(one, run, 1).state is RunState.DONE)
        list_candidates, seen = Runs.list_candidates, [replace(candidate(one, run, 1), state=RunState.RUNNING)]
        monkeypatch.setattr(Runs, "list_candidates", lambda *of: [seen.pop()] if seen else list_candidates(*of))
        assert one.runner.fleet is not None
        await one.runner.fleet.candidates.answer_reopened(run.id)
        second.release()
        assert (await one.end(run)).state is RunState.DONE
        assert written(one, run, 1) == [("ai", "done", "done")]
        assert len(some.requests) == 1

    monkeypatch.setattr(run_worker, "BEAT_SECONDS", 60)
    play(story, postgres_url)


def test_the_answers_of_a_dead_process_go_on_unless_they_are_in_a_tool(postgres_url: str) -> None:
    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        some.reply(Call("hear", {}), HANGING, Say("two three"))
        second.reply(Call("look", {}))
        run = await ask(one)
        await one.until(lambda: begun and candidate(one, run, 1).draft.text)
        freeze(one)
        ended = await other.end(run)
        assert (ended.state, ended.attempt) == (RunState.DONE, 2)
        answer = [("ai", "done", ""), ("tool", "done", "heard"), ("ai", "partial", "one "), ("ai", "done", "two three")]
        assert written(other, run, 1) == answer
        assert candidate(other, run, 2).state is RunState.INTERRUPTED
        assert begun == ["look"]

    play(story, postgres_url)


def test_a_complete_answer_of_a_dead_process_is_not_written_again(postgres_url: str) -> None:
    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        some.reply(Say("done"))
        second.reply(HANGING, Say("two three"))
        run = await ask(one)
        await one.until(lambda: candidate(one, run, 1).state is RunState.DONE and candidate(one, run, 2).draft.text)
        with one.store.database.begin_write() as connection:  # it died between the answer and its end
            connection.exec_driver_sql(f"UPDATE candidate SET state = 'running' WHERE run_id = '{run.id}'")
        freeze(one)
        assert (await other.end(run)).state is RunState.DONE
        assert written(other, run, 1) == [("ai", "done", "done")]
        assert len(some.requests) == 1

    play(story, postgres_url)


def test_a_process_that_ends_hands_the_answers_of_several_models_over(postgres_url: str) -> None:
    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        some.reply(HANGING, Say("two three"))
        second.reply(Say("done"))
        run = await ask(one)
        await one.until(lambda: candidate(one, run, 2).state is RunState.DONE and candidate(one, run, 1).draft.text)
        await one.runner.close()
        assert (await other.end(run)).state is RunState.DONE
        assert written(other, run, 1) == [("ai", "partial", "one "), ("ai", "done", "two three")]
        assert written(other, run, 2) == [("ai", "done", "done")]

    play(story, postgres_url)


def test_a_candidate_that_asks_for_a_tool_in_the_moment_of_the_handover_gets_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, written_down = pause_messages_with_calls(monkeypatch)

    async def story(one: Running, other: Running, some: FakeOpenAI, second: FakeOpenAI) -> None:
        some.reply(Call("hear", {}), Say("done"), Say("done"))
        second.reply(HANGING, Say("two three"))
        run = await ask(one)
        await one.until(lambda: writing.is_set() and CandidateProgress(2, TextDelta("one ")) in one.events)
        work, closing = one.runner.active_runs.by_thread[one.thread_id].work, asyncio.create_task(one.runner.close())
        await asyncio.wait({work, closing}, timeout=4 * run_worker.HANDOVER_SECONDS)
        written_down.set()
        assert (await other.end(run)).state is RunState.DONE
        await closing
        assert [each.state for each in other.runs.list_candidates(run.id)] == [RunState.DONE] * 2
        whole = [each for each in written(other, run, 1) if each[1] == "done"]
        assert whole == [("ai", "done", ""), ("tool", "done", "heard"), ("ai", "done", "done")]

    play(story, postgres_url)
