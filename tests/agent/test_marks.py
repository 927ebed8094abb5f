"""Marks of messages: read as they were written, and nonsense of a file is no mark."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from agent.marks import AttemptMark, CallKey, ExcerptMark, MemoryCheckpointMark, MoveMark, QuestionMark, SummaryMark
from checkpoints import MAIN, Message, MessageStatus
from checkpoints.values import serde
from checkpoints.values.limits import MAX_NUMBER
from checkpoints.values.place_name import PLACE_KINDS, PlaceName
from tests.rounds import given_examples
from tests.strategies import json_objects, json_values, texts

Mark = MoveMark | SummaryMark | QuestionMark | AttemptMark | MemoryCheckpointMark | ExcerptMark
KINDS: tuple[type[Mark], ...] = (MoveMark, SummaryMark, QuestionMark, AttemptMark, MemoryCheckpointMark, ExcerptMark)
numbers = st.integers(0, MAX_NUMBER)
sources = st.lists(texts, max_size=3).map(tuple)
marks: st.SearchStrategy[Mark] = st.one_of(
    st.builds(
        MoveMark, position=numbers, removed=numbers, sources=sources, before=numbers, after=numbers, last=texts, head=texts
    ),
    st.builds(MoveMark, position=numbers, removed=numbers, sources=sources),
    st.builds(SummaryMark, removed=numbers, before=numbers, after=numbers, last=texts, head=texts, sources=sources),
    st.builds(QuestionMark, st.builds(CallKey, texts, texts)),
    st.builds(AttemptMark, texts, numbers),
    st.builds(MemoryCheckpointMark, texts, texts),
    st.builds(ExcerptMark, st.builds(PlaceName, st.sampled_from([None, *PLACE_KINDS]), texts), texts, numbers, sources),
)
WRITTEN: tuple[Mark, ...] = (
    MoveMark("rewind", 1, 2, ("a tool",), 9, 5, "m1", "m2"),
    SummaryMark(2, 9, 5, "m1", "m2", ("a tool",)),
    QuestionMark(CallKey("ben", "call_1")),
    AttemptMark("call_1", 1),
    MemoryCheckpointMark("Plan", "the plan stands"),
    ExcerptMark(PlaceName("branch", "Plan B"), "sha256:0", 3, ("a tool",)),
)


def stored(entries: dict[str, Any], agent: str = "ann") -> Message:
    body = serde.to_body(HumanMessage("hello", additional_kwargs=entries))
    return Message("m", "t", None, 1, 0, agent, MessageStatus.DONE, body, "", None, datetime(2026, 1, 1, tzinfo=UTC))


@given(marks)
def test_a_mark_is_read_as_it_was_written(mark: Mark) -> None:
    message = stored(mark.to_kwargs())
    assert [kind.of(message) for kind in KINDS if kind is not type(mark)] == [None] * (len(KINDS) - 1)
    assert type(mark).of(message) == mark


def test_the_keys_on_disk_are_those_of_the_first_conversations() -> None:
    assert [mark.to_kwargs() for mark in WRITTEN] == [
        {
            "time_travel": {
                "kind": "rewind",
                "to": 1,
                "removed": 2,
                "sources": ["a tool"],
                "before": 9,
                "after": 5,
                "last": "m1",
                "head": "m2",
            }
        },
        {"compaction": {"removed": 2, "before": 9, "after": 5, "sources": ["a tool"], "last": "m1", "head": "m2"}},
        {"asked": {"by": "ben", "call": "call_1"}},
        {"fork": {"call": "call_1", "number": 1}},
        {"memory_checkpoint": {"name": "Plan", "description": "the plan stands"}},
        {"excerpt": {"origin": "Plan B", "kind": "branch", "last": "sha256:0", "depth": 3, "sources": ["a tool"]}},
    ]
    assert MoveMark.of(stored({"time_travel": {"kind": "goto", "to": 0, "removed": 1}})) == MoveMark("goto", 0, 1)


@pytest.mark.parametrize("nonsense", [2**64, -1, True, 1.5, [], {}, [5], {"a": 1}])
@pytest.mark.parametrize("mark", WRITTEN, ids=lambda mark: type(mark).__name__)
def test_nonsense_in_any_field_is_no_mark(mark: Mark, nonsense: Any) -> None:
    ((key, entry),) = mark.to_kwargs().items()
    for field in entry:
        spoilt = {**entry, field: nonsense}
        assert type(mark).of(stored({key: spoilt})) is None or spoilt.get("sources") == []


@given_examples(30, 300, json_objects, json_values)
def test_a_file_may_hold_anything_in_the_place_of_a_mark(entry: dict[str, Any], value: Any) -> None:
    for key in ("time_travel", "compaction", "asked", "fork", "memory_checkpoint", "excerpt"):
        for written in (entry, value):
            assert [kind.of(stored({key: written})) for kind in KINDS] == [None] * len(KINDS)


def test_nobody_puts_a_question_to_the_main_agent() -> None:
    assert QuestionMark.of(stored(WRITTEN[2].to_kwargs(), agent=MAIN)) is None
