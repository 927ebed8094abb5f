"""DeltaChannels of a program that uses the saver alone: rebuilt as from LangGraph's own saver, and whole where attached."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer  # private, as LangGraph's own documentation imports it
from langgraph.types import Command, Overwrite, interrupt

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from tests.checkpoints.langgraph.graphs import make_config
from tests.statements import record_statements

pytestmark = pytest.mark.slow


def add_all(old: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*old, *(item for write in writes for item in write)]


def make_graph(saver: Any, frequency: int) -> Any:
    """A graph whose second node writes to one channel alone, so that steps leave the others as they are."""

    class State(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=frequency)]
        log: Annotated[list[str], DeltaChannel(add_all, snapshot_frequency=frequency)]
        count: int

    def answer(state: State) -> Any:
        asked, count = state["messages"][-1].text, len(state["messages"])
        if asked == "ask":
            return {"messages": [AIMessage(interrupt("?"), id=f"a{count}")]}
        if asked == "forget":
            return {"messages": [RemoveMessage(state["messages"][0].id or "")], "log": Overwrite(["forgot"])}
        return {"messages": [AIMessage(f"{asked}!", id=f"a{count}")], "log": [asked]}

    def tally(state: State) -> Any:
        return {"count": state.get("count", 0) + 1}

    builder = StateGraph(State).add_node("answer", answer).add_node("tally", tally)
    builder.add_edge(START, "answer").add_edge("answer", "tally").add_edge("tally", END)
    return builder.compile(checkpointer=saver)


def say(graph: Any, text: str, durability: str) -> None:
    given = {"messages": [HumanMessage(text, id=f"h-{text}")]}
    graph.invoke(given, make_config("t"), durability=durability)


def read_history(graph: Any) -> list[Any]:
    """The messages, the log and the count at each state that has any, the newest first."""
    found = []
    for each in graph.get_state_history(make_config("t")):
        values = each.values
        messages = [(message.type, message.text, message.id) for message in values.get("messages", [])]
        found.append((messages, values.get("log"), values.get("count")))
    return [each for each in found if each[0]]


def live(graph: Any, durability: str) -> list[list[Any]]:
    """Runs, an interrupt, a removal, an update and a fork, and what the graph's history was after each."""
    seen = []
    for text in ("one", "two", "ask"):
        say(graph, text, durability)
        seen.append(read_history(graph))
    graph.invoke(Command(resume="yes"), make_config("t"), durability=durability)
    seen.append(read_history(graph))
    for text in ("forget", "three"):
        say(graph, text, durability)
        seen.append(read_history(graph))
    graph.update_state(make_config("t"), {"log": ["by hand"]}, as_node="tally")
    seen.append(read_history(graph))
    older = [each for each in graph.get_state_history(make_config("t")) if each.values.get("count") == 1][-1]
    graph.update_state(older.config, {"log": ["forked"]}, as_node="tally")
    seen.append(read_history(graph)[:1])
    say(graph, "four", durability)
    seen.append(read_history(graph)[:1])
    return seen


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("frequency", [1, 3, 100])
@pytest.mark.parametrize("attached", [False, True])
def test_every_state_has_the_values_that_langgraphs_own_saver_gives(
    memory_store: Store, frequency: int, durability: str, attached: bool
) -> None:
    expected = live(make_graph(InMemorySaver(), frequency), durability)
    saver = WaymarkSaver(memory_store)
    graph = make_graph(saver, frequency)
    assert live(saver.attach(graph) if attached else graph, durability) == expected


@pytest.mark.parametrize(("frequency", "attached"), [(1, False), (100, True)])
def test_the_conversation_has_every_message_and_undo_moves_whole_values(
    store: Store, frequency: int, attached: bool
) -> None:
    saver = WaymarkSaver(store)
    graph = make_graph(saver, frequency)
    graph = saver.attach(graph) if attached else graph
    seen = []
    for text in ("one", "two", "three"):
        say(graph, text, "sync")
        seen.append(graph.get_state(make_config("t")).values)
        assert [message.langchain.text for message in store.list_messages("t")] == [
            each.text for each in seen[-1]["messages"]
        ]
        found = saver.get_tuple(make_config("t"))
        assert found is not None
        assert {"messages", "log"} <= found.checkpoint["channel_values"].keys()  # without a graph to rebuild them
    for earlier in seen[1::-1]:
        store.undo("t")
        assert graph.get_state(make_config("t")).values == earlier
    say(graph, "other", "sync")
    assert [each.text for each in graph.get_state(make_config("t")).values["messages"]] == ["one", "one!", "other", "other!"]


def test_rebuilding_a_channel_reads_its_own_writes_alone(memory_store: Store) -> None:
    saver = WaymarkSaver(memory_store)
    graph = make_graph(saver, 100)
    for number in range(6):
        say(graph, f"{number}", "sync")
    with record_statements(memory_store.database) as counted:
        saver.get_delta_channel_history(config=make_config("t"), channels=["log"])
    assert len(counted) <= 2 + 2 * len(read_history(graph))
