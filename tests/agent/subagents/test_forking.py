"""The agent tries several ways at once: each a branch of its own, told in order, undone with the run."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from starlette.requests import Request

from agent.context.request import build_request
from agent.graph.tool_calls import NOBODY_TO_ASK_TEXT
from agent.subagents.forking import BranchRecorder
from agent.time_travel.policy import Policy
from agent.tools.decisions import Decision
from agent.tracing.events import ModelAnswered
from checkpoints import Caller, RunState
from checkpoints.changes import alternatives
from tests.agent.cast import Cast, agent, ask
from tests.agent.running import KEY, Running, budget, model_at, running
from tests.agent.tracing.test_run_trace import Listener
from tests.checkpoints.conversations import picture
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say
from tests.fakes.server import JSON
from tests.fakes.wire import Performance

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def fork(*prompts: Any) -> Call:
    return Call("fork", {"prompts": list(prompts)})


def play(story: Story, *replies: Any, policy: Policy = "allow", approval: tuple[str, ...] = (), **limits: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, time_travel=policy, approval=approval, **limits) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


def branches(chat: Running) -> dict[str, list[str]]:
    """What stands on each branch but the one that is stood on, after the question that all share."""
    others = [branch for branch, _ in chat.store.list_branches(chat.thread_id) if branch.name != "main"]
    paths = {branch.name: chat.store.list_messages_to(chat.thread_id, branch.head_id or "") for branch in others}
    return {name: [str(message.langchain.text) for message in path[1:]] for name, path in paths.items()}


def result(chat: Running) -> Any:
    found = next(message.langchain for message in reversed(chat.path()) if message.type == "tool")
    assert isinstance(found, ToolMessage)
    return json.loads(str(found.text)) if str(found.text).startswith("[") else str(found.text)


class Workers(FakeOpenAI):
    """A model that forks into ten ways, calculates three times on each, and then answers."""

    def _perform(self, request: Request, body: JSON, number: int) -> Performance:
        messages = body["messages"]
        is_way = any(str(message["content"]).endswith("Work on it.") for message in messages if message["role"] == "user")
        if is_way:
            count = sum(message["role"] == "tool" for message in messages)
            self.reply(Call("calculator", {"expression": f"{count}+1"}) if count < 3 else Say("I am done."))
        else:
            self.reply(Say("All ten.") if messages[-1]["role"] == "tool" else fork(*["Work on it."] * 10))
        return super()._perform(request, body, number)


def offered(request: Any) -> set[str]:
    return {tool["function"]["name"] for tool in request.get("tools", [])}


def test_each_prompt_is_a_branch_of_its_own_and_the_results_come_in_order() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Which is best?")).state is RunState.DONE
        told = result(chat)
        assert [each["branch"] for each in told] == ["Try a", "Try b", "Try c", "Try d", "Try e"]
        assert branches(chat) == {each["branch"]: [each["branch"], each["answer"]] for each in told}
        assert [message.type for message in chat.path()] == ["human", "ai", "tool", "ai"]
        children = fake.requests[1:-1]
        assert all(offered(each) == {"calculator"} for each in children)
        assert all([m["role"] for m in each["messages"]] == ["system", "user", "user"] for each in children)
        assert chat.unanswered() == set()

    prompts = [f"Try {letter}" for letter in "abcde"]
    play(story, fork(*prompts), *(Say(f"Way {number}.") for number in range(5)), Say("b is best."))


def test_undo_takes_the_run_back_with_its_branches_and_redo_brings_them_again() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("Hello")
        before = picture(chat.store, chat.thread_id)
        await chat.say("Which is best?")
        after = picture(chat.store, chat.thread_id)
        chat.store.undo(chat.thread_id)
        assert (picture(chat.store, chat.thread_id), branches(chat)) == (before, {})
        chat.store.redo(chat.thread_id)
        assert picture(chat.store, chat.thread_id) == after

    play(story, Say("Hi."), fork("Try a", "Try b"), Say("1"), Say("2"), Say("a."))


def test_a_way_that_fails_is_told_as_such_and_the_others_go_on() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        told = {each["branch"]: each for each in result(chat)}
        assert sorted(key for each in told.values() for key in each if key != "branch") == ["answer", "details", "failed"]
        [details] = [each["details"] for each in told.values() if "failed" in each]
        assert details.startswith("HTTP 401: Incorrect API key provided: ***")
        assert KEY not in str(told)

    play(story, fork("Try a", "Try b"), Fault("status", status=401), Say("2"), Say("b."))


def test_a_way_has_tools_of_its_own_and_what_needs_leave_is_refused_there() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        assert branches(chat)["Try a"] == ["Try a", "", NOBODY_TO_ASK_TEXT, "I cannot."]

    play(
        story,
        fork("Try a"),
        Call("calculator", {"expression": "1+1"}),
        Say("I cannot."),
        Say("So be it."),
        approval=("calculator",),
    )


def test_a_branch_cannot_fork() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        assert branches(chat)["Try a"][2].startswith("This is switched off here")

    play(story, fork("Try a"), fork("deeper"), Say("Then not."), Say("Done."))


@pytest.mark.parametrize("prompts", [[], [""], ["a"] * 11, [1], "a"])
def test_prompts_that_are_none_do_nothing(prompts: Any) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("Go")
        assert "Nothing was done." in result(chat)
        assert branches(chat) == {}

    play(story, Call("fork", {"prompts": prompts}), Say("Oh."))


def test_a_person_is_asked_first_and_may_change_the_prompts() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.WAITING
        assert branches(chat) == {}
        call = chat.path()[-1].langchain.tool_calls[0]["id"]  # type: ignore[attr-defined]
        changed = Decision(call, "edit", arguments={"prompts": ["Try tea"]})
        run = await chat.end(await chat.runner.decide(chat.thread_id, changed, caller=Caller()))
        assert (run.state, branches(chat)) == (RunState.DONE, {"Try tea": ["Try tea", "Tea."]})

    play(story, fork("Try a", "Try b"), Say("Tea."), Say("Tea it is."), policy="ask")


def test_stopping_stops_every_way_and_keeps_what_was_finished() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("Go")
        await chat.until(lambda: len(fake.requests) == 3 and any(len(path) == 2 for path in branches(chat).values()))
        await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert sorted(map(len, branches(chat).values())) == [1, 2]
        assert chat.unanswered() == set()

    play(story, fork("Try a", "Try b"), Say("Finished."), Fault("hang"))


@pytest.mark.parametrize(
    ("module", "call"), [("forking", fork("Try a", "Try b")), ("delegation", ask("critic", "Good?"))], ids=["ways", "agents"]
)
def test_no_request_is_built_on_the_event_loop(module: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[threading.Thread] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        built.append(threading.current_thread())
        return build_request(*args, **kwargs)

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE

    monkeypatch.setattr(f"agent.subagents.{module}.build_request", noted)
    play(story, call, Say("1"), Say("2"), agents={"critic": agent("critic")})
    assert built
    assert threading.main_thread() not in built


def test_the_answer_that_asks_is_found_however_much_other_agents_have_written_since() -> None:
    async def whole(cast: Cast) -> None:
        with_critic: Any = {"time_travel": "ask", "agents": {"critic": agent("critic", "calculator")}}
        async with model_at(cast) as model, running(model, **with_critic) as chat:
            assert (await chat.say("Go")).state is RunState.WAITING
            assert len(chat.path()) > 100
            asking = next(each.langchain for each in chat.path() if each.type == "ai")
            allowed = Decision(asking.tool_calls[1]["id"], "allow")  # type: ignore[attr-defined]
            run = await chat.end(await chat.runner.decide(chat.thread_id, allowed, caller=Caller()))
            assert (run.state, branches(chat)) == (RunState.DONE, {"Try tea": ["Try tea", "Tea."]})

    sums = Calls(tuple(Call("calculator", {"expression": "1+1"}) for _ in range(100)))
    main = [Calls((ask("critic", "Good?"), fork("Try tea"))), Say("Tea."), Say("Tea it is.")]
    with Cast(main=main, critic=[sums, Say("Good.")]) as cast:
        asyncio.run(whole(cast))
        assert cast.violations == []


def test_a_way_that_fails_is_traced_when_it_does_with_what_it_failed_of() -> None:
    listener = Listener()

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        answers = [told for told in listener.told if isinstance(told, ModelAnswered)]
        assert [told.error for told in answers] == [None, result(chat)[0]["failed"], None]

    play(story, fork("Try a"), Fault("status", status=401), Say("Too bad."), tracer=listener)


def test_a_way_that_takes_too_long_is_given_up() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        assert result(chat)[0]["failed"] == "It took longer than 3 s and was stopped."

    # Long enough for the branch to have asked: else the main agent would get the answer that hangs.
    play(story, fork("Try a"), Fault("hang"), Say("Too bad."), branch=budget(seconds=3))


def test_ten_ways_of_three_calls_each_finish_under_the_default_limits() -> None:
    async def whole(fake: Workers) -> None:
        async with model_at(fake) as model, running(model, time_travel="allow") as chat:
            assert (await chat.say("Go")).state is RunState.DONE
            assert [each.get("answer") for each in result(chat)] == ["I am done."] * 10
            assert chat.said()[-1][2] == "All ten."

    with Workers() as fake:
        asyncio.run(whole(fake))
        assert fake.violations == []


def test_a_way_that_reaches_its_limit_leaves_the_others_theirs() -> None:
    async def whole(fake: Workers) -> None:
        limits: Any = {"branch": budget(answers=3), "agent": budget(answers=2)}
        async with model_at(fake) as model, running(model, time_travel="allow", **limits) as chat:
            assert (await chat.say("Go")).state is RunState.DONE
            assert {each.get("failed") for each in result(chat)} == {"The branch reached the limit of 3 answers."}
            assert chat.said()[-1][2] == "All ten."

    with Workers() as fake:
        asyncio.run(whole(fake))
        assert fake.violations == []


def test_the_ways_share_what_the_run_may_use() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        assert len(fake.requests) == 3
        assert ["failed" in each for each in result(chat)].count(True) == 2
        assert chat.said()[-1][2] == "At least one."  # whoever asked for them reads what came of them

    play(story, fork("Try a", "Try b", "Try c"), Say("1"), Say("At least one."), run=budget(answers=3))


def test_other_calls_of_the_same_answer_are_carried_out_beside_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Go")).state is RunState.DONE
        assert chat.unanswered() == set()
        assert [m.langchain.text for m in chat.path() if m.type == "tool"].count("2") == 1

    play(story, Calls((Call("calculator", {"expression": "1+1"}), fork("Try a"))), Say("1"), Say("Fine."))


def test_without_leave_to_travel_it_is_not_offered() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("Go")
        assert offered(fake.requests[0]) == {"calculator"}

    play(story, Say("Fine."), policy="off")


def test_more_alternatives_than_can_be_imported_are_refused_to_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternatives, "MAX_ALTERNATIVES", 2)

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Which is best?")).state is RunState.DONE
        [refusal] = [text for kind, _, text in chat.said() if kind == "tool"]
        assert refusal.startswith("There are 2 alternatives at this place already")
        assert len(chat.store.list_branches(chat.thread_id)) == 1

    play(story, fork("A", "B", "C"), Say("Fine."))


def test_no_run_opens_more_than_twenty_branches() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("Which is best?")).state is RunState.DONE
        assert len(chat.store.list_branches(chat.thread_id)) == 1 + 20
        refusals = [m for m in chat.path() if m.type == "tool" and "No more than 20 ways" in str(m.langchain.text)]
        assert len(refusals) == 1

    asked = Calls(tuple(fork(*(f"Way {each}.{number}" for number in range(10))) for each in range(3)))
    play(story, asked, *[Say("So.")] * 21)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_way_that_comes_no_further_keeps_what_it_had_written(is_stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    text = BranchRecorder.append_text

    def noted(recorder: BranchRecorder, delta: str) -> None:
        text(recorder, delta)
        heard.append(delta)

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("Go")
        if is_stopped:
            await chat.until(lambda: "".join(heard) == "one two ")
            await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        assert branches(chat) == {"Try a": ["Try a", "one two "]}

    monkeypatch.setattr(BranchRecorder, "append_text", noted)
    cut = Fault("hang" if is_stopped else "cut", Say("one two three"), after_tokens=2)
    play(story, fork("Try a"), cut, Say("Too bad."))
