"""Subgraphs that are nodes: their words stream under the name of their agent, and are shown at their question."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.events import MessageAdded, RunStarted, TextBegun, TextDelta, TextWithdrawn
from checkpoints import MAIN, RunState
from tests.agent.running import KEY, Running
from tests.agent.user_graphs.running_graphs import hosting
from tests.fakes.openai import FakeOpenAI, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]
# `agent` makes a subgraph whose only node asks the model to say its own words.
AGENTS = """
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

model = ChatOpenAI(model="some", base_url={address!r}, api_key={key!r}, max_retries=0)


def say(words, asked=model):
    async def node(state):
        return {{"messages": [await asked.ainvoke([HumanMessage(words)])]}}

    return node


def ask(state):
    return {{"messages": [AIMessage(interrupt("Send this draft?"))]}}


def build(*nodes, **named):
    steps = [(node.__name__, node) for node in nodes] + list(named.items())
    return StateGraph(MessagesState).add_sequence(steps).add_edge(START, steps[0][0]).compile()


def build_beside(**named):
    builder = StateGraph(MessagesState)
    for name, node in named.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile()


"""


def play(tmp_path: Path, graph: str, story: Story) -> None:
    async def whole() -> None:
        with FakeOpenAI() as fake:
            async with hosting(tmp_path, AGENTS.format(address=fake.base_url, key=KEY) + graph) as chat:
                await story(chat, fake)

    asyncio.run(whole())


def read_live(chat: Running) -> list[tuple[str, str]]:
    """The text in progress as the pages have it: the agent and the text of each message."""
    live: list[tuple[str, str]] = []
    for event in chat.events:
        if isinstance(event, RunStarted | MessageAdded | TextWithdrawn):
            live = []
        elif isinstance(event, TextBegun):
            live.append((event.agent, ""))
        elif isinstance(event, TextDelta):
            agent, text = live.pop() if live else ("", "")
            live.append((agent, text + event.text))
    return live


SUPERVISED = """
def route(state):
    said = [each.name for each in state["messages"] if each.name]
    return next((each for each in ("scout", "writer") if each not in said), END)


def agent(name):
    async def answer(state):
        said = await model.ainvoke([HumanMessage(name)])
        said.name = name
        return {"messages": [said]}

    return build(model=answer)


builder = StateGraph(MessagesState)
builder.add_node("supervisor", lambda state: {})
for name in ("scout", "writer"):
    builder.add_node(name, agent(name))
    builder.add_edge(name, "supervisor")
builder.add_edge(START, "supervisor")
builder.add_conditional_edges("supervisor", route)
graph = builder.compile()
"""


def echo(words: str) -> str:
    """What the model says of these words, where the test has no script."""
    return f"You said: {words}\n\nI see 1 of your messages and 1 in all."


def test_each_agent_of_a_supervisor_streams_under_its_name(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=3)
        run = await chat.send("go")
        await chat.until(lambda: read_live(chat) == [("scout", "You said: scout\n\n")])
        live = chat.hub.find_live_run(chat.thread_id)
        assert live is not None
        assert (live.text, live.begun) == ("You said: scout\n\n", ((0, "scout"),))  # for a page that opens now
        fake.release()
        assert (await chat.end(run)).state is RunState.DONE
        assert [event.agent for event in chat.events if isinstance(event, TextBegun)] == ["scout", "writer"]
        assert chat.said()[1:] == [("ai", "done", echo("scout")), ("ai", "done", echo("writer"))]

    play(tmp_path, SUPERVISED, story)


SWARM = """
async def alice(state):
    call = {"name": "to_bob", "args": {}, "id": "call-1", "type": "tool_call"}
    said = await model.ainvoke([HumanMessage("alice")])
    said.tool_calls = [call]
    return {"messages": [said]}


def hand_over(state):
    done = ToolMessage("Bob goes on.", tool_call_id="call-1")
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [*state["messages"], done]})


builder = StateGraph(MessagesState)
builder.add_node("alice", build(model=alice, tools=hand_over), destinations=("bob",))
builder.add_node("bob", build(model=say("bob")))
builder.add_edge(START, "alice")
graph = builder.compile()
"""


def test_the_agents_of_a_swarm_stream_and_hand_over(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("go")).state is RunState.DONE
        assert [event.agent for event in chat.events if isinstance(event, TextBegun)] == ["alice", "bob"]
        texts = [echo("alice"), "Bob goes on.", echo("bob")]
        assert [text for _, _, text in chat.said()[1:]] == texts
        assert chat.heard() == echo("alice") + echo("bob")

    play(tmp_path, SWARM, story)


def test_texts_that_are_written_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    graph = 'graph = build_beside(one=build(model=say("same")), two=build(model=say("same")), three=say("same"))\n'

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=2)
        run = await chat.send("go")
        await chat.until(lambda: len(fake.requests) == 3 and fake.held.is_set())
        await chat.until(lambda: [text for _, text in read_live(chat)] == ["You said: "])
        fake.release()
        await chat.end(run)
        told = [text for text in read_told(chat) if text]
        assert told == [echo("same")] * 3
        assert {event.agent for event in chat.events if isinstance(event, TextBegun)} >= {"one", "two"}

    play(tmp_path, graph, story)


def read_told(chat: Running) -> list[str]:
    """All texts in the order in which they were told, each of one message."""
    told = [""]
    for event in chat.events:
        if isinstance(event, TextBegun):
            told.append("")
        elif isinstance(event, TextDelta):
            told[-1] += event.text
    return told


def test_agents_two_levels_deep_stream_with_the_whole_path_of_their_nodes(tmp_path: Path) -> None:
    graph = 'graph = build(team=build(scout=build(model=say("one"), other=say("two")), end=say("three")))\n'

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        begun = [event.agent for event in chat.events if isinstance(event, TextBegun)]
        assert begun == ["team › scout", "team › scout", "team"]
        assert [text for _, _, text in chat.said()[1:]] == [echo("one"), echo("two"), echo("three")]

    play(tmp_path, graph, story)


def test_words_that_become_no_message_vanish_and_those_of_a_node_without_stream_never_show(tmp_path: Path) -> None:
    graph = """
async def classify(state):
    await model.ainvoke([HumanMessage("class")])
    return {}


silent = say("silent", model.with_config(tags=[TAG_NOSTREAM]))
graph = build(sorter=build(classify), quiet=build(silent=silent), done=lambda state: {"messages": [AIMessage("Done.")]})
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        assert read_told(chat) == ["", echo("class")]
        assert read_live(chat) == []
        withdrawn = next(place for place, event in enumerate(chat.events) if isinstance(event, TextWithdrawn))
        added = [event for event in chat.events[withdrawn:] if isinstance(event, MessageAdded)]
        assert len(added) == 2  # it vanished at the end of its node
        assert [text for _, _, text in chat.said()[1:]] == [echo("silent"), "Done."]

    play(tmp_path, graph, story)


HELPER = """
helper = build(model=say("help"))


@tool
async def ask_helper() -> str:
    "Ask the helper."
    return (await helper.ainvoke({"messages": [HumanMessage("please")]}))["messages"][-1].text


def begin(state):
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage("It helped.")]}
    return {"messages": [AIMessage("", tool_calls=[{"name": "ask_helper", "args": {}, "id": "call-1"}])]}


builder = StateGraph(MessagesState)
builder.add_node("begin", begin)
builder.add_node("tools", ToolNode([ask_helper]))
builder.add_edge(START, "begin")
builder.add_conditional_edges("begin", tools_condition)
builder.add_edge("tools", "begin")
graph = builder.compile()
"""
WORK = [("ask_helper", "please"), ("ask_helper", "You said: help\n\nI see 1 of your messages and 1 in all.")]


@pytest.mark.parametrize(("around", "work"), [("", WORK), ("graph = build(team=graph)\n", [])], ids=["root", "node"])
def test_a_sub_agent_of_a_tool_stays_below_its_call_and_does_not_stream(
    around: str, work: list[tuple[str, str]], tmp_path: Path
) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        assert len(fake.requests) == 1
        assert not any(isinstance(event, TextBegun | TextDelta) for event in chat.events)
        assert [(each.agent, str(each.langchain.text)) for each in chat.path() if each.agent != MAIN] == work
        assert chat.said()[-1] == ("ai", "done", "It helped.")

    play(tmp_path, HELPER + around, story)


def test_stop_keeps_what_the_agents_have_said(tmp_path: Path) -> None:
    graph = 'graph = build(team=build(one=say("one"), two=say("two")))\n'

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.reply(Say("First."))
        run = await chat.send("go")
        await chat.until(lambda: read_live(chat)[:1] == [("team", "First.")])
        fake.hold(after_tokens=2)
        await chat.until(fake.held.is_set)
        await chat.until(lambda: read_live(chat) == [("team", "First."), ("team", "You said: ")])
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        assert chat.said() == [("human", "done", "go"), ("ai", "partial", "First.\n\nYou said: ")]

    play(tmp_path, graph, story)
