"""Subgraphs that ask: after going back they ask again, however they are called."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import Channels, Graph, ask, make_config


def ask_twice(_: Channels) -> Channels:
    words = [str(interrupt(question)) for question in ("first?", "second?")]
    return {"messages": [AIMessage(" ".join(words))]}


def make_asking_graph() -> Any:
    builder = StateGraph(Channels)
    builder.add_node("ask", ask_twice)
    builder.add_edge(START, "ask")
    return builder


def call_in_node() -> Any:
    inner = make_asking_graph().compile()
    return lambda state: {"messages": inner.invoke({"messages": state["messages"]})["messages"][-1:]}


KINDS: dict[str, Callable[[], Any]] = {
    "as a node": lambda: make_asking_graph().compile(),
    "called in a node": call_in_node,
    "with a memory": lambda: make_asking_graph().compile(checkpointer=True),
}


@pytest.fixture(params=[*KINDS, "no subgraph"])
def graph(request: pytest.FixtureRequest, store: Store) -> Graph:
    if request.param not in KINDS:
        compiled: Graph = make_asking_graph().compile(checkpointer=WaymarkSaver(store))
        return compiled
    builder = StateGraph(Channels)
    builder.add_node("sub", KINDS[request.param]())
    builder.add_edge(START, "sub")
    return builder.compile(checkpointer=WaymarkSaver(store))


def list_questions(graph: Graph) -> list[str]:
    return [each.value for each in graph.get_state(make_config("t")).interrupts]


def answer(graph: Graph, *words: str) -> str:
    """Answer both questions, and return what the graph says."""
    for word, question in zip(words, ["first?", "second?"], strict=True):
        assert list_questions(graph) == [question]
        found = graph.invoke(Command(resume=word), make_config("t"), durability="sync")
    return str(found["messages"][-1].text)


def test_after_an_undo_both_questions_are_asked_again(graph: Graph, store: Store) -> None:
    ask(graph, "t", "one")
    assert answer(graph, "a", "b") == "a b"
    store.undo("t")
    assert answer(graph, "c", "d") == "c d"
    store.undo("t")
    store.undo("t")
    ask(graph, "t", "two")
    assert answer(graph, "e", "f") == "e f"
    assert verification.verify(store.database).damages == ()


def test_after_a_restore_both_questions_are_asked_again(graph: Graph, store: Store) -> None:
    ask(graph, "t", "one")
    saved = store.save("t").result
    answer(graph, "a", "b")
    ask(graph, "t", "two")
    answer(graph, "c", "d")
    store.restore("t", saved)
    assert answer(graph, "e", "f") == "e f"


def test_a_redo_brings_the_answers_back(graph: Graph, store: Store) -> None:
    ask(graph, "t", "one")
    answer(graph, "a", "b")
    store.undo("t")
    store.redo("t")
    assert list_questions(graph) == []
    ask(graph, "t", "two")
    assert answer(graph, "c", "d") == "c d"


def test_another_process_keeps_half_of_the_answers(graph: Graph, store: Store) -> None:
    ask(graph, "t", "one")
    graph.invoke(Command(resume="a"), make_config("t"), durability="sync")
    graph.checkpointer = WaymarkSaver(store)  # nothing is remembered
    assert list_questions(graph) == ["second?"]
    found = graph.invoke(Command(resume="b"), make_config("t"), durability="sync")
    assert found["messages"][-1].text == "a b"
