"""Runs from a committed message to rest: stopping at any moment, failing in any way, asking twice, going on."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

import agent.run.starting
from agent.context.prompts import CONTINUE_TEXT
from agent.demo.model import DemoChatModel
from agent.events import MessageAdded, RunFinished, RunStarted, TextDelta, ToolStarted, WorkEnded
from agent.preparation.inputs import NothingToAnswerError
from agent.tools.calculator import calculator
from agent.tools.decisions import STOPPED_TEXT
from checkpoints import Caller, Draft, Run, RunActiveError, RunState, StoreUnavailableError
from checkpoints.values import serde
from tests.agent.running import KEY, Running, model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(story: Story, *replies: Any, **limits: float) -> None:
    """The story with a model behind the wire, which must not have had to refuse anything."""

    async def whole(fake: FakeOpenAI) -> None:
        tools = (calculator, tool("slow", lambda: asyncio.sleep(600)))
        async with model_at(fake) as model, running(model, tools, **limits) as chat:
            await story(chat, fake)
            assert chat.unanswered() == set()

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


async def expect_stopped_and_usable(chat: Running, fake: FakeOpenAI, run: Run) -> None:
    """Stop, and then the conversation goes on as if nothing had happened."""
    assert await chat.runner.stop(chat.thread_id)
    assert (await chat.end(run)).state is RunState.STOPPED
    fake.release()
    fake.script(Say("Here again."))
    assert (await chat.say("and now?")).state is RunState.DONE
    assert chat.said()[-1] == ("ai", "done", "Here again.")


def test_stopping_before_the_first_byte_leaves_the_question() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: fake.requests)
        await expect_stopped_and_usable(chat, fake, run)
        assert [text for _, _, text in chat.said()[:2]] == ["hello", "and now?"]
        fake.wait_for(lambda: fake.disconnects == 1)  # nobody pays for an answer that nobody waits for

    play(story, Fault("hang"))


def test_stopping_in_the_text_keeps_what_was_there() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(3)
        run = await chat.send("hello")
        await chat.until(lambda: len(chat.heard().split()) == 3)
        await expect_stopped_and_usable(chat, fake, run)
        assert chat.said()[1] == ("ai", "partial", "one two three ")

    play(story, Say("one two three four five"))


def test_stopping_in_a_tool_closes_its_call() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: any(isinstance(event, ToolStarted) for event in chat.events))
        await expect_stopped_and_usable(chat, fake, run)
        assert chat.said()[1:3] == [("ai", "done", "A moment."), ("tool", "done", STOPPED_TEXT)]

    play(story, Call("slow", {}, text="A moment."))


def test_stopping_in_the_same_moment_as_sending_ends_the_run() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")  # the run's task has not taken its first step yet
        await expect_stopped_and_usable(chat, fake, run)

    play(story)


def test_stopping_twice_at_once_ends_the_run_once() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: fake.requests)
        reached, free, end = threading.Event(), threading.Event(), chat.runs.end_run

        def slow_end(*args: Any, **options: Any) -> int:
            reached.set()
            free.wait(60)
            return end(*args, **options)

        chat.runs.end_run = slow_end  # type: ignore[method-assign]
        first = asyncio.create_task(chat.runner.stop(chat.thread_id))
        await chat.until(reached.is_set)
        second = asyncio.create_task(chat.runner.stop(chat.thread_id))  # another tab, while the end is being written
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(first, second)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert sum(isinstance(event, RunFinished) for event in chat.events) == 1
        assert chat.hub.find_live_run(chat.thread_id) is None

    play(story, Fault("hang"))


@pytest.mark.parametrize("reply", [Say("A whole answer."), Call("slow", {}, text="A whole answer.")])
def test_stopping_while_the_answer_is_being_written_to_disk_keeps_it_once(reply: Any) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        reached, free, commit = threading.Event(), threading.Event(), chat.runs.commit_message

        def slow_commit(*args: Any) -> Any:
            reached.set()
            free.wait(60)
            return commit(*args)

        chat.runs.commit_message = slow_commit  # type: ignore[method-assign]
        await chat.send("hello")
        await chat.until(reached.is_set)
        stopping = asyncio.create_task(chat.runner.stop(chat.thread_id))
        await asyncio.sleep(0)
        free.set()
        await stopping
        assert [text for kind, _, text in chat.said() if kind == "ai"] == ["A whole answer."]

    play(story, reply)


def test_stopping_where_nothing_runs_is_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert await chat.runner.stop(chat.thread_id) is False
        assert chat.events == []

    play(story)


def test_one_request_sent_twice_is_one_run() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        first, second = await asyncio.gather(chat.send("hello", request="r1"), chat.send("hello", request="r1"))
        await chat.end(first)
        third = await chat.send("hello", request="r1")
        assert {first.id, second.id, third.id} == {"r1"}
        assert (len(fake.requests), len(chat.said())) == (1, 2)

    play(story)


def test_a_repeated_request_never_drives_its_run_again_however_late_it_learns_of_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        starter = chat.runner.starter
        looked, may_learn, run_in_pool = asyncio.Event(), asyncio.Event(), starter.blocking.run

        async def learn_late(*args: Any, **options: Any) -> Any:
            prepared = await run_in_pool(*args, **options)  # the run is under way in it
            looked.set()
            await may_learn.wait()
            return prepared

        fake.hold(1)
        run = await chat.send("hello", request="r1")
        await chat.until(lambda: chat.events)
        starter.blocking = SimpleNamespace(run=learn_late)  # type: ignore[assignment]
        second = asyncio.create_task(chat.send("hello", request="r1"))
        await looked.wait()
        fake.release()
        await chat.end(run)
        may_learn.set()
        assert (await second).state is RunState.RUNNING
        assert len(fake.requests) == 1
        assert sum(isinstance(event, RunStarted) for event in chat.events) == 1

    play(story)


def test_only_the_last_runs_that_are_over_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.run.starting, "MAX_REMEMBERED_RUNS", 2)

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        silent = await chat.runner.send(None, "hello", caller=Caller())
        await chat.until(lambda: fake.requests)
        ids = [(await chat.say("hello")).id for _ in range(4)]
        assert list(chat.runner.starter.started_run_ids) == [silent.id, *ids[-2:]]
        assert (await chat.send("hello", request=ids[0])).state is RunState.DONE
        assert sum(isinstance(event, RunStarted) for event in chat.events) == 4

    play(story, Fault("hang"))


def test_two_requests_at_once_are_one_run_and_one_refusal() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        sent = await asyncio.gather(chat.send("mine"), chat.send("yours"), return_exceptions=True)
        await chat.end(next(each for each in sent if isinstance(each, Run)))
        assert sorted(type(each).__name__ for each in sent) == ["Run", "RunActiveError"]
        assert len(chat.said()) == 2

    play(story)


def test_retry_answers_the_question_anew_and_undo_brings_the_old_answer_back() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("sum")
        before = chat.said()
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said() == [("human", "done", "sum"), ("ai", "done", "Another.")]
        assert [m["content"] for m in fake.requests[-1]["messages"][1:]] == ["sum"]
        chat.store.undo(chat.thread_id)
        assert chat.said() == before

    play(story, Call("calculator", {"expression": "1+1"}), Say("It is 2."), Say("Another."))


def test_retry_without_a_question_says_so() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        with pytest.raises(NothingToAnswerError):
            await chat.runner.retry(chat.thread_id, caller=Caller())

    play(story)


def test_without_any_message_there_is_nothing_to_continue_and_no_model_is_asked() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        chat.store.clear(chat.thread_id)  # in another tab, which still shows the button
        with pytest.raises(NothingToAnswerError):
            await chat.runner.continue_answer(chat.thread_id, caller=Caller())
        assert len(fake.requests) == 1

    play(story, Say("Hi."))


def test_an_edited_question_is_answered_anew_and_what_followed_is_an_alternative() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("one")
        await chat.say("two")
        asked = chat.store.list_messages(chat.thread_id)[0]
        await chat.end(await chat.runner.edit(chat.thread_id, asked.id, "other", caller=Caller()))
        assert [text for *_, text in chat.said()] == ["other", "Third."]
        assert [m["content"] for m in fake.requests[-1]["messages"][1:]] == ["other"]
        path = chat.store.list_messages(chat.thread_id)
        assert chat.store.find_alternatives(chat.thread_id, path) == {path[0].id: [asked.id, path[0].id]}

    play(story, Say("First."), Say("Second."), Say("Third."))


def test_an_earlier_answer_can_be_asked_for_again() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("one")
        await chat.say("two")
        first = chat.store.list_messages(chat.thread_id)[1]
        await chat.end(await chat.runner.retry(chat.thread_id, message_id=first.id, caller=Caller()))
        assert [text for *_, text in chat.said()] == ["one", "Third."]

    play(story, Say("First."), Say("Second."), Say("Third."))


def test_only_a_persons_message_can_be_edited() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("one")
        answer = chat.store.list_messages(chat.thread_id)[1]
        with pytest.raises(NothingToAnswerError):
            await chat.runner.edit(chat.thread_id, answer.id, "mine", caller=Caller())
        assert [text for *_, text in chat.said()] == ["one", "First."]

    play(story, Say("First."))


def test_going_on_asks_for_the_rest_of_a_cut_answer() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("count")).state is RunState.FAILED
        fake.reply(Say("three four"))
        await chat.end(await chat.runner.continue_answer(chat.thread_id, caller=Caller()))
        assert [text for _, _, text in chat.said()] == ["count", "one two ", "three four"]
        assert [m["content"] for m in fake.requests[-1]["messages"][1:]] == ["count", "one two ", CONTINUE_TEXT]

    play(story, Fault("end", Say("one two three four"), after_tokens=2))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault("status", status=401), "refused the API key"),
        (Fault("status", status=400, message=f"Bad {KEY}"), "did not accept the request"),
        (Fault("end", Say("one two three"), after_tokens=2), "was cut before the answer was whole"),
        (Fault("reset", Say("one two three"), after_tokens=2), "broke off"),
        (Fault("cut", Say("one two three"), after_tokens=2), "broke off"),
        (Fault("hang", Say("one two three"), after_tokens=2), "did not answer in time"),
        (Fault("hang"), "did not answer in time"),
        (Say("one two", finish="length"), "length limit"),
        (Fault("end", Call("calculator", {"expression": "1+1"}), after_tokens=3), "was cut before the answer was whole"),
    ],
)
def test_a_failed_run_says_why_keeps_its_text_and_leaves_the_thread_usable(fault: Any, sentence: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("hello")
        assert run.state is RunState.FAILED
        assert run.error is not None
        assert sentence in run.error
        assert KEY[:8] not in run.error
        text = "".join(event.text for event in chat.events if isinstance(event, TextDelta))
        assert chat.said()[1:] == ([("ai", "partial", text)] if text else [])
        assert not any(isinstance(event, ToolStarted) for event in chat.events)
        fake.script(Say("Here again."))
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said()[1:] == [("ai", "done", "Here again.")]

    play(story, fault, idle_seconds=4.0 if "in time" in sentence else 60.0)


def test_closing_interrupts_what_runs_and_keeps_its_text() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(2)
        run = await chat.send("hello")
        await chat.until(lambda: len(chat.heard().split()) == 2)
        await chat.runner.close()
        assert (await chat.end(run)).state is RunState.INTERRUPTED
        assert chat.said()[1] == ("ai", "partial", "one two ")

    play(story, Say("one two three four"))


def test_while_an_answer_is_written_the_next_message_is_refused_and_nothing_of_it_is_kept() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.send("hello")
        with pytest.raises(RunActiveError):
            await chat.send("and this")
        await chat.runner.stop(chat.thread_id)
        assert [text for _, _, text in chat.said()] == ["hello"]

    play(story, Fault("hang"))


def test_a_run_whose_end_cannot_be_written_holds_the_thread_until_it_can() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        end = chat.runs.end_run

        def full(*_: Any, **__: Any) -> int:
            raise StoreUnavailableError("The database did not answer: database or disk is full.")

        chat.runs.end_run = full  # type: ignore[method-assign]
        await chat.send("hello")
        await chat.until(lambda: any(isinstance(event, WorkEnded) for event in chat.events))
        chat.runs.end_run = end  # type: ignore[method-assign]
        await chat.until(lambda: not chat.runner.active_runs.by_thread)
        await chat.say("and now?")
        assert chat.said()[-1][1] == "done"
        assert (await chat.runner.stop(chat.thread_id)) is False

    play(story, watch_seconds=0.05)


def test_a_run_that_began_and_was_never_driven_does_not_hold_the_thread() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        chat.runs.begin_run(chat.thread_id, None)  # as if the database had failed in the instant after this
        fake.script(Say("Here again."))
        assert (await chat.say("and now?")).state is RunState.DONE
        assert chat.said()[-1] == ("ai", "done", "Here again.")

    play(story, Say("Hello."))


def test_a_draft_of_the_answer_is_kept_while_it_is_written() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(2)
        run = await chat.send("hello")
        await chat.until(lambda: (run := chat.runs.get_latest_run(chat.thread_id)) and run.draft.text == "one two ")
        fake.release()
        assert (await chat.end(run)).draft == Draft()

    play(story, Say("one two three four"))


def test_a_draft_of_the_reasoning_is_kept_in_the_same_write() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.manner = "deepseek"
        fake.hold(2)
        run = await chat.send("hello")
        await chat.until(lambda: (run := chat.runs.get_latest_run(chat.thread_id)) and run.draft == Draft("", "I think "))
        fake.hold(4)
        await chat.until(lambda: (run := chat.runs.get_latest_run(chat.thread_id)) and run.draft.text)
        draft = chat.runs.get_latest_run(chat.thread_id).draft  # type: ignore[union-attr]
        assert draft == Draft(draft.text, "I think so.")
        fake.release()
        assert (await chat.end(run)).draft == Draft()

    play(story, Say("one two three four", thought="I think so."))


def test_each_message_is_on_disk_before_it_is_shown() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        shown: list[bool] = []
        publish = chat.hub.publish

        def watched(thread_id: str, event: Any) -> None:
            if isinstance(event, MessageAdded | RunStarted) and event.message:
                shown.append(event.message.id in [message.id for message in chat.path()])
            publish(thread_id, event)

        chat.hub.publish = watched  # type: ignore[method-assign]
        await chat.say("what is 2+2?")
        assert shown == [True] * 4

    play(story)


def test_the_demo_model_drives_the_real_tools() -> None:
    async def story() -> None:
        async with running(DemoChatModel(seconds_per_token=0)) as chat:
            await chat.say("What is 12 * (3 + 4)? And what is 7*8?")
            assert [text for kind, _, text in chat.said() if kind == "tool" and text] in (["84", "56"], ["56", "84"])
            assert chat.unanswered() == set()

    asyncio.run(story())


@pytest.mark.parametrize("text", ["half \ud83d", "\ud83d\ude00", "nul \0 nul", "\u202egnirts", "x" * 200_000])
def test_any_text_of_a_person_can_be_sent(text: str) -> None:
    async def story() -> None:
        async with running(DemoChatModel(seconds_per_token=0)) as chat:
            assert (await chat.say(text)).state is RunState.DONE
            assert chat.said()[0][2] == serde.sanitize_text(text)

    asyncio.run(story())
