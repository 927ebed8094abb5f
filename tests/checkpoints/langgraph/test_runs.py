"""What a graph does is a conversation: each run is one undo, with all channels, and the graph goes on from there."""

import asyncio
import copy
import threading
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, interrupt

from checkpoints import (
    NewMessage,
    RunActiveError,
    Runs,
    RunState,
    Store,
)
from checkpoints.langgraph import StaleWriterError, WaymarkSaver
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import (
    Channels,
    answer,
    ask,
    make_config,
    make_graph,
    read_channels,
    read_texts,
)

QUESTIONS = ["hello", "tool", "mark", "more", "forget", "again"]


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


def is_whole(store: Store) -> bool:
    return verification.verify(store.database).damages == ()


@pytest.mark.parametrize("run_ids", [QUESTIONS, [None] * len(QUESTIONS)], ids=["with ids of runs", "without"])
def test_each_run_is_one_undo_and_one_redo_with_all_channels(saver: WaymarkSaver, run_ids: list[str | None]) -> None:
    graph, states = make_graph(saver), [{}]
    for question, run_id in zip(QUESTIONS, run_ids, strict=True):
        ask(graph, "t", question, run_id)
        states.append(read_channels(graph, "t"))
    for expected in states[-2::-1]:
        saver.store.undo("t")
        assert read_channels(graph, "t") == expected
    for expected in states[1:]:
        saver.store.redo("t")
        assert read_channels(graph, "t") == expected
    assert is_whole(saver.store)


def test_the_messages_are_those_of_the_page_and_a_step_repeats_none(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    found = [ask(graph, "t", question)["messages"] for question in ["one", "tool", "two"]]
    stored = saver.store.list_messages("t")
    assert [message.langchain for message in stored] == found[-1]
    assert len({message.id for message in stored}) == len(stored) == 8
    assert saver.store.get_thread("t").title == "one"
    with saver.store.database.begin_read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM message").scalar() == 8


def test_a_run_is_one_operation_and_the_version_rises_with_each_message(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", "one")
    before = store.get_thread("t").version
    ask(graph, "t", "tool")
    newest = store.list_operations("t")[0]
    assert (newest.version, newest.detail.joined) == (before + 3, 2)
    assert store.list_operations("t")[1].version == before
    assert is_whole(store)
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.operation).where(schema.operation.c.version == newest.version).values(detail={}))
    assert not is_whole(store)


def test_a_graph_goes_on_from_where_an_undo_left_the_conversation(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    for question in ["one", "two", "three"]:
        ask(graph, "t", question)
    saver.store.undo("t")
    saver.store.undo("t")
    ask(graph, "t", "instead")
    assert read_texts(saver, "t") == ["one", "one!", "instead", "instead!"]
    assert read_channels(graph, "t")["count"] == 2


def test_a_restored_checkpoint_brings_all_channels_back_and_branches_keep_theirs(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", "one")
    saved, at_one = store.save("t").result, read_channels(graph, "t")
    ask(graph, "t", "two")
    at_two = read_channels(graph, "t")
    store.restore("t", saved, keep_future=True)
    assert read_channels(graph, "t") == at_one
    future, _ = store.list_branches("t")[-1]
    ask(graph, "t", "three")
    store.switch("t", future.id)
    assert read_channels(graph, "t") == at_two
    assert is_whole(store)


def test_a_message_that_is_restored_or_forked_from_has_the_state_of_its_own_run(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", "one")
    at_one, end = read_channels(graph, "t"), store.list_messages("t")[-1]
    ask(graph, "t", "two")
    store.restore_message("t", end.id)
    assert read_channels(graph, "t") == at_one
    store.undo("t")
    store.fork("t", end.id)
    assert read_channels(graph, "t") == at_one
    store.clear("t")
    assert read_channels(graph, "t") == {}


def test_a_message_has_the_state_that_its_run_and_an_update_left_and_not_that_of_a_later_run(saver: WaymarkSaver) -> None:
    def count_or_answer(state: Channels) -> Channels:
        return answer(state) if state["messages"][-1].type == "human" else {"count": state["count"] + 1}

    graph, store = make_graph(saver, count_or_answer), saver.store
    ask(graph, "t", "one")
    end = store.list_messages("t")[-1]
    graph.invoke({"notes": ["no message"]}, make_config("t"))
    ask(graph, "t", "two")
    store.restore_message("t", end.id)
    assert read_channels(graph, "t")["count"] == 1
    graph.update_state(make_config("t"), {"count": 50}, as_node="look")
    ask(graph, "t", "three")
    store.restore_message("t", end.id)
    assert read_channels(graph, "t")["count"] == 50


def test_a_write_that_comes_after_the_state_that_holds_it_is_the_historys_alone(saver: WaymarkSaver) -> None:
    ask(make_graph(saver), "t", "one")
    newest = next(saver.list(make_config("t")))
    assert newest.parent_config is not None
    saver.put_writes(newest.parent_config, [("notes", ["late"])], "task")
    parent = saver.get_tuple(newest.parent_config)
    assert parent is not None
    assert ("task", "notes", ["late"]) in (parent.pending_writes or [])
    assert saver.read_pending_writes("t") == []


def test_a_run_at_an_old_state_is_a_fork_and_undo_takes_it_back(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    old = graph.get_state(make_config("t")).config
    ask(graph, "t", "two")
    newest = read_channels(graph, "t")
    fork = {"configurable": {**make_config("t")["configurable"], "checkpoint_id": old["configurable"]["checkpoint_id"]}}
    graph.invoke({"messages": [HumanMessage("other")]}, fork)
    assert read_texts(saver, "t") == ["one", "one!", "other", "other!"]
    saver.store.undo("t")
    assert read_channels(graph, "t") == newest
    graph.invoke({"messages": [HumanMessage("third")]}, old)  # with all that a snapshot's config holds
    assert read_texts(saver, "t") == ["one", "one!", "third", "third!"]


def test_an_update_of_the_state_is_an_undo_of_its_own(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    before = read_channels(graph, "t")
    graph.update_state(make_config("t"), {"messages": [AIMessage("added")], "count": 50})
    assert (read_channels(graph, "t")["count"], read_texts(saver, "t")[-1]) == (50, "added")
    saver.store.undo("t")
    assert read_channels(graph, "t") == before


def test_what_a_node_changes_in_place_is_stored(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    ask(graph, "t", "mark")
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {"marked": 2}
    saver.store.undo("t")
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {}
    assert read_channels(graph, "t")["messages"][0].additional_kwargs == {}


def test_a_message_that_could_not_be_read_again_is_a_value_of_its_state_and_locks_nothing(saver: WaymarkSaver) -> None:
    def answer_without_content(state: Channels) -> Channels:
        said = AIMessage("x", id="x")
        said.content = None  # type: ignore[assignment]
        return {"messages": [said]}

    ask(make_graph(saver, answer_without_content), "t", "one")
    other = WaymarkSaver(saver.store)  # which has to read what was written
    assert [each.content for each in read_channels(make_graph(other), "t")["messages"]] == ["one", None]
    assert is_whole(saver.store)
    ask(make_graph(other), "t", "two")
    saver.store.undo("t")
    saver.store.undo("t")
    assert read_texts(saver, "t") == []


def test_an_empty_thread_id_is_refused_in_words(saver: WaymarkSaver) -> None:
    with pytest.raises(ValueError, match="The thread_id must not be empty"):
        ask(make_graph(saver), "", "hello")


@pytest.mark.parametrize("thread_id", ["a\ud800", "a\0b"])
def test_a_thread_id_that_is_no_text_is_refused_before_anything_is_written(saver: WaymarkSaver, thread_id: str) -> None:
    config = make_config(thread_id)
    with pytest.raises(ValueError, match=r"The thread_id '.*' must be text"):
        ask(make_graph(saver), thread_id, "hello")
    with pytest.raises(ValueError, match="must be text"):
        saver.put(config, empty_checkpoint(), {}, {})
    with pytest.raises(ValueError, match="must be text"):
        saver.put_writes({"configurable": {**config["configurable"], "checkpoint_id": "1"}}, [("a", 1)], "task")
    assert saver.store.list_threads() == []


def test_a_state_that_is_changed_by_its_reader_changes_nothing(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    state = graph.get_state(make_config("t")).values
    state["messages"][0].additional_kwargs["mine"] = state["messages"][1].response_metadata["mine"] = True
    state["notes"].append("mine")
    ask(graph, "t", "two")
    assert "mine" not in str(read_channels(graph, "t"))


def test_an_interrupt_waits_for_a_new_process_and_undo_lets_it_wait_again(file_store: Store) -> None:
    graph = make_graph(WaymarkSaver(file_store))
    ask(graph, "t", "one", "first")
    waiting = ask(graph, "t", "approve", "second")["__interrupt__"]
    graph = make_graph(WaymarkSaver(file_store))  # nothing is remembered
    for word in ["yes", "no"]:
        assert graph.get_state(make_config("t")).interrupts == tuple(waiting)
        graph.invoke(Command(resume=word), make_config("t", f"third, {word}"))
        assert read_texts(WaymarkSaver(file_store), "t")[-1] == f"You said {word}."
        assert graph.get_state(make_config("t")).interrupts == ()
        file_store.undo("t")
    assert is_whole(file_store)


def test_an_answer_after_which_its_step_asks_again_is_undone_with_the_run_that_ends_the_step(saver: WaymarkSaver) -> None:
    def ask_twice(state: Channels) -> Channels:
        return {"messages": [AIMessage(f"{interrupt('One?')} {interrupt('Two?')}")]}

    graph, config = make_graph(saver, ask_twice), make_config("t")

    def list_asked() -> list[str]:
        return [each.value for each in graph.get_state(config).interrupts]

    ask(graph, "t", "go")
    for given, asked in (("undone", ["Two?"]), ("undone too", [])):
        graph.invoke(Command(resume=given), config)
        assert list_asked() == asked
    saver.store.undo("t")
    assert list_asked() == ["One?"]
    graph.invoke(Command(resume="a"), config)
    assert list_asked() == ["Two?"]
    graph.invoke(Command(resume="b"), config)
    assert graph.get_state(config).values["messages"][-1].text == "a b"
    saver.store.undo("t")
    graph.invoke(Command(resume="a"), config)
    saver.store.undo("t")
    assert graph.get_state(config).values == {}


def test_a_checkpoint_at_an_interrupt_waits_again_once_it_is_restored(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    waiting = ask(graph, "t", "approve")["__interrupt__"]
    saved = saver.store.save("t").result
    graph.invoke(Command(resume="yes"), make_config("t"))
    ask(graph, "t", "more")
    saver.store.restore("t", saved)
    assert graph.get_state(make_config("t")).interrupts == tuple(waiting)
    graph.invoke(Command(resume="no"), make_config("t"))
    assert read_texts(saver, "t") == ["approve", "You said no."]


def test_of_two_runs_the_slower_one_is_refused_and_nothing_is_lost(lasting_store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def answer_slowly(state: Channels) -> Channels:
        if state["messages"][-1].text == "slow":
            begun.set()
            assert go_on.wait(60)
        return answer(state)

    saver = WaymarkSaver(lasting_store)
    graph = make_graph(saver, answer_slowly)
    ask(graph, "t", "one")
    refused: list[Exception] = []

    def run_slowly() -> None:
        with pytest.raises(StaleWriterError) as caught:
            ask(graph, "t", "slow")
        refused.append(caught.value)

    slow = threading.Thread(target=run_slowly)
    slow.start()
    assert begun.wait(60)
    lasting_store.undo("t")  # the slow run's question is gone, and another run is quicker
    ask(graph, "t", "quick")
    go_on.set()
    slow.join(60)
    assert len(refused) == 1
    assert read_texts(saver, "t") == ["one", "one!", "quick", "quick!"]


def test_a_reader_that_comes_to_write_too_late_is_refused_also_with_an_input(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    read = saver.get_tuple(make_config("t"))
    assert read is not None
    ask(graph, "t", "two")
    late = copy.deepcopy(read.checkpoint) | {"id": "1f1e0000-0000-6000-8000-000000000000"}
    with pytest.raises(StaleWriterError):
        saver.put(read.config, late, {"source": "input", "step": 9, "parents": {}}, {})  # type: ignore[arg-type]
    with pytest.raises(StaleWriterError):
        saver.put(make_config("t"), late, {"source": "input", "step": -1, "parents": {}}, {})  # type: ignore[arg-type]
    assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]


def test_a_thread_that_a_run_of_the_page_holds_is_that_runs_alone(saver: WaymarkSaver) -> None:
    graph, runs = make_graph(saver), Runs(saver.store)
    ask(graph, "t", "one")
    question = NewMessage({"type": "human", "data": {"content": "two"}}, id="question")
    run = runs.begin_run("t", question)
    with pytest.raises(RunActiveError):
        ask(graph, "t", "other")
    config = make_config("t", run.id)
    graph.invoke({"messages": [HumanMessage("two", id="question")]}, config)
    runs.end_run(run, RunState.DONE)
    assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]
    assert [message.id for message in saver.store.list_messages("t")][2] == "question"
    saver.store.undo("t")
    assert read_texts(saver, "t") == ["one", "one!"]
    assert read_channels(graph, "t")["count"] == 1


def test_an_edit_in_the_page_goes_on_from_the_state_before_the_message(saver: WaymarkSaver) -> None:
    graph, runs = make_graph(saver), Runs(saver.store)
    for question in ["one", "two", "three"]:
        ask(graph, "t", question)
    parent = saver.store.list_messages("t")[1]
    run = runs.begin_run("t", NewMessage({"type": "human", "data": {"content": "edited"}}, id="q"), after=parent.id)
    graph.invoke({"messages": [HumanMessage("edited", id="q")]}, make_config("t", run.id))
    runs.end_run(run, RunState.DONE)
    assert read_texts(saver, "t") == ["one", "one!", "edited", "edited!"]
    assert read_channels(graph, "t")["count"] == 2


class Inner(TypedDict, total=False):
    seen: Annotated[list[str], lambda old, new: old + new]


def make_nested_graph(saver: Any) -> Any:
    """A graph with a subgraph that remembers its calls."""
    inner = StateGraph(Inner)
    inner.add_node("note", lambda state: {"seen": [f"call {len(state['seen'])}"]})
    inner.add_edge(START, "note")
    remembering = inner.compile(checkpointer=True)

    def call(state: Channels) -> Channels:
        found = remembering.invoke({"seen": ["asked"]})
        return {"messages": [AIMessage(" ".join(found["seen"]))]}

    outer = StateGraph(Channels)
    outer.add_node("call", call)
    outer.add_edge(START, "call")
    return outer.compile(checkpointer=saver)


def test_a_subgraph_with_a_memory_goes_back_with_its_graph(saver: WaymarkSaver) -> None:
    graph = make_nested_graph(saver)
    answers = [ask(graph, "t", question)["messages"][-1].text for question in ["one", "two", "three"]]
    assert answers[-1].count("asked") == 3
    saver.store.undo("t")
    saver.store.undo("t")
    assert ask(graph, "t", "again")["messages"][-1].text == answers[1]
    assert is_whole(saver.store)


class DeltaChat(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]


def test_a_delta_channel_is_rebuilt_after_each_undo(saver: WaymarkSaver) -> None:
    builder = StateGraph(DeltaChat)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"{state['messages'][-1].text}!")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    states = [[]]
    for number in range(7):
        ask(graph, "t", str(number))
        states.append(read_channels(graph, "t")["messages"])
    assert len(states[-1]) == 14
    for expected in states[-2:0:-1]:
        saver.store.undo("t")
        assert read_channels(graph, "t")["messages"] == expected
    assert is_whole(saver.store)


def test_a_graph_without_messages_is_undone_and_goes_on(saver: WaymarkSaver) -> None:
    class Counting(TypedDict):
        total: Annotated[int, lambda old, new: old + new]

    builder = StateGraph(Counting)
    builder.add_node("double", lambda state: {"total": state["total"]})
    builder.add_edge(START, "double")
    graph = builder.compile(checkpointer=saver)
    totals = [graph.invoke({"total": 1}, make_config("t"))["total"] for _ in range(3)]
    assert totals == [2, 6, 14]
    saver.store.undo("t")
    saver.store.undo("t")
    assert graph.invoke({"total": 1}, make_config("t"))["total"] == 6


def test_asynchronous_runs_are_the_same(lasting_store: Store) -> None:
    saver = WaymarkSaver(lasting_store)
    graph = make_graph(saver)

    async def talk() -> list[str]:
        for question in ["one", "tool"]:
            await graph.ainvoke({"messages": [HumanMessage(question)]}, make_config("t"))
        history = graph.aget_state_history(make_config("t"))
        return [str(state.config["configurable"]["checkpoint_id"]) async for state in history]

    ids = asyncio.run(talk())
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 7
    lasting_store.undo("t")
    assert read_texts(saver, "t") == ["one", "one!"]


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
def test_every_durability_ends_at_the_same_channels(saver: WaymarkSaver, durability: Any) -> None:
    graph = make_graph(saver)
    for question in ["one", "tool", "more"]:
        config = make_config("t")
        graph.invoke({"messages": [HumanMessage(question)]}, config, durability=durability)
    assert (len(read_channels(graph, "t")["messages"]), read_channels(graph, "t")["count"]) == (8, 3)
    saver.store.undo("t")
    assert read_channels(graph, "t")["count"] == 2


def test_a_copy_of_the_saver_knows_what_the_original_does(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    other = make_graph(copy.copy(saver))
    ask(other, "t", "two")
    ask(graph, "t", "three")
    assert read_texts(saver, "t") == ["one", "one!", "two", "two!", "three", "three!"]


def test_writes_may_come_before_the_state_that_they_follow(saver: WaymarkSaver) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1f1e"}}
    saver.put_writes(config, [("notes", "early"), ("__interrupt__", "wait")], "task")
    checkpoint: Any = {
        "v": 4, "id": "1f1e", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {},
    }  # fmt: skip
    saver.put(make_config("t"), checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [("task", "__interrupt__", "wait"), ("task", "notes", "early")]


def test_deleting_a_thread_is_undone_as_in_the_page_and_its_id_can_begin_anew(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    before = read_channels(graph, "t")
    saver.delete_thread("t")
    assert (saver.get_tuple(make_config("t")), [*saver.list(make_config("t"))]) == (None, [])
    saver.store.undo("t")
    assert read_channels(graph, "t") == before
    saver.delete_thread("t")
    ask(graph, "t", "anew")
    assert read_texts(saver, "t") == ["anew", "anew!"]
    assert len([*saver.list(make_config("t"))]) == 3
    assert is_whole(saver.store)


def test_a_run_that_is_removed_is_brought_back_by_undo(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one", "first")
    at_one = read_channels(graph, "t")
    ask(graph, "t", "two", "second")
    at_two = read_channels(graph, "t")
    saver.delete_for_runs(["second"])
    assert read_channels(graph, "t") == at_one
    saver.store.undo("t")
    assert read_channels(graph, "t") == at_two


@dataclass(frozen=True)
class Place:
    """A type of the user's own."""

    name: str


def test_only_types_that_are_allowed_are_constructed(store: Store) -> None:
    class Here(TypedDict):
        place: Place

    builder = StateGraph(Here)
    builder.add_node("stay", lambda state: {})
    builder.add_edge(START, "stay")
    graph = builder.compile(checkpointer=WaymarkSaver(store, allowed_types=[Place]))
    graph.invoke({"place": Place("here")}, make_config("t"))
    assert read_channels(graph, "t") == {"place": Place("here")}
    strict = builder.compile(checkpointer=WaymarkSaver(store))
    assert read_channels(strict, "t") == {"place": {"name": "here"}}
