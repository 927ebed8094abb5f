"""Messages that the page writes into a program's conversation: its graph has to be told, and none is dropped silently."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from checkpoints import NewMessage, Store
from checkpoints.langgraph import UnseenMessagesError, WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import Channels, answer, ask, make_config, make_graph, read_channels, read_texts


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


def write(store: Store, *texts: str, thread_id: str = "t") -> None:
    """Write messages as the page does: a question and an answer."""
    kinds = ("human", "ai")
    new = [NewMessage({"type": kind, "data": {"content": text}}) for kind, text in zip(kinds, texts, strict=False)]
    store.append(thread_id, new)


def count_states(saver: WaymarkSaver) -> int:
    return len([*saver.list(make_config("t"))])


def test_a_run_that_does_not_know_the_pages_messages_is_refused_before_it_begins(saver: WaymarkSaver) -> None:
    asked: list[str] = []

    def note(state: Channels) -> Channels:
        asked.append(str(state["messages"][-1].text))
        return answer(state)

    graph, store = make_graph(saver, note), saver.store
    ask(graph, "t", "one")
    write(store, "page's question", "page's answer")
    before, operations = count_states(saver), len(store.list_operations("t"))
    for _ in range(2):
        with pytest.raises(UnseenMessagesError, match="has not seen"):
            ask(graph, "t", "two")
    assert asked == ["one"]
    assert read_texts(saver, "t") == ["one", "one!", "page's question", "page's answer"]
    assert (count_states(saver), len(store.list_operations("t"))) == (before, operations)


def test_a_run_that_is_handed_the_pages_messages_goes_on_with_them(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", "one")
    write(store, "page's question", "page's answer")
    unseen = saver.read_unseen_messages("t")
    assert [each.text for each in unseen] == ["page's question", "page's answer"]
    graph.invoke({"messages": [*unseen, HumanMessage("two")]}, make_config("t"), durability="sync")
    assert saver.read_unseen_messages("t") == []
    expected = ["one", "one!", "page's question", "page's answer", "two", "two!"]
    assert read_texts(saver, "t") == [each.text for each in read_channels(graph, "t")["messages"]] == expected
    with store.database.begin_read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM message").scalar() == len(expected)  # none was repeated
    store.undo("t")
    assert read_texts(saver, "t") == expected[:4]
    assert verification.verify(store.database).damages == ()


def test_a_run_goes_on_once_the_pages_messages_are_taken_back(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    write(saver.store, "page's question")
    saver.store.undo("t")
    assert saver.read_unseen_messages("t") == []
    ask(graph, "t", "two")
    assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]


def test_what_the_page_writes_in_the_middle_of_a_run_ends_the_run(saver: WaymarkSaver) -> None:
    def interrupt_the_run(state: Channels) -> Channels:
        if state["messages"][-1].text == "slow":
            write(saver.store, "meanwhile")
        return answer(state)

    graph = make_graph(saver, interrupt_the_run)
    ask(graph, "t", "one")
    with pytest.raises(UnseenMessagesError):
        ask(graph, "t", "slow")
    assert read_texts(saver, "t") == ["one", "one!", "slow", "meanwhile"]


def test_an_answer_to_a_question_of_the_graph_does_not_drop_the_pages_messages(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "approve")
    write(saver.store, "page's question")
    with pytest.raises(UnseenMessagesError):
        graph.invoke(Command(resume="yes"), make_config("t"), durability="sync")
    assert read_texts(saver, "t") == ["approve", "page's question"]
    saver.store.undo("t")
    graph.invoke(Command(resume="yes"), make_config("t"), durability="sync")
    assert read_texts(saver, "t") == ["approve", "You said yes."]


def test_a_graph_takes_up_a_conversation_of_the_page_only_with_its_messages(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    own = store.create_thread(title="The page's").id
    write(store, "page's question", "page's answer", thread_id=own)
    with pytest.raises(UnseenMessagesError):
        ask(graph, own, "one")
    unseen = saver.read_unseen_messages(own)
    graph.invoke({"messages": [*unseen, HumanMessage("one")]}, make_config(own), durability="sync")
    assert read_texts(saver, own) == ["page's question", "page's answer", "one", "one!"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_no_durability_drops_them(saver: WaymarkSaver, durability: Any) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    write(saver.store, "page's question")
    with pytest.raises(UnseenMessagesError):
        graph.invoke({"messages": [HumanMessage("two")]}, make_config("t"), durability=durability)
    with pytest.raises(UnseenMessagesError):
        graph.update_state(make_config("t"), {"messages": [AIMessage("by hand")]})
    assert read_texts(saver, "t") == ["one", "one!", "page's question"]


def test_a_fork_from_a_state_that_is_chosen_by_its_id_leaves_what_follows_it(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    old = graph.get_state(make_config("t")).config
    ask(graph, "t", "two")
    write(saver.store, "page's question")
    graph.invoke({"messages": [HumanMessage("other")]}, old, durability="sync")
    assert read_texts(saver, "t") == ["one", "one!", "other", "other!"]
    saver.store.undo("t")
    assert read_texts(saver, "t")[-1] == "page's question"


def test_a_graph_without_messages_goes_on_after_those_of_the_page(saver: WaymarkSaver) -> None:
    builder = StateGraph(Channels).add_node("count", lambda state: {"count": state.get("count", 0) + 1})
    graph: Any = builder.add_edge(START, "count").compile(checkpointer=saver)
    graph.invoke({"count": 1}, make_config("t"))
    write(saver.store, "page's question", "page's answer")
    assert graph.invoke({"count": 5}, make_config("t"))["count"] == 6
    assert read_texts(saver, "t") == ["page's question", "page's answer"]
