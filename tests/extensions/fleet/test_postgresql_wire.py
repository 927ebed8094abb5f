"""Processes on one wire: whoever follows anywhere sees a run as it is, each event once."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.events import (
    Event,
    GraphProgress,
    HeadMoved,
    MembersChanged,
    MessageAdded,
    RunFinished,
    RunStarted,
    TextDelta,
    UpdatesDelayed,
)
from agent.run.hub import RunHub, SubscriberLagged, Subscription
from agent.run.live_runs import LiveRun, RunKey
from checkpoints import RunState, StoreUnavailableError
from extensions.fleet import mirror, peers, postgresql_wire, pump
from extensions.fleet.postgresql_wire import PostgresqlWire
from tests.agent.run.event_strategies import MESSAGES
from tests.agent.run.wires import Line, Process, Rows, open_processes, until

QUESTION, ANSWER = MESSAGES.values()
ROWS = Rows(messages=MESSAGES)
END = RunFinished("r", RunState.DONE, 3)


class Unknown:
    """An event that the wire was not told of."""


Story = Callable[[Line, list[Process]], Awaitable[None]]


def _play(story: Story, *, count: int = 2, rows: Rows = ROWS) -> None:
    async def run() -> None:
        line = Line()
        async with open_processes(count, line, rows) as processes:
            await story(line, processes)

    asyncio.run(run())


@asynccontextmanager
async def _follow(process: Process, thread_id: str = "t") -> AsyncIterator[list[Event]]:
    """All events of the thread from now on, with the text in progress as the first."""
    async with process.hub.subscribe(thread_id) as following:
        live = following.live_run
        seen: list[Event] = [TextDelta(live.text)] if live else []
        reading = asyncio.create_task(_read(following, seen))
        yield seen
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _read(following: Subscription, seen: list[Event]) -> None:
    while True:
        seen += await following.receive()


async def _read_until_lost(following: Subscription) -> None:
    with pytest.raises(SubscriberLagged):
        await _read(following, [])


def _join(events: list[Event]) -> list[Event]:
    """The events with all text in one."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return [TextDelta(text), *(event for event in events if not isinstance(event, TextDelta))]


def test_a_follower_elsewhere_gets_every_event_once_with_its_message() -> None:
    told = [RunStarted("r", 1, QUESTION, []), TextDelta("An"), TextDelta("swer"), MessageAdded(ANSWER, 2), END]

    async def story(_: Line, processes: list[Process]) -> None:
        here, elsewhere = processes
        async with _follow(elsewhere) as seen, _follow(here) as own:
            for event in told:
                here.wire.publish("t", event)
            await until(lambda: END in seen)
            assert _join(seen) == _join(told) == _join(own)

    _play(story)


def test_a_change_of_one_process_is_told_in_the_others() -> None:
    async def story(_: Line, processes: list[Process]) -> None:
        async with _follow(processes[1]) as seen:
            processes[0].hub.publish("t", HeadMoved(7))
            await until(lambda: seen == [HeadMoved(7)])

    _play(story)


def test_a_command_reaches_the_other_process() -> None:
    async def story(_: Line, processes: list[Process]) -> None:
        heard: list[tuple[str, ...]] = []
        processes[1].wire.on_command(lambda *command: heard.append(command))
        processes[0].wire.send("stop", "t", "r")
        await until(lambda: heard == [("stop", "t", "r")])

    _play(story)


def test_a_process_that_comes_in_the_middle_asks_for_what_was_written() -> None:
    rows = Rows(drafts={"t": LiveRun("r", "only a draft")}, messages=MESSAGES)

    async def story(line: Line, processes: list[Process]) -> None:
        processes[0].hub.publish("t", RunStarted("r", 1, QUESTION))
        processes[0].hub.publish("t", TextDelta("before "))
        async with open_processes(1, line, rows) as [late], _follow(late) as seen:
            processes[0].hub.publish("t", TextDelta("after"))
            processes[0].hub.publish("t", END)
            await until(lambda: END in seen)
            assert _join(seen) == [TextDelta("before after"), END]

    _play(story, count=1, rows=rows)


def test_where_nobody_answers_the_draft_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MAX_ASK_SECONDS", 0.05)
    rows = Rows(drafts={"t": LiveRun("r", "a draft", candidates=[])}, messages=MESSAGES)

    async def story(_: Line, processes: list[Process]) -> None:
        async with processes[1].hub.subscribe("t") as following:
            assert following.live_run == LiveRun("r", "a draft", candidates=[])
            # Its process is there after all: the follower asks again, and gets what was written.
            processes[0].hub.publish("t", RunStarted("r", 1, None))
            await until(lambda: processes[1].hub.find_live_run("t") == LiveRun("r", "", candidates=[]))

    _play(story, rows=rows)


def test_an_unheard_request_is_repeated_when_the_other_process_listens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MAX_ASK_SECONDS", 0.0)
    rows = Rows(drafts={"t": LiveRun("r", "a draft")}, messages=MESSAGES)

    async def story(line: Line, processes: list[Process]) -> None:
        here, elsewhere = processes
        here.hub.publish("t", RunStarted("r", 1, None))
        here.hub.publish("t", TextDelta("all of it"))
        await until(lambda: elsewhere.hub.find_live_run("t"))
        line.listeners[0].put_nowait("cut")  # one does not hear the request of the other
        elsewhere.wire._recover()
        async with elsewhere.hub.subscribe("t") as following:
            assert following.live_run is not None
            assert following.live_run.text == "a draft"
            await until(lambda: elsewhere.hub.find_live_run("t") == LiveRun("r", "all of it", candidates=[]))
            with pytest.raises(SubscriberLagged):
                await following.receive()

    _play(story, rows=rows)


def test_a_run_that_ends_while_its_row_is_read_is_not_shown_as_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MAX_ASK_SECONDS", 0.01)
    ends = list[Callable[[], None]]()

    class EndingRows(Rows):
        async def read_running(self, thread_id: str) -> LiveRun | None:
            ends.pop()() if ends else None
            await until(lambda: heard)
            return LiveRun("r", "the draft")

    heard, rows = list[Event](), EndingRows(messages=MESSAGES)

    async def story(_: Line, processes: list[Process]) -> None:
        watching = processes[1].wire._mirror
        ends.append(lambda: processes[0].hub.publish("t", END))
        note = watching._note_end

        def hear(thread_id: str, event: RunFinished) -> None:
            note(thread_id, event)
            heard.append(event)

        monkeypatch.setattr(watching, "_note_end", hear)
        async with processes[1].hub.subscribe("t") as following:
            assert following.live_run is None

    _play(story, rows=rows)


def test_the_end_of_an_earlier_run_does_not_stand_for_the_one_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MAX_ASK_SECONDS", 60.0)
    rows = Rows(drafts={"t": LiveRun("later", "")}, messages=MESSAGES)

    async def story(_: Line, processes: list[Process]) -> None:
        driving, watching = processes
        subscribing = asyncio.create_task(watching.hub.subscribe("t").__aenter__())
        await until(lambda: watching.wire._mirror._waiters)
        driving.hub.publish("t", END)
        await until(lambda: "r" in watching.wire._mirror._ended)
        driving.hub.publish("t", RunStarted("later", 4, None))
        following = await subscribing
        assert following.live_run == LiveRun("later", "", candidates=[])
        assert not watching.wire._mirror._waiters

    _play(story, rows=rows)


def test_the_runs_of_a_process_that_falls_silent_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MAX_SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(pump, "BEAT_SECONDS", 0.02)

    async def story(_: Line, processes: list[Process]) -> None:
        driving, watching = processes
        driving.hub.publish("t", RunStarted("r", 1, None))
        await until(lambda: watching.hub.find_live_run("t"))
        async with watching.hub.subscribe("t") as following:
            for task in driving.wire._tasks:  # it is killed, after its end was written and before it was sent
                task.cancel()
            await asyncio.wait_for(_read_until_lost(following), 60)
        async with watching.hub.subscribe("t") as following:
            assert following.live_run is None

    _play(story)


def test_the_run_of_a_process_that_is_silent_for_long_is_shown_as_its_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MAX_SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(peers, "START_SECONDS", 0.0)
    monkeypatch.setattr(pump, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(mirror, "MAX_ASK_SECONDS", 0.01)
    rows = Rows(drafts={"t": LiveRun("r", "a draft", candidates=[])}, messages=MESSAGES)

    async def story(_: Line, processes: list[Process]) -> None:
        driving, watching = processes
        driving.hub.publish("t", RunStarted("r", 1, None))
        await until(lambda: watching.hub.find_live_run("t"))
        for task in driving.wire._tasks:  # the machine lets it wait
            task.cancel()
        await until(lambda: watching.wire.is_alone)
        async with watching.hub.subscribe("t") as following:
            assert following.live_run == LiveRun("r", "a draft", candidates=[])

    _play(story, rows=rows)


@pytest.mark.parametrize(
    "event",
    [HeadMoved({1}), GraphProgress(({1},)), Unknown()],  # type: ignore[arg-type]
    ids=["a value that JSON does not have", "a value that stays in the run", "an unknown event"],
)
def test_one_event_that_cannot_be_written_is_dropped_alone_and_its_readers_begin_anew(
    event: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rows = Rows(drafts={"t": LiveRun("r", "")}, messages=MESSAGES)

    async def story(line: Line, processes: list[Process]) -> None:
        driving, watching = processes
        driving.hub.publish("t", RunStarted("r", 1, None))
        await until(lambda: watching.hub.find_live_run("t"))
        async with watching.hub.subscribe("t") as following, _follow(watching, "u") as others:
            driving.hub.publish("u", RunStarted("s", 1, None))  # all of one batch
            driving.hub.publish("t", TextDelta("before, "))
            driving.hub.publish("t", event)
            driving.hub.publish("t", TextDelta("after"))
            driving.wire.send("stop", "another", "r")
            driving.hub.publish("u", TextDelta("of others"))
            await asyncio.wait_for(_read_until_lost(following), 60)
            await until(lambda: TextDelta("of others") in others)
        async with watching.hub.subscribe("t") as again:  # it reads the run anew
            assert again.live_run is not None
            assert again.live_run.text == "before, after"
            driving.hub.publish("t", TextDelta(" that"))
            assert await again.receive() == [TextDelta(" that")]
        assert any('"stop"' in payload for payload in line.payloads)
        assert caplog.text.count("cannot be sent to other processes") == 1

    _play(story, rows=rows)


@pytest.mark.parametrize("is_start_heard", [True, False])
def test_a_process_that_thaws_shows_nobody_more_of_an_answer_that_was_taken_from_it(is_start_heard: bool) -> None:
    """It writes on until it finds that out, and has forgotten meanwhile what it heard of the other one."""

    async def story(_: Line, processes: list[Process]) -> None:
        thawed, taking = processes
        thawed.wire.publish("t", RunStarted("r", 1, None, attempt=1))
        taking.wire.publish("t", RunStarted("r", 1, None, attempt=2))
        if is_start_heard:
            await until(lambda: thawed.hub.find_own_run("t") is None)
        else:
            thawed.hub.disown_run("t", RunKey("r", 1))
            thawed.wire._pump.outbox.forget_run("t")
        thawed.wire._recover()
        async with _follow(taking) as seen, _follow(thawed) as own:
            thawed.wire.publish("t", TextDelta("late"))
            thawed.wire.publish("t", HeadMoved(9))
            await until(lambda: HeadMoved(9) in seen and HeadMoved(9) in own)
            assert TextDelta("late") not in [*seen, *own]

    _play(story)


def test_who_is_let_in_or_out_is_told_while_another_process_writes_an_answer() -> None:
    async def story(_: Line, processes: list[Process]) -> None:
        here, working = processes
        working.wire.publish("t", RunStarted("r", 1, None))
        await until(lambda: here.hub.find_live_run("t"))
        async with _follow(here) as seen, _follow(working) as elsewhere:
            here.wire.publish("t", told := MembersChanged(2, "bob"))
            await until(lambda: told in seen and told in elsewhere)

    _play(story)


def test_a_process_that_is_alone_sends_beats_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "START_SECONDS", 0.0)
    monkeypatch.setattr(pump, "BEAT_SECONDS", 0.01)

    async def story(line: Line, processes: list[Process]) -> None:
        [alone] = processes
        await until(lambda: alone.wire.is_alone)
        sent = len(line.payloads)
        alone.hub.publish("t", RunStarted("r", 1, None))
        alone.hub.publish("t", TextDelta("text"))
        await until(lambda: len(line.payloads) > sent + 2)
        assert all(payload.endswith(" []") for payload in line.payloads[sent:])

    _play(story, count=1)


def test_a_cut_listener_is_told_and_healed_with_all_that_was_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_wire, "NOTICE_AFTER_SECONDS", 0.0)
    rows = Rows(drafts={"t": LiveRun("r", "")}, messages=MESSAGES)

    async def story(line: Line, processes: list[Process]) -> None:
        here, elsewhere = processes
        here.hub.publish("t", RunStarted("r", 1, None))
        async with elsewhere.hub.subscribe("t") as following:
            line.cut()
            here.hub.publish("t", TextDelta("meanwhile"))
            await until(lambda: elsewhere.hub.is_delayed)
            assert UpdatesDelayed() in await following.receive()
            line.is_up = True
            await _read_until_lost(following)
        async with elsewhere.hub.subscribe("t") as again:
            assert again.live_run == LiveRun("r", "meanwhile", candidates=[])
        assert not elsewhere.hub.is_delayed
        assert elsewhere.wire.reconnect_count

    _play(story, rows=rows)


def test_a_listener_that_hears_nothing_of_its_own_is_called_deaf(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(postgresql_wire, "MAX_UNHEARD_SECONDS", 0.05)
    monkeypatch.setattr(postgresql_wire, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(pump, "BEAT_SECONDS", 0.02)

    async def story(line: Line, processes: list[Process]) -> None:
        line.listeners.clear()  # what is sent reaches nobody, as behind a pooler
        await until(lambda: "pooler in transaction mode" in caplog.text)

    _play(story)


def test_a_process_that_thaws_reads_what_came_meanwhile_before_it_calls_its_listener_deaf(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(line: Line, processes: list[Process]) -> None:
        thawed, other = processes
        await until(lambda: thawed.wire._pump.unheard_since is None)
        thawed.wire._pump.unheard_since = (
            time.monotonic() - 60
        )  # its last batch has not come back, and another's comes first
        async with _follow(thawed) as seen:
            other.wire.publish("t", HeadMoved(9))
            await until(lambda: HeadMoved(9) in seen)
        assert not thawed.wire.reconnect_count
        assert not caplog.records

    _play(story)


def test_a_wire_that_never_comes_up_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where PostgreSQL has no connection left for it: all else works, and answers of others do not arrive."""
    for module in (postgresql_wire, pump):
        for name in ("FIRST_RETRY_SECONDS", "MAX_RETRY_SECONDS", "BEAT_SECONDS"):
            monkeypatch.setattr(module, name, 0.001)

    async def story() -> None:
        line = Line(is_up=False)
        wire = PostgresqlWire(RunHub(), line, Rows())
        wire.start()
        await until(lambda: wire.reconnect_count > 3 and "nothing can be sent" in caplog.text)
        line.is_up = True
        await until(lambda: "again" in caplog.text)
        await wire.close()

    asyncio.run(story())
    assert sorted(record.message for record in caplog.records) == [
        "events are sent to other processes again",
        "nothing can be sent to other processes: cut",
        "the wire to other processes is cut: cut",
    ]


def test_a_process_that_cannot_listen_says_so_and_is_heard_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where PostgreSQL has one connection left: what it sends arrives, and its pages know that nothing reaches them."""
    monkeypatch.setattr(postgresql_wire, "NOTICE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(peers, "START_SECONDS", 0.0)

    class SendingLine(Line):
        async def listen(self, _: float) -> AsyncGenerator[str]:
            raise StoreUnavailableError("no connection left")
            yield

    async def story(line: Line, processes: list[Process]) -> None:
        [elsewhere] = processes
        hub = RunHub()
        deaf = PostgresqlWire(hub, SendingLine(line.listeners), ROWS)
        deaf.start()
        try:
            await until(lambda: hub.is_delayed)
            async with _follow(elsewhere) as seen:
                deaf.publish("t", RunStarted("r", 1, QUESTION, []))
                deaf.publish("t", TextDelta("Answer"))
                await until(lambda: TextDelta("Answer") in seen)
        finally:
            await deaf.close()

    _play(story, count=1)
