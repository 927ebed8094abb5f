"""A sub-agent's memory, read through the marks of its moves: from any window, and with any marks of a file."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.subagent_memory import find_memory_checkpoints, number_messages, recall_messages, recall_path
from agent.marks import MemoryCheckpointMark, MoveKind, MoveMark
from checkpoints import MAIN, Message, MessageStatus
from checkpoints.values import serde
from checkpoints.values.limits import MAX_NUMBER

NOON = datetime(2026, 1, 1, tzinfo=UTC)


def store(*said: tuple[str, BaseMessage]) -> list[Message]:
    return [
        Message(f"m{n}", "t", None, 1, n, who, MessageStatus.DONE, serde.to_body(message), "", None, NOON)
        for n, (who, message) in enumerate(said)
    ]


def move(removed: int, kind: MoveKind = "goto", who: str = "ann") -> tuple[str, BaseMessage]:
    return who, ToolMessage("Known.", tool_call_id="1", additional_kwargs=MoveMark(kind, 0, removed).to_kwargs())


def describe(memory: list[Message]) -> list[tuple[str, str]]:
    return [(message.type, str(message.langchain.text)) for message in memory]


HELLO = ("ann", HumanMessage("hello"))
HI = ("ann", AIMessage("hi"))
OTHER = ("ben", HumanMessage("Call."))


def test_the_note_takes_the_place_of_what_its_agent_forgot() -> None:
    path = store(HELLO, OTHER, HI, move(1))
    assert describe(recall_messages(path, "ann")) == [("human", "hello"), ("human", "Known.")]
    assert describe(recall_messages(path, "ben")) == [("human", "Call.")]


def test_a_replaced_answer_is_followed_by_the_present_question() -> None:
    path = store(HELLO, HI, ("ann", HumanMessage("why?")), ("ann", AIMessage("")), move(3, "rewind"))
    assert describe(recall_messages(path, "ann")) == [("human", "hello"), ("ai", "Known."), ("human", "why?")]


def test_a_mark_of_the_main_agent_or_beyond_the_beginning_does_no_harm() -> None:
    path = store((MAIN, HumanMessage("hello")), move(1, who=MAIN), HELLO, move(MAX_NUMBER), move(0))
    assert describe(recall_messages(path, MAIN)) == [("human", "hello"), ("tool", "Known.")]
    assert describe(recall_messages(path, "ann")) == [("human", "Known.")] * 2


@given(st.lists(st.integers(0, 8), max_size=8), st.integers(0, 30))
def test_the_end_of_a_path_gives_the_end_of_the_memory(removals: list[int], start: int) -> None:
    said = [each for removed in removals for each in (HELLO, OTHER, HI, move(removed))]
    path = store(*said, HELLO)
    whole, end = recall_messages(path, "ann"), recall_messages(path[start:], "ann")
    assert whole[len(whole) - len(end) :] == end


def test_messages_of_others_follow_the_remembered_ones() -> None:
    path = store(OTHER, HELLO, OTHER, HI, OTHER, move(1), OTHER)
    assert [message.id for message in recall_path(path, "ann")] == ["m0", "m1", "m2", "m5", "m6"]


def test_a_checkpoint_stands_behind_all_results_of_its_answer_and_leaves_with_them() -> None:
    saved = ToolMessage("Saved.", tool_call_id="1", additional_kwargs=MemoryCheckpointMark("Plan").to_kwargs())
    path = store(HELLO, HI, ("ann", saved), ("ann", ToolMessage("2", tool_call_id="2")), HI)
    (found,) = find_memory_checkpoints(number_messages(recall_messages(path, "ann"))).items()
    assert found == ("Plan", (3, MemoryCheckpointMark("Plan")))
    left = recall_messages(store(HELLO, HI, ("ann", saved), move(2)), "ann")
    assert find_memory_checkpoints(number_messages(left)) == {}
