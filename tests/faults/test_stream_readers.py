"""The readers of the proofs see what a page sees, and nothing less passes."""

from typing import Any

import pytest

from checkpoints import Message, Runs, RunState, Store
from tests.checkpoints.conversations import new
from tests.faults.fleet import Question
from tests.faults.stream_readers import Reading


@pytest.fixture
def answer(memory_store: Store) -> Message:
    """The message of a run, whose process died before it told anybody."""
    thread, runs = memory_store.create_thread().id, Runs(memory_store)
    question, written = new("Where?", "0x0. 0x1. ")
    run = runs.begin_run(thread, question)
    return runs.commit_message(run, written)[0]


def end_with(turn: Any, version: int = 3) -> dict[str, Any]:
    return {"kind": "end", "version": version, "state": "interrupted", "turn": turn}


def make_turn(base: int, *ids: str) -> dict[str, Any]:
    return {"base": base, "data": {"transcript": {"items": {"messages": [{"id": each} for each in ids]}}}}


def read(answer: Message, end: dict[str, Any]) -> Reading:
    """A page that opened in the middle of a run, up to its end."""
    run_id = answer.run_id or ""
    reading = Reading(Question(answer.thread_id, run_id))
    in_progress = {"id": run_id, "stable": "0x0. ", "tail": ""}
    reading.show({"kind": "hello", "version": 2, "run": in_progress})
    reading.show(end)
    return reading


def compare(reading: Reading, answer: Message) -> list[str]:
    return reading.compare([answer], RunState.INTERRUPTED.value, 0.0)


def test_a_message_that_the_end_brings_has_come(answer: Message) -> None:
    assert compare(read(answer, end_with(make_turn(1, answer.id))), answer) == []


@pytest.mark.parametrize("base", [1, 3], ids=["a turn", "a turn after one that the page has not seen"])
def test_a_message_that_no_frame_and_no_reading_brings_is_missing(answer: Message, base: int) -> None:
    reading = read(answer, end_with(make_turn(base, "another" if base == 1 else answer.id)))
    assert "never came" in compare(reading, answer)[0]


def test_at_an_end_without_changes_the_page_reads_its_panels(answer: Message) -> None:
    for shown, version, count in ([answer.id], 3, 0), (["another"], 3, 1), (["another"], 4, 0):
        reading = read(answer, end_with(None))
        assert reading.shown is None
        reading.show_messages([{"id": each} for each in shown], version)
        assert len(compare(reading, answer)) == count
