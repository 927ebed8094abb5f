"""The work of a user graph's sub-agents stands on the path under the call that started it, and the graph does not see it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.events import MessageAdded
from agent.marks import QuestionMark
from checkpoints import MAIN, Caller, Database, Message, RunState, TakesTooLongError
from checkpoints.upkeep import verification
from components.views.message_view import describe_messages
from extensions.graphs import delegated_work
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import hosting
from tests.extensions.graphs.stacks import DEEP_AGENT, PLAN, read_identities, write_agent
from tests.fakes.openai import FakeOpenAI

Story = Callable[[Running], Awaitable[None]]
# A tool runs another agent: it answers with the question, in capitals, and after a call of its own. Where the place is far,
# that waits for a file beside this one.
SCOUTS = """
import time
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Send, interrupt


def call(name, identifier, **arguments):
    return {"name": name, "args": arguments, "id": identifier, "type": "tool_call"}


@tool
def look(place: str) -> str:
    "Look at a place."
    while "far" in place and not Path(__file__).with_name("arrived").exists():
        time.sleep(0.01)
    return interrupt(f"Look at {place}?") if "closed" in place else f"seen {place}"


def think(state):
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(last.text.upper())]}
    return {"messages": [AIMessage("", tool_calls=[call("look", f"look-{last.text}", place=last.text)])]}


def make_agent(node, tools, per_call=False):
    builder = StateGraph(MessagesState)
    builder.add_node("think", node)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "think")
    route = lambda state: [Send("tools", [each]) for each in state["messages"][-1].tool_calls] or END
    builder.add_conditional_edges("think", route if per_call else tools_condition, ["tools", END])
    builder.add_edge("tools", "think")
    return builder.compile()


scout = make_agent(think, [look])


@tool
async def ask_scout(place: str) -> str:
    "Ask the scout about a place."
    found = await scout.ainvoke({"messages": [HumanMessage(place)]})
    return found["messages"][-1].text


def answer(state):
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"The scout says {last.text}.")]}
    asked = [call("ask_scout", f"ask-{place}", place=place) for place in last.text.split()]
    return {"messages": [AIMessage("", tool_calls=asked)]}


graph = make_agent(answer, [ask_scout], per_call=True)
"""


def play(tmp_path: Path, story: Story, text: str = SCOUTS) -> None:
    async def whole() -> None:
        async with hosting(tmp_path, text) as chat:
            await story(chat)

    asyncio.run(whole())


def list_work(chat: Running) -> list[tuple[str, str, str]]:
    """The messages of sub-agents on the path: the agent, the type and the text."""
    return [(each.agent, each.type, str(each.langchain.text)) for each in chat.path() if each.agent != MAIN]


def list_folded(path: list[Message]) -> list[tuple[str, int]]:
    """The work that the transcript folds below calls: the agent, and the number of its messages."""
    tools = [tool for view in describe_messages(path) for tool in view["tools"]]
    return [(tool["work"]["agent"], tool["work"]["messages"]) for tool in tools if tool["work"]]


WORK = [("human", "Ulm"), ("ai", ""), ("tool", "seen Ulm"), ("ai", "SEEN ULM")]


def test_the_messages_of_a_sub_agent_are_below_the_call_that_started_it_and_shown_as_they_come(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert (await chat.say("Ulm")).state is RunState.DONE
        assert list_work(chat) == [("ask_scout", *each) for each in WORK]
        assert list_folded(chat.path()) == [("ask_scout", 4)]
        question = next(each for each in chat.path() if each.agent != MAIN)
        mark = QuestionMark.of(question)
        assert mark is not None
        assert (mark.call.agent, mark.call.call_id) == (MAIN, "ask-Ulm")
        told = [each.message for each in chat.events if isinstance(each, MessageAdded)]
        assert told == chat.path()[1:]
        assert verification.verify(chat.store.database).damages == ()

    play(tmp_path, story)


def test_the_graph_goes_on_with_its_own_messages_and_an_undo_takes_the_work_along(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        seen = [(chat.path(), read_identities(chat.store, chat.thread_id))]
        for place in ("Ulm", "Bonn", "Kiel"):
            await chat.say(place)
            seen.append((chat.path(), read_identities(chat.store, chat.thread_id)))
        assert [text for agent, kind, text in list_work(chat) if kind == "human"] == ["Ulm", "Bonn", "Kiel"]
        assert len(chat.path()) == 3 * 8
        for earlier in seen[2::-1]:
            chat.store.undo(chat.thread_id)
            assert (chat.path(), read_identities(chat.store, chat.thread_id)) == earlier
        chat.store.redo(chat.thread_id)
        await chat.say("Trier")
        assert len(chat.path()) == 2 * 8
        branches = {each.segment for each in chat.path()}
        assert len(branches) == 2  # the new turn is an alternative; no other message is

    play(tmp_path, story)


def test_agents_at_work_at_once_have_names_of_their_own(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("Ulm Bonn")
        assert sorted(list_folded(chat.path())) == [("ask_scout", 4), ("ask_scout-2", 4)]
        assert {text for agent, kind, text in list_work(chat) if kind == "ai" and text} == {"SEEN ULM", "SEEN BONN"}
        await chat.say("Kiel")
        assert list_folded(chat.path())[-1] == ("ask_scout", 4)

    play(tmp_path, story)


def test_a_question_of_a_sub_agent_waits_and_its_work_goes_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "waymark.db"

    async def whole() -> None:
        async with hosting(tmp_path, SCOUTS, database=Database.open_file(path)) as chat:
            assert (await chat.say("closed")).state is RunState.WAITING
            assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == ["Look at closed?"]
            assert list_work(chat) == [("ask_scout", "human", "closed"), ("ask_scout", "ai", "")]
            thread_id = chat.thread_id
        async with hosting(tmp_path, SCOUTS, database=Database.open_file(path), thread_id=thread_id) as chat:
            (question,) = chat.runner.list_questions(thread_id)
            await chat.runner.resume(thread_id, {question.id: "a wall"}, caller=Caller())
            await chat.until(lambda: not chat.runs.list_running_threads())
            assert list_work(chat)[1:] == [
                ("ask_scout", "ai", ""),
                ("ask_scout", "tool", "a wall"),
                ("ask_scout", "ai", "A WALL"),
            ]
            assert list_folded(chat.path()) == [("ask_scout", 4)]
            assert chat.said()[-1][-1] == "The scout says A WALL."

    asyncio.run(whole())


def test_a_question_that_is_left_gets_results_for_both_agents_and_the_graph_goes_on(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("closed")
        assert (await chat.say("Ulm")).state is RunState.DONE
        assert list_folded(chat.path()) == [("ask_scout", 3), ("ask_scout", 4)]
        assert chat.unanswered() == set()

    play(tmp_path, story)


@pytest.mark.slow
def test_the_scout_of_a_deep_agent_has_its_work_below_its_call(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert (await chat.say("Plan a trip to Ulm.")).state is RunState.WAITING
        assert list_work(chat) == [
            ("scout", "human", "How is Ulm?"),
            ("scout", "ai", ""),
            ("scout", "tool", "sunny in Ulm"),
            ("scout", "ai", "It is sunny in Ulm."),
        ]
        assert list_folded(chat.path()) == [("scout", 4)]

    with FakeOpenAI() as fake:
        fake.script(*PLAN)
        play(tmp_path, story, write_agent(DEEP_AGENT, fake))


def test_stop_in_the_middle_of_its_work_answers_both_agents_calls_and_another_message_goes_on(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.send("far")
        await chat.until(lambda: len(list_work(chat)) == 2)
        await chat.runner.stop(chat.thread_id)
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert chat.unanswered() == set()
        assert list_folded(chat.path()) == [("ask_scout", 3)]
        (tmp_path / "arrived").touch()
        assert (await chat.say("Ulm")).state is RunState.DONE
        assert list_folded(chat.path()) == [("ask_scout", 3), ("ask_scout", 4)]
        assert chat.said()[-1][-1] == "The scout says SEEN ULM."

    play(tmp_path, story)


def test_the_path_is_read_for_a_sub_agent_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(chat: Running) -> None:
        await chat.say("Ulm")
        monkeypatch.setattr(delegated_work, "MAX_PATH_SECONDS", 0.0)
        late = await chat.say("Bonn")
        assert late.state is RunState.FAILED
        assert str(TakesTooLongError()) in str(late.error)
        monkeypatch.undo()
        assert (await chat.say("Kiel")).state is RunState.DONE
        assert [text for agent, kind, text in list_work(chat) if kind == "human"] == ["Ulm", "Kiel"]

    play(tmp_path, story)
