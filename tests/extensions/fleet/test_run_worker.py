"""Two processes that drive runs of one PostgreSQL, in one event loop: what one does to the other's runs."""

import asyncio
from typing import Any

import pytest

from agent.events import RunFinished, RunQueued, RunStarted
from agent.preparation.requests import QueueFullError
from checkpoints import Caller, RunActiveError, RunState, StoreUnavailableError
from extensions.fleet import run_worker
from extensions.fleet.run_takeover import RunTakeover
from tests.agent.run.two_processes import HANGING, freeze, hurry, play, state_of, stop_beating
from tests.agent.running import Running, tool
from tests.fakes.openai import Call, Calls, Say


@pytest.fixture(autouse=True)
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.mark.parametrize("loses", [True, False], ids=["by the row", "by the wire"])
def test_any_process_stops_a_run(postgres_url: str, loses: bool) -> None:
    async def story(one: Running, other: Running) -> None:
        if not loses:
            stop_beating(one)
        run = await one.send("please")
        await one.until(one.heard)
        with pytest.raises(RunActiveError):
            await other.send("me too")
        assert await other.runner.stop(one.thread_id)
        stopped = other.runs.get_run(run.id)
        assert stopped is not None
        assert (stopped.state, stopped.attempt) == (RunState.STOPPED, 1)  # by the process that drives it
        assert other.said() == [("human", "done", "please"), ("ai", "partial", "one ")]
        assert not await other.runner.stop(one.thread_id)

    play(story, postgres_url, HANGING, loses=loses)


def test_a_request_that_comes_to_two_processes_is_driven_once(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        run = await one.send("please", request="same")
        again = await other.send("please", request="same")
        assert again.id == run.id
        await one.end(run)
        assert (await other.send("please", request="same")).state is RunState.DONE
        assert other.said() == [("human", "done", "please"), ("ai", "done", "hello")]
        assert [event for event in other.events if isinstance(event, RunStarted)] == []

    assert len(play(story, postgres_url, Say("hello")).requests) == 1


@pytest.mark.parametrize("beats", [True, False], ids=["learns by its heartbeat", "learns by its end"])
def test_another_process_goes_on_with_the_run_of_a_dead_one_which_writes_nothing_when_it_thaws(
    postgres_url: str, beats: bool
) -> None:
    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(lambda: one.runs.get_run(run.id).draft.text)  # type: ignore[union-attr]
        work = one.runner.active_runs.by_thread[one.thread_id]
        freeze(one)
        ended = await other.end(run)
        assert (ended.state, ended.attempt) == (RunState.DONE, 2)
        said = other.said()
        assert said == [("human", "done", "please"), ("ai", "partial", "one "), ("ai", "done", "two three")]
        if beats:
            assert one.runner.fleet is not None
            one.runner.fleet.start()
        else:
            work.work.cancel()
        await one.until(work.end.done)
        assert one.hub.find_live_run(one.thread_id) is None
        assert other.said() == said
        assert not any(isinstance(event, RunFinished) for event in one.events)

    play(story, postgres_url, HANGING, Say("two three"))


def test_a_run_that_cannot_be_taken_delays_neither_others_nor_the_heartbeat(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(one: Running, other: Running) -> None:
        assert other.runner.fleet is not None
        one.runner.active_runs.max_runs = other.runner.active_runs.max_runs = 0
        refused = await one.runner.send(None, "refused", caller=Caller())
        hanging = await one.runner.send(None, "hanging", caller=Caller())
        run = await one.send("please")
        tries, going_on, take = list[str](), asyncio.Event(), RunTakeover.take

        async def try_to_take(taker: RunTakeover, run_id: str, thread_id: str) -> None:
            tries.append(run_id)
            if run_id == refused.id:
                raise StoreUnavailableError("The row is locked.")
            if run_id == hanging.id:
                await going_on.wait()
            await take(taker, run_id, thread_id)

        monkeypatch.setattr(RunTakeover, "take", try_to_take)
        other.runner.active_runs.max_runs = None
        await other.until(lambda: hanging.id in tries)
        for _ in range(3):
            last = other.runner.fleet.workers._last_beat
            await other.until(lambda last=last: other.runner.fleet.workers._last_beat > last)  # type: ignore[misc,union-attr]
        assert run.id not in tries
        going_on.set()
        assert (await other.end(run)).state is RunState.DONE
        assert tries[0] == refused.id

    play(story, postgres_url, Say("hello"), Say("hello"))


@pytest.mark.parametrize("calls", [["look"], ["hear", "look"]], ids=["one", "the other was done"])
def test_a_run_whose_process_died_in_a_tool_rests_and_the_tool_runs_no_second_time(
    postgres_url: str, calls: list[str]
) -> None:
    begun: list[str] = []

    async def hear() -> str:
        begun.append("hear")
        return "heard"

    async def look() -> str:
        begun.append("look")
        await asyncio.sleep(600)
        return "never"

    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(lambda: len(begun) == len(calls) and (len(calls) == 1 or one.said()[-1][2] == "heard"))
        freeze(one)
        assert (await other.end(run)).state is RunState.INTERRUPTED
        await other.end(await other.runner.continue_answer(other.thread_id, caller=Caller()))
        assert other.said()[-1] == ("ai", "done", "I do not know")
        assert sorted(begun) == sorted(calls)

    asked = Calls(tuple(Call(name, {}) for name in calls))
    play(story, postgres_url, asked, Say("I do not know"), tools=[tool("look", look), tool("hear", hear)])


def fork(prompt: str) -> Call:
    return Call("fork", {"prompts": [prompt]})


@pytest.mark.parametrize("calls", [[Call("look", {})], [fork("look"), Call("look", {})]], ids=["root", "branch of a fork"])
def test_a_process_that_others_take_for_dead_begins_no_tool(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, calls: list[Call]
) -> None:
    monkeypatch.setattr(run_worker, "MAX_CONFIRM_SECONDS", 0.1)
    begun: list[str] = []

    async def look() -> str:
        begun.append("look")
        return "seen"

    async def story(one: Running, other: Running) -> None:
        assert one.runner.fleet is not None
        stop_beating(one)
        one.runner.fleet.workers._last_beat -= 60
        run = await one.send("please")
        if len(calls) > 1:  # the fork itself begins in time
            one.runner.fleet.workers._last_beat += 60
            await one.until(lambda: len(one.store.list_branches(one.thread_id)) > 1)
            one.runner.fleet.workers._last_beat -= 60
        await one.end(run)
        assert begun == []
        one.runner.fleet.workers.beat()
        assert (await one.say("again")).state is RunState.DONE
        assert begun == ["look"]

    more = [Say("nothing")] if len(calls) > 1 else []
    play(story, postgres_url, *calls, *more, Call("look", {}), Say("done"), tools=[tool("look", look)], time_travel="allow")


def test_a_tool_waits_for_the_first_heartbeat_after_an_outage(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        assert one.runner.fleet is not None
        stop_beating(one)
        one.runner.fleet.workers._last_beat -= 60
        run = await one.send("please")
        await one.until(lambda: len(one.path()) == 2)
        one.runner.fleet.start()
        assert (await one.end(run)).state is RunState.DONE

    play(story, postgres_url, Call("look", {}), Say("done"), tools=[tool("look", lambda: "seen")])


def test_an_answer_that_was_complete_when_its_process_died_is_not_written_again(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        def refuse(*_: Any, **__: Any) -> int:
            raise StoreUnavailableError("The disk is full.")

        one.runs.end_run = refuse  # type: ignore[method-assign]
        run = await one.send("please")
        await one.until(lambda: len(one.path()) == 2)
        freeze(one)
        assert (await other.end(run)).state is RunState.DONE
        assert other.said() == [("human", "done", "please"), ("ai", "done", "hello")]

    assert len(play(story, postgres_url, Say("hello")).requests) == 1


@pytest.mark.parametrize("is_written", [True, False], ids=["the message is there", "it is not"])
def test_an_answer_that_an_outage_cuts_off_is_driven_on_when_the_database_is_back(
    postgres_url: str, is_written: bool
) -> None:
    async def story(one: Running, other: Running) -> None:
        def fail(*given: Any, **options: Any) -> Any:
            one.runs.commit_message = commit  # type: ignore[method-assign]
            if is_written:
                commit(*given, **options)
            raise StoreUnavailableError("cut")

        commit = one.runs.commit_message
        one.runs.commit_message = fail  # type: ignore[method-assign]
        run = await one.send("please")
        await one.until(lambda: state_of(one) is RunState.DONE)
        assert [each for each in one.said() if each[1] != "partial"] == [
            ("human", "done", "please"),
            ("ai", "done", "hello"),
        ]
        assert one.runs.get_run(run.id).attempt == 3  # type: ignore[union-attr]  # given back, and taken

    done = play(story, postgres_url, Say("hello"), Say("hello"))
    assert len(done.requests) == (1 if is_written else 2)


@pytest.mark.parametrize("loses", [True, False], ids=["by a heartbeat", "by the wire"])
def test_a_process_that_drives_nothing_leaves_its_runs_to_workers(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, loses: bool
) -> None:
    async def story(page: Running, other: Running) -> None:
        if not loses:
            monkeypatch.setattr(run_worker, "BEAT_SECONDS", 60)
        page.runner.active_runs.max_runs = 0
        run = await page.send("please")
        assert (run.worker, run.attempt) == (None, 0)
        ended = await other.end(run)
        assert (ended.state, ended.worker, ended.attempt) == (RunState.DONE, other.runs.worker_id, 1)
        assert page.said() == [("human", "done", "please"), ("ai", "done", "hello")]

    play(story, postgres_url, Say("hello"), loses=loses)


def test_a_run_that_waits_for_a_worker_is_stopped_and_too_many_are_refused(postgres_url: str) -> None:
    async def story(page: Running, other: Running) -> None:
        page.runner.active_runs.max_runs = other.runner.active_runs.max_runs = 0
        assert page.runner.fleet is not None
        page.runner.fleet.workers.max_waiting = 1
        run = await page.send("please")
        with pytest.raises(QueueFullError):
            await page.runner.send(None, "me too", caller=Caller())
        assert await other.runner.stop(page.thread_id)
        ended = page.runs.get_run(run.id)
        assert ended is not None
        assert ended.state is RunState.STOPPED

    assert play(story, postgres_url).requests == []


def test_who_follows_a_run_that_waits_is_told_how_many_are_before_it(postgres_url: str) -> None:
    async def story(page: Running, other: Running) -> None:
        page.runner.active_runs.max_runs = other.runner.active_runs.max_runs = 0
        first = await page.runner.send(None, "first", caller=Caller())
        run = await page.send("second")
        for each in (page, other):
            await each.until(lambda each=each: RunQueued(run.id, 1) in each.events)  # type: ignore[misc]
        await page.runner.stop(first.thread_id)
        for each in (page, other):
            await each.until(lambda each=each: RunQueued(run.id, 0) in each.events)  # type: ignore[misc]

    play(story, postgres_url)


def test_a_run_that_waits_begins_when_another_one_ends(postgres_url: str) -> None:
    async def story(page: Running, other: Running) -> None:
        page.runner.active_runs.max_runs, other.runner.active_runs.max_runs = 0, 1
        first = await other.runner.send(None, "first", caller=Caller())
        second = await other.runner.send(None, "second", caller=Caller())
        await other.until(lambda: other.runner.fleet.waiting_run_count == 1)  # type: ignore[union-attr]
        stop_beating(other)
        await other.runner.stop(first.thread_id)
        await page.until(lambda: page.runs.get_run(second.id).state is RunState.DONE)  # type: ignore[union-attr]

    play(story, postgres_url, HANGING, Say("hello"))


@pytest.mark.parametrize("comes_here", [True, False], ids=["begun by the worker", "told by the wire"])
def test_a_free_place_is_that_of_the_run_that_has_waited_longest(postgres_url: str, comes_here: bool) -> None:
    async def story(page: Running, other: Running) -> None:
        page.runner.active_runs.max_runs = other.runner.active_runs.max_runs = 0
        first = await page.runner.send(None, "first", caller=Caller())
        await other.until(lambda: other.runner.fleet.waiting_run_count == 1)  # type: ignore[union-attr]
        stop_beating(other)  # between two heartbeats, a place gets free and a message comes
        other.runner.active_runs.max_runs = 1
        second = await (other if comes_here else page).runner.send(None, "second", caller=Caller())
        for run in (first, second):
            await page.until(lambda run=run: page.runs.get_run(run.id).state is RunState.DONE)  # type: ignore[misc]

    done = play(story, postgres_url, Say("hello"), Say("hello"), loses=False)
    assert [each["messages"][-1]["content"] for each in done.requests] == ["first", "second"]


def test_stop_ends_a_run_whose_process_has_died(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.send("please")
        await one.until(one.heard)
        stop_beating(other)
        freeze(one)
        assert await other.runner.stop(one.thread_id)
        assert state_of(other) is RunState.STOPPED

    play(story, postgres_url, HANGING)


def test_a_message_waits_for_the_run_of_a_dead_process_which_goes_on(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(lambda: one.runs.get_run(run.id).draft.text)  # type: ignore[union-attr]
        stop_beating(other)
        freeze(one)
        with pytest.raises(RunActiveError):
            await other.send("and more")
        assert state_of(other) is RunState.RUNNING
        assert other.runner.fleet is not None
        other.runner.fleet.start()
        assert (await other.end(run)).state is RunState.DONE

    play(story, postgres_url, HANGING, Say("two three"))
