"""The time-travel tools in an author's own agent: its moves wait for a person, and take every channel along."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.events import HeadMoved
from agent.graph.tool_calls import SWITCHED_OFF_TEXT
from agent.marks import MoveMark
from agent.preparation.requests import NothingToDecideError
from agent.time_travel.policy import TimeTravelEvent
from agent.tools.decisions import DENIED_TEXT, NOT_APPROVED_TEXT, Decision
from agent.tools.run_only import OUTSIDE_RUN_TEXT
from checkpoints import Caller, Database, Message, Run, RunState, Store
from extensions.graphs.tools import SUBAGENT_TEXT
from extensions.graphs.travel import KEPT_WORK_TEXT, OPEN_CALLS_TEXT
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import hosting
from tests.extensions.graphs.stacks import TRAVELLER as STACK
from tests.extensions.graphs.stacks import read_identities, write_agent
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say
from waymark import goto

Story = Callable[[Running], Awaitable[None]]
# It calls the tools that a message names in JSON, and otherwise says how often it has answered.
TRAVELLER = """
import json
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from waymark import goto, list_checkpoints, rewind, save_checkpoint

class State(MessagesState, total=False):
    turns: int

def agent(state):
    last, turns = state["messages"][-1], state.get("turns", 0) + 1
    if last.type != "human" or not last.text.startswith("["):
        said = last.text.splitlines()[-2 if last.text.startswith("<") else -1]
        return {"messages": [AIMessage(f"{turns}: {said}")], "turns": turns}
    calls = [{"id": f"call-{turns}-{n}", **call} for n, call in enumerate(json.loads(last.text))]
    return {"messages": [AIMessage("", tool_calls=calls)], "turns": turns}

tools = ToolNode([goto, list_checkpoints, rewind, save_checkpoint])
builder = StateGraph(State)
builder.add_node("agent", agent)
builder.add_node("tools", tools)
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")
graph = builder.compile()
"""


def play(tmp_path: Path, story: Story, text: str = TRAVELLER, **settings: Any) -> None:
    async def whole() -> None:
        async with hosting(tmp_path, text, **{"time_travel": "ask", **settings}) as chat:
            await story(chat)

    asyncio.run(whole())


def ask(*calls: tuple[str, dict[str, Any]]) -> str:
    return json.dumps([{"name": name, "args": arguments} for name, arguments in calls])


def go_to(position: str, note: str = "Only tea.", **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "goto", {"position": position, "message": note, **arguments}


async def decide(chat: Running, kind: Any, call: int = 0, **options: Any) -> Run:
    call_id = list(chat.runner.list_move_calls(chat.thread_id))[call]
    decision = Decision(call_id, kind, **options)
    return await chat.end(await chat.runner.decide(chat.thread_id, decision, caller=Caller()))


def texts(chat: Running) -> list[str]:
    return [text for _, _, text in chat.said()]


def look(chat: Running) -> object:
    return chat.said(), read_identities(chat.store, chat.thread_id)


def test_a_move_waits_and_takes_every_channel_along_and_is_one_undo(tmp_path: Path) -> None:
    heard: list[TimeTravelEvent] = []

    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say("black holes?")
        assert (await chat.say(ask(go_to("msg_1")))).state is RunState.WAITING
        assert chat.runner.list_questions(chat.thread_id) == []
        waiting = look(chat)
        ((call_id, preview),) = chat.runner.inputs.preview_moves(chat.thread_id).items()
        assert (call_id, preview.removal.messages) == ("call-3-0", 4)
        assert (await decide(chat, "allow")).state is RunState.DONE
        note = chat.path()[2]
        assert MoveMark.of(note) is not None
        assert texts(chat) == ["hello", "1: hello", str(note.langchain.text), "2: Only tea."]
        assert any(isinstance(each, HeadMoved) for each in chat.events)
        assert [(each.kind, each.removed_count, each.target_position) for each in heard] == [("goto", 4, 1)]
        moved = look(chat)
        chat.store.undo(chat.thread_id)
        assert look(chat) == waiting
        assert list(chat.runner.list_move_calls(chat.thread_id)) == ["call-3-0"]
        chat.store.redo(chat.thread_id)
        assert look(chat) == moved
        chat.store.undo(chat.thread_id)
        await decide(chat, "deny")
        assert texts(chat)[-2:] == [DENIED_TEXT, f"4: {DENIED_TEXT}"]

    play(tmp_path, story, heard=heard)


def test_a_move_to_the_message_of_its_own_turn_begins_with_the_note(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say(ask(go_to("msg_0", "Not again.")))
        assert texts(chat)[2:] == ["1: Not again."]
        assert chat.path()[1].type == "human"

    play(tmp_path, story, time_travel="allow")


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("deny", {}, DENIED_TEXT),
        ("respond", {"text": "Stay here."}, "Stay here."),
    ],
)
def test_a_move_that_a_person_does_not_allow_is_a_result_and_the_graph_goes_on(
    kind: str, options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say(ask(go_to("msg_0")))
        assert (await decide(chat, kind, **options)).state is RunState.DONE
        assert texts(chat)[-2].endswith(said)
        assert texts(chat)[-1] == f"3: {said}"
        assert chat.unanswered() == set()

    play(tmp_path, story)


def test_a_person_may_change_the_note_and_allow_all_further_moves(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say(ask(go_to("msg_1")))
        changed = {"position": "msg_1", "message": "Only coffee."}
        decision = Decision("call-2-0", "edit", arguments=changed)
        run = await chat.runner.decide(chat.thread_id, decision, caller=Caller(), allow_moves=True)
        await chat.end(run)
        assert texts(chat)[-1] == "2: Only coffee."
        assert (await chat.say(ask(go_to("msg_0", "Once more.")))).state is RunState.DONE
        assert [texts(chat)[0], texts(chat)[-1]] == ["hello", "1: Once more."]

    play(tmp_path, story)


def test_another_process_shows_the_move_and_makes_it(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, TRAVELLER, database=Database.open_file(path), time_travel="ask") as chat:
            await chat.say("hello")
            await chat.say(ask(go_to("msg_0")))
            thread_id = chat.thread_id
        database = Database.open_file(path)
        async with hosting(tmp_path, TRAVELLER, database=database, thread_id=thread_id, time_travel="ask") as chat:
            (call_id,) = chat.runner.list_move_calls(thread_id)
            await chat.runner.decide(thread_id, Decision(call_id, "allow"), caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            assert texts(chat)[-1] == "1: Only tea."

    asyncio.run(story())


def test_a_rewind_replaces_an_answer_and_the_graph_learns_of_it(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say("black holes?")
        await chat.say(ask(("rewind", {"n": 1, "content": "Better."})))
        assert (await decide(chat, "allow")).state is RunState.DONE
        assert texts(chat) == ["hello", "Better."]
        await chat.say("more")
        assert texts(chat) == ["hello", "Better.", "more", "1: more"]

    play(tmp_path, story)


def test_a_checkpoint_stands_behind_the_results_and_is_a_place_to_go_back_to(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say(ask(("save_checkpoint", {"name": "Begun", "description": "so far"})))
        (saved,) = chat.store.list_checkpoints(chat.thread_id)
        assert (saved.name, saved.created_by, saved.message_count) == ("Begun", "agent", 3)
        await chat.say(ask(("list_checkpoints", {})))
        assert texts(chat)[-2] == "Begun (msg_2): so far"
        await chat.say(ask(go_to("Begun")))
        assert texts(chat)[-1] == "2: Only tea."
        assert len(chat.path()) == 5
        chat.store.restore(chat.thread_id, saved.id)
        assert chat.runner.list_move_calls(chat.thread_id) == []
        await chat.say("on")
        assert texts(chat)[-1] == "2: on"

    play(tmp_path, story, time_travel="allow")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([go_to("msg_9")], "There is no msg_9. Valid are msg_0 to msg_6. Nothing was changed."),
        ([go_to("msg_3")], OPEN_CALLS_TEXT),
        ([go_to("msg_5", keep_target=False)], ""),
        ([("rewind", {"n": 1, "content": "x", "keep_independent": True})], KEPT_WORK_TEXT),
        ([("rewind", {"n": 7, "content": "x"})], "There is no answer 7: n goes from 1 to 2, or from -1 back to -2."),
    ],
)
def test_a_move_that_is_not_possible_is_a_result_and_changes_nothing(
    calls: list[tuple[str, dict[str, Any]]], said: str, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say(ask(("list_checkpoints", {})))
        before = chat.path()
        await chat.say(ask(*calls))
        if said:
            assert chat.path()[: len(before)] == before
            assert said in texts(chat)[-2]
        else:
            assert texts(chat)[-1] == "3: Only tea."

    play(tmp_path, story, time_travel="allow")


def test_the_tools_say_that_they_are_switched_off(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say(ask(go_to("msg_0"), ("save_checkpoint", {"name": "x"})))
        assert texts(chat)[-3:-1] == [SWITCHED_OFF_TEXT] * 2
        assert chat.store.list_checkpoints(chat.thread_id) == []

    play(tmp_path, story, time_travel="off")


def test_only_the_agent_that_the_user_talks_to_moves(tmp_path: Path) -> None:
    inner = TRAVELLER.replace("graph = builder.compile()", "inner = builder.compile()")
    text = f"{inner}\ngraph = StateGraph(State).add_node('inner', inner).add_edge(START, 'inner').compile()\n"

    async def story(chat: Running) -> None:
        await chat.say(ask(go_to("msg_0")))
        assert texts(chat)[-1] == f"2: {SUBAGENT_TEXT}"

    play(tmp_path, story, text)


def test_outside_of_waymark_the_tools_say_so() -> None:
    assert goto.invoke({"position": "msg_0", "message": "x"}) == OUTSIDE_RUN_TEXT


def test_a_message_in_the_place_of_a_decision_closes_the_call(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        await chat.say(ask(go_to("msg_0")))
        await chat.say("no, go on")
        assert texts(chat)[-3:] == [NOT_APPROVED_TEXT, "no, go on", "3: no, go on"]
        assert chat.runner.list_move_calls(chat.thread_id) == []
        with pytest.raises(NothingToDecideError):
            await chat.runner.decide(chat.thread_id, Decision("call-2-0", "allow"), caller=Caller())

    play(tmp_path, story)


def test_an_agent_of_langchain_moves_among_other_calls_that_wait(tmp_path: Path) -> None:
    async def story() -> None:
        with FakeOpenAI() as fake:
            async with hosting(tmp_path, write_agent(STACK, fake), time_travel="ask") as chat:
                back = Call("goto", {"position": "msg_0", "message": "Only tea."})
                both = Calls((Call("book", {"seat": "7A"}), back, Call("weather", {"city": "Ulm"})))
                fake.script(Say("Hi."), both, Say("Tea, then."))
                await chat.say("hello")
                assert (await chat.say("go on")).state is RunState.WAITING
                assert len(chat.runner.list_questions(chat.thread_id)) == 1  # the author's own
                (call_id,) = chat.runner.list_move_calls(chat.thread_id)
                assert call_id == both_id(chat)
                removal = chat.runner.inputs.preview_moves(chat.thread_id)[call_id].removal
                await decide(chat, "allow")
                mark = MoveMark.of(chat.path()[1])
                assert mark is not None
                assert mark.removed == removal.messages  # as the card has said
                assert [texts(chat)[0], texts(chat)[-1], len(chat.path())] == ["hello", "Tea, then.", 3]
                assert chat.unanswered() == set()
            assert fake.violations == []

    asyncio.run(story())


def both_id(chat: Running) -> str:
    """The id of the second call of the last answer."""
    calls: Any = chat.path()[-1].body["data"]["tool_calls"]
    return str(calls[1]["id"])


def test_a_move_reads_the_end_of_what_stays_and_never_the_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[dict[str, Any]] = []
    list_messages = Store.list_messages

    def note(self: Store, thread_id: str, **options: Any) -> list[Message]:
        readings.append(options)
        return list_messages(self, thread_id, **options)

    async def story(chat: Running) -> None:
        for number in range(3):
            await chat.say(str(number))
        with monkeypatch.context() as patch:
            patch.setattr(Store, "list_messages", note)
            await chat.say(ask(go_to("msg_3")))
        assert texts(chat)[:4] == ["0", "1: 0", "1", "2: 1"]
        assert len(texts(chat)) == 6
        assert readings
        assert all("last" in options for options in readings)

    play(tmp_path, story, time_travel="allow")
