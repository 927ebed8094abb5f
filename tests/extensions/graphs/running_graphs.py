"""A runner whose conversations are answered by user graphs, and files that hold them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from agent.run.blocking import BlockingPool
from checkpoints import Caller, Database, Run, Runs, Store
from checkpoints.langgraph import WaymarkSaver
from extensions.graphs.catalog import GraphCatalog
from extensions.graphs.definitions import GraphDefinition
from extensions.graphs.driver import GraphDriver
from extensions.graphs.savers import Savers
from extensions.graphs.states import StateRecorder
from tests.agent.running import Running, running

AGENT = """
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int
    notes: dict


async def answer(state):
    last = state["messages"][-1]
    turns = state.get("turns", 0)
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"The tool says: {last.text}")], "turns": turns + 1}
    if last.text.startswith("ask"):
        call = {"name": "book", "args": {"seat": last.text[4:]}, "id": f"call-{turns}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}
    said = f"{turns + 1}: {last.text}"
    return {"messages": [AIMessage(said)], "turns": turns + 1, "notes": {**state.get("notes", {}), said: turns}}


def book(state):
    call = state["messages"][-1].tool_calls[0]
    wanted = {"action_requests": [{"name": "book", "args": call["args"]}]}
    decision = interrupt(wanted)["decisions"][0]["type"]
    return {"messages": [ToolMessage(f"{decision} {call['args']['seat']}", tool_call_id=call["id"], name="book")]}


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_node("book", book)
builder.add_edge(START, "answer")
builder.add_conditional_edges("answer", lambda state: "book" if state["messages"][-1].tool_calls else END)
builder.add_edge("book", "answer")
graph = builder.compile()
"""


@asynccontextmanager
async def hosting(
    tmp_path: Path,
    text: str = AGENT,
    *,
    database: Database | None = None,
    thread_id: str | None = None,
    context: dict[str, Any] | None = None,
    messages_key: str | None = None,
    others: Sequence[str] = (),
    **limits: Any,
) -> AsyncIterator[Running]:
    """A conversation that the graph of this file answers. `others` are offered beside it."""
    path = tmp_path / "theirs.py"
    path.write_text(text)
    database = database or Database.in_memory()
    definition = GraphDefinition("graph", path, "graph", context=context or {}, messages_key=messages_key)
    beside = [GraphDefinition(each, path, each) for each in others]
    catalog = GraphCatalog.load_graphs([definition, *beside], "graph")
    pool = ThreadPoolExecutor(4)
    savers = Savers(Store(database))
    make: Any = lambda store, hub: GraphDriver(store, Runs(store), hub, catalog, savers, BlockingPool(pool))  # noqa: E731
    try:
        async with running(FakeListChatModel(responses=[]), database=database, user_graphs=make, **limits) as chat:
            if thread_id is None:
                chat.store.change_settings(chat.thread_id, {"graph": "graph"})
            chat.thread_id = thread_id or chat.thread_id
            yield chat
    finally:
        pool.shutdown()


HEAD = """
import asyncio, sys, threading, time
from typing import Any

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState, total=False):
    thing: Any


class Odd:
    pass

"""
TAIL = """

builder = StateGraph(State)
builder.add_node("node", node)
builder.add_edge(START, "node")
builder.add_edge("node", END)
graph = builder.compile()
"""


def one_node(body: str) -> str:
    """A graph of one node, the function `node`."""
    return f"{HEAD}{body}{TAIL}"


def read_channels(chat: Running) -> dict[str, Any]:
    """The channels of the state where the conversation stands, as a program of the graph's author would read them."""
    found = WaymarkSaver(chat.store).get_tuple({"configurable": {"thread_id": chat.thread_id}})
    values = found.checkpoint["channel_values"] if found else {}
    return {name: value for name, value in values.items() if name in ("turns", "notes", "thing")}


def delay_states(monkeypatch: pytest.MonkeyPatch, note: Callable[[Mapping[str, Any]], None] = lambda values: None) -> None:
    """Write each state some turns of the loop later, in which a step could begin. `note` gets its values."""
    put_state = StateRecorder.put_state

    async def put_late(states: StateRecorder, config: Any, checkpoint: Any, *more: Any) -> Any:
        for _ in range(1000):
            await asyncio.sleep(0)
        found = await put_state(states, config, checkpoint, *more)
        note(checkpoint["channel_values"])
        return found

    monkeypatch.setattr(StateRecorder, "put_state", put_late)


async def answer(chat: Running, value: Any, question: int = 0) -> Run:
    """Answer one of the questions that wait, and return the run once it rests."""
    asked = chat.runner.list_questions(chat.thread_id)[question]
    return await chat.end(await chat.runner.resume(chat.thread_id, {asked.id: value}, caller=Caller()))


def decide(kind: str) -> dict[str, Any]:
    """The answer to LangChain's human-in-the-loop middleware about one call."""
    return {"decisions": [{"type": kind}]}
