"""Runs that two processes drive, each followed at the other one, over PostgreSQL's notifications.

Beside them, as many runs of one process on SQLite, which has no wire. The tokens are made up, and come at the pace at which
models are read. Each has the time in it at which a model would have sent it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from agent.events import Event, RunStarted, TextDelta
from agent.run.hub import RunHub, StoredEvent, SubscriberLagged
from agent.run.live_runs import LiveRun
from benchmarks.databases import Place, places
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.streams import RATE, Process
from checkpoints import Database
from extensions.fleet.notifications import Notifications
from extensions.fleet.postgresql_wire import PostgresqlWire

COUNTS = (25, 200, 800)  # runs
MAX_LAST_SECONDS = 120  # until the last token has come
SETTLING = 2.5  # s, until a process knows whether it is alone


@dataclass(frozen=True)
class Measured:
    """The measurements of one number of runs. The processor's seconds are for 1,000 tokens."""

    delays: Samples
    processor: float
    of_database: float  # PostgreSQL's part of `processor`
    lost: int
    loads: int  # how often a follower subscribed again


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the wire to the report."""
    seconds = 4 if quick else 10
    section = Section(
        f"Runs of two processes, each followed at the other one, {RATE} tokens a second each",
        ["runs", "p50 (ms)", "p99 (ms)", "CPU (s for 1,000 tokens)", "of it PostgreSQL", "tokens lost", "followed anew"],
    )
    with places(folder) as fresh:
        place = fresh("PostgreSQL")
        place.open().close()  # its tables
        for count in COUNTS:
            found = _measure_runs(place, count, seconds)
            section.rows.append(_make_row(f"{count}", found))
            report.bars += _make_bars(count, found)
            report.note_load()
        section.rows.append(_make_row(f"{COUNTS[0]}, one process alone", _measure_alone(place, COUNTS[0], seconds)))
        for count in COUNTS:
            section.rows.append(_make_row(f"{count}, one process on SQLite", _measure_alone(None, count, seconds)))
            report.note_load()
    section.remarks = [
        "From the moment at which a model would send a token, through the pace of reading, to its follower in the other "
        "process, or in the only one. The CPU is that of all processes and of PostgreSQL, with the made-up runs and their "
        "followers, and without models, pages and formatting."
    ]
    report.sections.append(section)


def _make_row(title: str, found: Measured) -> tuple[str, ...]:
    late = (f"{found.delays.median:.0f}", f"{found.delays.percentile(99):.0f}")
    return (title, *late, f"{found.processor:.3f}", f"{found.of_database:.3f}", str(found.lost), str(found.loads))


def _make_bars(count: int, found: Measured) -> Iterator[Bar]:
    what = f"{count} runs of two processes at {RATE} tokens/s"
    yield Bar(f"{what}: tokens lost", found.lost, 0, "tokens")


def _measure_runs(place: Place, count: int, seconds: int) -> Measured:
    halves = [range(count // 2), range(count // 2, count)]
    with (
        Process(serve, place.address, halves[0], halves[1]) as one,
        Process(serve, place.address, halves[1], halves[0]) as two,
    ):
        return _measure([one, two], place, count * seconds * RATE, seconds)


def _measure_alone(place: Place | None, count: int, seconds: int) -> Measured:
    with Process(serve, place and place.address, range(count), range(count)) as one:
        return _measure([one], place, count * seconds * RATE, seconds)


def _measure(processes: list[Process], place: Place | None, tokens: int, seconds: int) -> Measured:
    assert [each.pipe.recv() for each in processes] == ["ready"] * len(processes)
    before = place.processor_seconds() if place else 0.0
    for each in processes:
        each.pipe.send(seconds)
    results = [each.pipe.recv() for each in processes]
    of_database = place.processor_seconds() - before if place else 0.0
    for each in processes:
        each.pipe.send("end")
    delays = Samples(tuple(delay for found, *_ in results for delay in found))
    processor = (sum(used for *_, used in results) + of_database) / tokens * 1000
    lost, loads = tokens - sum(each[1] for each in results), sum(each[2] for each in results)
    return Measured(delays, processor, of_database / tokens * 1000, lost, loads)


def serve(pipe: Connection, address: str | None, driven: range, followed: range) -> None:
    """Drive some runs and follow others, for as many seconds as the pipe says. Runs in a separate process.

    Without an address there is no wire, as on SQLite.
    """
    asyncio.run(_serve(pipe, address, driven, followed))


async def _serve(pipe: Connection, address: str | None, driven: range, followed: range) -> None:
    hub = RunHub()
    async with _open_wire(hub, address):
        await _drive(pipe, hub, driven, followed)


@asynccontextmanager
async def _open_wire(hub: RunHub, address: str | None) -> AsyncIterator[None]:
    if address is None:
        yield
        return
    database = Database.open_url(address.replace("postgresql://", "postgresql+psycopg://", 1))
    wire = PostgresqlWire(hub, Notifications(database.engine), _Rows())
    wire.start()
    await asyncio.sleep(SETTLING)
    yield
    await wire.close()
    database.close()


async def _drive(pipe: Connection, hub: RunHub, driven: range, followed: range) -> None:
    for number in driven:
        hub.publish(f"t{number}", RunStarted(f"r{number}", 1, None))
    far, near = _Page(), _Page()
    watched = [(far, followed)] if followed == driven else [(far, followed), (near, driven)]
    pages = [asyncio.create_task(_follow(hub, f"t{number}", page)) for page, runs in watched for number in runs]
    pipe.send("ready")
    seconds: int = await asyncio.to_thread(pipe.recv)
    before = time.process_time()
    await _publish_tokens(hub, driven, seconds * RATE * len(driven))
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_LAST_SECONDS):
            while len(far.tokens) < seconds * RATE * len(followed):  # noqa: ASYNC110  (the last tokens are on the way)
                await asyncio.sleep(0.1)
    found = far.delays, len(far.tokens), far.loads, time.process_time() - before
    await asyncio.to_thread(pipe.send, found)  # the other process may wait for the last batch of this one
    await asyncio.to_thread(pipe.recv)
    for task in pages:
        task.cancel()


async def _publish_tokens(hub: RunHub, runs: range, count: int) -> None:
    """Publish so many tokens of the runs, each with its time and number, as they would be read from models."""
    begin, step = time.perf_counter(), 1 / RATE / len(runs)
    published = 0
    while published < count:
        await asyncio.sleep(step)
        sent = min(count, int((time.perf_counter() - begin) / step))
        for number in range(published, sent):
            text = f"{int((begin + number * step) * 1_000_000)}.{number} "
            hub.publish(f"t{runs[number % len(runs)]}", TextDelta(text))
        published = sent


async def _follow(hub: RunHub, thread_id: str, page: "_Page") -> None:
    """Read every token, as a page does: it subscribes again when the wire has begun anew."""
    while True:
        with suppress(SubscriberLagged):
            async with hub.subscribe(thread_id) as following:
                page.add(following.live_run.text if following.live_run else "", is_new=False)
                while True:
                    for event in await following.receive():
                        if isinstance(event, TextDelta):
                            page.add(event.text, is_new=True)
        page.loads += 1


@dataclass
class _Page:
    """All tokens of the followed runs, and the delays of those that came by themselves."""

    tokens: set[str] = field(default_factory=set)
    delays: list[float] = field(default_factory=list)
    loads: int = 0

    def add(self, text: str, *, is_new: bool) -> None:
        now = time.perf_counter_ns() // 1000
        new = [token for token in text.split() if token not in self.tokens]
        self.tokens.update(new)
        if is_new:
            self.delays += [(now - int(token.partition(".")[0])) / 1000 for token in new]


class _Rows:
    """Runs that are always in progress: the benchmark stores none."""

    async def read_running(self, thread_id: str) -> LiveRun | None:
        return LiveRun(f"r{thread_id[1:]}", "")

    async def load_event(self, _: str, __: StoredEvent) -> Event:
        raise AssertionError("no messages are sent")
