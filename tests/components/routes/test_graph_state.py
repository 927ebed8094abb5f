"""What the page is told of the values of a graph."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from checkpoints import CheckpointNotFoundError, Database, MessageNotFoundError, Store
from checkpoints.langgraph import WaymarkSaver
from components.panels.restore_dialog import UNKNOWN_CHANNEL_TEXT, build_restore_question, find_target
from components.replies import to_json
from components.routes import graph_state
from components.routes.graph_state import NO_PLACE, describe_changes, describe_states, find_place_state, format_channel
from components.views.channels_view import StatesView
from tests.checkpoints.langgraph.graphs import Channels, ask, make_graph


class KnownChannels:
    """A runner that knows the channels of the graph as it is now; None: it does not know them."""

    def __init__(self, *names: str) -> None:
        self.names = names or None

    def list_channels(self, graph: str) -> Any:
        return self.names


ANY: Any = KnownChannels()


@pytest.fixture
def store() -> Store:
    """Two turns, with a checkpoint after the first."""
    store = Store(Database.in_memory())
    graph = make_graph(WaymarkSaver(store))
    ask(graph, "t", "one")
    store.save("t", name="One")
    graph.update_state({"configurable": {"thread_id": "t"}}, {"count": 1}, as_node="answer")  # after it, at the same message
    ask(graph, "t", "two")
    return store


def place(store: Store) -> str:
    return f"checkpoint:{store.list_checkpoints('t')[0].id}"


def differences(view: StatesView) -> dict[str, str | None]:
    return {each["name"]: each["difference"] for each in view["channels"]}


def test_two_places_are_held_against_each_other_by_channel(store: Store) -> None:
    view = describe_states(store, ANY, "t", place(store), "")
    assert differences(view) == dict.fromkeys(["count", "files", "messages", "notes"], "changed")
    sides = {each["name"]: (each["one"], each["other"]) for each in view["channels"]}
    assert [side["summary"] for side in sides["count"] if side] == ["1", "2"]
    assert [side["summary"] for side in sides["messages"] if side] == ["2 messages", "4 messages"]
    assert differences(describe_states(store, ANY, "t", "", "")) == dict.fromkeys(sides, "same")
    assert differences(describe_states(store, ANY, "t", "", NO_PLACE)) == dict.fromkeys(sides)
    with pytest.raises(CheckpointNotFoundError):
        describe_states(store, ANY, "t", "", "checkpoint:none")


def test_every_kind_of_place_has_the_state_that_a_restore_would_move_to(store: Store) -> None:
    messages, now = store.list_messages("t"), store.get_thread("t").state_id
    first = find_place_state(store, "t", place(store))
    assert first == store.list_checkpoints("t")[0].state_id
    updated = find_place_state(store, "t", f"message:{messages[1].id}")
    assert first is not None
    assert updated == first + 1
    assert find_place_state(store, "t", f"message:{messages[3].id}") == now
    assert store.find_state("t", None) is None
    store.restore("t", store.list_checkpoints("t")[0].id, keep_future=True)
    kept = next(each for each, _ in store.list_branches("t") if each.id != store.get_thread("t").branch_id)
    assert (find_place_state(store, "t", ""), find_place_state(store, "t", f"branch:{kept.id}")) == (first, now)


def test_a_restore_names_the_values_that_change_and_not_the_messages(store: Store) -> None:
    target = find_target(store, "t", {"checkpoint": store.list_checkpoints("t")[0].id})
    now = store.get_thread("t").state_id
    channels = describe_changes(store, ANY, "t", now, target.find_state(store, "t"))
    assert [(each["name"], each["before"], each["after"]) for each in channels["changes"]] == [
        ("count", "2", "1"),
        ("files", "2 fields", "1 field"),
        ("notes", "2 items", "1 item"),
    ]
    question = build_restore_question(target, target.preview_removal(store, "t"), running=False, channels=channels)
    assert b": 2 items \xe2\x86\x92 1 item" in to_json(question)
    before_all = find_target(store, "t", {"message": store.list_messages("t")[0].id})
    gone = describe_changes(store, ANY, "t", now, before_all.find_state(store, "t"))
    assert [each["after"] for each in gone["changes"]] == ["not set"] * 3


def test_a_channel_that_the_graph_has_no_more_is_shown_and_marked(store: Store) -> None:
    changed: Any = KnownChannels("messages", "files", "notes")
    view = describe_states(store, changed, "t", "", NO_PLACE)
    assert [each["name"] for each in view["channels"] if each["is_unknown"]] == ["count"]
    now, before = store.get_thread("t").state_id, find_place_state(store, "t", place(store))
    channels = describe_changes(store, changed, "t", now, before)
    assert [each["name"] for each in channels["changes"] if each["is_unknown"]] == ["count"]
    target = find_target(store, "t", {"checkpoint": store.list_checkpoints("t")[0].id})
    question = build_restore_question(target, target.preview_removal(store, "t"), running=False, channels=channels)
    assert to_json(question).count(UNKNOWN_CHANNEL_TEXT.encode()) == 1


def test_values_with_the_same_size_are_not_told_as_equal(store: Store) -> None:
    graph, config = make_graph(WaymarkSaver(store)), {"configurable": {"thread_id": "t"}}
    before = store.get_thread("t").state_id
    graph.update_state(config, {"files": {"file-1": "changed" * 20}}, as_node="answer")  # type: ignore[arg-type]
    (change,) = describe_changes(store, ANY, "t", before, store.get_thread("t").state_id)["changes"]
    assert (change["before"], change["after"]) == ("2 fields", "2 fields, with other content")


def test_a_large_value_is_shown_in_part_with_the_address_of_the_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, config = make_graph(WaymarkSaver(store)), {"configurable": {"thread_id": "t"}}
    notes = [f"note {number} {'x' * 100}" for number in range(300)]
    graph.update_state(config, {"notes": notes, "files": {"big": "y" * 600_000}}, as_node="answer")  # type: ignore[arg-type]
    sides = {each["name"]: each["one"] for each in describe_states(store, ANY, "t", "", NO_PLACE)["channels"]}
    shown = sides["notes"]
    assert shown is not None
    assert shown["tree"] is not None
    assert (shown["summary"], shown["tree"]["count"], len(shown["tree"]["items"])) == ("302 items", 302, 100)
    assert shown["address"] == "/api/threads/t/channel?place=&name=notes"
    assert format_channel(store, "t", "", "notes").count("note ") == 300
    assert sides["files"] is not None
    assert sides["files"]["tree"] is None
    assert "y" * 600_000 in format_channel(store, "t", "", "files")
    monkeypatch.setattr(graph_state, "MAX_WHOLE_CHARS", 1_000)
    assert format_channel(store, "t", "", "files") == "(601 kB: too large to be shown)"
    for name in ("messages", "none"):
        with pytest.raises(MessageNotFoundError):
            format_channel(store, "t", "", name)


def ask_twice(state: Channels) -> Any:
    """Note each answer of two questions."""
    return {"notes": [interrupt("first?"), interrupt("second?")]}


def test_the_values_of_a_subgraph_that_waits_are_shown_at_every_place_where_it_asks() -> None:
    store, config = Store(Database.in_memory()), RunnableConfig(configurable={"thread_id": "t"})
    steps = StateGraph(Channels).add_sequence([("draft", lambda state: {"notes": ["a draft"]}), ("ask", ask_twice)])
    inner: Any = steps.add_edge(START, "draft").compile()
    outer = StateGraph(Channels).add_node("team", inner).add_edge(START, "team")
    outer.add_node("after", lambda state: {"count": 1}).add_edge("team", "after")
    graph = WaymarkSaver(store).attach(outer.compile())
    graph.invoke({"messages": [HumanMessage("go")], "notes": ["given"]}, config)
    store.save("t", name="Asked")
    (team,) = describe_states(store, ANY, "t", "", NO_PLACE)["subgraphs"]
    assert team["name"] == "team"
    sides = {each["name"]: each["one"] for each in team["channels"]}
    assert sides["notes"] is not None
    assert sides["notes"]["summary"] == '["given", "a draft"]'
    assert "branch:to:ask" not in sides
    assert sides["messages"] is not None
    assert sides["messages"]["tree"] is not None
    assert (sides["messages"]["summary"], sides["messages"]["tree"]["kind"]) == ("1 message", "messages")
    waiting: Any = graph.get_state(config).tasks[0].state
    namespace = waiting["configurable"]["checkpoint_ns"]
    graph.invoke(Command(resume="one"), config)
    graph.invoke(Command(resume="two"), config)
    view = describe_states(store, ANY, "t", place(store), "")
    assert describe_states(store, ANY, "t", "", NO_PLACE)["subgraphs"] == []  # it has ended
    (team,) = view["subgraphs"]
    assert {each["difference"] for each in team["channels"]} == {"removed"}
    assert "a draft" in format_channel(store, "t", place(store), "notes", namespace)
    with pytest.raises(MessageNotFoundError):
        format_channel(store, "t", "", "notes", namespace)


def test_a_conversation_without_a_graph_has_no_values(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    view = describe_states(memory_store, ANY, thread_id, "", NO_PLACE)
    assert (view["channels"], view["has_state"]) == ([], False)
    assert describe_changes(memory_store, ANY, thread_id, None, None)["changes"] == []
