"""The channels of a state as people read them: no class of their authors is imported for it."""

import ormsgpack
import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.func import entrypoint

from checkpoints import Database, Store
from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.state_views import Channel, list_channels, read_plain, read_plain_value
from checkpoints.storage import schema
from checkpoints.values.errors import DamagedStateError
from tests.checkpoints import shapes
from tests.checkpoints.langgraph.graphs import ask, make_config, make_graph
from tests.statements import record_statements


@pytest.fixture
def store() -> Store:
    store = Store(Database.in_memory())
    graph = make_graph(WaymarkSaver(store))
    for text in ("one", "two"):
        ask(graph, "t", text)
    return store


def list_now(store: Store) -> dict[str, Channel]:
    return list_channels(store.database, "t", store.get_thread("t").state_id)


def test_the_channels_of_a_state_are_read_as_json_and_not_those_of_langgraph(store: Store) -> None:
    channels = list_now(store)
    assert list(channels) == ["count", "files", "messages", "notes"]
    values = {name: read_plain_value(store.database, "t", channel) for name, channel in channels.items()}
    assert values["count"] == 2
    assert values["notes"] == ["one" * 60, "two" * 60]
    assert list(values["files"]) == ["file-1", "file-2"]
    assert read_plain_value(store.database, "t", channels["notes"], 1) == ["one" * 60]
    assert (channels["messages"].has_messages, channels["messages"].item_count) == (True, 4)
    assert list_channels(store.database, "of another", store.get_thread("t").state_id) == {}


def test_equal_values_are_known_without_reading_them(store: Store) -> None:
    before = list_now(store)
    update = {"count": 7, "files": {"file-1": "own" * 100}}  # as long as it was
    make_graph(WaymarkSaver(store)).update_state({"configurable": {"thread_id": "t"}}, update, as_node="answer")
    after = list_now(store)
    assert [name for name in before if before[name].identity != after[name].identity] == ["count", "files"]


def test_a_missing_value_is_damage(store: Store) -> None:
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.channel_value))
    with pytest.raises(DamagedStateError):
        list_now(store)


class Seat:
    def __init__(self, row: int) -> None:
        raise AssertionError("constructed")


def test_an_object_is_shown_by_its_class_and_fields_and_never_constructed() -> None:
    planted = ormsgpack.packb(("tests.checkpoints.langgraph.test_state_views", "Seat", {"row": 1}))
    value = {"seat": ormsgpack.Ext(2, planted), 3: b"xyz", "gone": ormsgpack.Ext(0, b"\xc1")}
    data = ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)
    assert read_plain("msgpack", data) == {"seat": {"Seat": {"row": 1}}, "3": "(3 bytes)", "gone": "(1 bytes)"}
    assert read_plain("pickle", b"cos\nsystem\n") == "(11 bytes)"


def test_the_values_that_langgraph_stores_as_extensions_are_plain() -> None:
    kind, data = JsonPlusSerializer().dumps_typed({"set": {1}, "message": AIMessage("hi", id="1")})
    value = read_plain(kind, data)
    assert value["set"] == [1]
    assert value["message"]["AIMessage"]["content"] == "hi"
    assert read_plain("null", b"") is None
    assert read_plain("json", b'{"a": "\\ud800"}') == {"a": "\ufffd"}


def test_a_text_that_no_page_can_take_is_shown_with_a_mark_in_its_place(store: Store) -> None:
    channel = Channel("word", "bad \ud800 text", "", 1)
    assert read_plain_value(store.database, "t", channel) == "bad \ufffd text"


def test_a_list_of_ten_times_as_many_values_is_described_by_as_many_statements(store: Store) -> None:
    counts = []
    for values in (300, 3_000):
        document = reading.read_document(shapes.stateful(1, values=values))
        thread_id = transfer.import_thread(store, document).result
        state_id = store.get_thread(thread_id).state_id
        with record_statements(store.database) as statements:
            channels = list_channels(store.database, thread_id, state_id)
        assert channels["list"].item_count == values
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_what_a_function_with_entrypoint_has_saved_is_shown(store: Store) -> None:
    @entrypoint(checkpointer=WaymarkSaver(store))
    def count(step: int, *, previous: int | None = None) -> entrypoint.final[int, int]:
        total = (previous or 0) + step
        return entrypoint.final(value=total, save=total)

    for step in (2, 3):
        count.invoke(step, make_config("t"))
    channels = list_channels(store.database, "t", store.get_thread("t").state_id)
    assert list(channels) == ["__previous__"]
    assert read_plain_value(store.database, "t", channels["__previous__"]) == 5
