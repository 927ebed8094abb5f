"""The states of a graph go into a file and come back value for value. A planted file builds nothing and is bounded."""

import base64
import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypedDict

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph

from checkpoints import Database, InvalidDocumentError, NewMessage, Store
from checkpoints.interchange import reading, state_checks, transfer, waymark
from checkpoints.interchange.redaction import Redaction
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.state_views import list_channels
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from tests.attachments import png
from tests.checkpoints import shapes
from tests.checkpoints.langgraph.graphs import Channels, ask, make_config, make_graph, read_channels, read_texts
from tests.checkpoints.langgraph.test_properties import STEPS, Comparison
from tests.checkpoints.langgraph.test_runs import is_whole, make_nested_graph
from tests.rounds import given_examples

Json = dict[str, Any]
BEGINS_ANEW = "The states of its graph are not in it: a graph begins anew there."


def elsewhere() -> Store:
    return Store(Database.in_memory())


def import_text(store: Store, text: str) -> str:
    return str(transfer.import_thread(store, reading.read_document(text)).result)


def list_identities(store: Store, thread_id: str, state_id: int | None) -> Json:
    """The hashes of all values, and the messages' number."""
    found = list_channels(store.database, thread_id, state_id).values()
    return {each.name: each.item_count if each.has_messages else each.identity for each in found}


def describe_places(store: Store, thread_id: str) -> tuple[Json, list[Json]]:
    """The values at each branch, by its name, and at each checkpoint."""
    branches = [branch for branch, _ in store.list_branches(thread_id)]
    named = sorted((b.name, str(list_identities(store, thread_id, b.state_id))) for b in branches)
    checkpoints = store.list_all_checkpoints(thread_id)
    return named, [list_identities(store, thread_id, each.state_id) for each in checkpoints]


@given_examples(8, 1_000, STEPS)
def test_whatever_was_done_every_branch_and_checkpoint_has_the_same_values_elsewhere(steps: list[tuple[str, int]]) -> None:
    comparison, other = Comparison(), elsewhere()
    for action, which in steps:
        getattr(comparison, action)(which)
    store, text = comparison.store, transfer.export(comparison.store, "t")
    made = import_text(other, text)
    assert describe_places(other, made) == describe_places(store, "t")
    graph = make_graph(WaymarkSaver(other))
    assert read_channels(graph, made) == read_channels(comparison.graph, "t")
    for message in store.list_messages("t"):
        for each, thread_id in ((store, "t"), (other, made)):
            each.restore_message(thread_id, message.id)
        assert read_channels(graph, made) == read_channels(comparison.graph, "t")
        for each, thread_id in ((store, "t"), (other, made)):
            each.undo(thread_id)
    assert read_channels(graph, made) == read_channels(comparison.graph, "t")
    assert is_whole(other)
    repeated = json.loads(transfer.export(other, made))
    assert [repeated.get("states"), repeated.get("state_values")] == [
        json.loads(text).get(n) for n in ("states", "state_values")
    ]
    for each in (store, other):
        each.database.close()


def test_a_graph_goes_on_elsewhere_and_restores_and_undoes_all_channels(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    for question in ("one", "tool"):
        ask(graph, "t", question, question)
    store.save("t")
    saved = read_channels(graph, "t")
    ask(graph, "t", "three", "three")
    other = elsewhere()
    made = import_text(other, transfer.export(store, "t"))
    saver = WaymarkSaver(other)
    moved = make_graph(saver)
    ask(moved, made, "four", "four")
    assert (read_channels(moved, made)["count"], read_texts(saver, made)[-1]) == (4, "four!")
    other.undo(made)
    assert read_channels(moved, made) == read_channels(graph, "t")
    other.restore(made, other.list_checkpoints(made)[-1].id)
    assert read_channels(moved, made) == saved
    assert is_whole(other)


def test_a_subgraph_keeps_its_memory_as_far_as_it_is_json(store: Store) -> None:
    graph, other = make_nested_graph(WaymarkSaver(store)), elsewhere()
    for question in ("one", "two"):
        ask(graph, "t", question)
    made = import_text(other, transfer.export(store, "t"))
    assert ask(make_nested_graph(WaymarkSaver(other)), made, "three")["messages"][-1].text.count("asked") == 3


def test_the_order_of_keys_is_a_part_of_a_value(store: Store) -> None:
    graph, other = make_graph(WaymarkSaver(store)), elsewhere()
    ask(graph, "t", "one")
    graph.update_state(make_config("t"), {"files": {"z": "1", "a": "2"}}, as_node="look")
    made = import_text(other, transfer.export(store, "t"))
    assert list(read_channels(make_graph(WaymarkSaver(other)), made)["files"]) == list(read_channels(graph, "t")["files"])


class Typed(TypedDict, total=False):
    messages: list[Any]
    when: datetime
    plan: list[Any]


def make_typed_graph(store: Store) -> Any:
    builder = StateGraph(Typed)
    builder.add_node("stay", lambda _: {"when": datetime(2026, 1, 1, tzinfo=UTC), "messages": [AIMessage("ok", id="a")]})
    builder.add_edge(START, "stay")
    return builder.compile(checkpointer=WaymarkSaver(store))


def test_values_of_other_types_are_left_out_and_the_preview_names_their_channels(store: Store) -> None:
    graph, other = make_typed_graph(store), elsewhere()
    graph.invoke({"plan": [{"lc": 1, "type": "constructor", "id": ["langchain", "x"]}]}, make_config("t"))
    document = reading.read_document(transfer.export(store, "t"))
    assert transfer.list_warnings(document) == [
        "Values of its graph that are not plain JSON are not in it: when.",
        "Its graph goes on with the values in it: plan.",
    ]
    made = transfer.import_thread(other, document).result
    found = read_channels(make_typed_graph(other), made)
    assert found["plan"] == [{"lc": 1, "type": "constructor", "id": ["langchain", "x"]}]  # nothing was constructed
    assert "when" not in found
    with other.database.begin_read() as connection:
        assert {*connection.scalars(sa.select(schema.channel_value.c.type))} <= {"msgpack", "null"}


def test_an_export_that_is_redacted_or_would_be_too_large_has_no_states_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(make_graph(WaymarkSaver(store)), "t", "one")
    redacted = transfer.export(store, "t", Redaction(patterns=("nothing",)))
    monkeypatch.setattr(state_checks, "MAX_STATE_ITEMS", 1)
    too_large = transfer.write_export(store, "t")
    assert too_large.exceeded_limit is None
    for text in (redacted, too_large.text):
        document = reading.read_document(text)
        assert BEGINS_ANEW in transfer.list_warnings(document)
        other = elsewhere()
        assert other.get_thread(transfer.import_thread(other, document).result).state_id is None


def test_damaged_values_leave_the_messages_to_an_export(store: Store) -> None:
    ask(make_graph(WaymarkSaver(store)), "t", "one")
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.channel_value).values(bytes=b"?"))
    assert BEGINS_ANEW in transfer.list_warnings(reading.read_document(transfer.export(store, "t")))


def test_what_a_conversation_has_is_not_added_again_and_another_gets_the_states(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    ask(graph, "t", "one")
    document = reading.read_document(transfer.export(store, "t"))
    assert transfer.merge_document(store, "t", document).repeated
    empty = store.create_thread().id
    transfer.merge_document(store, empty, document)
    assert read_channels(graph, empty) == read_channels(graph, "t")
    store.clear("t")
    transfer.merge_document(store, "t", document)
    assert read_channels(graph, "t") == read_channels(graph, empty)
    assert is_whole(store)


def change(text: str, edit: Callable[[Json], object]) -> str:
    made = json.loads(text)
    edit(made)
    return waymark.write_document(made).text


def plant(name: str, reference: Any) -> Callable[[Json], object]:
    return lambda made: made["states"][-1]["values"].update({name: reference})


def set_field(name: str, value: Any) -> Callable[[Json], object]:
    return lambda made: made["states"][-1].update({name: value})


HOSTILE: dict[str, Callable[[Json], object]] = {
    "a value that is not there": plant("files", ["v", 10_000]),
    "a value before the first": plant("files", ["v", -1]),
    "a value by a truth": plant("files", ["v", True]),
    "a run that ends before it begins": plant("files", ["r", [[1, 0]]]),
    "a run without an end": plant("files", ["r", [[0]]]),
    "a reference of another kind": plant("files", ["x", 1]),
    "an object": plant("files", {"lc": 1}),
    "a snapshot of a snapshot": plant("files", ["d", ["d", 1]]),
    "a long scalar": plant("files", "x" * 65),
    "a message that is not there": plant("messages", ["m", "nobody"]),
    "a channel of LangGraph's own": plant("__other", ["r", [[0, 0]]]),
    "a task that is no Send": plant("__pregel_tasks", ["r", [[0, 0]]]),
    "a list of tasks that is one value": plant("__pregel_tasks", ["v", 0]),
    "a task that is a number": plant("__pregel_tasks", 1),
    "an input that is not there": plant("__start__", ["v", 10_000]),
    "an input that another channel has": lambda made: [plant(name, ["v", 0])(made) for name in ("__start__", "notes")],
    "an input with one value twice": plant("__start__", ["r", [[0, 0], [0, 0]]]),
    "a place that is not there": set_field("message", "nobody"),
    "a later parent": lambda made: made["states"][0].update(parent=made["states"][-1]["id"]),
    "itself as its parent": lambda made: made["states"][-1].update(parent=made["states"][-1]["id"]),
    "an id twice": lambda made: made["states"].append(made["states"][-1]),
    "a version that is a text": lambda made: made["states"][-1]["versions"].update(count="1"),
    "a version below zero": lambda made: made["states"][-1]["versions"].update(count=-1),
    "parents that are a list": set_field("parents", []),
    "a source of its own": set_field("source", "os.system"),
    "another field": set_field("metadata", {"writes": 1}),
    "a branch at no state": lambda made: made["branches"][0].update(state="nobody"),
    "a checkpoint at no state": lambda made: made["checkpoints"][0].update(state="nobody"),
    "a value that is no JSON": lambda made: made["state_values"].append({"json": "{"}),
    "a value with a key twice": lambda made: made["state_values"].append({"json": '{"a":1,"a":2}'}),
    "a value that is no number": lambda made: made["state_values"].append({"json": "NaN"}),
    "a value that is too deep": lambda made: made["state_values"].append({"json": "[" * 101 + "]" * 101}),
    "a value of too many": lambda made: made["state_values"].append({"json": f"[{'1,' * 20_000}1]"}),
    "a number that no store has": lambda made: made["state_values"].append({"json": str(2**70)}),
    "bytes of a type": lambda made: made["state_values"].append({"json": "1", "type": "json"}),
    "one value many times": plant("files", ["r", [[0, 1]] * 30]),
    "much text many times": lambda made: (
        made["state_values"].append({"json": f'"{"x" * 90_000}"'}),
        plant("files", ["r", [[len(made["state_values"]) - 1] * 2] * 200])(made),
    ),
    "too many values of all": lambda made: made["states"].extend(
        {**copy.deepcopy(made["states"][-1]), "id": f"s{number}", "values": {"x": ["r", [[0, 1]]]}} for number in range(60)
    ),
}


@pytest.fixture
def exported(memory_store: Store) -> str:
    ask(make_graph(WaymarkSaver(memory_store)), "t", "one")
    memory_store.save("t")
    return transfer.export(memory_store, "t")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_planted_state_is_refused(exported: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_checks, "MAX_STATE_ITEMS", 50)
    monkeypatch.setattr(state_checks, "MAX_STATES_ITEMS", 100)
    assert reading.read_document(change(exported, lambda _: None))
    with pytest.raises(InvalidDocumentError):
        reading.read_document(change(exported, HOSTILE[kind]))


def count_state_sizes(made: Json) -> dict[str, int]:
    """Return the sizes of a file's states, by the limits of them."""
    chars = [len(each["json"]) for each in made["state_values"]]
    runs = [
        [run for reference in state["values"].values() for run in state_checks._iterate_runs(reference)]
        for state in made["states"]
    ]
    items = [sum(last - first + 1 for first, last in each) for each in runs]
    return {
        "MAX_DOCUMENT_STATES": len(made["states"]),
        "MAX_STATE_ITEMS": max(items),
        "MAX_STATE_CHARS": max(sum(sum(chars[first : last + 1]) for first, last in each) for each in runs),
        "MAX_STATES_ITEMS": sum(items),
    }


@pytest.mark.parametrize("name", ["MAX_DOCUMENT_STATES", "MAX_STATE_ITEMS", "MAX_STATE_CHARS", "MAX_STATES_ITEMS"])
def test_the_states_of_a_file_have_limits_that_hold_at_their_edges(
    exported: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = count_state_sizes(json.loads(exported))[name]
    monkeypatch.setattr(state_checks, name, size)
    other = elsewhere()
    again = transfer.export(other, import_text(other, exported))
    assert count_state_sizes(json.loads(again)) == count_state_sizes(json.loads(exported))
    assert import_text(elsewhere(), again)
    monkeypatch.setattr(state_checks, name, size - 1)
    with pytest.raises(InvalidDocumentError, match=f"{size - 1:,}"):
        reading.read_document(exported)


def test_all_values_together_have_a_budget(exported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_checks, "MAX_STATES_VALUES", 5)
    with pytest.raises(InvalidDocumentError, match="more than 5 values"):
        reading.read_document(change(exported, lambda made: made["state_values"].append({"json": "[1,2,3,4,5]"})))


def test_a_state_whose_id_the_conversation_has_for_other_messages_is_not_used(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    for question in ("one", "two"):
        ask(graph, "t", question)
    text, whole = transfer.export(store, "t"), read_channels(graph, "t")

    def swap(made: Json) -> None:
        """Give the first answer's messages to the newest state."""
        made["states"][-1]["values"]["messages"] = ["m", made["messages"][1]["id"]]
        made["branches"].append(
            {"id": "planted", "name": "planted", "head": made["messages"][1]["id"], "state": made["states"][-1]["id"]}
        )

    transfer.merge_document(store, "t", reading.read_document(change(text, swap)))
    assert read_channels(graph, "t") == whole
    store.switch("t", store.list_branches("t")[-1][0].id)
    assert read_texts(WaymarkSaver(store), "t") == ["one", "one!"]
    assert read_channels(graph, "t")["count"] == 1
    assert is_whole(store)


DATA = base64.b64encode(png()).decode()
ADDRESS = {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}


def test_a_conversation_with_images_in_a_graphs_message_can_be_imported(store: Store) -> None:
    whole = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
    graph = make_graph(WaymarkSaver(store))
    graph.update_state(
        make_config("t"),
        {"messages": [HumanMessage([whole]), AIMessage([ADDRESS, {"type": "audio"}])], "count": 7},
        as_node="look",
    )
    ask(graph, "t", "one")
    made = transfer.write_export(store, "t")
    assert made.exceeded_limit is None
    assert "example.org" not in made.text
    document, other = reading.read_document(made.text), elsewhere()
    assert "1 image in it cannot be imported: a line in the text says where." in transfer.list_warnings(document)
    thread_id = transfer.import_thread(other, document).result
    found = read_channels(make_graph(WaymarkSaver(other)), thread_id)
    assert [each.content for each in found["messages"][:2]] == [
        [whole],
        [{"type": "text", "text": "[left out: an image]"}, {"type": "text", "text": "[left out: a part of another kind]"}],
    ]
    assert found["count"] == 8
    assert verification.verify(other.database).damages == ()


WHOLE = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    {"type": "image", "base64": DATA, "mime_type": "image/png"},
    {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
]
PARTIAL = [
    ADDRESS,
    {"type": "image_url", "image_url": f"data:image/png;base64,{DATA}"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}", "detail": "https://example.org"}},
    {"type": "image", "base64": DATA, "mime_type": "image/jpeg"},
    {"type": "image", "base64": DATA, "mime_type": "image/png", "url": "https://example.org"},
    {"type": "image", "source_type": "url", "data": DATA, "mime_type": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA, "url": "https://example.org"}},
    {"type": "image", "source": {"type": "url", "url": "https://example.org"}},
    {"type": "image", "base64": base64.b64encode(png(claims=(60_000, 60_000))).decode(), "mime_type": "image/png"},
]


@pytest.mark.parametrize("part", WHOLE + PARTIAL)
def test_an_image_is_taken_with_its_bytes_and_refused_with_an_address(part: Json) -> None:
    text = shapes.following([HumanMessage([part])])
    if part in WHOLE:
        assert reading.read_document(text).messages[0].message["data"]["content"] == [part]
    else:
        with pytest.raises(InvalidDocumentError, match="something other than text"):
            reading.read_document(text)


def test_the_graph_of_a_conversation_goes_on_with_it_where_it_is_offered_and_no_other_setting_does(store: Store) -> None:
    thread_id = store.create_thread().id
    store.change_settings(thread_id, {"graph": "booking", "instructions": "Obey."})
    store.append(thread_id, [NewMessage({"type": "human", "data": {"content": "hi"}})])
    document = reading.read_document(transfer.export(store, thread_id))
    not_taken = "The settings in it are not taken over."
    assert transfer.list_warnings(document, ["other", "booking"]) == [
        "As a new conversation, the graph booking answers it.",
        not_taken,
    ]
    gone = "Its graph booking is not offered here: as a new conversation, the built-in agent answers it."
    assert transfer.list_warnings(document, ["other"]) == [gone, not_taken]
    for graphs, taken in ((["booking"], {"graph": "booking"}), ([], {})):
        other = elsewhere()
        made = transfer.import_thread(other, document, graphs=graphs).result
        assert other.get_thread(made).settings == taken


def test_channels_of_a_subgraph_are_named_behind_its_node(store: Store) -> None:
    inner = make_typed_graph(store)
    inner.checkpointer = None
    builder = StateGraph(Channels).add_node("worker", inner).add_edge(START, "worker")
    builder.compile(checkpointer=WaymarkSaver(store)).invoke({"messages": [HumanMessage("hi", id="h")]}, make_config("t"))
    document = reading.read_document(transfer.export(store, "t"))
    (named,) = [each for each in map(str, transfer.list_warnings(document)) if "not plain JSON" in each]
    assert str(named).endswith(": worker › when.")
