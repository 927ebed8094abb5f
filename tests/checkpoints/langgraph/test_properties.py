"""Whatever runs, interrupts, restores, undos and branches follow one another: every channel is what a plain model says."""

import copy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from checkpoints import Database, Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import (
    Channels,
    Graph,
    answer,
    ask,
    look,
    make_config,
    make_graph,
    merge,
    read_channels,
    read_texts,
)
from tests.rounds import given_examples

QUESTIONS = ["hello", "tool", "mark", "forget", "approve", "recall", "long " * 40]
ACTIONS = ["ask"] * 4 + ["save", "restore", "keep", "fork", "switch", "undo", "undo", "redo", "restart", "update"]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 63)), min_size=3, max_size=14)


def make_remembering_graph(saver: WaymarkSaver) -> Graph:
    """Make the graph of the other tests, with one below it that remembers how often it was called."""
    inner = StateGraph(Channels).add_node("count", lambda state: {"count": state.get("count", 0) + 1})
    memory = inner.add_edge(START, "count").compile(checkpointer=True)

    def answer_or_recall(state: Channels) -> Channels:
        if state["messages"][-1].text == "recall":
            return recall(state, memory.invoke({"notes": ["called"]})["count"])
        return answer(state)

    return make_graph(saver, answer_or_recall)


def recall(state: Channels, calls: int) -> Channels:
    return {"messages": [AIMessage(f"Call {calls}.")], "count": state.get("count", 0) + 1}


@dataclass(frozen=True)
class Snapshot:
    """The channels at one moment, how often the graph below was called, and whether an answer is waited for."""

    values: Channels = field(default_factory=dict)
    is_waiting: bool = False
    calls: int = 0

    def apply(self, new: Channels) -> "Snapshot":
        """Return what follows when the reducers have seen the values of a node. The old snapshot stays."""
        values: Any = self.values
        found: Any = values | {"count": new.get("count", values.get("count"))}
        if "messages" in new:
            found["messages"] = add_messages(values.get("messages", []), new["messages"])
        found["notes"] = [*values.get("notes", []), *new.get("notes", [])]
        found["files"] = merge(values.get("files", {}), new.get("files", {}))
        kept: Any = {name: value for name, value in found.items() if value is not None}
        return Snapshot(kept, calls=self.calls)

    def ask(self, question: str) -> "Snapshot":
        asked = self.copy().apply({"messages": [HumanMessage(question)]})
        if question == "approve":
            return replace(asked, is_waiting=True)
        if question == "recall":
            return replace(asked.apply(recall(asked.values, self.calls + 1)), calls=self.calls + 1)
        found = asked.apply(answer(asked.values))
        return found.apply(look(found.values)) if question == "tool" else found

    def resume(self, word: str) -> "Snapshot":
        count = self.values.get("count", 0) + 1
        return self.copy().apply({"messages": [AIMessage(f"You said {word}.")], "count": count})

    def copy(self) -> "Snapshot":
        """Return the same at rest: nodes may change messages in place."""
        return Snapshot(copy.deepcopy(self.values), calls=self.calls)


@dataclass(frozen=True)
class Position:
    """Where all branches stand."""

    branches: dict[str, Snapshot] = field(default_factory=dict)
    current: str = ""

    @property
    def here(self) -> Snapshot:
        return self.branches.get(self.current, Snapshot())

    def move(self, snapshot: Snapshot) -> "Position":
        return Position({**self.branches, self.current: snapshot}, self.current)


class Comparison:
    """A conversation of a graph beside its model."""

    def __init__(self, open_database: Callable[[], Database] | None = None) -> None:
        self._open_database = open_database
        self.store = Store(open_database() if open_database else Database.in_memory())
        self.restart(0)
        ask(self.graph, "t", "hello")
        branch = self.store.get_thread("t").branch_id
        first = Position({branch: Snapshot()}, branch)
        self.checkpoints: dict[str, Snapshot] = {}
        self.undone: list[Position] = []
        self.done: list[Position] = [first, first.move(Snapshot().ask("hello"))]

    @property
    def now(self) -> Position:
        return self.done[-1]

    def _change(self, position: Position) -> None:
        self.done.append(position)
        self.undone.clear()

    def restart(self, _: int) -> None:
        """Begin with an empty memory; a file is opened again."""
        if self._open_database:
            self.store.database.close()
            self.store = Store(self._open_database())
        self.saver = WaymarkSaver(self.store)
        self.graph = make_remembering_graph(self.saver)

    def ask(self, which: int) -> None:
        here = self.now.here
        if here.is_waiting:
            self.graph.invoke(Command(resume=str(which)), make_config("t"), durability="sync")
            self._change(self.now.move(here.resume(str(which))))
        else:
            question = QUESTIONS[which % len(QUESTIONS)]
            ask(self.graph, "t", question)
            self._change(self.now.move(here.ask(question)))

    def update(self, which: int) -> None:
        if not self.now.here.is_waiting:
            self.graph.update_state(make_config("t"), {"count": which}, as_node="look")
            self._change(self.now.move(self.now.here.copy().apply({"count": which})))

    def save(self, _: int) -> None:
        if self.now.here.values.get("messages"):
            self.checkpoints[self.store.save("t").result] = self.now.here
            self._change(self.now)

    def restore(self, which: int, *, keep_future: bool = False) -> None:
        shown = self.store.list_checkpoints("t")
        if not shown:
            return
        chosen, before = shown[which % len(shown)].id, self.now.here
        self.store.restore("t", chosen, keep_future=keep_future)
        position = self.now.move(self.checkpoints[chosen])
        if keep_future:
            kept, _ = self.store.list_branches("t")[-1]
            position = Position({**position.branches, kept.id: before}, position.current)
        self._change(position)

    def keep(self, which: int) -> None:
        self.restore(which, keep_future=True)

    def fork(self, _: int) -> None:
        if self.now.here.values.get("messages"):
            branch = self.store.fork("t", self.store.get_thread("t").head_id).result
            self._change(Position({**self.now.branches, branch: self.now.here}, branch))

    def switch(self, which: int) -> None:
        branch, _ = (branches := self.store.list_branches("t"))[which % len(branches)]
        if branch.id != self.now.current:
            self.store.switch("t", branch.id)
            self._change(Position(self.now.branches, branch.id))

    def undo(self, _: int) -> None:
        if len(self.done) > 1:
            self.store.undo("t")
            self.undone.append(self.done.pop())

    def redo(self, _: int) -> None:
        if self.undone:
            self.store.redo("t")
            self.done.append(self.undone.pop())

    def check(self) -> None:
        expected, found = self.now.here, read_channels(self.graph, "t")
        messages = found.pop("messages", [])
        values = {name: value for name, value in expected.values.items() if name != "messages"}
        assert {name: value for name, value in found.items() if value} == {n: v for n, v in values.items() if v}
        assert list(map(say, messages)) == list(map(say, expected.values.get("messages", [])))
        assert read_texts(self.saver, "t") == [str(message.text) for message in messages]
        assert bool(self.graph.get_state(make_config("t")).interrupts) == expected.is_waiting


def say(message: BaseMessage) -> tuple[Any, ...]:
    """Return what a message says, without its random id."""
    return message.type, message.text, message.additional_kwargs, getattr(message, "tool_calls", None)


@given_examples(12, 2_000, STEPS)
def test_a_graph_is_always_what_the_plain_model_is(steps: list[tuple[str, int]]) -> None:
    take_steps(Comparison(), steps)


@given_examples(2, 500, STEPS)
def test_so_it_is_in_a_file_that_is_closed_and_opened_on_the_way(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        take_steps(Comparison(lambda: Database.open_file(Path(folder) / "data" / "waymark.db")), steps)


def take_steps(comparison: Comparison, steps: list[tuple[str, int]]) -> None:
    for action, which in steps:
        getattr(comparison, action)(which)
        comparison.check()
    assert verification.verify(comparison.store.database).damages == ()
    comparison.store.database.close()
