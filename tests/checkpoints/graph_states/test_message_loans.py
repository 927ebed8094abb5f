"""Runs have the same copies of messages one after the other, and no run can tell that it is not the first."""

import gc
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.pregel import NodeBuilder, Pregel

from checkpoints import Store
from checkpoints.graph_states import WaymarkSaver, message_loans
from checkpoints.graph_states.copied_parts import CopiedParts
from checkpoints.graph_states.message_loans import MessageLoans
from tests.checkpoints.graph_states.graphs import Channels, answer, ask, make_config, make_graph, read_channels
from tests.rounds import given_examples

PARTS: dict[str, Callable[[Any], Any]] = {
    "the message": lambda message: message,
    "its attributes": lambda message: message.__dict__,
    "the names of its fields": lambda message: message.__pydantic_fields_set__,
    "further attributes": lambda message: message.__pydantic_extra__,
    "an empty dictionary": lambda message: message.response_metadata,
    "a list": lambda message: message.tool_calls,
    "a part of a content": lambda message: message.content[0],
    "arguments of a call": lambda message: message.tool_calls[0]["args"],
    "a list in arguments": lambda message: message.tool_calls[0]["args"]["at"],
}


def make_messages() -> list[BaseMessage]:
    call = {"name": "look", "args": {"at": [1]}, "id": "1", "type": "tool_call"}
    return [
        HumanMessage("one", id="1"),
        AIMessage([{"type": "text", "text": "two"}], id="2", tool_calls=[call]),
        HumanMessage("three", id="3", additional_kwargs={"a": {"b": []}}),
    ]


def list_objects(value: Any) -> Iterator[Any]:
    """Yield a message or a value, and all in it that can change."""
    yield value
    holders = (
        [value.__dict__, value.__pydantic_fields_set__, value.__pydantic_extra__] if isinstance(value, BaseMessage) else []
    )
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else holders
    for each in below:
        if isinstance(each, dict | list | set):
            yield from list_objects(each)


def identify(messages: list[BaseMessage]) -> set[int]:
    return {id(each) for message in messages for each in list_objects(message)}


def test_copies_that_nobody_has_are_handed_out_again() -> None:
    loans, messages = MessageLoans(), make_messages()
    first = identify(loans.lend("t", messages))
    found = loans.lend("t", messages)
    assert identify(found) == first
    assert first.isdisjoint(identify(messages))
    assert found == messages


@pytest.mark.parametrize("part", PARTS)
def test_what_somebody_has_is_not_handed_out(part: str) -> None:
    loans, messages = MessageLoans(), make_messages()
    kept = PARTS[part](loans.lend("t", messages)[1])
    objects = {id(each) for each in list_objects(kept)}
    again = loans.lend("t", messages)
    assert identify(again).isdisjoint(objects)
    assert again == messages


CHANGES: dict[str, Callable[[Any], object]] = {
    "an attribute": lambda message: setattr(message, "name", "other"),
    "a new attribute": lambda message: setattr(message, "mine", 1),
    "an attribute that is set to the same": lambda message: setattr(message, "name", message.name),
    "a removed attribute": lambda message: message.__dict__.pop("name"),
    "a dictionary": lambda message: message.response_metadata.update(mine=1),
    "a list": lambda message: message.tool_calls.clear(),
    "a value within": lambda message: message.tool_calls[0]["args"]["at"].append(2),
    "all attributes": lambda message: object.__setattr__(message, "__dict__", {"content": ""}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_that_was_changed_is_made_anew(change: str) -> None:
    loans, messages = MessageLoans(), make_messages()
    CHANGES[change](loans.lend("t", messages)[1])
    again = loans.lend("t", messages)
    assert again == messages
    assert [each.__pydantic_fields_set__ for each in again] == [each.__pydantic_fields_set__ for each in messages]
    assert "mine" not in str(again)


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), {1}, (1, [2]), object])
def test_a_message_with_a_value_of_another_kind_is_copied_each_time(value: Any) -> None:
    loans, messages = MessageLoans(), [HumanMessage("one", additional_kwargs={"x": value})]
    kept = loans.lend("t", messages)[0].additional_kwargs["x"]
    copied: list[BaseMessage] = []
    for _ in range(2):
        copied += loans.lend("t", messages)
    assert copied[0] is not copied[1]
    assert kept == value


def test_two_conversations_and_two_readers_share_nothing() -> None:
    loans, messages = MessageLoans(), make_messages()
    found = [loans.lend(thread_id, messages) for thread_id in ("t", "t", "t", "other")]
    seen = [identify(each) for each in found]
    assert sum(map(len, seen)) == len(set[int]().union(*seen))


@pytest.mark.parametrize("keeps_result", [False, True])
def test_a_turn_copies_as_many_messages_however_long_the_conversation_is(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch, keeps_result: bool
) -> None:
    graph, copies, kept = make_graph(WaymarkSaver(memory_store)), list[int](), None
    duplicate = message_loans.duplicate_message

    def count_copy(message: Any) -> Any:
        copies[-1] += 1
        return duplicate(message)

    monkeypatch.setattr(message_loans, "duplicate_message", count_copy)
    gc.freeze()  # the collections below are to look through this test's objects alone
    for number in range(20):
        copies.append(0)
        found = ask(graph, "t", f"question {number}")
        kept = found if keeps_result else None
        del found
        gc.collect()  # what a run leaves in circles
    assert max(copies[4:]) <= 4
    assert kept is None or len(kept["messages"]) == 40


def test_the_holder_of_a_part_sees_no_change_of_a_later_run_and_changes_none(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    ask(graph, "t", "one")
    part = read_channels(graph, "t")["messages"][0].additional_kwargs
    ask(graph, "t", "mark")  # changes the first message in place
    assert part == {}
    part["mine"] = True
    ask(graph, "t", "two")
    assert read_channels(graph, "t")["messages"][0].additional_kwargs == {"marked": 2}


@given_examples(
    60,
    3_000,
    st.lists(st.tuples(st.sampled_from(["lend", "drop", "change", "keep", "add", "cut"]), st.integers(0, 9)), max_size=20),
)
def test_whatever_is_kept_and_changed_everybody_has_messages_of_their_own(steps: list[tuple[str, int]]) -> None:
    loans, messages = MessageLoans(), make_messages()
    held: list[list[BaseMessage]] = []
    parts: list[Any] = []
    for action, which in steps:
        if action == "lend":
            found = loans.lend("t", messages)
            assert found == messages
            mine = identify(found)
            others = {id(each) for lent in held for message in lent for each in list_objects(message)}
            assert mine.isdisjoint(others | {id(each) for part in parts for each in list_objects(part)} | identify(messages))
            held.append(found)
            del found
        elif action == "drop" and held:
            held.pop(which % len(held))
        elif action == "change" and held and held[0]:
            message = held[which % len(held)][-1]
            message.additional_kwargs.setdefault("a", {})["c"] = which
        elif action == "keep" and held and held[0]:
            parts.append(held[which % len(held)][0].additional_kwargs)
        elif action == "add":
            messages = [*messages, AIMessage(f"added {which}", id=str(which))]
        elif action == "cut":
            messages = messages[: max(1, len(messages) - which)]
        assert deepcopy(messages) == messages


def test_a_copy_whose_class_was_changed_is_made_anew() -> None:
    loans, messages = MessageLoans(), make_messages()
    object.__setattr__(loans.lend("t", messages)[0], "__class__", AIMessage)
    assert loans.lend("t", messages) == messages


def replace_attributes(message: Any) -> None:
    """Put equal attributes in place of a message's, and change one of them."""
    object.__setattr__(message, "__dict__", deepcopy(message.__dict__))
    message.tool_calls[0]["args"]["at"].append(2)


RENAMES: dict[str, Callable[[Any], object]] = {
    "a key": lambda message: message.tool_calls[0].update(names=message.tool_calls[0].pop("name")),
    "the last key": lambda message: message.tool_calls[0].update(kind=message.tool_calls[0].pop("type")),
    "an item of the list before": lambda message: message.invalid_tool_calls.append(message.tool_calls.pop()),
    "all attributes": replace_attributes,
}


@pytest.mark.parametrize("rename", RENAMES)
def test_what_is_moved_within_a_message_is_a_change(rename: str) -> None:
    loans, messages = MessageLoans(), make_messages()
    lent = loans.lend("t", messages)
    assert loans.count_equal("t", messages, lent) == 3
    RENAMES[rename](lent[1])
    assert loans.count_equal("t", messages, lent) == 1
    del lent
    assert loans.lend("t", messages) == messages


def test_a_message_with_a_value_of_another_kind_is_compared_by_itself() -> None:
    loans, messages = MessageLoans(), [*make_messages(), HumanMessage("four", additional_kwargs={"x": {1}})]
    lent = loans.lend("t", messages)
    assert loans.count_equal("t", messages, lent) == 4
    lent[3].additional_kwargs["x"].add(2)
    assert loans.count_equal("t", messages, lent) == 3


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every look into all copies."""
    looks: list[str] = []
    has_changed = CopiedParts.has_changed

    def note_look(parts: CopiedParts) -> bool:
        looks.append("")
        return has_changed(parts)

    monkeypatch.setattr(CopiedParts, "has_changed", note_look)
    return looks


def test_a_step_that_only_takes_an_input_looks_into_no_message(memory_store: Store, looks: list[str]) -> None:
    graph = make_graph(WaymarkSaver(memory_store))
    for question, count in {"one": 0, "two": 1, "three": 2, "tool": 3}.items():  # as it begins, and after each node
        looks.clear()
        ask(graph, "t", question)
        assert len(looks) == count


def test_messages_that_their_reader_changed_and_hands_over_as_an_input_are_stored(store: Store) -> None:
    saver = WaymarkSaver(store)
    graph = make_graph(saver)
    ask(graph, "t", "one")
    read = read_channels(graph, "t")["messages"]
    read[0].additional_kwargs["mine"] = True
    graph.invoke({"messages": [*read, HumanMessage("two")]}, make_config("t"), interrupt_before=["answer"])
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {"mine": True}


def test_what_a_node_changes_in_place_in_a_first_step_is_stored(memory_store: Store) -> None:
    """A graph without a start of its own: its nodes subscribe to the channel that the input is written to."""

    def read_again(messages: list[BaseMessage]) -> list[BaseMessage]:
        messages[0].additional_kwargs["read"] = len(messages)
        return [AIMessage(str(len(messages)))]

    saver = WaymarkSaver(memory_store)
    node = NodeBuilder().subscribe_only("messages").do(read_again).write_to("messages").build()
    channel = BinaryOperatorAggregate(list, add_messages)
    graph = Pregel(
        nodes={"node": node},
        channels={"messages": channel},
        input_channels="messages",
        output_channels="messages",
        checkpointer=saver,
    )
    for text in ("one", "two"):
        graph.invoke([HumanMessage(text)], make_config("t"), interrupt_after=["node"])
    assert memory_store.list_messages("t")[0].langchain.additional_kwargs == {"read": 3}


def test_what_a_router_changes_in_place_is_stored_with_the_first_message_after_it(store: Store) -> None:
    def route(state: Channels) -> str:
        state["messages"][0].additional_kwargs["routed"] = len(state["messages"])
        return "answer"

    saver = WaymarkSaver(store)
    builder = StateGraph(Channels)
    builder.add_node("answer", answer)
    builder.add_conditional_edges(START, route, ["answer"])
    graph = builder.compile(checkpointer=saver)
    ask(graph, "t", "one")
    ask(graph, "t", "two")
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {"routed": 3}
