"""A graph may replace messages, as one that summarises does. What the turn left stays listed, exported and restorable."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from checkpoints import OperationKind, Store
from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from tests.checkpoints.langgraph.graphs import Channels, Graph, ask, make_config, make_graph, read_channels, read_texts


def fold(state: Channels) -> Channels:
    """Summarise from the third question on, as LangChain's SummarizationMiddleware does."""
    count = state.get("count", 0) + 1
    answered: Channels = {"messages": [AIMessage(f"answer {count}")], "count": count}
    if count < 3:
        return answered
    kept = state["messages"][-1]
    return {
        "messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("Summary."), kept, AIMessage("3.")],
        "count": count,
    }


def answer_with_one_id(state: Channels) -> Channels:
    count = state.get("count", 0) + 1
    return {"messages": [AIMessage(f"answer {count}", id="the only one")], "count": count}


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


def list_names(store: Store) -> list[str]:
    return [each.name for each in store.list_checkpoints("t")]


def ask_and_save(graph: Graph, store: Store) -> None:
    """Ask three questions, with a checkpoint after each of the first two."""
    for number in (1, 2):
        ask(graph, "t", f"question {number}")
        store.save("t", name=f"after {number}")
    ask(graph, "t", "question 3")


@pytest.mark.parametrize("node", [fold, answer_with_one_id])
def test_checkpoints_that_a_rewriting_turn_left_stay_listed_and_restore_all_channels(saver: WaymarkSaver, node: Any) -> None:
    graph, store = make_graph(saver, node), saver.store
    ask(graph, "t", "question 1")
    saved, before, texts = store.save("t", name="after 1"), read_channels(graph, "t"), read_texts(saver, "t")
    ask(graph, "t", "question 2")
    store.save("t", name="after 2")
    ask(graph, "t", "question 3")
    assert list_names(store) == ["after 1", "after 2"]
    store.restore("t", str(saved.result))
    assert (read_channels(graph, "t"), read_texts(saver, "t")) == (before, texts)
    assert list_names(store) == ["after 1"]


def test_an_export_has_what_a_rewriting_turn_left(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver, fold), saver.store
    ask_and_save(graph, store)
    document = reading.read_document(transfer.export(store, "t"))
    assert [each.name for each in document.checkpoints] == ["after 1", "after 2"]
    texts = {str(each.message["data"]["content"]) for each in document.messages}
    assert {"question 1", "answer 1", "question 2", "answer 2", "Summary.", "3."} <= texts
    copied = transfer.import_thread(store, document).result
    assert [each.name for each in store.list_checkpoints(str(copied))] == ["after 1", "after 2"]


def test_the_undo_of_a_rewriting_turn_is_exact(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver, fold), saver.store
    for number in (1, 2):
        ask(graph, "t", f"question {number}")
    store.save("t", name="here")
    before = (read_channels(graph, "t"), read_texts(saver, "t"), store.list_checkpoints("t"))
    ask(graph, "t", "question 3")
    after = (read_channels(graph, "t"), read_texts(saver, "t"), store.list_checkpoints("t"))
    store.undo("t")
    assert (read_channels(graph, "t"), read_texts(saver, "t"), store.list_checkpoints("t")) == before
    store.redo("t")
    assert (read_channels(graph, "t"), read_texts(saver, "t"), store.list_checkpoints("t")) == after


def test_a_rewriting_turn_tells_how_many_earlier_messages_it_replaced(saver: WaymarkSaver) -> None:
    ask_and_save(make_graph(saver, fold), saver.store)
    [rewriting] = [each for each in saver.store.list_operations("t") if each.kind is OperationKind.EDIT]
    assert rewriting.detail.messages == 4


def test_a_draft_that_its_own_turn_replaced_is_none_of_the_earlier_messages(saver: WaymarkSaver) -> None:
    graph = make_graph(saver, answer_with_one_id)
    ask(graph, "t", "question 1")
    replaced = {"messages": [AIMessage("another", id="the only one")]}
    graph.update_state(make_config("t"), replaced)
    [rewriting] = [each for each in saver.store.list_operations("t") if each.kind is OperationKind.EDIT]
    assert rewriting.detail.messages == 0


def test_a_program_that_goes_on_from_an_older_state_leaves_later_checkpoints_as_a_restore_does(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", "one")
    older = graph.get_state(make_config("t")).config
    ask(graph, "t", "two")
    store.save("t", name="later")
    graph.invoke({"messages": [HumanMessage("other")]}, older)
    assert list_names(store) == []
