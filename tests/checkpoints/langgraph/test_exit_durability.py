"""Subgraphs with a memory in runs whose graph writes a state only at its end (durability "exit")."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.upkeep import erasure, verification
from tests.checkpoints.langgraph.graphs import make_config


class Room(TypedDict, total=False):
    visits: Annotated[list[str], operator.add]
    turn: int
    seen: int


class Tour(TypedDict, total=False):
    turn: int
    seen: int


def make_tour(saver: Any) -> Any:
    """A graph that enters a subgraph with a memory three times in each run."""
    room = StateGraph(Room).add_node("visit", lambda _: {"visits": ["visit"]})
    room.add_node("count", lambda state: {"seen": len(state["visits"])}).add_edge(START, "visit").add_edge("visit", "count")
    tour = StateGraph(Tour).add_node("next", lambda state: {"turn": state.get("turn", 0) + 1})
    tour.add_node("room", room.compile(checkpointer=True)).add_edge(START, "next").add_edge("next", "room")
    tour.add_conditional_edges("room", lambda state: "next" if state["turn"] < 3 else END)
    return tour.compile(checkpointer=saver)


def visit(graph: Any, thread_id: str = "t") -> int:
    return int(graph.invoke({"turn": 0}, make_config(thread_id), durability="exit")["seen"])


@pytest.fixture
def graph(store: Store) -> Any:
    return make_tour(WaymarkSaver(store))


def test_each_visit_of_a_run_and_of_the_next_one_is_remembered(graph: Any, store: Store) -> None:
    assert [visit(graph) for _ in range(3)] == [3, 6, 9]
    assert verification.verify(store.database).damages == ()


def test_undo_takes_the_visits_of_a_run_back_and_redo_brings_them_again(graph: Any, store: Store) -> None:
    for _ in range(2):
        visit(graph)
    store.undo("t")
    store.redo("t")
    assert visit(graph) == 9
    for _ in range(2):
        store.undo("t")
    assert visit(graph) == 6
    store.undo("t")
    store.undo("t")
    assert visit(graph) == 3


def test_erasure_keeps_the_visits_that_a_run_goes_on_from_and_no_undone_ones(graph: Any, store: Store) -> None:
    for _ in range(3):
        visit(graph)
    store.undo("t")
    at_room: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "room"}}
    erasure.erase(store.database, keep_undo=False)
    assert {each.checkpoint["channel_values"]["seen"] for each in graph.checkpointer.list(at_room)} == {1, 2, 3, 4, 5, 6}
    assert visit(graph) == 9


def test_a_conversation_that_begins_as_a_copy_has_the_visits(graph: Any, store: Store) -> None:
    visit(graph)
    store.save("t", name="One")
    visit(graph)
    store.save("t", name="Two")
    copied = store.fork_thread("t", store.list_messages("t")[0].id).result
    assert visit(graph, str(copied)) == 6
