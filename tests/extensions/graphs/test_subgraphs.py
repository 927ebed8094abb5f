"""Subgraphs that are nodes: their words stream under the name of their agent, and are shown at their question."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.events import GraphProgress, MessageAdded, RunStarted, TextBegun, TextDelta, TextWithdrawn
from checkpoints import MAIN, Caller, Database, RunState, Store
from checkpoints.interchange import transfer
from checkpoints.interchange.reading import read_document
from components.routes.graph_state import NO_PLACE, describe_states
from tests.agent.running import KEY, Running
from tests.extensions.graphs.running_graphs import answer, hosting
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


def test_texts_of_several_nodes_come_one_after_the_other_each_under_its_name(tmp_path: Path) -> None:
    graph = 'graph = build_beside(one=build(model=say("same")), two=build(model=say("same")), three=say("same"))\n'

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
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


@pytest.mark.parametrize("kept", ["team", "scout"])
def test_an_agent_with_a_memory_of_its_own_streams_under_the_name_of_its_node(kept: str, tmp_path: Path) -> None:
    graph = f"""
scout = build(model=say("one"))
if {kept == "scout"}:
    scout.checkpointer = True
team = build(scout=scout, other=say("two"))
if {kept == "team"}:
    team.checkpointer = True
graph = build(team=team)
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        for _ in range(2):
            await chat.say("go")
            begun = [event.agent for event in chat.events if isinstance(event, TextBegun)]
            assert begun == ["team › scout", "team"]
            shown = [event.nodes for event in chat.events if isinstance(event, GraphProgress)]
            assert {name for nodes in shown for name in nodes} <= {
                "team",
                "team › scout",
                "team › scout › model",
                "team › other",
            }
            chat.events.clear()

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
        fake.reply(Say("First"))
        fake.hold(after_tokens=2)  # the first answer has one
        run = await chat.send("go")
        await chat.until(lambda: read_live(chat) == [("team", "First"), ("team", "You said: ")])
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        assert chat.said() == [("human", "done", "go"), ("ai", "partial", "First\n\nYou said: ")]

    play(tmp_path, graph, story)


DRAFT = 'graph = build(sub=build(draft=say("draft"), ask=ask))\n'


def read_drafts(chat: Running) -> list[tuple[str, str, int]]:
    """The drafts that wait: the agent, the text, and the place of its question."""
    ids = [question.id for question in chat.runner.list_questions(chat.thread_id)]
    place = {each: number for number, each in enumerate(ids)}
    return [
        (draft.agent, draft.text, next((place[each] for each in draft.question_ids if each in place), -1))
        for draft in chat.runner.read_rest(chat.thread_id, with_drafts=True).drafts
    ]


def test_a_fork_into_a_new_conversation_has_each_message_once_after_its_answer(tmp_path: Path) -> None:
    async def whole() -> None:
        with FakeOpenAI() as fake:
            graph = AGENTS.format(address=fake.base_url, key=KEY) + DRAFT
            async with hosting(tmp_path, graph, database=Database.open_file(tmp_path / "waymark.db")) as chat:
                await chat.say("go")
                fork = chat.store.fork_thread(chat.thread_id, chat.path()[-1].id).result
                asked = chat.runner.list_questions(fork)[0]
                await chat.runner.resume(fork, {asked.id: "yes"}, caller=Caller())
                await chat.until(lambda: not chat.runs.list_running_threads())
                assert [each.langchain.text for each in chat.store.list_messages(fork)] == ["go", echo("draft"), "yes"]

    asyncio.run(whole())


def test_a_draft_is_at_its_question_after_a_restart_and_an_undo_and_becomes_a_message_with_the_answer(
    tmp_path: Path,
) -> None:
    async def whole() -> None:
        with FakeOpenAI() as fake:
            graph, path = AGENTS.format(address=fake.base_url, key=KEY) + DRAFT, tmp_path / "waymark.db"
            drafts = [("sub", echo("draft"), 0)]
            async with hosting(tmp_path, graph, database=Database.open_file(path)) as chat:
                assert (await chat.say("go")).state is RunState.WAITING
                assert chat.said() == [("human", "done", "go")]
                assert read_live(chat) == [("sub", echo("draft"))]  # until the page has the draft
                assert read_drafts(chat) == drafts
                thread_id = chat.thread_id
            async with hosting(tmp_path, graph, database=Database.open_file(path), thread_id=thread_id) as chat:
                assert read_drafts(chat) == drafts
                saved = str(chat.store.save(thread_id, name="asked").result)
                for answered in ("yes", "no"):
                    asked = chat.runner.list_questions(thread_id)[0]
                    await chat.runner.resume(thread_id, {asked.id: answered}, caller=Caller())
                    await chat.until(lambda: not chat.runs.list_running_threads())
                    texts = [text for _, _, text in chat.said()]
                    assert texts == ["go", echo("draft"), answered]
                    assert read_drafts(chat) == []
                    chat.store.undo(thread_id)
                    assert read_drafts(chat) == drafts
                chat.store.redo(thread_id)
                chat.store.restore(thread_id, saved)
                assert (read_drafts(chat), len(fake.requests)) == (drafts, 1)

    asyncio.run(whole())


def test_each_of_several_subgraphs_has_its_draft_at_its_own_question(tmp_path: Path) -> None:
    graph = """
one = build(draft=say("one"), ask=ask)
two = build(inner=build(draft=say("two"), ask=ask))
graph = build_beside(one=one, two=two, done=build(draft=say("done")))
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("go")).state is RunState.WAITING
        found = {agent: (text, place) for agent, text, place in read_drafts(chat)}
        first, second = found["one"][1], found["two › inner"][1]
        assert {first, second} == {0, 1}
        assert found == {
            "one": (echo("one"), first),
            "two › inner": (echo("two"), second),
            "done": (echo("done"), -1),  # it waits for the others, and asks nothing
        }
        assert (await answer(chat, "yes", first)).state is RunState.WAITING
        assert sorted(read_drafts(chat)) == [
            ("done", echo("done"), -1),
            ("one", echo("one"), -1),
            ("one", "yes", -1),
            ("two › inner", echo("two"), 0),
        ]
        assert (await answer(chat, "no")).state is RunState.DONE
        assert {text for _, _, text in chat.said()} == {"go", "yes", "no", *map(echo, ("one", "two", "done"))}

    play(tmp_path, graph, story)


def test_only_what_was_written_since_the_input_is_a_draft_also_where_a_subgraph_remembers(tmp_path: Path) -> None:
    graph = """
sub = StateGraph(MessagesState).add_sequence([("draft", say("draft")), ("ask", ask)]).add_edge(START, "draft")
graph = build(first=say("first"), sub=sub.compile(checkpointer=True))
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        for _ in range(2):
            assert (await chat.say("go")).state is RunState.WAITING
            assert read_drafts(chat) == [("sub", echo("draft"), 0)]
            assert chat.said()[-1] == ("ai", "done", echo("first"))
            assert (await answer(chat, "yes")).state is RunState.DONE

    play(tmp_path, graph, story)


def test_after_an_answer_that_was_stopped_the_draft_is_that_of_the_question(tmp_path: Path) -> None:
    graph = 'graph = build(sub=build(draft=say("draft"), ask=ask, more=say("more"), end=say("end")))\n'

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        fake.reply(Say("More."))
        (question,) = chat.runner.list_questions(chat.thread_id)
        run = await chat.runner.resume(chat.thread_id, {question.id: "yes"}, caller=Caller())
        fake.hold(after_tokens=2)
        await chat.until(lambda: len(fake.requests) == 3 and fake.held.is_set())
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        assert read_drafts(chat) == [("sub", echo("draft"), 0)]

    play(tmp_path, graph, story)


def test_a_stopped_subgraph_goes_on_to_its_question(tmp_path: Path) -> None:
    graph = """
def draft(state):
    return {"messages": [model.invoke([HumanMessage("draft")])]}


graph = build(sub=build(draft=draft, ask=ask))
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.hold(after_tokens=2)
        run = await chat.send("go")
        await chat.until(lambda: bool(read_live(chat)))
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        ended = await chat.end(await chat.runner.continue_answer(chat.thread_id, caller=Caller()))
        assert (ended.state, ended.error) == (RunState.WAITING, None)
        await answer(chat, "yes")
        assert [text for _, _, text in chat.said()] == ["go", echo("draft"), "yes"]

    play(tmp_path, graph, story)


def test_a_node_that_asks_before_it_returns_leaves_its_text_as_a_partial_message(tmp_path: Path) -> None:
    graph = """
async def node(state):
    await model.ainvoke([HumanMessage("unsaved")])
    return {"messages": [AIMessage(interrupt("Send this draft?"))]}


graph = build(sub=build(first=say("saved"), node=node))
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        assert chat.said()[1:] == [("ai", "partial", echo("unsaved"))]
        assert read_drafts(chat) == [("sub", echo("saved"), 0)]
        await answer(chat, "yes")
        assert [text for _, _, text in chat.said()] == ["go", echo("saved"), "yes"]

    play(tmp_path, graph, story)


def test_the_work_of_a_sub_agent_is_no_draft(tmp_path: Path) -> None:
    asking = HELPER.replace('build(model=say("help"))', 'build(model=say("help"), ask=ask)')

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("go")).state is RunState.WAITING
        assert [each.agent for each in chat.path() if each.agent != MAIN] == ["ask_helper", "ask_helper"]
        assert read_drafts(chat) == []

    play(tmp_path, asking, story)


def test_a_draft_in_a_delta_channel_is_shown_as_well(tmp_path: Path) -> None:
    graph = """
from typing import Annotated, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.graph.message import _messages_delta_reducer


class State(TypedDict):
    messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]


inner = StateGraph(State).add_sequence([("draft", say("draft")), ("ask", ask)]).add_edge(START, "draft").compile()
graph = build(first=say("first"), sub=inner)
"""

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("go")).state is RunState.WAITING
        assert read_drafts(chat) == [("sub", echo("draft"), 0)]

    play(tmp_path, graph, story)


DELTA = """
from typing import Annotated, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.graph.message import _messages_delta_reducer


class State(TypedDict):
    messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]


def write(words):
    return lambda state: {"messages": [AIMessage(words)]}


steps = [("draft", write("A draft.")), ("ask", ask), ("more", write("More.")), ("again", ask)]
graph = build(sub=StateGraph(State).add_sequence(steps).add_edge(START, "draft").compile())
"""


@pytest.mark.parametrize("is_delta", [False, True])
def test_after_an_undo_the_drafts_and_the_states_are_those_that_the_graph_goes_on_from(
    is_delta: bool, tmp_path: Path
) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("go")
        shown = []
        for given in ("yes", "on"):
            shown.append((read_drafts(chat), read_subgraphs(chat)))
            await answer(chat, given)
        for drafts, states in reversed(shown):
            assert drafts
            assert states
            chat.store.undo(chat.thread_id)
            assert (read_drafts(chat), read_subgraphs(chat)) == (drafts, states)

    play(tmp_path, DELTA if is_delta else ASKS_TWICE, story)


def read_subgraphs(chat: Running) -> list[str]:
    """The channels of the subgraphs that wait, as State shows them."""
    views = describe_states(chat.store, chat.runner, chat.thread_id, "", NO_PLACE)["subgraphs"]
    return [str(view["channels"]) for view in views]


ASKS_TWICE = """
def second(state):
    return {"messages": [AIMessage(interrupt("And now?"))]}


def write(words):
    metadata = {"service_tier": "default", "model_name": "some"}
    return lambda state: {"messages": [AIMessage(words, response_metadata=metadata)]}


graph = build(sub=build(draft=write("A draft."), ask=ask, more=write("More."), second=second))
"""


def test_a_draft_waits_at_its_question_in_an_import_and_is_answered_there_as_here(tmp_path: Path) -> None:
    async def whole() -> None:
        graph = AGENTS.format(address="http://127.0.0.1:9", key=KEY) + ASKS_TWICE
        async with hosting(tmp_path, graph, database=Database.open_file(tmp_path / "waymark.db")) as chat:
            await chat.say("go")
            files, waiting = [transfer.export(chat.store, chat.thread_id)], [read_drafts(chat)]
            await answer(chat, "yes")
            files.append(transfer.export(chat.store, chat.thread_id))
            waiting.append(read_drafts(chat))
            await answer(chat, "on")
            said = chat.said()
        assert [len(each) for each in waiting] == [1, 3]
        for number, (text, drafts) in enumerate(zip(files, waiting, strict=True)):
            database = Database.open_file(tmp_path / f"other-{number}.db")
            made = transfer.import_thread(Store(database), read_document(text), graphs=["graph"]).result
            async with hosting(tmp_path, graph, database=database, thread_id=str(made)) as chat:
                assert read_drafts(chat) == drafts
                for given in ("yes", "on")[number:]:
                    asked = chat.runner.list_questions(chat.thread_id)[0]
                    await chat.runner.resume(chat.thread_id, {asked.id: given}, caller=Caller())
                    await chat.until(lambda: not chat.runs.list_running_threads())
                assert chat.said() == said
                assert read_drafts(chat) == []
                if number:
                    chat.store.undo(chat.thread_id)
                    assert read_drafts(chat) == drafts

    asyncio.run(whole())
