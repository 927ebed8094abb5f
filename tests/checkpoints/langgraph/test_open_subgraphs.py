"""What subgraphs have written that wait for a person: the graph itself does not have it yet."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.open_subgraphs import list_open_subgraphs, read_open_subgraphs
from tests.checkpoints.langgraph.graphs import Channels, Graph, ask, make_config


def draft(_: Channels) -> Channels:
    return {"messages": [AIMessage("A draft. " * 50)], "notes": ["short"]}


def send(_: Channels) -> Channels:
    return {"messages": [AIMessage(str(interrupt("Send it?")))]}


def build(**nodes: Any) -> Any:
    return StateGraph(Channels).add_sequence(list(nodes.items())).add_edge(START, next(iter(nodes)))


@pytest.fixture
def graph(store: Store) -> Graph:
    team = build(first=build(draft=draft).compile(), inner=build(draft=draft, send=send).compile()).compile()
    attached: Graph = WaymarkSaver(store).attach(build(begin=draft, team=team).compile())
    return attached


def read_texts(store: Store) -> list[tuple[str, int, int]]:
    """The open subgraphs: their path, and the numbers of their new messages and of their questions."""
    works = read_open_subgraphs(store.database, WaymarkSaver(store).serde, "t")
    return [("/".join(each.path), len(each.messages), len(each.interrupt_ids)) for each in works]


def test_each_has_only_what_it_has_written_itself_and_none_is_left_after_the_answer(graph: Graph, store: Store) -> None:
    assert list_open_subgraphs(store.database, "t", None) == {}
    for _ in range(2):
        ask(graph, "t", "go")
        (question,) = graph.get_state(make_config("t")).interrupts
        works = read_open_subgraphs(store.database, WaymarkSaver(store).serde, "t")
        assert [(work.path, work.interrupt_ids) for work in works] == [
            (["team"], {question.id}),
            (["team", "inner"], {question.id}),
        ]
        assert [[str(each.text) for each in work.messages] for work in works] == [["A draft. " * 50]] * 2
        state_id = store.get_thread("t").state_id
        found = list_open_subgraphs(store.database, "t", state_id)
        assert [path for path, _ in found.values()] == [["team"], ["team", "inner"]]
        assert list_open_subgraphs(store.database, "other", state_id) == {}
        graph.invoke(Command(resume="yes"), make_config("t"), durability="sync")
        assert read_texts(store) == []
        store.undo("t")
        assert read_texts(store) == [("team", 1, 1), ("team/inner", 1, 1)]
        store.redo("t")
