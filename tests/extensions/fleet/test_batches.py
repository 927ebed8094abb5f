"""Batches of the wire: what a reader keeps of unfinished ones, and what is dropped while the database takes nothing."""

from collections.abc import Sequence

import pytest

from agent.events import RunStarted, TextDelta
from agent.run.hub import RunHub
from extensions.fleet import batches, outbox
from extensions.fleet.batches import BatchReader, write_payloads
from extensions.fleet.peers import Peers
from extensions.fleet.pump import Pump

ITEMS = [["command", "stop", "thread", "run"]]


def test_a_reader_keeps_the_parts_of_so_many_senders_and_tells_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_UNFINISHED_SENDERS", 2)
    reader = BatchReader("own")
    sent = {name: write_payloads(name, 1, ITEMS, 40) for name in ("a", "b", "c")}
    assert all(len(payloads) > 1 for payloads in sent.values())
    for payloads in sent.values():
        assert reader.read(payloads[0]) is None
    assert sorted(reader._parts) == ["b", "c"]
    found = {name: [reader.read(payload) for payload in sent[name][1:]][-1] for name in ("b", "c", "a")}
    assert {name: batch and (batch.items, batch.has_gap) for name, batch in found.items()} == {
        "a": ([], True),
        "b": (ITEMS, False),
        "c": (ITEMS, False),
    }


async def send_nothing(_: Sequence[str]) -> None:
    """The database takes nothing."""


def test_what_waits_too_long_is_dropped_and_the_number_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING_CHARS", 10)
    hub, peers = RunHub(), Peers()
    peers.hear("other")
    pump, reader = Pump("one", hub, peers, send_nothing, lambda: None), BatchReader("other")
    numbers = list[tuple[bool, bool]]()
    for text in ("short", "longer than ten", "short"):
        pump.outbox.note("thread", RunStarted("run", 1, None), is_alone=False)
        pump.outbox.note("thread", TextDelta(text), is_alone=False)
        batch = [reader.read(payload) for payload in pump._write_batch()][-1]
        assert batch is not None
        numbers.append((bool(batch.items), batch.has_gap))
    assert numbers == [(True, False), (False, True), (True, False)]
    assert not pump.outbox.is_full
