"""A conversation that begins as a path of another one has the states of that path's graph."""

from typing import Any

import pytest
import sqlalchemy as sa
from langgraph.types import Command

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.storage import schema
from checkpoints.upkeep.erasure import erase
from tests.checkpoints.langgraph.graphs import Graph, ask, make_config, make_graph, read_channels, read_texts
from tests.checkpoints.langgraph.test_runs import is_whole, make_nested_graph


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


@pytest.fixture
def graph(saver: WaymarkSaver) -> Graph:
    return make_graph(saver)


def fork(store: Store, depth: int = -1) -> str:
    return str(store.fork_thread("t", store.list_messages("t")[depth].id).result)


def read_content(graph: Graph, thread_id: str) -> dict[str, Any]:
    """The channels, with messages as their texts: a copy's messages have ids of their own."""
    channels = read_channels(graph, thread_id)
    return {**channels, "messages": [each.text for each in channels.get("messages", [])]}


def test_it_goes_on_with_all_channels_and_both_are_independent(saver: WaymarkSaver, graph: Graph) -> None:
    for text in ("one", "two", "three"):
        ask(graph, "t", text, text)
    copy, whole = fork(saver.store), read_content(graph, "t")
    assert read_content(graph, copy) == whole
    ask(graph, copy, "four", "four")
    assert read_content(graph, "t") == whole
    assert read_content(graph, copy)["count"] == 4
    assert read_texts(saver, copy)[-2:] == ["four", "four!"]
    saver.store.undo(copy)
    assert read_content(graph, copy) == whole
    assert is_whole(saver.store)


def test_every_message_and_checkpoint_of_the_path_keeps_its_state(saver: WaymarkSaver, graph: Graph) -> None:
    seen = []
    for text in ("one", "tool", "three"):
        ask(graph, "t", text, text)
        seen.append(read_content(graph, "t"))
        saver.store.save("t", name=text)
        graph.update_state(make_config("t"), {"count": 90}, as_node="look")  # later, at the same message
    copy = fork(saver.store)
    for checkpoint, content in reversed([*zip(saver.store.list_checkpoints(copy), seen, strict=True)]):
        saver.store.restore(copy, checkpoint.id)
        assert read_content(graph, copy) == content
    earlier = fork(saver.store, 1)
    assert read_content(graph, earlier) == {**seen[0], "count": 90}
    saver.store.restore("t", saver.store.list_checkpoints("t")[-1].id)  # to before the update at the same message
    assert read_content(graph, fork(saver.store)) == seen[-1]
    graph.invoke({"notes": ["later"]}, make_config("t", "later"))  # a run that begins at this message
    for depth in range(len(read_texts(saver, "t")) - 1, 0, -1):
        of_copy = fork(saver.store)
        for thread_id in ("t", of_copy):
            saver.store.restore_message(thread_id, saver.store.list_messages(thread_id)[depth].id)
        assert read_content(graph, of_copy) == read_content(graph, "t")
    assert is_whole(saver.store)


def test_a_question_that_waits_waits_in_the_copy(saver: WaymarkSaver, graph: Graph) -> None:
    ask(graph, "t", "one")
    ask(graph, "t", "approve")
    copy = fork(saver.store)
    assert [each.value for each in graph.get_state(make_config(copy)).interrupts] == [{"ask": 2}]
    for thread_id, answer in ((copy, "no"), ("t", "yes")):
        graph.invoke(Command(resume=answer), make_config(thread_id))
        assert read_texts(saver, thread_id)[-1] == f"You said {answer}."


def test_a_graph_that_removed_its_messages_goes_on_in_the_copy(saver: WaymarkSaver, graph: Graph) -> None:
    for text in ("one", "two", "forget", "three"):
        ask(graph, "t", text, text)
    copy = fork(saver.store)
    assert read_content(graph, copy) == read_content(graph, "t")
    assert is_whole(saver.store)


def test_a_subgraph_keeps_its_memory(saver: WaymarkSaver) -> None:
    graph = make_nested_graph(saver)
    for question in ("one", "two"):
        ask(graph, "t", question)
    copy, early = fork(saver.store), fork(saver.store, 1)
    inner = [
        sum(1 for each in saver.list(make_config(thread_id)) if each.config["configurable"]["checkpoint_ns"])
        for thread_id in (copy, early)
    ]
    assert inner[0] == 2 * inner[1]
    assert [ask(graph, each, "more")["messages"][-1].text.count("asked") for each in (copy, early)] == [3, 2]


def test_the_values_outlive_the_conversation_that_they_came_from(saver: WaymarkSaver, graph: Graph) -> None:
    ask(graph, "t", "one")
    copy, content = fork(saver.store), read_content(graph, "t")
    saver.store.delete_thread("t")
    erase(saver.store.database, "t")
    assert read_content(graph, copy) == content


def test_a_damaged_state_is_left_out_of_the_copy(saver: WaymarkSaver, graph: Graph) -> None:
    for text in ("one", "two"):
        ask(graph, "t", text, text)
    number = saver.store.get_thread("t").state_id
    with saver.store.database.begin_write() as connection:
        connection.execute(sa.update(schema.state).where(schema.state.c.number == number).values(leaves=b" "))
    assert read_texts(saver, copy := fork(saver.store)) == read_texts(saver, "t")
    assert saver.store.get_thread(copy).state_id is None
