"""Named checkpoints of a graph without messages, in a program that uses the saver alone."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from checkpoints import Database, NothingToSaveError, Store
from checkpoints.langgraph import WaymarkSaver


class Plan(TypedDict, total=False):
    city: str
    stops: Annotated[list[str], operator.add]


class Program:
    """A program with a graph of its own, and one conversation."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.config: Any = {"configurable": {"thread_id": "t"}}
        builder = StateGraph(Plan).add_node("node", lambda state: {"stops": [state["city"]]}).add_edge(START, "node")
        self.graph = builder.compile(checkpointer=WaymarkSaver(store))

    def visit(self, city: str) -> None:
        self.graph.invoke({"city": city}, self.config)

    def save(self, name: str) -> str:
        return str(self.store.save("t", name=name).result)

    @property
    def stops(self) -> list[str]:
        stops: list[str] = self.graph.get_state(self.config).values.get("stops", [])
        return stops


@pytest.fixture
def program() -> Program:
    return Program(Store(Database.in_memory()))


def test_each_checkpoint_is_a_place_of_its_own_and_brings_all_channels_back(program: Program) -> None:
    program.visit("Rome")
    first = program.save("One")
    program.visit("Oslo")
    second = program.save("Two")
    program.visit("Bonn")
    assert [(each.name, each.message_count) for each in program.store.list_checkpoints("t")] == [("One", 1), ("Two", 2)]
    program.store.restore("t", first)
    assert program.stops == ["Rome"]
    program.visit("Graz")
    assert program.stops == ["Rome", "Graz"]
    program.store.undo("t")
    program.store.undo("t")
    assert program.stops == ["Rome", "Oslo", "Bonn"]
    program.store.restore("t", second)
    assert program.stops == ["Rome", "Oslo"]


def test_undo_of_saving_takes_the_note_back(program: Program) -> None:
    program.visit("Rome")
    program.save("One")
    program.store.undo("t")
    assert (program.store.list_messages("t"), program.store.list_checkpoints("t")) == ([], [])
    assert program.stops == ["Rome"]
    program.store.redo("t")
    assert [each.type for each in program.store.list_messages("t")] == ["system"]


def test_without_messages_and_states_there_is_nothing_to_save() -> None:
    store = Store(Database.in_memory())
    with pytest.raises(NothingToSaveError):
        store.save(store.create_thread().id, name="None")
