"""Candidates: several models answer one question at once, and each one's failure and stop are its own."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agent.events import CandidateProgress, RunFinished, RunStarted, TextDelta
from agent.run.candidates import MAX_MODELS
from agent.settings import InvalidSettingsError
from checkpoints import LOCAL_OWNER, Caller, Candidate, CandidateKey, Run, RunState, act_for
from checkpoints.people.members import Members
from checkpoints.values.errors import NothingToRetryError, RunActiveError
from checkpoints.values.model import ThreadRole
from tests.agent.running import Running, Several, model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI, FakeOpenAI], Awaitable[None]]
SOME, OTHER = "openai:some", "openai:other"


def play(story: Story) -> None:
    """The story with two models, each of which has a provider of its own."""

    async def whole(one: FakeOpenAI, two: FakeOpenAI) -> None:
        tools = [tool("look", lambda: "seen"), tool("send", lambda: "sent")]
        async with model_at(one) as some, model_at(two, OTHER) as other:
            models = Several({SOME: some, OTHER: other}, SOME)
            async with running(some, tools, approval=["send"], models=models) as chat:
                await story(chat, one, two)

    with FakeOpenAI() as one, FakeOpenAI() as two:
        asyncio.run(whole(one, two))
        assert one.violations == two.violations == []


async def ask(chat: Running, *models: str, text: str = "which?") -> Run:
    return await chat.runner.send(chat.thread_id, text, caller=Caller(), models=models or (SOME, OTHER))


def candidates(chat: Running, run: Run) -> list[Candidate]:
    return chat.runs.list_candidates(run.id)


def written(chat: Running, run: Run) -> list[list[tuple[str, str, str]]]:
    """What each candidate wrote after the question, as (type, status, text)."""
    paths = [
        chat.store.list_messages_to(chat.thread_id, each.head_id) if each.head_id else [] for each in candidates(chat, run)
    ]
    return [[(m.type, m.status.value, str(m.langchain.text)) for m in path if m.run_id == run.id][1:] for path in paths]


def heard(chat: Running, number: int) -> str:
    progress = [each.event for each in chat.events if isinstance(each, CandidateProgress) and each.number == number]
    return "".join(event.text for event in progress if isinstance(event, TextDelta))


def ends(chat: Running) -> list[RunFinished]:
    """The ends of candidates that were published."""
    progress = [each.event for each in chat.events if isinstance(each, CandidateProgress)]
    return [event for event in progress if isinstance(event, RunFinished)]


def test_each_model_answers_the_same_question_on_its_branch() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Say("Hello."), Say("One it is."))
        two.reply(Say("Two it is."))
        await chat.say("hi")
        run = await ask(chat)
        assert (await chat.end(run)).state is RunState.DONE
        assert written(chat, run) == [[("ai", "done", "One it is.")], [("ai", "done", "Two it is.")]]
        assert (heard(chat, 1), heard(chat, 2)) == ("One it is.", "Two it is.")
        sent = [[message["content"] for message in fake.requests[-1]["messages"][1:]] for fake in (one, two)]
        assert sent == [["hi", "Hello.", "which?"]] * 2
        assert [text for *_, text in chat.said()] == ["hi", "Hello.", "which?", "One it is."]
        assert [each.state for each in candidates(chat, run)] == [RunState.DONE] * 2
        chat.store.undo(chat.thread_id)
        assert [text for *_, text in chat.said()] == ["hi", "Hello."]

    play(story)


def slow(text: str = "Slow and long.") -> Fault:
    return Fault("hang", Say(text), after_tokens=2)


def test_the_models_write_at_the_same_time_and_one_can_be_stopped_alone() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(Say("Two it is."))
        run = await ask(chat)
        await chat.until(lambda: heard(chat, 1) and ends(chat))
        live = chat.hub.find_live_run(chat.thread_id)
        assert live is not None
        assert [(each.number, each.model, each.end is None) for each in live.candidates] == [
            (1, SOME, True),
            (2, OTHER, False),
        ]
        await chat.runner.stop_candidate(chat.thread_id, run.id, 1)
        await chat.runner.stop_candidate(chat.thread_id, run.id, 1)  # a double click
        assert (await chat.end(run)).state is RunState.DONE
        assert [each.state for each in candidates(chat, run)] == [RunState.STOPPED, RunState.DONE]
        assert written(chat, run)[0] == [("ai", "partial", heard(chat, 1))]

    play(story)


def test_stopping_the_run_keeps_what_each_model_has_written() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(slow("Two is slow."))
        run = await ask(chat)
        await chat.until(lambda: heard(chat, 1) and heard(chat, 2))
        await chat.runner.stop(chat.thread_id)
        assert [each.state for each in candidates(chat, run)] == [RunState.STOPPED] * 2
        assert written(chat, run) == [[("ai", "partial", heard(chat, number))] for number in (1, 2)]
        assert chat.runs.list_running_threads() == set()

    play(story)


def test_a_failure_is_its_own_and_the_conversation_stands_on_an_answer() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Fault("status", status=401))
        two.reply(Say("Two it is."))
        run = await ask(chat)
        assert (await chat.end(run)).state is RunState.DONE
        failed, done = candidates(chat, run)
        assert (failed.state, done.state) == (RunState.FAILED, RunState.DONE)
        assert failed.error
        assert [text for *_, text in chat.said()] == ["which?", "Two it is."]
        assert {(end.state, end.error) for end in ends(chat)} == {(RunState.FAILED, failed.error), (RunState.DONE, None)}
        chat.store.undo(chat.thread_id)
        assert chat.said() == []

    play(story)


def test_a_run_in_which_every_model_fails_has_failed() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        for fake in (one, two):
            fake.reply(Fault("status", status=401))
        run = await chat.end(await ask(chat))
        assert (run.state, run.error) == (RunState.FAILED, f"None of the models answered. (reference {run.id[:8]})")
        assert [each.state for each in candidates(chat, run)] == [RunState.FAILED] * 2
        assert (await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))).state is RunState.DONE

    play(story)


def test_each_model_uses_tools_and_none_asks_for_permission() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Call("look", {}), Say("One has seen it."))
        two.reply(Call("send", {}), Say("Two may not."))
        run = await ask(chat)
        assert (await chat.end(run)).state is RunState.DONE
        looked, refused = written(chat, run)
        assert [kind for kind, *_ in looked] == [kind for kind, *_ in refused] == ["ai", "tool", "ai"]
        assert looked[1][2] == "seen"
        assert "sent" not in refused[1][2]

    play(story)


def test_the_same_model_may_answer_twice_and_the_conversation_goes_on_from_any_answer() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Say("It is."), Say("It is."), Say("Yes."))
        run = await ask(chat, SOME, SOME)
        await chat.end(run)
        second = candidates(chat, run)[1]
        chat.store.choose(chat.thread_id, second.head_id or "")
        assert (await chat.say("sure?")).candidates == 0
        assert [text for *_, text in chat.said()] == ["which?", "It is.", "sure?", "Yes."]
        assert chat.path()[1].id == second.head_id

    play(story)


@pytest.mark.parametrize("models", [(SOME,), (SOME,) * (MAX_MODELS + 1), (SOME, "openai:unknown")])
def test_too_few_too_many_and_unknown_models_are_refused(models: tuple[str, ...]) -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        with pytest.raises(InvalidSettingsError):
            await ask(chat, *models)
        assert chat.said() == []

    play(story)


def test_a_page_that_follows_learns_of_all_models_at_the_start() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        run = await ask(chat)
        await chat.end(run)
        started = next(event for event in chat.events if isinstance(event, RunStarted))
        assert [each.model for each in started.candidates] == [SOME, OTHER]
        assert chat.hub.active_run_count == 0

    play(story)


def test_drafts_of_all_models_are_stored_while_they_write() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(slow("Two is slow."))
        run = await ask(chat)
        await chat.until(lambda: all(heard(chat, each.number) == each.draft.text != "" for each in candidates(chat, run)))
        await chat.runner.stop(chat.thread_id)
        assert [each.draft.text for each in candidates(chat, run)] == ["", ""]

    play(story)


async def try_again(chat: Running, run: Run, number: int, presses: int = 1) -> RunState:
    """Ask one model once more, and return the state of the run when it rests again."""
    before = count_ends(chat, run)
    key = CandidateKey(run.id, number)
    await asyncio.gather(*(chat.runner.retry_candidate(chat.thread_id, key, caller=Caller()) for _ in range(presses)))
    await chat.until(lambda: count_ends(chat, run) > before)
    return (await chat.end(run)).state


def count_ends(chat: Running, run: Run) -> int:
    return sum(isinstance(event, RunFinished) and event.run_id == run.id for event in chat.events)


def test_one_failed_model_is_asked_again_and_the_other_answer_stays() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Say("Hello."), Say("One it is."))
        two.reply(Call("look", {}), Fault("status", status=401), Say("Two it is."))
        await chat.say("hi")
        run = await chat.end(await ask(chat))
        assert [each.state for each in candidates(chat, run)] == [RunState.DONE, RunState.FAILED]
        assert await try_again(chat, run, 2, presses=2) is RunState.DONE
        assert written(chat, run) == [[("ai", "done", "One it is.")], [("ai", "done", "Two it is.")]]
        assert two.requests[-1]["messages"] == two.requests[0]["messages"]  # from the question, without what failed
        assert len(one.requests) == 2
        with pytest.raises(NothingToRetryError):
            await try_again(chat, run, 2)
        chat.store.undo(chat.thread_id)
        assert [text for *_, text in chat.said()] == ["hi", "Hello."]

    play(story)


def test_a_failed_model_is_asked_again_while_the_other_writes() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(Fault("status", status=401), Say("Two it is."))
        run = await ask(chat)
        await chat.until(lambda: heard(chat, 1) and ends(chat))
        await chat.runner.retry_candidate(chat.thread_id, CandidateKey(run.id, 2), caller=Caller())
        await chat.until(lambda: len(ends(chat)) == 2)
        live = chat.hub.find_live_run(chat.thread_id)
        assert live is not None
        assert [each.end and each.end.state for each in live.candidates] == [None, RunState.DONE]
        await chat.runner.stop_candidate(chat.thread_id, run.id, 1)
        assert (await chat.end(run)).state is RunState.DONE
        assert written(chat, run)[1] == [("ai", "done", "Two it is.")]

    play(story)


def test_nobody_else_tries_an_answer_again_while_another_model_writes() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(Fault("status", status=401), Say("Two it is."))
        chat.store.database.separate_owners()
        with act_for(LOCAL_OWNER):
            Members(chat.store).add_member(chat.thread_id, "bob", ThreadRole.EDITOR)
            run = await ask(chat)
            await chat.until(lambda: heard(chat, 1) and ends(chat))
        with act_for("bob"), pytest.raises(RunActiveError):
            await chat.runner.retry_candidate(chat.thread_id, CandidateKey(run.id, 2), caller=Caller())
        with act_for(LOCAL_OWNER):
            await chat.runner.stop_candidate(chat.thread_id, run.id, 1)
            assert [each.state for each in candidates(chat, await chat.end(run))] == [RunState.STOPPED, RunState.FAILED]
        with act_for("bob"):
            await chat.runner.retry_candidate(chat.thread_id, CandidateKey(run.id, 2), caller=Caller())
        with act_for(LOCAL_OWNER):
            assert (await chat.end(run)).person == "bob"

    play(story)


def test_an_answer_is_asked_for_again_in_its_own_conversation_alone() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(slow())
        two.reply(Fault("status", status=401))
        run = await ask(chat)
        await chat.until(lambda: heard(chat, 1) and ends(chat))
        another = chat.store.create_thread().id
        for number in (1, 2):
            with pytest.raises(NothingToRetryError):
                await chat.runner.retry_candidate(another, CandidateKey(run.id, number), caller=Caller())
        await chat.runner.stop_candidate(chat.thread_id, run.id, 1)
        await chat.end(run)
        assert [each.state for each in candidates(chat, run)] == [RunState.STOPPED, RunState.FAILED]

    play(story)


def test_where_every_model_failed_one_that_answers_is_enough() -> None:
    async def story(chat: Running, one: FakeOpenAI, two: FakeOpenAI) -> None:
        one.reply(Fault("status", status=401))
        two.reply(Fault("status", status=401), Fault("status", status=401), Say("Two it is."))
        run = await chat.end(await ask(chat))
        for state in (RunState.FAILED, RunState.DONE):
            assert await try_again(chat, run, 2) is state
        assert [text for *_, text in chat.said()] == ["which?", "Two it is."]

    play(story)
