"""A human message that only a node can have written is the graph's. The graph reads its messages as it wrote them."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.values.graph_author import BY_GRAPH_KEY
from tests.checkpoints.langgraph.graphs import Channels, ask, make_config, make_graph, read_channels

DURABILITIES = ["sync", "async", "exit"]


class Interview(MessagesState):
    said: str


def answer(state: Channels) -> Channels:
    """Answer as the last message says."""
    last = state["messages"][-1]
    match str(last.text):
        case "plain text":
            return {"messages": "as a text"}  # type: ignore[typeddict-item]
        case "summarise":
            return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("Summary."), last, AIMessage("Done.")]}
        case "redact":
            return {"messages": [HumanMessage("[redacted]", id=last.id), AIMessage("Done.")]}
        case "ask":
            return {"messages": [HumanMessage(interrupt("Your name?"))]}
    return {"messages": [AIMessage("Hello.")]}


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


def list_authors(store: Store, thread_id: str = "t") -> list[tuple[str, str]]:
    authors = {"ai": "agent", "human": "person"}
    found = store.list_messages(thread_id)
    return [("graph" if each.is_by_graph else authors[each.type], str(each.langchain.text)) for each in found]


@pytest.mark.parametrize(
    ("said", "authors"),
    [
        ("plain text", [("person", "plain text"), ("graph", "as a text")]),
        ("summarise", [("graph", "Summary."), ("person", "summarise"), ("agent", "Done.")]),
        ("redact", [("person", "[redacted]"), ("agent", "Done.")]),
    ],
)
def test_a_human_message_is_a_persons_unless_a_node_made_it(
    saver: WaymarkSaver, said: str, authors: list[tuple[str, str]]
) -> None:
    ask(make_graph(saver, answer), "t", said)
    assert list_authors(saver.store) == authors


def test_what_a_node_writes_of_a_persons_answer_is_the_persons(saver: WaymarkSaver) -> None:
    graph = make_graph(saver, answer)
    ask(graph, "t", "ask")
    graph.invoke(Command(resume="Ada"), make_config("t"))
    assert list_authors(saver.store) == [("person", "ask"), ("person", "Ada")]


@pytest.mark.parametrize("durability", DURABILITIES)
def test_what_a_person_asks_is_the_persons_however_states_are_written(saver: WaymarkSaver, durability: Any) -> None:
    graph = make_graph(saver, answer)
    for question in ["one", "two"]:
        graph.invoke({"messages": [HumanMessage(question)]}, make_config("t"), durability=durability)
    saver.copy_thread("t", "copy")
    for thread_id in ("t", "copy"):
        assert [who for who, _ in list_authors(saver.store, thread_id)] == ["person", "agent"] * 2


@pytest.mark.parametrize("durability", DURABILITIES)
def test_what_a_program_adds_with_a_command_is_the_persons(saver: WaymarkSaver, durability: Any) -> None:
    graph = make_graph(saver, answer)
    ask(graph, "t", "one")
    command: Any = Command(update={"messages": [HumanMessage("two")]}, goto="answer")
    graph.invoke(command, make_config("t"), durability=durability)
    assert list_authors(saver.store)[2:] == [("person", "two"), ("agent", "Hello.")]


@pytest.mark.parametrize("durability", DURABILITIES)
def test_what_a_later_node_writes_of_a_persons_answer_is_the_persons(saver: WaymarkSaver, durability: Any) -> None:
    builder = StateGraph(Interview).add_node("ask", lambda _: {"said": interrupt("Your name?")})
    builder.add_node("note", lambda state: {"messages": [HumanMessage(state["said"])]})
    graph: Any = builder.add_edge(START, "ask").add_edge("ask", "note").compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("ask")]}, make_config("t"), durability=durability)
    graph.invoke(Command(resume="Ada"), make_config("t"), durability=durability)
    assert list_authors(saver.store) == [("person", "ask"), ("person", "Ada")]


class Noted(MessagesState):
    said: Any


def ask_name(state: Noted) -> Any:
    said = interrupt("Your name?")
    return {"said": said, "messages": [HumanMessage("Think of a name."), HumanMessage(str(said["name"]))]}


def go_on(state: Noted) -> Any:
    return {"messages": [HumanMessage("Greet them."), HumanMessage(str(state["said"]["name"])), AIMessage("Hello.")]}


def make_asking_graph(saver: WaymarkSaver, *, is_below: bool) -> Any:
    builder = StateGraph(Noted).add_sequence([("ask", ask_name), ("go_on", go_on)]).add_edge(START, "ask")
    if not is_below:
        return builder.compile(checkpointer=saver)
    below = StateGraph(Noted).add_node("below", builder.compile()).add_edge(START, "below")
    return below.compile(checkpointer=saver)


@pytest.mark.parametrize("is_map", [False, True])
@pytest.mark.parametrize("is_below", [False, True])
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_what_nodes_write_after_an_answer_is_the_graphs_unless_it_is_the_answer(
    saver: WaymarkSaver, durability: Any, is_below: bool, is_map: bool
) -> None:
    graph = make_asking_graph(saver, is_below=is_below)
    graph.invoke({"messages": [HumanMessage("ask")]}, make_config("t"), durability=durability)
    (question,) = graph.get_state(make_config("t")).interrupts
    given: Any = {"name": "Ada"}
    graph.invoke(Command(resume={question.id: given} if is_map else given), make_config("t"), durability=durability)
    assert list_authors(saver.store)[1:] == [
        ("graph", "Think of a name."),
        ("person", "Ada"),
        ("graph", "Greet them."),
        ("person", "Ada"),
        ("agent", "Hello."),
    ]


def test_what_a_program_adds_beside_its_answer_is_the_persons(saver: WaymarkSaver) -> None:
    graph = make_asking_graph(saver, is_below=False)
    ask(graph, "t", "ask")
    graph.invoke(Command(resume={"name": "Ada"}, update={"messages": [HumanMessage("Hurry.")]}), make_config("t"))
    assert ("person", "Hurry.") in list_authors(saver.store)


def test_a_summary_stays_the_graphs_when_another_turn_repeats_it(saver: WaymarkSaver) -> None:
    def move(state: Channels) -> Channels:
        old: list[Any] = [each for each in state["messages"] if each.text != "hello"]
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *old, AIMessage("Done.")]}

    ask(make_graph(saver, answer), "t", "hello")
    ask(make_graph(saver, answer), "t", "summarise")
    ask(make_graph(saver, answer), "t", "plain text")
    ask(make_graph(saver, move), "t", "more")
    ask(make_graph(saver, lambda state: {"messages": [RemoveMessage(str(state["messages"][1].id))]}), "t", "now")
    assert [each for each in list_authors(saver.store) if each[0] == "graph"] == [
        ("graph", "Summary."),
        ("graph", "as a text"),
    ]


def test_the_graph_keeps_a_key_of_its_own_with_the_name_of_the_mark(saver: WaymarkSaver) -> None:
    given: Any = [kind("q", additional_kwargs={"by_graph": "yes", BY_GRAPH_KEY: 1}) for kind in (HumanMessage, AIMessage)]
    make_graph(saver, answer).invoke({"messages": given}, make_config("t"))
    for reader in (saver, WaymarkSaver(saver.store)):
        assert read_channels(make_graph(reader, answer), "t")["messages"][:2] == given


def test_the_graph_sees_no_mark(saver: WaymarkSaver) -> None:
    ask(make_graph(saver, answer), "t", "plain text")
    for reader in (saver, WaymarkSaver(saver.store)):
        [_, written] = read_channels(make_graph(reader, answer), "t")["messages"]
        assert written == HumanMessage("as a text", id=written.id)
