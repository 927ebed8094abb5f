"""Sub-agents move within their own memory. The conversation keeps every message, and its changes take the memory along."""

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.subagent_memory import recall_messages
from agent.marks import CallKey, MoveMark, QuestionMark
from agent.preparation.requests import NothingToDecideError
from agent.subagents.agents import Agent
from agent.time_travel.policy import Policy
from agent.tools.decisions import DENIED_TEXT, Decision
from checkpoints import MAIN, Caller, NewMessage, RunState
from checkpoints.interchange import reading, transfer
from checkpoints.values import serde
from components.panels import approval
from components.views import message_view
from tests.agent.cast import Cast, agent, ask, chain, memory, perform
from tests.agent.running import Running
from tests.fakes.openai import Call, Calls, Fault, Say

ANN = agent("ann", "send", "goto", "rewind", "save_checkpoint", "list_checkpoints")
NOTE = "Bob does not answer: write to Cid."


def go(position: Any = "msg_0", message: str = NOTE, **fields: Any) -> Call:
    arguments = {"position": position, "message": message}
    return Call("goto", arguments | {key: value for key, value in fields.items() if key != "id"}, id=fields.get("id"))


def send(to: str) -> Call:
    return Call("send", {"to": to})


def read(cast: Cast, name: str = "ann") -> list[str]:
    """What an agent read last; calls have no text."""
    return [str(message["content"] or "") for message in cast.heard[name][-1]]


def numbers(cast: Cast, name: str = "ann") -> list[int]:
    return [int(found[1]) for text in read(cast, name) if (found := re.match(r"\[msg_(\d+)\]", text))]


def play(story: Any, *main: Any, ann: list[Any], policy: Policy = "allow", ann_is: Agent = ANN, **more: Any) -> list[str]:
    return perform(story, ann_is, agent("ben", "send"), policy=policy, main=main, ann=ann, **more)


def test_a_sub_agent_goes_back_in_its_own_memory_and_the_conversation_keeps_all() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert [kind for who, kind, _ in chain(chat) if who == "ann"] == ["human", "ai", "tool", "ai", "tool", "ai"]
        assert chat.unanswered() == set()
        assert read(cast)[0] == "[msg_0] Write."
        assert "GOTO tool used: the conversation went back to msg_0; 3 messages were removed." in read(cast)[1]
        assert NOTE in read(cast)[1]
        assert len(read(cast)) == 2
        assert memory(chat, MAIN) == ["hello", "", "Done.", "So."]

    assert play(story, ask("ann", "Write."), Say("So."), ann=[send("Bob"), go(), Say("Done.")]) == ["Bob"]


def test_the_numbers_that_it_sees_are_the_positions_in_its_memory() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert numbers(cast) == [0, 1, 2, 3, 4, 5]
        await chat.say("again")
        assert numbers(cast) == [0, 1, 2, 3]
        assert [text.split(" ")[1] for text in read(cast)[2:]] == ["Done.", "Again."]

    calls = Calls((send("Bob"), send("Cid")))
    ann = [calls, send("Dan"), Say("Done."), go("msg_0", "Two wrote."), Say("Done."), Say("Yes.")]
    play(story, ask("ann", "Write."), Say("So."), ask("ann", "And?"), ask("ann", "Again."), Say("So."), ann=ann)


def test_other_agents_that_work_meanwhile_notice_nothing() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        cast.token_delay = 0.02
        assert (await chat.say("hello")).state is RunState.DONE
        assert read(cast, "ben") == ["Call.", "", "sent to Eve"]
        assert {text for who, kind, text in chain(chat) if (who, kind) == (MAIN, "tool")} == {"Done.", "Called."}

    both = Calls((ask("ann", "Write."), ask("ben", "Call.")))
    play(story, both, Say("So."), ann=[send("Bob"), go(), go("msg_1"), Say("Done.")], ben=[send("Eve"), Say("Called.")])


@pytest.mark.parametrize("keep_target", [True, False])
@pytest.mark.parametrize("position", range(6))
def test_wherever_it_goes_its_requests_obey_the_rules_of_pairs(position: int, keep_target: bool) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert memory(chat, "ann")[-1] == "Done."
        kept = memory_numbers[: position + keep_target]
        assert numbers(cast) == [*kept, position + keep_target]

    memory_numbers = [0, 1, 2, 3, 4, 5]
    calls = Calls((send("Bob"), send("Cid"), Call("save_checkpoint", {"name": "Sent"})))
    move = go(f"msg_{position}", keep_target=keep_target)
    play(story, ask("ann", "Write."), Say("So."), ann=[calls, send("Dan"), move, Say("Done.")])


def test_it_saves_lists_and_goes_to_checkpoints_of_its_own() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        listed = next(text for text in memory(chat, "ann") if text.startswith("Sent"))
        assert listed == "Sent (msg_3): both letters are out"
        assert len(read(cast)) == 5
        assert NOTE in read(cast)[4]
        assert chat.store.list_checkpoints(chat.thread_id) == []
        chat.store.save(chat.thread_id, name="Mine")
        await chat.say("again")
        assert "'Mine' is not a message number" in read(cast)[-1]

    save = Call("save_checkpoint", {"name": "Sent", "description": "both letters are out"})
    ann = [Calls((send("Bob"), save)), Call("list_checkpoints", {}), go("Sent"), Say("Done."), go("Mine"), Say("No.")]
    play(story, ask("ann", "Write."), Say("So."), ask("ann", "Back."), Say("So."), ann=ann)


def test_it_replaces_an_answer_of_its_own_and_is_asked_the_present_question_again() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        for text in ("one", "two", "three"):
            await chat.say(text)
        assert read(cast) == ["[msg_0] First?", "[msg_1] Two.", "[msg_2] Third?"]
        assert memory(chat, MAIN)[2::4] == ["One.", "Second.", "Third."]

    main = [each for question in ("First?", "Second?", "Third?") for each in (ask("ann", question), Say("So."))]
    back = Call("rewind", {"n": 1, "content": "Two."})
    play(story, *main, ann=[Say("One."), Say("Second."), back, Say("Third.")])


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (go("msg_9"), "There is no msg_9. Valid are msg_0 to msg_0. Nothing was changed."),
        (Call("rewind", {"n": 1, "content": "x"}), "No answer of ann can be replaced: there is none yet."),
        (Call("rewind", {"n": 1, "content": "x", "agent": "main"}), "Only your own answers can be replaced"),
        (Call("fork", {"prompts": ["x"]}), "This is switched off here."),
    ],
)
def test_a_move_that_it_cannot_make_changes_nothing(call: Call, refusal: str) -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert refusal in read(cast)[-1]
        assert memory(chat, "ann")[-1] == "Done."

    play(story, ask("ann", "Write."), Say("So."), ann=[call, Say("Done.")])


def test_it_moves_at_most_five_times_for_one_question() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert "No more than 5 moves before the next question." in read(cast)[-1]
        await chat.say("again")
        assert NOTE in read(cast)[-1]

    moves = [go(f"msg_{number % 2}") for number in range(6)]
    main = [ask("ann", "Write."), Say("So."), ask("ann", "Again."), Say("So.")]
    play(story, *main, ann=[*moves, Say("Enough."), go("msg_0"), Say("Done.")])


def test_without_leave_it_is_offered_no_move() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        assert [tool["function"]["name"] for tool in cast.requests[1]["tools"]] == ["send"]
        assert read(cast) == ["Write."]

    play(story, ask("ann", "Write."), Say("So."), ann=[Say("Done.")], policy="off")


def waiting_card(chat: Running) -> Any:
    """The card with which the page asks about the move of a sub-agent."""
    moves = approval.describe_waiting_moves(chat.runner.inputs, chat.thread_id)
    extras = message_view.MessageExtras(RunState.WAITING, waiting_moves=moves)
    (card,) = message_view.describe_messages(chat.path(), extras)[-1]["tools"][0]["work"]["waiting"]
    return card


def test_a_person_is_asked_first_with_the_name_of_the_agent() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        card = waiting_card(chat)
        asked = "ann asks to go back to message 1 of its own memory: it will forget 3 messages."
        assert (card["status"], card["move"]["text"].startswith(asked)) == ("waiting", True)
        decision = Decision("g", "edit", arguments={"position": "msg_0", "message": "Only this."})
        assert (await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))).state is RunState.DONE
        assert "Only this." in read(cast)[1]
        assert NOTE not in str(cast.heard["ann"][-1])

    play(story, ask("ann", "Write."), Say("So."), ann=[send("Bob"), go(id="g"), Say("Done.")], policy="ask")


def test_a_move_that_is_denied_changes_nothing() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("g", "deny"), caller=Caller()))
        assert read(cast)[-1].endswith(DENIED_TEXT)

    play(story, ask("ann", "Write."), Say("So."), ann=[go(id="g"), Say("Done.")], policy="ask")


def test_calls_after_a_denied_move_are_carried_out() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("g", "deny"), caller=Caller()))
        assert [DENIED_TEXT in text for text in read(cast)[-2:]] == [True, False]
        assert chat.unanswered() == set()

    ann = [Calls((go(id="g"), send("Bob"))), Say("Done.")]
    assert play(story, ask("ann", "Write."), Say("So."), ann=ann, policy="ask") == ["Bob"]


def test_a_move_behind_a_sub_agent_that_waits_for_a_person_waits_its_turn() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("m", "deny"), caller=Caller())
        first = await chat.runner.decide(chat.thread_id, Decision("g", "deny"), caller=Caller())
        assert (await chat.end(first)).state is RunState.WAITING
        second = await chat.runner.decide(chat.thread_id, Decision("m", "deny"), caller=Caller())
        assert (await chat.end(second)).state is RunState.DONE
        assert chat.unanswered() == set()

    main = [Calls((ask("ann", "Write."), go(id="m"))), Say("So.")]
    play(story, *main, ann=[go(id="g"), Say("Done.")], policy="ask")


def test_always_allowed_holds_for_every_agent() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("hello")
        allowed = chat.runner.decide(chat.thread_id, Decision("g", "allow"), caller=Caller(), allow_moves=True)
        await chat.end(await allowed)
        assert (await chat.say("again")).state is RunState.DONE
        assert NOTE in str(cast.heard["ann"][-1])

    main = [ask("ann", "Write."), Say("So."), ask("ann", "Again."), Say("So.")]
    play(story, *main, ann=[go(id="g"), Say("Done."), go("msg_1"), Say("Done.")], policy="ask")


def test_undo_restore_and_an_import_take_the_memory_along() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("one")
        chat.store.save(chat.thread_id, name="Before")
        await chat.say("two")
        moved = recall_texts(chat.path())
        assert moved[1:] == [moved[1], "Because."]
        there = transfer.import_thread(chat.store, reading.read_document(transfer.export(chat.store, chat.thread_id))).result
        assert recall_texts(chat.store.list_messages(there)) == moved
        chat.store.undo(chat.thread_id)
        assert recall_texts(chat.path())[:2] == ["Write.", "Done."]
        chat.store.redo(chat.thread_id)
        assert recall_texts(chat.path()) == moved
        chat.store.restore(chat.thread_id, chat.store.list_checkpoints(chat.thread_id)[0].id)
        assert recall_texts(chat.path()) == ["Write.", "Done."]

    def recall_texts(path: Any) -> list[str]:
        return [str(message.langchain.text) for message in recall_messages(path, "ann")]

    main = [ask("ann", "Write."), Say("So."), ask("ann", "Why?"), Say("So.")]
    play(story, *main, ann=[Say("Done."), go("msg_0"), Say("Because.")])


def test_the_main_agent_replaces_an_answer_that_the_sub_agent_has_forgotten() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        await chat.say("one")
        await chat.say("two")
        assert (await chat.say("three")).state is RunState.DONE
        assert (memory(chat, "ann"), memory(chat, MAIN)[-1]) == (["Write.", "Better."], "Fine.")
        assert chat.unanswered() == set()

    main = [
        ask("ann", "Write."),
        Say("So."),
        ask("ann", "Why?"),
        Say("So."),
        Call("rewind", {"n": 1, "content": "Better.", "agent": "ann"}),
        Say("Fine."),
    ]
    play(story, *main, ann=[Say("Done."), go("msg_0"), Say("Because.")])


def test_a_stop_keeps_the_move() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: len(cast.heard["ann"]) == 2)
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        assert (chat.unanswered(), len(recall_messages(chat.path(), "ann"))) == (set(), 2)
        await chat.say("again")
        assert numbers(cast) == [0, 1, 2]

    play(story, ask("ann", "Write."), ask("ann", "Again."), Say("So."), ann=[go(), Fault("hang"), Say("Done.")])


def test_after_a_crash_it_goes_on_from_where_it_went() -> None:
    async def story(chat: Running, cast: Cast) -> None:
        ask_ann = {"name": "ask_agent", "args": {"agent": "ann", "question": "Write."}, "id": "m1"}
        back = {"name": "goto", "args": {"position": "msg_0", "message": NOTE}, "id": "g"}
        went = ToolMessage(NOTE, tool_call_id="g", name="goto", additional_kwargs=MoveMark("goto", 0, 1).to_kwargs())
        wrote: list[tuple[str, BaseMessage]] = [
            (MAIN, HumanMessage("hello")),
            (MAIN, AIMessage("", tool_calls=[ask_ann])),
            ("ann", HumanMessage("Write.", additional_kwargs=QuestionMark(CallKey(MAIN, "m1")).to_kwargs())),
            ("ann", AIMessage("", tool_calls=[back])),
            ("ann", went),
        ]
        chat.store.append(chat.thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in wrote])
        await chat.end(await chat.runner.continue_answer(chat.thread_id, caller=Caller()))
        assert read(cast) == ["[msg_0] Write.", f"[msg_1] {NOTE}"]
        assert memory(chat, MAIN)[-2:] == ["Done.", "So."]

    play(story, Say("So."), ann=[Say("Done.")])
