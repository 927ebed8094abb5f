"""What a graph streams reaches the pages in few deliveries, however much it is."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent.events import Event, GraphProgress
from agent.run.recorder import RunEndedError
from agent.user_graphs import reporter
from agent.user_graphs.delegated_work import DelegatedWork
from agent.user_graphs.reporter import MessageText, Reporter
from agent.user_graphs.streaming import MAX_LINE_CHARS, MAX_SHOWN_LINES, MAX_SHOWN_NODES, StreamReader
from checkpoints import Database, Store


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
