"""What a graph streams reaches the pages in few deliveries, however much it is."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from agent.events import Event, GraphProgress, TextBegun
from agent.run.recorder import RunEndedError
from checkpoints import Database, Store
from extensions.graphs import reporter
from extensions.graphs.delegated_work import DelegatedWork
from extensions.graphs.reporter import MessageText, Reporter
from extensions.graphs.streaming import MAX_LINE_CHARS, MAX_SHOWN_LINES, MAX_SHOWN_NODES, StreamReader


def test_a_flood_waits_for_the_next_delivery_and_the_newest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "DELIVERY_SECONDS", 600.0)
    texts: list[str] = []
    events: list[Event] = []

    async def story() -> None:
        recorder: Any = SimpleNamespace(append_text=texts.append, check_open=lambda: None, find_text=lambda agent: "")
        carried = Reporter(recorder, events.append, max_chars=6)
        text = MessageText()
        carried.show_progress(GraphProgress(("first",)))
        while not events:  # noqa: ASYNC110  (the delivery has no event of its own)
            await asyncio.sleep(0)
        for number in range(1_000):
            carried.show_progress(GraphProgress((str(number),)))
            carried.add_text(text, "abcd")
            await asyncio.sleep(0)
        assert (texts, events) == ([], [GraphProgress(("first",))])
        carried.deliver_all()
        assert (texts, events[1:]) == (["abcdab"], [GraphProgress(("999",))])

    asyncio.run(story())


def test_after_the_end_of_its_run_it_delivers_nothing() -> None:
    def refuse(*_: object) -> None:
        raise RunEndedError

    async def story() -> None:
        events: list[Event] = []
        recorder: Any = SimpleNamespace(append_text=refuse, check_open=refuse, find_text=lambda agent: "")
        for use in (
            lambda late: late.add_text(MessageText(), "late"),
            lambda late: late.show_progress(GraphProgress(("late",))),
        ):
            carried = Reporter(recorder, events.append, max_chars=6)
            use(carried)
            carried.deliver_all()
        assert events == []

    asyncio.run(story())


def make_chunk(text: str, task: str, is_last: bool = False) -> dict[str, Any]:
    """A part of the stream: a piece of text by a task of the subgraph with its name."""
    message = AIMessageChunk(text, id=task, chunk_position="last" if is_last else None)
    return {
        "type": "messages",
        "ns": (f"{task}:0",),
        "data": (message, {"langgraph_checkpoint_ns": f"{task}:0|model:{task}"}),
    }


def test_texts_that_are_written_at_once_are_not_mixed_and_those_of_ended_tasks_are_saved() -> None:
    told: list[str] = []
    kept: list[str] = []
    recorder: Any = SimpleNamespace(
        append_text=told.append,
        check_open=lambda: None,
        find_text=lambda agent: "".join(told),
        keep_text=lambda text, agent: kept.append(text),
        drop_text=lambda is_shown: kept.clear(),
    )

    async def story() -> None:
        carried = Reporter(
            recorder, lambda event: told.append(f"<{event.agent}>") if isinstance(event, TextBegun) else None, max_chars=99
        )
        reader = StreamReader(carried, DelegatedWork(Store(Database.in_memory()), "t"))
        for text, task in (("a", "one"), ("b", "two"), ("c", "one"), ("d", "three"), ("e", "two")):
            reader.read_part(make_chunk(text, task))
            carried.deliver_all()
        assert told == ["<one>", "a", "c"]
        reader.read_part(make_chunk("", "one", is_last=True))
        carried.deliver_all()
        assert told[3:] == ["<two>", "be"]
        for task, interrupts in (("one", []), ("two", [{"id": "q"}])):
            reader.read_part({"type": "tasks", "ns": ("sub:0",), "data": {"id": task, "interrupts": interrupts}})
        carried.deliver_all(is_end=True)
        assert told[5:] == ["<three>", "d"]
        carried.keep_unsaved()
        assert kept == ["be\n\nd"]

    asyncio.run(story())


class Unprintable:
    def __str__(self) -> str:
        raise ValueError


def test_lines_and_nodes_are_bounded_whatever_a_graph_streams() -> None:
    shown: list[GraphProgress] = []
    carried: Any = SimpleNamespace(show_progress=shown.append, add_text=None, end_texts=None)
    reader = StreamReader(carried, DelegatedWork(Store(Database.in_memory()), "t"))
    for number in range(100):
        reader.read_part(
            {"type": "tasks", "ns": ("outer:1",), "data": {"id": str(number), "name": f"n{number}", "input": None}}
        )
        reader.read_part({"type": "custom", "ns": (), "data": {"text": "x" * 10_000}})
    reader.read_part({"type": "custom", "ns": (), "data": Unprintable()})
    assert len(shown[-1].nodes) == MAX_SHOWN_NODES
    assert shown[-1].nodes[0] == "outer › n0"
    assert len(shown[-1].lines) == MAX_SHOWN_LINES
    assert max(map(len, shown[-1].lines)) <= MAX_LINE_CHARS
    assert shown[-1].lines[-1] == "(Unprintable, which cannot be shown: ValueError)"
