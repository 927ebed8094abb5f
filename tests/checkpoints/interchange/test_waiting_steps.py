"""A question that waits goes into a file with the work of its subgraphs, and is answered elsewhere as it would be here."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from checkpoints import Database, InvalidDocumentError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.open_subgraphs import read_open_subgraphs
from tests.checkpoints.langgraph.graphs import Channels, Graph, ask, make_config
from tests.checkpoints.langgraph.test_runs import is_whole

Json = dict[str, Any]
Node = Callable[[Channels], Any]


def draft(_: Channels) -> Channels:
    return {"messages": [AIMessage("A draft.", id="draft")], "notes": ["short"], "files": {"a": "1"}}


def send(_: Channels) -> Channels:
    return {"messages": [AIMessage(f"sent: {interrupt('Send it?')}", id="sent")], "count": 1}


def twice(_: Channels) -> Channels:
    return {"messages": [AIMessage(f"{interrupt('One?')} and {interrupt({'ask': 'Two?'})}", id="twice")]}


def build(**nodes: Any) -> Any:
    return StateGraph(Channels).add_sequence(list(nodes.items())).add_edge(START, next(iter(nodes)))


def make_beside() -> Any:
    return build(draft=draft, team=build(draft=draft, send=send).compile()).add_node("other", twice).add_edge(START, "other")


def make_last(_: Channels) -> Channels:
    return {"messages": [AIMessage("last", id="last")], "notes": ["last"]}


def work(given: Any) -> Channels:
    return {"messages": [AIMessage(f"worked {given['n']}", id=f"work {given['n']}")]}


def make_sending() -> Any:
    beside = build(draft=draft).add_node("work", work).add_node("other", twice).add_edge(START, "other")
    return beside.add_conditional_edges("draft", lambda _: [Send("work", {"n": n}) for n in range(2)], ["work"])


GRAPHS: dict[str, Callable[[], Any]] = {
    "node": lambda: build(send=send, last=make_last),
    "subgraph": lambda: build(begin=draft, team=build(draft=draft, send=send).compile(), last=make_last),
    "two deep": lambda: build(team=build(draft=draft, inner=build(draft=draft, send=send).compile()).compile()),
    "one after the other": lambda: build(team=build(draft=draft, send=send, again=twice).compile(), last=make_last),
    "side by side": make_beside,
    "beside one that sends": make_sending,
    "with a memory": lambda: build(team=build(draft=draft, send=send).compile(checkpointer=True), last=make_last),
}


def attach(store: Store, kind: str) -> Graph:
    attached: Graph = WaymarkSaver(store).attach(GRAPHS[kind]().compile())
    return attached


def read_all(graph: Graph, store: Store, thread_id: str) -> Any:
    """All channels where a conversation stands, its questions, and what its open subgraphs have written."""
    found = graph.get_state(make_config(thread_id), subgraphs=True)
    works = read_open_subgraphs(store.database, WaymarkSaver(store).serde, thread_id)
    first = read_open_subgraphs(store.database, WaymarkSaver(store).serde, thread_id, run_ids=())
    below = {task.name: task.state.values for task in found.tasks if hasattr(task.state, "values")}
    return found.values, found.next, found.interrupts, below, works, [work.path for work in first]


def answer_next(graph: Graph, thread_id: str, answer: str) -> None:
    asked = graph.get_state(make_config(thread_id)).interrupts[0]
    graph.invoke(Command(resume={asked.id: answer}), make_config(thread_id), durability="sync")


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_question_is_answered_elsewhere_as_it_would_be_here(kind: str, store: Store) -> None:
    graph = attach(store, kind)
    ask(graph, "t", "go")
    for answered in range(4):
        if not graph.get_state(make_config("t")).interrupts:
            break
        other = Store(Database.in_memory())
        made = str(transfer.import_thread(other, reading.read_document(transfer.export(store, "t"))).result)
        moved = attach(other, kind)
        assert is_whole(other)
        assert read_all(moved, other, made)[:-1] == read_all(graph, store, "t")[:-1]
        assert read_all(moved, other, made)[-1] == [work.path for work in read_all(moved, other, made)[-2]]
        text = transfer.export(other, made)
        for step in range(answered, 4):
            if moved.get_state(make_config(made)).interrupts:
                answer_next(moved, made, f"answer {step}")
        answer_next(graph, "t", f"answer {answered}")
        if not graph.get_state(make_config("t")).interrupts:
            assert read_all(moved, other, made) == read_all(graph, store, "t")
            other.undo(made)
            assert read_all(moved, other, made)[2]
        assert [reading.read_document(text).states, reading.read_document(text).state_writes] != [[], []]
        other.database.close()


@task
def ask_about(given: Any) -> Any:
    return [interrupt("One?"), given]


def run_twice(given: Any, *, previous: Any = None) -> Any:
    said = [previous, ask_about(given).result(), interrupt("Two?"), given]
    return entrypoint.final(value=said, save=said)


def attach_function(store: Store) -> Any:
    return WaymarkSaver(store).attach(entrypoint()(run_twice))


def move(store: Store) -> tuple[Store, str]:
    other = Store(Database.in_memory())
    return other, str(transfer.import_thread(other, reading.read_document(transfer.export(store, "t"))).result)


MESSAGE = HumanMessage("hi", id="h")


@pytest.mark.parametrize(
    "given", ["x" * 100, {"n": 2}, {"n": 2, "m": [1, "x" * 300]}, 7, [], [MESSAGE], {"messages": [MESSAGE]}]
)
def test_a_function_has_its_input_elsewhere(given: Any, store: Store) -> None:
    graph, config = attach_function(store), make_config("t")
    for _ in range(2):
        graph.invoke(given, config)
        for answered in range(2):
            other, made = move(store)
            moved = attach_function(other)
            assert [each.value for each in moved.get_state(make_config(made)).interrupts] == [("One?", "Two?")[answered]]
            for step in range(answered, 2):
                answer_next(moved, made, f"answer {step}")
            answer_next(graph, "t", f"answer {answered}")
        assert moved.get_state(make_config(made)).values == graph.get_state(config).values
        assert graph.get_state(config).values[1:] == [["answer 0", given], "answer 1", given]
        assert is_whole(other)
        other.undo(made)
        answer_next(moved, made, "another")
        assert moved.get_state(make_config(made)).values[2] == "another"


def test_an_input_that_is_not_plain_is_left_out_and_the_preview_says_so(store: Store) -> None:
    attach_function(store).invoke({"when": datetime(2026, 1, 1, tzinfo=UTC)}, make_config("t"))
    document = reading.read_document(transfer.export(store, "t"))
    assert [part.left_out for part in document.states] == [["__start__"]]
    assert transfer.list_warnings(document) == [
        "A question in it cannot be answered: the input of its function is not plain JSON."
    ]
    assert is_whole(move(store)[0])


@pytest.mark.parametrize("given", [{"n": 2}, datetime(2026, 1, 1, tzinfo=UTC)])
def test_a_function_that_a_node_calls_has_its_input_or_is_asked_again(given: Any, store: Store) -> None:
    inner = entrypoint()(run_twice)

    def call(_: Channels) -> Channels:
        return {"messages": [AIMessage(str(inner.invoke(given)), id="said")]}

    def attach_calling(store: Store) -> Any:
        return WaymarkSaver(store).attach(build(call=call).compile())

    graph = attach_calling(store)
    ask(graph, "t", "go")
    answer_next(graph, "t", "first")
    other, made = move(store)
    moved = attach_calling(other)
    if isinstance(given, dict):
        answer_next(moved, made, "second")
    else:
        assert not moved.get_state(make_config(made)).interrupts
        moved.invoke(None, make_config(made))
        for each in ("first", "second"):
            answer_next(moved, made, each)
    answer_next(graph, "t", "second")
    assert moved.get_state(make_config(made)).values == graph.get_state(make_config("t")).values
    assert is_whole(other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state", "other"),
        ("channel", "__pregel_tasks"),
        ("channel", "__start__"),
        ("channel", "waymark:rest"),
        ("json", '{"@message":{"type":"other","data":{"content":"x"}}}'),
        ("json", '{"@message":{"type":"ai","data":{"content":1}}}'),
        ("json", '{"@message":{"type":"remove","data":{"content":"","id":"x"}}}'),
        ("json", '{"@other":1}'),
        ("json", '{"@send":{"node":1,"arg":1}}'),
        ("json", '{"@send":{"node":"x"}}'),
        ("json", '{"@question":{"id":1,"value":1}}'),
        ("json", '{"@question":{"id":"x"}}'),
    ],
)
def test_a_planted_write_is_refused(name: str, value: str, store: Store) -> None:
    graph = attach(store, "subgraph")
    ask(graph, "t", "go")
    document = transfer.export_document(store, "t")
    document["state_writes"][0][name] = value
    text = transfer.waymark.write_document(document).text
    with pytest.raises(InvalidDocumentError, match="state_writes"):
        reading.read_document(text)


@pytest.mark.parametrize("change", [{}, {"task": "import", "position": 0}])
def test_a_write_at_a_taken_place_is_refused(change: dict[str, object], store: Store) -> None:
    graph = attach(store, "subgraph")
    ask(graph, "t", "go")
    document = transfer.export_document(store, "t")
    document["state_writes"].append({**document["state_writes"][0], **change})
    text = transfer.waymark.write_document(document).text
    with pytest.raises(InvalidDocumentError, match="state_writes"):
        reading.read_document(text)
