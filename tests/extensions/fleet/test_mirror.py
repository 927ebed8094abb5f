"""Another process's hub has the run in progress as the hub of the process that drives it, whatever is lost on the way."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import Event, HeadMoved, RunFinished, RunStarted, TextDelta
from agent.run.hub import RunHub
from agent.run.live_runs import RunKey
from checkpoints import Candidate, Draft, RunState
from extensions.fleet import pump
from extensions.fleet.event_json import decode_event, decode_live_run
from extensions.fleet.mirror import EventGroup, Mirror
from extensions.fleet.outbox import Item, Outbox
from extensions.fleet.peers import Peers
from tests.agent.run.event_strategies import run_events

STATES = [RunState.RUNNING, RunState.DONE]
CANDIDATES = [Candidate("r", number, f"m{number}", "b", STATES[number - 1], Draft()) for number in (1, 2)]


class Sender:
    """The process that drives the runs."""

    def __init__(self) -> None:
        self.hub = RunHub()
        self.outbox = Outbox(self.hub)
        self.is_alone = False
        self.hub.observe(lambda thread, event: self.outbox.note(thread, event, is_alone=self.is_alone))

    def flush(self) -> list[Item]:
        items: list[Item] = json.loads(json.dumps(self.outbox.list_items()))
        self.outbox.clear()
        return items


class Receiver:
    """Another process."""

    def __init__(self) -> None:
        self.hub = RunHub()
        self.mirror = Mirror(self.hub, lambda *_: None, lambda _: None)
        self.hub.observe(self.mirror.note_own_event)

    def take(self, items: list[Item]) -> None:
        for kind, thread, run_id, attempt, offset, *rest in items:
            key = RunKey(run_id, attempt)
            if kind == "state":
                self.mirror.receive_state(thread, key, offset, decode_live_run(rest[0]))
            else:
                decoded = [decode_event(each) for each in rest[1]]
                self.mirror.receive_events(EventGroup(thread, key, offset, rest[0], decoded))


@dataclass
class Fate:
    """What happens to a batch."""

    size: int  # events
    how: str


fates = st.lists(
    st.builds(Fate, st.integers(2, 8), st.sampled_from(["comes", "comes", "is lost", "comes twice", "not sent"])), min_size=4
)


@given(st.lists(run_events, min_size=1, max_size=3), fates)
@settings(max_examples=60)
def test_what_is_known_of_a_run_is_all_of_it_and_what_is_not_can_be_asked_for(
    runs: list[list[Event]], luck: list[Fate]
) -> None:
    sender, receiver, waiting, is_incomplete = Sender(), Receiver(), 0, False
    for event in [each for number, events in enumerate(runs) for each in _tell_run(f"r{number}", events)]:
        sender.is_alone = bool(luck) and luck[0].how == "not sent"
        sender.hub.publish("t", event)
        waiting += 1
        if luck and waiting < luck[0].size:
            continue
        waiting, how = 0, luck.pop(0).how if luck else "comes"
        batch, is_incomplete = sender.flush(), is_incomplete or how in ("is lost", "not sent")
        is_known = not is_incomplete
        if how.startswith("comes") and is_incomplete:  # its number tells
            receiver.mirror.forget_runs()
            is_incomplete = False
        for _ in range({"comes": 1, "comes twice": 2}.get(how, 0)):
            receiver.take(batch)
        live = sender.hub.find_live_run("t")
        if live is not None and receiver.mirror.needs_run("t"):
            assert not is_known
            sender.outbox.ask_for_state("t", live.run_id)
            receiver.take(sender.flush())
        if how.startswith("comes"):
            assert receiver.hub.find_live_run("t") == live


def _tell_run(run_id: str, events: list[Event]) -> list[Event]:
    return [RunStarted(run_id, 1, None, CANDIDATES), *events, RunFinished(run_id, RunState.DONE, 2)]


def test_the_runs_of_all_processes_set_the_pace_of_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    sender, reader, paces = Sender(), Receiver(), list[int]()
    for thread in ("t", "u"):
        sender.hub.publish(thread, RunStarted(f"r{thread}", 1, None))
    reader.take(sender.flush())

    async def flush_once() -> None:
        is_paced = asyncio.Event()

        def choose(runs: int) -> float:
            paces.append(runs)
            is_paced.set()
            return 1.0

        async def send(_: Sequence[str]) -> None:
            """The database takes all."""

        monkeypatch.setattr(pump, "choose_flush_seconds", choose)
        pumping = pump.Pump("other", reader.hub, Peers(), send, lambda: None)
        pumping.wake(is_urgent=True)
        task = asyncio.create_task(pumping.run())
        await is_paced.wait()
        task.cancel()

    asyncio.run(flush_once())
    assert (paces[0], reader.hub.active_run_count) == (2, 0)


def test_a_run_that_is_waited_for_is_asked_for_again_when_a_process_listens_again() -> None:
    """Both processes may have been cut: the first request then went to one that did not listen."""

    async def story() -> bool:
        asked, mirror = list[str](), Mirror(RunHub(), lambda _, run_id: asked.append(run_id), lambda _: None)
        waiting = asyncio.create_task(mirror.wait_for_run("t", "r"))
        await asyncio.sleep(0)
        mirror.ask_again()
        assert asked == ["r", "r"]
        sender = Sender()
        sender.hub.publish("t", RunStarted("r", 1, None))
        ((kind, thread, _, attempt, offset, *_),) = sender.flush()
        mirror.receive_state(thread, RunKey("r", attempt), offset + 1, sender.hub.find_live_run("t"))  # type: ignore[arg-type]
        assert kind == "events"
        mirror.ask_again()
        assert asked == ["r", "r"]
        return await waiting

    assert asyncio.run(story())


def test_a_missing_number_of_an_event_is_noticed() -> None:
    sender, reader = Sender(), Receiver()
    sender.hub.publish("t", RunStarted("r", 1, None))
    reader.take(sender.flush())
    sender.is_alone = True
    sender.hub.publish("t", TextDelta("a"))
    sender.is_alone = False
    sender.hub.publish("t", TextDelta("b"))
    reader.take(sender.flush())
    assert reader.mirror.needs_run("t")
    assert reader.hub.find_live_run("t") is None


def test_an_older_attempt_is_dropped() -> None:
    frozen, second, reader = Sender(), Sender(), Receiver()
    frozen.hub.publish("t", RunStarted("r", 1, None))
    reader.take(frozen.flush())
    second.hub.publish("t", RunStarted("r", 1, None, attempt=2))
    second.hub.publish("t", TextDelta("second"))
    reader.take(second.flush())
    frozen.hub.publish("t", TextDelta("thawed"))
    frozen.hub.publish("t", RunFinished("r", RunState.FAILED, 9))
    reader.take(frozen.flush())
    live = reader.hub.find_live_run("t")
    assert live is not None
    assert live.text == "second"


def test_a_process_whose_run_was_taken_over_publishes_nothing_more_of_it() -> None:
    frozen, second = Receiver(), Sender()
    frozen.hub.publish("t", RunStarted("r", 1, None))
    second.hub.publish("t", RunStarted("r", 1, None, attempt=2))
    frozen.take(second.flush())
    seen: list[Event] = []
    frozen.hub.observe(lambda _, event: seen.append(event))
    for event in (TextDelta("thawed"), RunFinished("r", RunState.FAILED, 0), HeadMoved(3)):
        frozen.hub.publish("t", event)
    assert seen == [HeadMoved(3)]


def test_a_process_whose_run_was_taken_over_asks_for_it_where_the_start_is_lost() -> None:
    cut_off, second = Receiver(), Sender()
    cut_off.hub.publish("t", RunStarted("r", 1, None))
    cut_off.hub.publish("t", TextDelta("old"))
    second.hub.publish("t", RunStarted("r", 1, None, attempt=2))
    second.flush()
    second.hub.publish("t", TextDelta("new"))
    cut_off.take(second.flush())
    assert cut_off.hub.find_live_run("t") is None
    assert cut_off.mirror.needs_run("t")
    second.outbox.ask_for_state("t", "r")
    cut_off.take(second.flush())
    assert cut_off.hub.find_live_run("t") == second.hub.find_live_run("t")


def test_a_late_start_of_a_run_that_has_ended_begins_nothing_and_one_that_begins_again_does() -> None:
    sender, reader = Sender(), Receiver()
    sender.hub.publish("t", RunStarted("r", 1, None))
    late = sender.flush()
    sender.hub.publish("t", RunFinished("r", RunState.DONE, 2))
    reader.take(late + sender.flush())
    reader.take(late)
    assert reader.hub.find_live_run("t") is None
    sender.hub.publish("t", RunStarted("r", 3, None))
    reader.take(sender.flush())
    assert reader.hub.find_live_run("t") is not None


def test_a_late_start_of_an_earlier_run_takes_the_place_of_no_later_one() -> None:
    sender, second, driver, reader = Sender(), Sender(), Receiver(), Receiver()
    for event in (RunStarted("r1", 1, None), TextDelta("first"), RunFinished("r1", RunState.STOPPED, 2)):
        sender.hub.publish("t", event)
    late = sender.flush()
    driver.hub.publish("t", RunStarted("r2", 3, None))
    second.hub.publish("t", RunStarted("r2", 3, None))
    reader.take(second.flush())
    for each in (driver, reader):
        each.take(late)
        live = each.hub.find_live_run("t")
        assert live is not None
        assert (live.run_id, live.text) == ("r2", "")
    sender.hub.publish("t", RunStarted("r3", 4, None))
    for each in (driver, reader):
        each.take(sender.outbox.list_items())
        live = each.hub.find_live_run("t")
        assert live is not None
        assert live.run_id == "r3"
