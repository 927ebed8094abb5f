"""A user graph answers: its messages are the conversation's, and all its channels go where the conversation goes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from agent.events import GraphProgress, MessageAdded, RunStarted
from checkpoints import Caller, Database, Message, NewMessage, RunState, Store, TakesTooLongError
from checkpoints.interchange import reading, transfer
from extensions.graphs import path
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import AGENT, answer, delay_states, hosting, one_node, read_channels
from tests.extensions.graphs.stacks import read_identities

Story = Callable[[Running], Awaitable[None]]


def play(tmp_path: Path, story: Story, text: str = AGENT) -> None:
    async def whole() -> None:
        async with hosting(tmp_path, text) as chat:
            await story(chat)

    asyncio.run(whole())


def test_messages_are_shown_as_the_saver_has_written_them(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert run.state is RunState.DONE
        assert chat.said() == [("human", "done", "hello"), ("ai", "done", "1: hello")]
        told = [each.message for each in chat.events if isinstance(each, RunStarted | MessageAdded)]
        assert told == chat.path()
        await chat.say("again")
        assert [text for _, _, text in chat.said()] == ["hello", "1: hello", "again", "2: again"]

    play(tmp_path, story)


def test_undo_and_redo_move_every_channel_and_one_run_is_one_undo(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        seen = [(chat.said(), read_channels(chat))]
        for text in ("one", "two", "three"):
            await chat.say(text)
            seen.append((chat.said(), read_channels(chat)))
        for earlier in seen[2::-1]:
            chat.store.undo(chat.thread_id)
            assert (chat.said(), read_channels(chat)) == earlier
        for later in seen[1:]:
            chat.store.redo(chat.thread_id)
            assert (chat.said(), read_channels(chat)) == later

    play(tmp_path, story)


def test_it_goes_on_from_where_a_restore_or_another_branch_stands(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("one")
        saved = chat.store.save(chat.thread_id, name="here").result
        await chat.say("two")
        chat.store.restore(chat.thread_id, str(saved), keep_future=True)
        assert read_channels(chat) == {"turns": 1, "notes": {"1: one": 0}}
        await chat.say("other")
        assert read_channels(chat) == {"turns": 2, "notes": {"1: one": 0, "2: other": 1}}
        head_id = chat.path()[-1].id
        other = next(branch for branch, _ in chat.store.list_branches(chat.thread_id) if branch.head_id != head_id)
        chat.store.switch(chat.thread_id, other.id)
        assert read_channels(chat) == {"turns": 2, "notes": {"1: one": 0, "2: two": 1}}
        await chat.say("three")
        assert chat.said()[-1] == ("ai", "done", "3: three")

    play(tmp_path, story)


def test_an_edit_and_another_answer_begin_with_the_channels_before_them(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("one")
        await chat.say("two")
        run = await chat.runner.edit(chat.thread_id, chat.path()[2].id, "changed", caller=Caller())
        await chat.end(run)
        assert read_channels(chat) == {"turns": 2, "notes": {"1: one": 0, "2: changed": 1}}
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert read_channels(chat) == {"turns": 2, "notes": {"1: one": 0, "2: changed": 1}}
        await chat.end(await chat.runner.edit(chat.thread_id, chat.path()[0].id, "new", caller=Caller()))
        assert chat.said() == [("human", "done", "new"), ("ai", "done", "1: new")]
        assert read_channels(chat) == {"turns": 1, "notes": {"1: new": 0}}

    play(tmp_path, story)


def test_a_message_that_waymark_or_a_person_wrote_in_between_reaches_the_graph(tmp_path: Path) -> None:
    text = one_node("def node(state):\n    return {'messages': [AIMessage(' | '.join(m.text for m in state['messages']))]}")

    async def story(chat: Running) -> None:
        await chat.say("one")
        chat.store.append(chat.thread_id, [NewMessage({"type": "human", "data": {"content": "a note"}})])
        await chat.say("two")
        assert chat.said()[-1] == ("ai", "done", "one | one | a note | two")
        assert len(chat.path()) == 5

    play(tmp_path, story, text)


def test_a_turn_reads_the_end_of_a_long_conversation_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    list_messages = Store.list_messages

    def count(self: Store, *place: Any, **options: Any) -> list[Message]:
        found = list_messages(self, *place, **options)
        read.append(len(found))
        return found

    async def story(chat: Running) -> None:
        chat.store.append(chat.thread_id, [NewMessage({"type": "human", "data": {"content": str(n)}}) for n in range(60)])
        await chat.say("one")
        monkeypatch.setattr(Store, "list_messages", count)
        await chat.say("two")
        assert 0 < max(read) <= 8
        assert len(chat.path()) == 64
        assert chat.said()[-1] == ("ai", "done", "2: two")

    play(tmp_path, story)


def test_the_nodes_at_work_and_the_lines_of_a_graph_are_told(tmp_path: Path) -> None:
    text = one_node(
        "inner = StateGraph(State).add_node('deep', lambda s: get_stream_writer()({'found': 3}))"
        ".add_edge(START, 'deep').compile()\n"
        "async def node(state):\n    get_stream_writer()('looking')\n    await inner.ainvoke({'messages': []})\n"
        "    await asyncio.sleep(0.2)\n    return {'messages': [AIMessage('done')]}"
    )

    async def story(chat: Running) -> None:
        await chat.say("hello")
        told = [each for each in chat.events if isinstance(each, GraphProgress)]
        assert ("node",) in [each.nodes for each in told]
        assert ("looking", "found: 3") in [each.lines for each in told]

    play(tmp_path, story, text)


def test_a_file_of_an_author_with_a_saver_of_its_own_and_classes_in_its_channels(tmp_path: Path) -> None:
    text = """
from dataclasses import dataclass
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

@dataclass
class Seat:
    row: int

class State(MessagesState, total=False):
    seat: Seat

def node(state):
    before = state.get("seat", Seat(0))
    return {"seat": Seat(before.row + 1), "messages": [AIMessage(f"row {before.row + 1}")]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=InMemorySaver())
"""

    async def story() -> None:
        path = tmp_path / "waymark.db"
        async with hosting(tmp_path, text, database=Database.open_file(path)) as chat:
            await chat.say("one")
            thread_id = chat.thread_id
        async with hosting(tmp_path, text, database=Database.open_file(path), thread_id=thread_id) as chat:
            run = await chat.send("two")
            await chat.until(lambda: not chat.runs.list_running_threads())
            assert chat.said()[-1] == ("ai", "done", "row 2"), chat.runs.get_run(run.id)

    asyncio.run(story())


def test_a_graph_without_messages_takes_its_fields_and_shows_its_outputs(tmp_path: Path) -> None:
    text = """
from typing import TypedDict
from langgraph.graph import START, StateGraph

class Order(TypedDict, total=False):
    dish: str
    price: int

def price(state):
    return {"price": len(state["dish"]) + state.get("price", 0)}

graph = StateGraph(Order).add_node("price", price).add_edge(START, "price").compile()
"""

    async def story(chat: Running) -> None:
        await chat.say('{"dish": "soup"}')
        assert chat.said()[-1] == ("ai", "done", '```json\n{\n  "dish": "soup",\n  "price": 4\n}\n```')
        await chat.say('{"dish": "soup"}')
        assert '"price": 8' in chat.said()[-1][2]
        chat.store.undo(chat.thread_id)
        await chat.say('{"dish": "pie"}')
        assert '"price": 7' in chat.said()[-1][2]
        refused = await chat.say('{"plate": 1}')
        assert refused.error is not None
        assert refused.error.startswith("The graph has no field 'plate'. Its fields are dish (string), price (integer).")
        refused = await chat.say("soup")
        assert str(refused.error).startswith("The graph takes a JSON object. Its fields are dish")

    play(tmp_path, story, text)


def test_objects_of_pydantic_in_outputs_are_shown_with_their_fields(tmp_path: Path) -> None:
    text = """
from typing import TypedDict
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

class Dish(BaseModel):
    name: str

class Menu(TypedDict, total=False):
    day: str
    dishes: list[Dish]

def cook(state):
    return {"dishes": [Dish(name="soup")]}

graph = StateGraph(Menu).add_node("cook", cook).add_edge(START, "cook").compile()
"""

    async def story(chat: Running) -> None:
        await chat.say('{"day": "Monday"}')
        shown = chat.said()[-1][2].removeprefix("```json").removesuffix("```")
        assert json.loads(shown) == {"day": "Monday", "dishes": [{"name": "soup"}]}

    play(tmp_path, story, text)


def test_a_conversation_whose_graph_is_gone_says_so(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        chat.store.change_settings(chat.thread_id, {"graph": "another"})
        run = await chat.say("hello")
        assert str(run.error).startswith("The graph of this conversation, another, is not there any more")
        assert chat.said() == [("human", "done", "hello")]

    play(tmp_path, story)


def test_a_conversation_copied_from_a_message_goes_on_by_itself(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("one")
        await chat.say("two")
        first, second = chat.thread_id, chat.path()[1].id
        chat.thread_id = str(chat.store.fork_thread(first, second).operation.thread_id)
        await chat.send("other")
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert [text for _, _, text in chat.said()] == ["one", "1: one", "other", "2: other"]
        chat.thread_id = first
        assert [text for _, _, text in chat.said()] == ["one", "1: one", "two", "2: two"]
        assert read_channels(chat)["turns"] == 2

    play(tmp_path, story)


def test_delta_channels_are_messages_and_go_back(tmp_path: Path) -> None:
    text = """
from typing import Annotated, TypedDict
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer

class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    thing: Annotated[list[int], DeltaChannel(lambda seen, new: [*seen, *(n for each in new for n in each)])]

def node(state):
    return {"messages": [AIMessage(f"{len(state['messages'])}")], "thing": [len(state["messages"])]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
"""

    async def story(chat: Running) -> None:
        for words in ("one", "two", "three"):
            await chat.say(words)
        assert [said for _, _, said in chat.said()] == ["one", "1", "two", "3", "three", "5"]
        chat.store.undo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        await chat.say("other")
        assert [said for _, _, said in chat.said()] == ["one", "1", "other", "3"]
        assert read_channels(chat)["thing"].value == [1, 3]

    play(tmp_path, story, text)


def test_a_delta_channel_is_whole_in_states_whose_step_has_not_written_it(tmp_path: Path) -> None:
    text = """
from typing import Annotated, TypedDict
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer

class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    turns: int

def node(state):
    old = [RemoveMessage(each.id) for each in state["messages"][:-1]]
    return {"messages": [*old, AIMessage(f"{len(state['messages'])}")]}

def count(state):
    return {"turns": state.get("turns", 0) + 1}

builder = StateGraph(State).add_node("node", node).add_node("count", count)
graph = builder.add_edge(START, "node").add_edge("node", "count").compile()
"""

    async def story(chat: Running) -> None:
        for words in ("one", "two", "three"):
            await chat.say(words)
        assert "messages" in read_identities(chat.store, chat.thread_id)
        assert [said for _, _, said in chat.said()] == ["three", "3"]  # no removed message comes back

    play(tmp_path, story, text)


WITHOUT_REDUCER = """
from typing import TypedDict
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    messages: list

def node(state):
    return {"messages": [*state["messages"], AIMessage(f"{len(state['messages'])}")]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
"""


def test_a_graph_without_a_reducer_gets_all_messages_and_loses_none(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        for words in ("one", "two"):
            await chat.say(words)
        assert [said for _, _, said in chat.said()] == ["one", "1", "two", "3"]

    play(tmp_path, story, WITHOUT_REDUCER)


def test_all_messages_are_read_beside_the_loop_and_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    list_messages = Store.list_messages

    def note(self: Store, *place: Any, **options: Any) -> list[Message]:
        if "agent" in options and "last" not in options:
            threads.append(get_ident())
        return list_messages(self, *place, **options)

    async def story(chat: Running) -> None:
        monkeypatch.setattr(Store, "list_messages", note)
        await chat.say("one")
        assert threads
        assert get_ident() not in threads
        monkeypatch.setattr(path, "MAX_PATH_SECONDS", 0.0)
        late = await chat.say("two")
        assert late.state is RunState.FAILED
        assert str(TakesTooLongError()) in str(late.error)
        monkeypatch.undo()
        await chat.say("three")
        assert [said for _, _, said in chat.said()] == ["one", "1", "two", "three", "4"]

    play(tmp_path, story, WITHOUT_REDUCER)


def test_a_function_that_is_an_entrypoint_takes_texts_and_json_and_remembers(tmp_path: Path) -> None:
    text = """
from langgraph.func import entrypoint, task
from langgraph.types import interrupt

@task
def double(number):
    return 2 * number

@entrypoint()
def graph(given, *, previous=None):
    if isinstance(given, str):
        return entrypoint.final(value=interrupt(given), save=previous)
    total = (previous or 0) + double(given["n"]).result()
    return entrypoint.final(value=total, save=total)
"""

    async def story(chat: Running) -> None:
        await chat.say('{"n": 2}')
        await chat.say('{"n": 3}')
        assert '"output": 10' in chat.said()[-1][2]
        assert (await chat.say("sure?")).state is RunState.WAITING
        await answer(chat, "yes")
        assert '"output": "yes"' in chat.said()[-1][2]
        chat.store.undo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        await chat.say('{"n": 1}')
        assert '"output": 6' in chat.said()[-1][2]
        document = reading.read_document(transfer.export(chat.store, chat.thread_id))
        chat.thread_id = str(transfer.import_thread(chat.store, document, graphs=["graph"]).result)
        await chat.send('{"n": 5}')
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert '"output": 16' in chat.said()[-1][2]

    play(tmp_path, story, text)


STATELESS = """
import sys


async def write(state):
    return {"messages": [AIMessage("from within")]}


inner = StateGraph(State).add_node("write", write).add_edge(START, "write").compile(checkpointer=False)
last = StateGraph(State).add_node("write", lambda state: {"messages": [AIMessage("from within")]})
last = last.add_edge(START, "write").compile(checkpointer=False)


def call(state):
    return {"messages": last.invoke(state)["messages"][-1:]}


async def call_later(state):
    return {"messages": (await inner.ainvoke(state))["messages"][-1:]}


node = """


@pytest.mark.parametrize("node", ["inner", "call", "call_later"])
def test_a_subgraph_without_a_checkpointer_answers(node: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert run.state is RunState.DONE
        assert chat.said()[1:] == [("ai", "done", "from within")]

    play(tmp_path, story, one_node(STATELESS + node))


ORDER: list[str] = []  # of the steps of a graph, and of their states
TWO_STEPS = """
from tests.extensions.graphs.test_driving import ORDER


async def node(state):
    ORDER.append("first begins")
    return {"messages": [AIMessage("first")]}


async def second(state):
    ORDER.append("second begins")
    return {"messages": [AIMessage("second")]}
"""


def test_a_step_begins_once_the_state_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert ORDER[-5:] == ["written: 1", "first begins", "written: 2", "second begins", "written: 3"]

    delay_states(monkeypatch, lambda values: ORDER.append(f"written: {len(values.get('messages', []))}"))
    text = one_node(TWO_STEPS).replace('("node", END)', '("node", "second")')
    play(tmp_path, story, text.replace("graph = b", 'builder.add_node("second", second)\ngraph = b'))
