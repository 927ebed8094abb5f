"""A process that drives a graph until it kills itself in the middle of a write."""

import json
import operator
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver, state_puts
from checkpoints.rows import write_rows
from tests.checkpoints.langgraph.graphs import Graph, ask, make_config, make_graph

QUESTIONS = ["hello", "tool", "mark", "approve", "forget"]
NOTES_A_RUN = 3


class Wide(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    count: int


class Inner(TypedDict, total=False):
    asked: str
    steps: Annotated[list[str], operator.add]


def make_wide_graph(saver: Any) -> Graph:
    """Make an agent of three tasks at once, one of which calls a graph with a memory that may ask back."""
    inner_builder = StateGraph(Inner)
    inner_builder.add_node("first", lambda _: {"steps": ["first"]})
    inner_builder.add_node("second", lambda state: {"steps": [interrupt("?") if state["asked"] == "approve" else "second"]})
    inner = inner_builder.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=True)

    def call(state: Wide) -> Wide:
        found = inner.invoke({"asked": str(state["messages"][-1].text)})
        return {"notes": [f"{len(found['steps'])} steps"]}

    def gather(state: Wide) -> Wide:
        return {"messages": [AIMessage(f"{state['messages'][-1].text}!")], "count": state.get("count", 0) + 1}

    builder = StateGraph(Wide)
    nodes: dict[str, Callable[[Wide], Wide]] = {
        "left": lambda _: {"notes": ["left"]},
        "right": lambda _: {"notes": ["right"]},
        "call": call,
    }
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)  # type: ignore[arg-type]
    builder.add_node("gather", gather).add_edge([*nodes], "gather")
    return builder.compile(checkpointer=saver)


GRAPHS = (make_graph, make_wide_graph)


class DyingSaver(WaymarkSaver):
    """Notes in a file what was acknowledged, and dies before, in or after the write that is chosen."""

    def __init__(self, store: Store, *, notes: Path, writes: int, moment: str) -> None:
        super().__init__(store)
        self._notes = os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self.left, self.moment = writes, moment

    def put(self, *given: Any) -> Any:
        self._die("before")
        done = super().put(*given)
        self._note(done["configurable"]["checkpoint_ns"], given[1]["id"])
        self._die("after")
        return done

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._die("before")
        super().put_writes(config, writes, task_id, task_path)
        at = config["configurable"]
        self._note(at.get("checkpoint_ns", ""), at["checkpoint_id"], task_id, sorted({channel for channel, _ in writes}))
        self._die("after")

    def _note(self, *acknowledged: Any) -> None:
        os.write(self._notes, f"{json.dumps(acknowledged)}\n".encode())

    def _die(self, moment: str) -> None:
        self.left -= moment == "before"
        if self.left <= 0 and moment == self.moment:
            die()


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def drive(address: str, notes: Path, seed: int) -> None:
    """Talk to a graph until death."""
    chance = random.Random(seed)
    moments = ["before", "in", "after"]
    saver = DyingSaver.open(address, notes=notes, writes=chance.randint(1, 40), moment=chance.choice(moments))
    assert isinstance(saver, DyingSaver)
    for module, name in ((state_puts, "insert_state"), (write_rows, "insert_writes")):
        _die_after(module, name, saver)
    graph, thread_id = GRAPHS[seed % len(GRAPHS)](saver), f"t{seed}"
    while True:
        found = ask(graph, thread_id, chance.choice(QUESTIONS))
        if "__interrupt__" in found:
            graph.invoke(Command(resume="yes"), make_config(thread_id))


def _die_after(module: Any, name: str, saver: DyingSaver) -> None:
    """Die in a transaction, after one of its statements."""
    original = getattr(module, name)

    def write(*given: Any, **named: Any) -> Any:
        done = original(*given, **named)
        saver._die("in")
        return done

    setattr(module, name, write)
