"""Reruns: each question follows a complete answer, and whatever ends the list leaves a whole branch to go on with."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.events import RerunEnded
from agent.preparation.requests import RerunActiveError
from agent.run.reruns import NotRerunError, RerunRequest
from agent.time_travel.policy import Policy
from agent.tools.decisions import Decision
from checkpoints import Caller, Database, Run, RunState
from checkpoints.values import files
from tests.agent.running import Running, Several, model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]
QUESTIONS = ("one", "two", "three")
OTHER = {"model": "openai:other", "instructions": "Be brief."}
FIRST = [Say(f"{text} it is.") for text in QUESTIONS]


def play(story: Story, *replies: Any, database: Database | None = None, policy: Policy = "off") -> None:
    """The story after three questions and their answers, with a second model and a tool that needs approval."""

    async def whole(fake: FakeOpenAI) -> None:
        tools = [tool("send", lambda: "sent")]
        async with model_at(fake) as some, model_at(fake, "openai:other") as other:
            models = Several({"openai:some": some, "openai:other": other}, "openai:some")
            options: Any = {"approval": ["send"], "models": models, "database": database, "time_travel": policy}
            async with running(some, tools, **options) as chat:
                for text in QUESTIONS:
                    await chat.say(text)
                await story(chat, fake)
                assert chat.unanswered() == set()

    with FakeOpenAI() as fake:
        fake.reply(*FIRST, *replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


async def begin(chat: Running, **fields: Any) -> Run:
    path = chat.path()
    request = RerunRequest("", path[-1].id, settings=OTHER, **fields)
    return await chat.runner.reruns.begin(chat.thread_id, request, caller=Caller())


def latest(chat: Running) -> Run:
    run = chat.runs.get_latest_run(chat.thread_id)
    assert run is not None
    return run


async def rest(chat: Running, state: RunState, number: int) -> None:
    """Wait until the rerun's question of this number has come to rest, and nothing more is asked by itself."""

    def rests() -> bool:
        run = latest(chat)
        return run.state is state and run.rerun is not None and run.rerun.number == number

    await chat.until(rests)
    await chat.until(lambda: state is RunState.WAITING or not chat.runner.reruns._active)


def texts(chat: Running) -> list[str]:
    return [text for *_, text in chat.said()]


def test_every_question_is_asked_on_a_branch_with_the_other_model_and_instructions() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        before = texts(chat)
        await begin(chat)
        await rest(chat, RunState.DONE, 3)
        assert texts(chat) == ["one", "a", "two", "b", "three", "c"]
        assert {request["model"] for request in fake.requests[3:]} == {"other"}
        assert all("Be brief." in request["messages"][0]["content"] for request in fake.requests[3:])
        assert [message["content"] for message in fake.requests[-1]["messages"][1:]] == ["one", "a", "two", "b", "three"]
        main, again = [branch for branch, _ in chat.store.list_branches(chat.thread_id)]
        assert (main.name, again.name) == ("main", "Again on other")
        assert chat.store.get_thread(chat.thread_id).settings == {}
        await chat.say("four")
        assert fake.requests[-1]["model"] == "some"  # the conversation's own settings
        chat.store.switch(chat.thread_id, main.id)
        assert texts(chat) == before

    play(story, Say("a"), Say("b"), Say("c"), Say("d"))


def test_the_first_question_can_be_a_later_one_and_brings_its_files(postgres_url: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        file = files.parse_file("notes.txt", b"remember")
        await chat.end(await chat.runner.send(chat.thread_id, "and this?", caller=Caller(), attachments=[file]))
        await begin(chat, first_id=chat.path()[4].id)
        await rest(chat, RunState.DONE, 2)
        assert texts(chat)[:4] == ["one", "one it is.", "two", "two it is."]
        assert texts(chat)[5] == "c"
        question = chat.path()[6].body["data"]["content"]
        assert [part["name"] for part in files.find_file_parts(question)] == ["notes.txt"]
        assert "remember" in str(fake.requests[-1]["messages"][-1])
        for _ in range(2):
            chat.store.undo(chat.thread_id)  # each question by itself, and the branch with the first one
        assert len(chat.store.list_branches(chat.thread_id)) == 1

    play(story, Say("noted"), Say("c"), Say("d"), database=Database.open_url(postgres_url))


def test_a_failing_answer_ends_it_and_it_goes_on_with_the_same_question() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await begin(chat)
        await chat.until(lambda: latest(chat).state is RunState.FAILED)
        assert not chat.runner.reruns.is_asking(latest(chat))
        await chat.runner.reruns.go_on(chat.thread_id, caller=Caller())
        await rest(chat, RunState.DONE, 3)
        assert texts(chat) == ["one", "a", "two", "b", "three", "c"]
        assert {request["model"] for request in fake.requests[3:]} == {"other"}
        with pytest.raises(NotRerunError, match="All questions were asked"):
            await chat.runner.reruns.go_on(chat.thread_id, caller=Caller())

    play(story, Say("a"), Fault("status", status=401), Say("b"), Say("c"))


def test_stop_ends_it_and_an_undone_question_is_asked_again() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(3)
        await begin(chat)
        await chat.until(lambda: len(chat.heard().split()) >= 1 and len(fake.requests) == 4)
        fake.release()
        await chat.until(lambda: len(fake.requests) == 5)
        await chat.runner.stop(chat.thread_id)
        assert not chat.runner.reruns.is_asking(latest(chat))
        assert latest(chat).state is RunState.STOPPED
        chat.store.undo(chat.thread_id)
        assert texts(chat) == ["one", "a b c d"]
        fake.script(Say("b"), Say("c"))
        await chat.runner.reruns.go_on(chat.thread_id, caller=Caller())
        await rest(chat, RunState.DONE, 3)
        assert texts(chat) == ["one", "a b c d", "two", "b", "three", "c"]

    play(story, Say("a b c d"), Fault("hang"))


def test_a_message_makes_the_question_in_progress_the_last_one_and_follows_its_answer() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(3)
        run = await begin(chat)
        await chat.until(lambda: len(fake.requests) == 4)
        with pytest.raises(RerunActiveError):
            await chat.send("and now?")
        assert not chat.runner.reruns.is_asking(latest(chat))
        await chat.until(lambda: any(isinstance(each, RerunEnded) for each in chat.events))  # the pages ask anew
        fake.release()
        await chat.end(run)
        await chat.end(await chat.send("and now?"))
        assert texts(chat) == ["one", "a b c d", "and now?", "Fine."]

    play(story, Say("a b c d"), Say("Fine."))


@pytest.mark.parametrize("stops", [True, False], ids=["stop", "a message"])
def test_nothing_is_asked_after_a_person_ended_it_between_two_questions(stops: bool) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(1)
        run, runner = await begin(chat), chat.runner
        await chat.until(lambda: len(fake.requests) == 4)
        async with runner.active_runs.begin_lock:
            fake.release()
            await chat.end(run)
            await chat.until(lambda: runner.reruns._tasks)
            ending = asyncio.create_task(runner.stop(chat.thread_id) if stops else runner.leave_rerun(chat.thread_id))
            await chat.until(lambda: not runner.reruns._active)
        await ending
        await chat.until(lambda: not runner.reruns._tasks)
        assert texts(chat) == ["one", "a"]

    play(story, Say("a"))


def test_it_waits_for_a_decision_and_a_message_instead_ends_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await begin(chat)
        await rest(chat, RunState.WAITING, 1)
        await chat.runner.decide(chat.thread_id, Decision("x", "allow"), caller=Caller())
        await rest(chat, RunState.WAITING, 2)
        assert "sent" in texts(chat)
        assert fake.requests[-1]["model"] == "other"
        run = await chat.send("never mind")
        await chat.end(run)
        assert not chat.runner.reruns._active
        with pytest.raises(NotRerunError):
            await chat.runner.reruns.go_on(chat.thread_id, caller=Caller())

    play(story, Call("send", {}, id="x"), Say("a"), Call("send", {}, id="y"), Say("Fine."))


def test_after_stop_a_decision_about_the_waiting_call_asks_nothing_more() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await begin(chat)
        await rest(chat, RunState.WAITING, 1)
        await chat.runner.stop(chat.thread_id)
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("x", "allow"), caller=Caller()))
        assert not chat.runner.reruns._tasks
        assert latest(chat).state is RunState.DONE
        assert texts(chat)[-1] == "a"

    play(story, Call("send", {}, id="x"), Say("a"))


def test_an_undo_while_a_call_waits_leaves_nothing_that_seems_to_go_on() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await begin(chat)
        await rest(chat, RunState.WAITING, 2)
        assert chat.runner.reruns.is_asking(latest(chat))
        chat.store.undo(chat.thread_id)
        assert texts(chat) == ["one", "a"]
        assert not chat.runner.reruns.is_asking(latest(chat))
        await chat.runner.reruns.go_on(chat.thread_id, caller=Caller())
        await rest(chat, RunState.DONE, 3)
        assert texts(chat) == ["one", "a", "two", "b", "three", "c"]

    play(story, Say("a"), Call("send", {}, id="x"), Say("b"), Say("c"))


def test_a_move_of_the_agent_changes_the_branch_and_not_the_list() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await begin(chat)
        await rest(chat, RunState.DONE, 3)
        assert [text for text in texts(chat) if len(text) < 6] == ["one", "b", "three", "c"]
        assert "<time_travel_message>" in texts(chat)[1]

    move = Call("goto", {"position": "msg_0", "message": "Forget it."})
    play(story, Say("a"), move, Say("b"), Say("c"), policy="allow")


@pytest.mark.slow
def test_after_a_restart_the_branch_is_whole_and_a_person_goes_on(tmp_path: Path) -> None:
    begun: list[str] = []
    address = f"sqlite:///{tmp_path / 'again.db'}"

    async def killed(chat: Running, fake: FakeOpenAI) -> None:
        begun.append(chat.thread_id)
        await begin(chat)
        await chat.until(lambda: len(fake.requests) == 5)
        await chat.runner.close()
        assert latest(chat).state is RunState.INTERRUPTED
        assert texts(chat) == ["one", "a", "two"]

    play(killed, Say("a"), Fault("hang"), database=Database.open_url(address))

    async def restarted(fake: FakeOpenAI) -> None:
        async with model_at(fake) as some, model_at(fake, "openai:other") as other:
            models = Several({"openai:some": some, "openai:other": other}, "openai:some")
            async with running(some, models=models, database=Database.open_url(address)) as chat:
                (thread_id,) = begun
                assert not chat.runner.reruns.is_asking(chat.runs.get_latest_run(thread_id))
                await chat.runner.reruns.go_on(thread_id, caller=Caller())
                await chat.until(lambda: len(chat.store.list_messages(thread_id)) == 6)
                assert [request["model"] for request in fake.requests] == ["other", "other"]

    with FakeOpenAI() as fake:
        fake.reply(Say("b"), Say("c"))
        asyncio.run(restarted(fake))
