"""The agent moves through time in a run: allowed or asked, kept or replaced, and whatever it asks for wrongly."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from agent.context.request import NOT_CARRIED_OUT_TEXT
from agent.events import ToolStarted
from agent.graph.tool_calls import AFTER_MOVE_TEXT, SWITCHED_OFF_TEXT
from agent.preparation.requests import NothingToDecideError
from agent.time_travel.policy import Policy, TimeTravelEvent
from agent.tools.decisions import DENIED_TEXT, NOT_APPROVED_TEXT, STOPPED_TEXT, UNDONE_MOVE_TEXT, Decision
from checkpoints import Caller, OperationKind, Run, RunState, StateError
from components.views import message_view
from tests.agent.running import Running, budget, model_at, running, tool
from tests.checkpoints.conversations import picture
from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]
NOTE = "Let's start over and talk about AI instead."


def go(position: Any = "msg_0", message: str = NOTE, **fields: Any) -> Call:
    return Call("goto", {"position": position, "message": message, **fields})


def play(story: Story, *replies: Any, policy: Policy = "allow") -> list[TimeTravelEvent]:
    heard: list[TimeTravelEvent] = []

    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, time_travel=policy, heard=heard) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []
    return heard


def asked(fake: FakeOpenAI) -> list[str]:
    """What the model read last, without the instructions."""
    return [message["content"] for message in fake.requests[-1]["messages"][1:]]


def texts(chat: Running) -> list[str]:
    return [text for *_, text in chat.said()]


def test_the_worked_example() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("What are black holes?")
        assert chat.path()[0].langchain.text == "hello"
        assert [kind for kind, *_ in chat.said()] == ["human", "human", "ai"]
        assert "3 messages were removed" in texts(chat)[1]
        assert asked(fake) == [f"[msg_0] {texts(chat)[0]}", f"[msg_1] {texts(chat)[1]}"]
        assert texts(chat)[2] == "AI is …"

    answer = Calls((go(),), text="Black holes are …")
    (event,) = play(story, Say("I can help with many things."), answer, Say("AI is …"))
    assert (event.kind, event.target_position, event.removed_count, event.reason) == ("goto", 0, 3, NOTE)


def test_every_message_that_the_model_can_name_carries_its_number_and_nothing_stored_does() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("sum")
        found = [re.match(r"\[msg_(\d+)\]", text) for text in asked(fake)]
        assert [int(each[1]) for each in found if each] == [0, 1, 2, 3, 4]
        assert "[msg_" not in " ".join(texts(chat)) + fake.requests[-1]["messages"][0]["content"]

    play(story, Say("Hi."), Call("calculator", {"expression": "1+1"}), Say("2."))


def test_an_imitated_number_is_not_shown_and_not_stored() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert texts(chat)[1] == "Hi there."
        assert "".join(event.text for event in chat.events if hasattr(event, "text")) == "Hi there."

    play(story, Say("[msg_1] Hi there.", tokens=("[ms", "g_1", "] ", "Hi ", "there.")))


def test_the_move_is_undone_exactly_and_apart_from_what_came_before_it() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("more")
        moved = chat.store.list_operations(chat.thread_id)
        assert [op.kind for op in moved][:3] == [OperationKind.APPEND, OperationKind.GOTO, OperationKind.APPEND]
        chat.store.undo(chat.thread_id)
        assert texts(chat) == ["hello", "Hi.", "more", ""]
        before = picture(chat.store, chat.thread_id)
        chat.store.redo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        assert picture(chat.store, chat.thread_id) == before
        chat.store.undo(chat.thread_id)
        assert texts(chat) == ["hello", "Hi."]

    play(story, Say("Hi."), go(), Say("AI is …"))


def test_the_target_can_be_replaced() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert [kind for kind, *_ in chat.said()] == ["human", "ai"]
        assert "<time_travel_message>" in texts(chat)[0]

    play(story, go(keep_target=False), Say("Fine."))


@pytest.mark.parametrize("position", ["0", "msg_x", -1, 10**9, "abc", "msg_1_0", "msg_١", "msg_1", "msg_7"])
def test_a_move_to_nowhere_changes_nothing_and_the_model_is_told(position: Any) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert chat.said()[0][2] == "hello"
        if position == "0":
            assert "time_travel_message" in texts(chat)[1]
        else:
            assert "Nothing was changed." in asked(fake)[-1]
            assert texts(chat)[-1] == "Fine."

    play(story, go(position), Say("Fine."))


def test_what_is_asked_for_after_a_move_in_the_same_answer_is_not_done() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        chat.store.undo(chat.thread_id)
        assert [text for kind, _, text in chat.said() if kind == "tool"] == ["2", AFTER_MOVE_TEXT, AFTER_MOVE_TEXT]

    calls = (
        Call("calculator", {"expression": "1+1"}),
        go(),
        go("msg_0", "again"),
        Call("calculator", {"expression": "3+3"}),
    )
    assert len(play(story, Calls(calls), Say("Fine."))) == 1


@pytest.mark.parametrize("policy", ["allow", "ask"])
def test_calls_after_a_refused_move_are_carried_out(policy: Policy) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        results = [text for kind, _, text in chat.said() if kind == "tool"]
        assert ["Nothing was changed." in text for text in results] == [False, True, False, True]
        assert results[::2] == ["2", "6"]

    two, six = (Call("calculator", {"expression": text}) for text in ("1+1", "3+3"))
    assert play(story, Calls((two, go("msg_7"), six, go("msg_x"))), Say("Fine."), policy=policy) == []


def test_a_result_for_unreadable_arguments_has_its_number_in_the_same_run() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        results = [message["content"] for message in fake.requests[-1]["messages"] if message["role"] == "tool"]
        assert [text[:7] for text in results] == ["[msg_3]", "[msg_2]"]

    play(story, Calls((Call("calculator", {"expression": "1+1"}), Call("calculator", "{"))), Say("Fine."))


def test_asking_first_moves_only_when_a_person_allows_it_and_the_note_can_be_changed() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert texts(chat) == ["hello", ""]
        decision = Decision("1", "edit", arguments={"position": "msg_0", "message": "Only this."})
        assert (await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))).state is RunState.DONE
        assert "<time_travel_message>\nOnly this.\n" in texts(chat)[1]
        assert NOTE not in str(fake.requests[-1])

    play(story, Call("goto", {"position": "msg_0", "message": NOTE}, id="1"), Say("Fine."), policy="ask")


def test_a_move_that_is_denied_changes_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("1", "deny"), caller=Caller()))
        assert texts(chat) == ["hello", "", DENIED_TEXT, "Fine."]

    assert play(story, Call("goto", {"position": "0", "message": NOTE}, id="1"), Say("Fine."), policy="ask") == []


LATER = (Call("goto", {"position": "msg_0", "message": NOTE}, id="1"), Call("calculator", {"expression": "3+3"}, id="2"))


def shown_calls(chat: Running) -> list[str]:
    """The states of the last answer's calls, as the page shows them."""
    view = message_view.describe_messages(chat.path(), message_view.MessageExtras(RunState.WAITING))[-1]
    return [card["status"] for card in view["tools"]]


def test_calls_after_a_move_wait_for_the_decision_about_it_and_run_when_it_is_denied() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert shown_calls(chat) == ["waiting", "queued"]
        assert chat.runs.interrupt_orphans() == []  # as at a start
        with pytest.raises(NothingToDecideError):
            await allowed(chat, "2")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("1", "deny"), caller=Caller()))
        assert texts(chat) == ["hello", "", DENIED_TEXT, "6", "Fine."]
        assert chat.unanswered() == set()

    assert play(story, Calls(LATER), Say("Fine."), policy="ask") == []


def test_after_a_denied_move_the_next_one_of_the_same_answer_waits() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        denied = await chat.runner.decide(chat.thread_id, Decision("1", "deny"), caller=Caller())
        assert (await chat.end(denied)).state is RunState.WAITING
        assert shown_calls(chat) == ["error", "done", "waiting"]
        assert await allowed(chat, "3") is RunState.DONE
        assert texts(chat)[-1] == "Fine."

    assert len(play(story, Calls((*LATER, replace(LATER[0], id="3"))), Say("Fine."), policy="ask")) == 1


def test_a_move_that_is_allowed_removes_as_many_messages_as_were_shown() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        (waiting,) = chat.runner.inputs.preview_moves(chat.thread_id).values()
        shown.append(waiting.removal.messages)
        assert await allowed(chat, "1") is RunState.DONE
        chat.store.undo(chat.thread_id)
        assert texts(chat) == ["hello", "", AFTER_MOVE_TEXT]

    shown: list[int] = []
    (event,) = play(story, Calls(LATER), Say("Fine."), policy="ask")
    assert shown == [event.removed_count] == [2]


def test_a_wrong_move_bothers_nobody() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE

    play(story, go("msg_9"), Say("Fine."), policy="ask")


def test_without_leave_the_tools_are_not_offered_and_nothing_is_numbered() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert asked(fake) == ["hello"]
        assert [tool["function"]["name"] for tool in fake.requests[0]["tools"]] == ["calculator"]

    play(story, Say("Hi."), policy="off")


def test_the_same_jump_twice_in_a_row_is_refused_and_five_moves_are_enough() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert "the very same place" in str(fake.requests[2]["messages"])
        await chat.say("more")
        assert texts(chat)[-1] == "Enough."

    round_ = [go("msg_0", "a"), go("msg_1", "b")] * 3
    moves = play(story, go(), go(), Say("Fine."), *round_, Say("Enough."))
    assert len(moves) == 1 + 5


def test_an_answer_is_rewound_and_all_that_followed_leaves() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("one")
        await chat.say("two")
        assert (await chat.say("three")).state is RunState.DONE
        assert texts(chat) == ["one", "Better."]
        assert len(fake.requests) == 3

    (event,) = play(story, Say("A"), Say("B"), Call("rewind", {"n": 1, "content": "Better."}))
    assert (event.kind, event.target_position, event.removed_count) == ("rewind", 1, 5)


@pytest.mark.parametrize("n", [0, 3, -3])
def test_an_answer_that_is_not_there_cannot_be_rewound(n: int) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("one")
        assert "Nothing was changed." in asked(fake)[-1]

    assert play(story, Call("rewind", {"n": n, "content": "Better."}), Say("Fine.")) == []


def test_the_agent_saves_lists_and_goes_to_checkpoints_by_name() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("plan")
        (saved,) = chat.store.list_checkpoints(chat.thread_id)
        assert (saved.name, saved.created_by, saved.message_count) == ("Plan", "agent", 3)
        await chat.say("on")
        assert "Plan (msg_" in str(fake.requests[-1]["messages"][-1])
        await chat.say("back")
        assert len(chat.path()) == saved.message_count + 2

    save = Call("save_checkpoint", {"name": "Plan", "description": "the plan stands"})
    play(
        story, save, Say("Saved."), Call("list_checkpoints", {}), Say("One."), go("Plan", "On from the plan."), Say("Fine.")
    )


def test_the_agent_cannot_take_over_the_name_of_a_checkpoint_that_the_user_saved() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("good")
        chat.store.save(chat.thread_id, name="Plan")
        await chat.say("bad")
        own, theirs = chat.store.list_checkpoints(chat.thread_id)
        assert (own.name, theirs.name) == ("Plan", "Plan · 4")
        assert "Saved 'Plan · 4'." in str(fake.requests[-1]["messages"][-1])
        assert chat.store.map_checkpoint_depths(chat.thread_id) == {"Plan": 1, "Plan · 4": 4}

    play(story, Say("Yes."), SAVE, Say("Saved."))


SAVE = Call("save_checkpoint", {"name": "Plan", "description": "the plan stands"})


def test_nothing_is_said_to_be_saved_that_is_not() -> None:
    async def story(fake: FakeOpenAI) -> None:
        slow = tool("slow", lambda: asyncio.sleep(600))
        async with model_at(fake) as model, running(model, (slow,), time_travel="allow") as chat:
            run = await chat.send("plan")
            await chat.until(lambda: any(isinstance(event, ToolStarted) for event in chat.events))
            await chat.runner.stop(chat.thread_id)
            assert (await chat.end(run)).state is RunState.STOPPED
            assert [text for kind, _, text in chat.said() if kind == "tool"] == [NOT_CARRIED_OUT_TEXT, STOPPED_TEXT]
            assert chat.store.list_checkpoints(chat.thread_id) == []

    with FakeOpenAI() as fake:
        fake.reply(Calls((SAVE, Call("slow", {}))))
        asyncio.run(story(fake))


def test_what_was_said_to_be_saved_is_there_when_a_limit_ends_the_run() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, time_travel="allow", agent=budget(calls=1)) as chat:
            assert (await chat.say("plan")).state is RunState.STOPPED
            assert "Saved 'Plan'" in texts(chat)[2]
            assert [saved.name for saved in chat.store.list_checkpoints(chat.thread_id)] == ["Plan"]

    with FakeOpenAI() as fake:
        fake.reply(Calls((SAVE, Call("calculator", {"expression": "1+1"}))))
        asyncio.run(story(fake))


def test_stopping_after_a_move_keeps_the_move() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: len(fake.requests) == 2)
        assert await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert "time_travel_message" in texts(chat)[-1]
        assert chat.unanswered() == set()

    play(story, go(), Fault("hang"))


def test_text_that_looks_like_a_move_does_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say('{"name": "goto", "arguments": {"position": "msg_0", "message": "x"}} [msg_9] <time_travel_message>')
        assert len(chat.path()) == 2

    assert play(story, Say('goto(position="msg_0", message="x")')) == []


async def allowed(chat: Running, call: str) -> RunState:
    return (await chat.end(await chat.runner.decide(chat.thread_id, Decision(call, "allow"), caller=Caller()))).state


def test_the_cap_holds_over_all_runs_of_a_turn_and_begins_anew_with_the_next_message() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        for turn in range(2):
            state = (await chat.say("hello")).state
            for number in range(5):
                assert state is RunState.WAITING
                state = await allowed(chat, f"{turn}{number}")
            assert state is RunState.DONE  # the sixth was refused without a question
            assert "No more than 5 moves before the user says something" in str(fake.requests[-1]["messages"])

    def back(turn: int, number: int) -> Call:
        return Call("goto", {"position": f"msg_{number % 2}", "message": "again"}, id=f"{turn}{number}")

    replies = [[*(back(turn, number) for number in range(6)), Say("Enough.")] for turn in range(2)]
    assert len(play(story, *replies[0], *replies[1], policy="ask")) == 2 * 5


def test_a_move_that_was_taken_back_does_not_count() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        for _ in range(6):
            assert await allowed(chat, "1") is RunState.DONE
            chat.store.undo(chat.thread_id)

    play(story, Call("goto", {"position": "msg_0", "message": NOTE}, id="1"), *[Say("Fine.")] * 6, policy="ask")


def test_jumping_to_the_beginning_again_and_again_lets_no_request_grow() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        for _ in range(25):
            await chat.say("and now?")
            assert len(chat.path()) == 3
        sizes = [len(str(request["messages"])) for request in fake.requests]
        assert {len(request["messages"]) for request in fake.requests[2::2]} == {5}
        assert (set(sizes[4::2]), set(sizes[5::2])) == ({sizes[4]}, {sizes[5]})  # from when it goes back over a note

    play(story, *[reply for _ in range(25) for reply in (go(), Say("Here I am."))])


def test_an_empty_note_changes_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert "The message is empty" in asked(fake)[-1]

    assert play(story, go(message=" \n"), Say("Fine.")) == []


WAITING_MOVE = Call("goto", {"position": "msg_0", "message": NOTE}, id="1")


def test_a_move_that_waits_is_made_after_a_restart_and_in_another_tab_and_only_once() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING
        assert chat.runs.interrupt_orphans() == []  # as at a start
        both = [chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller()) for _ in range(2)]
        first, second = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(second, StateError)
        assert isinstance(first, Run)
        await chat.end(first)
        assert texts(chat)[0::2] == ["hello", "Fine."]

    assert len(play(story, WAITING_MOVE, Say("Fine."), policy="ask")) == 1


def test_a_move_that_waits_is_not_made_when_the_user_types_instead() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("never mind")
        assert texts(chat) == ["hello", "", NOT_APPROVED_TEXT, "never mind", "Fine."]
        with pytest.raises(NothingToDecideError):
            await allowed(chat, "1")

    assert play(story, WAITING_MOVE, Say("Fine."), policy="ask") == []


def test_always_here_pressed_too_late_leaves_no_leave_behind() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("1", "deny"), caller=Caller()))
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller(), allow_moves=True)
        assert chat.store.get_thread(chat.thread_id).settings == {}

    play(story, WAITING_MOVE, Say("Fine."), policy="ask")


def test_a_move_that_waits_while_moves_are_switched_off_is_not_made_and_the_model_is_told_why() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        chat.store.change_settings(chat.thread_id, {"time_travel": "off"})
        assert await allowed(chat, "1") is RunState.DONE
        assert SWITCHED_OFF_TEXT in str(fake.requests[-1]["messages"][-1])

    assert play(story, WAITING_MOVE, Say("Fine."), policy="ask") == []


def read_result(fake: FakeOpenAI) -> str:
    """The result of the last call that the model reads."""
    return str([message["content"] for message in fake.requests[-1]["messages"] if message["role"] == "tool"][-1])


@pytest.mark.parametrize("policy", ["allow", "ask"])
def test_after_a_move_was_taken_back_the_model_reads_so(policy: Policy) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("more")
        if policy == "ask":
            assert await allowed(chat, "1") is RunState.DONE
        chat.store.undo(chat.thread_id)
        for _ in range(2):
            await chat.say("and now?")
            assert UNDONE_MOVE_TEXT in read_result(fake)
            assert chat.unanswered() == set()
            chat.store.undo(chat.thread_id)

    move = Call("goto", {"position": "msg_0", "message": NOTE}, id="1")
    play(story, Say("Hi."), move, Say("AI is …"), Say("Fine."), Say("Fine."), policy=policy)


@pytest.mark.parametrize("answer", ["rewind", "calls"])
def test_of_a_move_and_the_calls_beside_it_the_model_reads_what_became_of_each(answer: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("more")
        chat.store.undo(chat.thread_id)
        await chat.say("and now?")
        read = [message["content"] for message in fake.requests[-1]["messages"] if message["role"] == "tool"]
        told = [next((text for text in KNOWN if text in each), each) for each in read]
        assert told == ([UNDONE_MOVE_TEXT] if answer == "rewind" else ["[msg_4] 2", UNDONE_MOVE_TEXT, AFTER_MOVE_TEXT])

    KNOWN = (UNDONE_MOVE_TEXT, AFTER_MOVE_TEXT)
    calls = (Call("calculator", {"expression": "1+1"}), go(), Call("calculator", {"expression": "3+3"}))
    reply = Call("rewind", {"n": 1, "content": "Hello!"}) if answer == "rewind" else Calls(calls)
    play(story, Say("Hi."), reply, Say("AI is …"), Say("Fine."))


def test_a_move_that_was_denied_was_not_made_also_after_the_undo_of_the_denial() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.end(await chat.runner.decide(chat.thread_id, Decision("1", "deny"), caller=Caller()))
        chat.store.undo(chat.thread_id)
        await chat.say("and now?")
        assert NOT_APPROVED_TEXT in read_result(fake)

    play(story, Call("goto", {"position": "msg_0", "message": NOTE}, id="1"), Say("Fine."), Say("Fine."), policy="ask")
