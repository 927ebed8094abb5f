"""One agent asks another: over parallel work, waiting for a person, stopping, crashes, and moves through time."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.context.request import NOT_CARRIED_OUT_TEXT, UNKNOWN_RESULT_TEXT
from agent.events import ToolStarted
from agent.marks import CallKey, QuestionMark
from agent.preparation.requests import NothingToDecideError
from agent.subagents.delegation import find_open_calls
from agent.tools.decisions import NOT_APPROVED_TEXT, STOPPED_TEXT, Decision
from checkpoints import MAIN, Caller, NewMessage, OperationKind, RunState
from checkpoints.interchange import reading, transfer
from checkpoints.values import serde
from checkpoints.values.reasoning import Reasoning
from components.views import message_view
from tests.agent.cast import Cast, agent, ask, chain, memory, perform, replaced
from tests.agent.running import KEY, Running, budget
from tests.checkpoints.conversations import picture
from tests.fakes.openai import Call, Calls, Fault, Say

SEND = Call("send", {"to": "Ann"}, id="s1")
GO = [agent("ann", "send"), agent("ben", "send"), agent("cid")]


def test_an_agent_that_was_asked_works_in_the_same_run_under_its_own_name() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert chain(chat) == [
            (MAIN, "human", "hello"),
            (MAIN, "ai", ""),
            ("ann", "human", "Write to Bob."),
            ("ann", "ai", ""),
            ("ann", "tool", "sent to Ann"),
            ("ann", "ai", "Done."),
            (MAIN, "tool", "Done."),
            (MAIN, "ai", "She wrote."),
        ]
        assert [message["content"] for message in cast.heard["ann"][-1]] == ["Write to Bob.", None, "sent to Ann"]
        assert "Done." not in str(chat.events[:4])  # its text is not streamed

    assert perform(story, *GO, main=[ask("ann", "Write to Bob."), Say("She wrote.")], ann=[SEND, Say("Done.")]) == ["Ann"]


def test_an_agent_is_offered_its_own_tools_and_remembers_what_it_was_asked_before() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        await chat.say("again")
        offered = [sorted(tool["function"]["name"] for tool in each.get("tools", ())) for each in cast.requests]
        assert offered[:2] == [["ask_agent", "send"], []]
        assert [message["content"] for message in cast.heard["cid"][-1]] == ["one", "First.", "two"]
        assert "- ann: is ann" in cast.requests[0]["messages"][0]["content"]
        assert "- ann" not in cast.requests[1]["messages"][0]["content"]

    perform(
        story,
        *GO,
        main=[ask("cid", "one"), Say("So."), ask("cid", "two"), Say("So.")],
        cid=[Say("First."), Say("Second.")],
    )


def test_agents_that_are_asked_in_one_answer_work_side_by_side() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        cast.token_delay = 0.05
        await chat.say("hello")
        said = [text for who, _, text in chain(chat) if who != MAIN]
        assert (sorted(said[:2]), sorted(said[2:])) == (["a", "b"], ["from ann", "from ben"])
        assert chat.unanswered() == set()

    calls = Calls((ask("ann", "a", id="1"), ask("ben", "b", id="2")))
    perform(story, *GO, main=[calls, Say("So.")], ann=[Say("from ann")], ben=[Say("from ben")])


def test_two_questions_to_one_agent_are_put_one_after_the_other() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert memory(chat, "cid") in (["a", "to a", "b", "to b"], ["b", "to b", "a", "to a"])
        results = {text for who, kind, text in chain(chat) if (who, kind) == (MAIN, "tool")}
        assert results == {"to a", "to b"}

    def answer(question: str) -> Say:
        return Say(f"to {question}")

    perform(story, *GO, main=[Calls((ask("cid", "a"), ask("cid", "b"))), Say("So.")], cid=[answer, answer])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ask("zoe", "who?"), "There is no agent 'zoe'. There are: ann, ben."),
        (ask("ann", " "), "The question is empty"),
        (ask("main", "me?"), "There is no agent 'main'."),
    ],
)
def test_a_question_that_cannot_be_put_is_told_to_the_model(call: Call, said: str) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert said in chain(chat)[2][2]

    perform(story, agent("ann"), agent("ben"), main=[call, Say("So.")])


def test_nobody_is_asked_who_waits_for_the_work() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert next(text for _, kind, text in chain(chat) if kind == "tool").startswith("ann is itself waiting")
        assert memory(chat, MAIN)[-1] == "So."

    perform(
        story,
        agent("ann", "ask_agent"),
        agent("ben", "ask_agent"),
        main=[ask("ann", "1"), Say("So.")],
        ann=[ask("ben", "2"), Say("a")],
        ben=[ask("ann", "3"), Say("b")],
    )


def test_two_that_work_side_by_side_and_ask_each_other_do_not_wait_for_ever() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert memory(chat, MAIN)[-1] == "So."

    perform(
        story,
        agent("ann", "ask_agent"),
        agent("ben", "ask_agent"),
        main=[Calls((ask("ann", "1"), ask("ben", "2"))), Say("So.")],
        ann=[ask("ben", "3"), Say("a"), Say("a")],
        ben=[ask("ann", "4"), Say("b"), Say("b")],
    )


def test_a_call_of_a_sub_agent_waits_for_a_person_and_everybody_goes_on_after_it() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert [each.agent for each in find_open_calls(chat.path())] == ["ben", "ann", MAIN]
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("m1", "allow"), caller=Caller())
        run = await chat.runner.decide(chat.thread_id, Decision("s1", "allow"), caller=Caller())
        assert (await chat.end(run)).state is RunState.DONE
        assert [text for *_, text in chain(chat)][-6:] == ["sent to Ann", "b", "b", "a", "a", "So."]
        assert len(memory(chat, "ann")) == 4  # asked once

    sent = perform(
        story,
        agent("ann", "ask_agent"),
        agent("ben", "send"),
        approval=["send"],
        main=[ask("ann", "1", id="m1"), Say("So.")],
        ann=[ask("ben", "2", id="a1"), Say("a")],
        ben=[SEND, Say("b")],
    )
    assert sent == ["Ann"]


def test_typing_instead_of_deciding_closes_the_calls_of_all_agents_innermost_first() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        await chat.say("never mind")
        assert chain(chat)[4:7] == [
            ("ann", "tool", NOT_APPROVED_TEXT),
            (MAIN, "tool", NOT_APPROVED_TEXT),
            (MAIN, "human", "never mind"),
        ]

    main = [ask("ann", "1"), Say("So.")]
    assert perform(story, agent("ann", "send"), approval=["send"], main=main, ann=[SEND]) == []


def test_one_that_waits_lets_the_others_finish_and_its_next_question_waits_as_well() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert memory(chat, "cid") == ["c", "from cid"]
        assert memory(chat, "ann") == ["a", ""]
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("s1", "deny"), caller=Caller()))
        assert memory(chat, "ann")[3:] == ["to a", "b", "to b"]
        assert chat.unanswered() == set()

    calls = Calls((ask("ann", "a"), ask("cid", "c"), ask("ann", "b")))
    ann = [SEND, Say("to a"), Say("to b")]
    perform(story, *GO, approval=["send"], main=[calls, Say("So.")], ann=ann, cid=[Say("from cid")])


def test_ids_that_a_server_uses_again_belong_to_one_call_each() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        waiting = [each.call["id"] for each in find_open_calls(chat.path()) if each.question is None]
        assert len({*waiting, "0"}) == 3
        for call in waiting:
            decision = Decision(str(call), "allow")
            await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))
        assert memory(chat, MAIN)[-1] == "So."

    same = Call("send", {"to": "Ann"}, id="0")
    calls = Calls((ask("ann", "a", id="0"), ask("ben", "b", id="1")))
    parts: Any = {"main": [calls, Say("So.")], "ann": [same, Say("a")], "ben": [same, Say("b")]}
    assert perform(story, *GO, approval=["send"], **parts) == ["Ann", "Ann"]


def test_stopping_closes_the_calls_of_every_agent_in_its_own_name() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: sum(isinstance(event, ToolStarted) for event in chat.events) == 2)
        await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert chain(chat)[4:] == [("ann", "tool", STOPPED_TEXT), (MAIN, "tool", STOPPED_TEXT)]
        await chat.say("go on")

    parts: Any = {"main": [ask("ann", "1"), Say("So.")], "ann": [Call("send", {"to": "nobody"})]}
    perform(story, *GO, **parts)


def crashed(chat: Running) -> None:
    """What a crash leaves when ann was at work: a letter that nobody knows of, and a question that she asked cid."""
    ask_ann = {"name": "ask_agent", "args": {"agent": "ann", "question": "1"}, "id": "m1"}
    letter = {"name": "send", "args": {"to": "Ann"}, "id": "s1"}
    ask_cid = {"name": "ask_agent", "args": {"agent": "cid", "question": "2"}, "id": "a1"}
    wrote = [
        (MAIN, HumanMessage("hello")),
        (MAIN, AIMessage("", tool_calls=[ask_ann])),
        ("ann", HumanMessage("1", additional_kwargs=QuestionMark(CallKey(MAIN, "m1")).to_kwargs())),
        ("ann", AIMessage("", tool_calls=[letter, ask_cid])),
        ("cid", HumanMessage("2", additional_kwargs=QuestionMark(CallKey("ann", "a1")).to_kwargs())),
    ]
    chat.store.append(chat.thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in wrote])


def test_after_a_crash_what_was_asked_goes_on_and_nothing_else_is_done_again() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        crashed(chat)
        run = await chat.runner.continue_answer(chat.thread_id, caller=Caller())
        assert (await chat.end(run)).state is RunState.DONE
        assert chain(chat)[5:] == [
            ("ann", "tool", UNKNOWN_RESULT_TEXT),
            ("cid", "ai", "c"),
            ("ann", "tool", "c"),
            ("ann", "ai", "a"),
            (MAIN, "tool", "a"),
            (MAIN, "ai", "So."),
        ]

    people = [agent("ann", "send", "ask_agent"), agent("cid")]
    assert perform(story, *people, main=[Say("So.")], ann=[Say("a")], cid=[Say("c")]) == []


KEPT = "It remembers its work: ask it to go on, or go on without it."


def test_an_agent_that_reaches_the_limits_of_the_run_leaves_an_answer_to_each_one_that_waits() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert len(cast.requests) == 25
        assert memory(chat, "ann")[-2:] == [f"ben could not answer: The run reached the limit of 25 answers. {KEPT}", "No."]
        assert memory(chat, MAIN)[-2:] == ["No.", "So."]
        assert chat.unanswered() == set()

    again = [Call("send", {"to": "Ann"}) for _ in range(40)]
    ann, main = [ask("ben", "2"), Say("No.")], [ask("ann", "1"), Say("So.")]
    perform(story, agent("ann", "ask_agent"), GO[1], main=main, ann=ann, ben=again, limits={"run": budget(answers=25)})


def test_an_agent_has_a_budget_of_its_own_for_each_question_and_remembers_its_work() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, MAIN)[2::2] == [
            f"ann could not answer: The agent reached the limit of 3 answers. {KEPT}",
            "Done.",
        ]
        assert len(memory(chat, "ann")) == len(["first", *["call", "result"] * 3, "go on", *["call", "result"] * 2, "Done."])

    ann = [Call("send", {"to": "Ann"})] * 5 + [Say("Done.")]
    main = [ask("ann", "1"), ask("ann", "Go on."), Say("So.")]
    perform(story, agent("ann", "send"), main=main, ann=ann, limits={"agent": budget(answers=3)})


def test_calls_beyond_the_limit_have_results_before_the_one_that_asked_goes_on() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert chain(chat)[-3:] == [
            ("ann", "tool", NOT_CARRIED_OUT_TEXT),
            (MAIN, "tool", f"ann could not answer: The agent reached the limit of 49 tool calls. {KEPT}"),
            (MAIN, "ai", "So."),
        ]
        assert chat.unanswered() == set()

    many = Calls(tuple(Call("send", {"to": "Ann"}) for _ in range(50)))
    parts: Any = {"main": [ask("ann", "1"), Say("So.")], "ann": [many], "limits": {"agent": budget(calls=49)}}
    assert len(perform(story, *GO, **parts)) == 49


def test_no_more_agents_wait_for_each_other_than_the_limit_allows() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, "ann")[-2:] == ["No more than 1 agent may wait for each other. Answer with what you have.", "a"]

    people = agent("ann", "ask_agent"), agent("ben")
    perform(story, *people, main=[ask("ann", "1"), Say("So.")], ann=[ask("ben", "2"), Say("a")], limits={"max_depth": 1})


@pytest.mark.parametrize(
    ("trouble", "sentence", "written"),
    [
        (Fault("status", status=400), "did not accept the request", []),
        (Fault("status", status=401), "refused the API key", []),
        (Fault("hang"), "did not answer in time", []),
        (Fault("hang", Say("one two three"), after_tokens=2), "did not answer in time", ["one two "]),
        (Fault("cut", Say("one two three"), after_tokens=2), "broke off", ["one two "]),
        (Say("one two", finish="length"), "length limit", ["one two"]),
        (Say("", finish="content_filter"), "content filter", []),
    ],
)
def test_a_failure_of_an_agent_is_told_to_the_one_that_asked_which_goes_on(
    trouble: Any, sentence: str, written: list[str]
) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, "cid") == ["1", *written]
        result, answer = chat.path()[-2:]
        assert str(result.langchain.text).startswith("cid could not answer: ")
        assert sentence in str(result.langchain.text)
        assert result.body["data"]["status"] == "error"
        assert answer.langchain.text == "So."
        assert [m.status.value for m in chat.path() if m.agent == "cid" and m.type == "ai"] == ["partial"] * len(written)

    perform(
        story, *GO, main=[ask("cid", "1"), Say("So.")], cid=[trouble], idle_seconds=2.0 if "in time" in sentence else 60.0
    )


def test_the_words_of_a_provider_that_refused_an_agent_are_in_the_result_without_keys() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        result = str(chat.path()[-2].langchain.text)
        assert result.startswith("cid could not answer: The model provider did not accept the request.")
        assert result.endswith("The provider's words: “HTTP 400: No *** here. (code: odd_request, type: server_error)”")

    words = Fault("status", status=400, message=f"No {KEY} here.", code="odd_request")
    perform(story, *GO, main=[ask("cid", "1"), Say("So.")], cid=[words])


def test_an_agent_that_failed_answers_the_next_question_in_the_same_run() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        results = sorted(text for who, kind, text in chain(chat) if (who, kind) == (MAIN, "tool"))
        assert (results[0], results[1][:22]) == ("Well.", "cid could not answer: ")

    parts: Any = {"cid": [Fault("status", status=400), Say("Well.")]}
    perform(story, *GO, main=[Calls((ask("cid", "a"), ask("cid", "b"))), Say("So.")], **parts)


def test_a_failure_two_agents_down_ends_no_run() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, "ann")[-1] == "I asked cid."
        assert chat.unanswered() == set()

    parts: Any = {"ann": [ask("cid", "2"), Say("I asked cid.")], "cid": [Fault("status", status=400)]}
    perform(story, agent("ann", "ask_agent"), agent("cid"), main=[ask("ann", "1"), Say("So.")], **parts)


def test_stopping_keeps_what_an_agent_was_writing_under_its_name() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: len(chat.path()) == 3)
        await chat.until(lambda: chat.runner.active_runs.by_thread[chat.thread_id].recorder.find_text("cid") == "one two ")
        await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert chain(chat)[3:] == [("cid", "ai", "one two "), (MAIN, "tool", STOPPED_TEXT)]
        assert chat.path()[3].status.value == "partial"

    cut = Fault("hang", Say("one two three"), after_tokens=2)
    perform(story, *GO, main=[ask("cid", "1")], cid=[cut])


def test_the_thoughts_of_a_failed_answer_are_not_those_of_the_agents_next_answer() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: chat.runner.active_runs.by_thread[chat.thread_id].recorder.find_text("cid") == "one two ")
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        kept = [Reasoning.of(stored.langchain) for stored in chat.path() if stored.agent == "cid" and stored.type == "ai"]
        assert [each and each.text for each in kept] == ["stale", None]

    cut = Fault("hang", Say("one two three"), after_tokens=2)
    main = [ask("cid", "1"), ask("cid", "2")]
    perform(story, *GO, main=main, cid=[Say("<think>stale"), cut])


def plus_one(text: str) -> Say:
    return Say(str(int(text.rpartition(" ")[2]) + 1))


def counting(text: str) -> Any:
    """The main agent passes a number on, first to one agent and then to the other, until it is large enough."""
    number = int(text.rpartition(" ")[2])
    return Say(f"It is {number}.") if number >= 5 else ask(("ann", "ben")[number % 2], str(number))


def test_an_early_answer_is_replaced_and_the_run_goes_on_along_the_other_path_to_the_other_result() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("Count from 0")
        assert memory(chat, MAIN)[-1] == "It is 5."
        assert (memory(chat, "ann"), memory(chat, "ben")) == (["0", "1", "2", "3", "4", "5"], ["1", "2", "3", "4"])
        await chat.say("Make the first answer 3")
        assert memory(chat, MAIN)[-1] == "It is 5."
        assert (memory(chat, "ann"), memory(chat, "ben")) == (["0", "3", "4", "5"], ["3", "4"])
        assert [message["content"] for message in cast.heard["ann"][-1]] == ["0", "3", "4"]
        assert len(chain(chat)) == 14
        while replaced(chat):
            chat.store.undo(chat.thread_id)
        assert memory(chat, "ann") == ["0", "1", "2", "3", "4", "5"]

    back = Call("rewind", {"agent": "ann", "n": 1, "content": "3"})
    main = [*[counting] * 6, back, *[counting] * 6]
    perform(story, *GO, policy="allow", main=main, ann=[plus_one] * 9, ben=[plus_one] * 9)


def test_of_three_in_a_chain_the_third_remembers_nothing_of_the_erased_future() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("one")
        before = picture(chat.store, chat.thread_id)
        await chat.say("two")
        assert memory(chat, "cid") == ["c", "secret one", "c", "secret two"]
        await chat.say("back")
        assert memory(chat, "cid") == ["c", "secret one", "c", "secret three"]
        assert "secret two" not in str(cast.heard["cid"][-1])
        for _ in ("the move", "back", "two"):
            chat.store.undo(chat.thread_id)
        assert picture(chat.store, chat.thread_id) == before

    once: Any = [ask("ann", "a"), Say("So.")]
    go = Call("goto", {"position": "msg_9", "message": "The second was wrong."})
    perform(
        story,
        agent("ann", "ask_agent"),
        agent("ben", "ask_agent"),
        agent("cid"),
        policy="allow",
        main=[*once, *once, go, *once],
        ann=[ask("ben", "b"), Say("a")] * 3,
        ben=[ask("cid", "c"), Say("b")] * 3,
        cid=[Say("secret one"), Say("secret two"), Say("secret three")],
    )


def test_an_inner_answer_is_replaced_and_everybody_above_it_goes_on() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("one")
        await chat.say("no")
        assert memory(chat, "ben") == ["b", "better"]
        assert [text for *_, text in chain(chat)][-5:] == ["better", "better", "a2", "a2", "So."]

    perform(
        story,
        agent("ann", "ask_agent"),
        agent("ben"),
        policy="allow",
        main=[ask("ann", "a"), Say("So."), Call("rewind", {"agent": "ben", "n": -1, "content": "better"}), Say("So.")],
        ann=[ask("ben", "b"), Say("a1"), Say("a2")],
        ben=[Say("bad")],
    )


def test_independent_work_is_kept_when_asked() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("one")
        await chat.say("no")
        assert memory(chat, "ben") == ["b", "from ben"]
        assert memory(chat, "ann") == ["a", "better"]
        assert chat.unanswered() == set()
        assert memory(chat, MAIN)[-1] == "So."
        assert [op.kind for op in chat.store.list_operations(chat.thread_id)].count(OperationKind.REWIND) == 1

    async def slowly(chat: Running, cast: Cast) -> None:
        await asyncio.wait_for(story(chat, cast), 20)

    back = Call("rewind", {"agent": "ann", "n": 1, "content": "better", "keep_independent": True})
    calls = Calls((ask("ann", "a"), ask("ben", "b")))
    main = [calls, Say("First."), back, Say("So.")]
    perform(slowly, *GO, policy="allow", main=main, ann=[Say("bad")], ben=[Say("from ben")])


def test_agents_come_back_from_an_export() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        thread_id = transfer.import_thread(
            chat.store, reading.read_document(transfer.export(chat.store, chat.thread_id))
        ).result
        assert [(m.agent, m.hash) for m in chat.store.list_messages(thread_id)] == [(m.agent, m.hash) for m in chat.path()]

    perform(story, *GO, main=[ask("cid", "1"), Say("So.")], cid=[Say("c")])


def test_a_second_question_to_an_agent_that_waits_for_a_person_is_nothing_to_decide_about() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        extras = message_view.MessageExtras(run_state=RunState.WAITING)
        [view] = [view for view in message_view.describe_messages(chat.path(), extras) if view["tools"]]
        assert [(tool["id"], tool["status"]) for tool in view["tools"]] == [("a1", "waiting"), ("a2", "queued")]
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("a2", "deny"), caller=Caller())
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("s1", "allow"), caller=Caller()))
        assert [text for name, kind, text in chain(chat) if (name, kind) == (MAIN, "tool")] == ["First.", "Second."]

    asked = Calls((ask("ann", "one", id="a1"), ask("ann", "two", id="a2")))
    perform(story, *GO, approval=("send",), main=[asked, Say("So.")], ann=[SEND, Say("First."), Say("Second.")])


def test_a_sub_agent_counts_on_after_a_decision_and_its_question_is_one_call() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        for identifier in ("s1", "s2"):
            run = await chat.end(await chat.runner.decide(chat.thread_id, Decision(identifier, "allow"), caller=Caller()))
        assert run.state is RunState.DONE
        assert memory(chat, MAIN)[-2:] == [f"ann could not answer: The agent reached the limit of 2 answers. {KEPT}", "So."]

    ann = [Call("send", {"to": name}, id=identifier) for identifier, name in (("s1", "Ann"), ("s2", "Bob"))]
    parts: Any = {"main": [ask("ann", "1"), Say("So.")], "ann": ann}
    perform(story, agent("ann", "send"), **parts, approval=["send"], limits={"agent": budget(answers=2, calls=2)})


def test_nobody_is_asked_about_a_tool_that_the_sub_agent_does_not_have() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, "ann")[-2:] == ["There is no tool 'send'. There are: ask_agent.", "No."]

    ann = [Call("send", {"to": "Ann"}), Say("No.")]
    assert perform(story, agent("ann", "ask_agent"), main=[ask("ann", "1"), Say("So.")], ann=ann, approval=["send"]) == []
