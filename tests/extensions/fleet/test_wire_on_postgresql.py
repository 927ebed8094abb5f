"""The wire over a real PostgreSQL: exact for readers at any moment, and healed after cuts and restarts."""

import asyncio
import random
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

import pytest

from agent.events import MessageAdded, RunFinished, RunStarted, TextDelta
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub, SubscriberLagged
from checkpoints import Database, Message, NewMessage, Run, Runs, RunState, Store
from extensions.fleet.followed_rows import FollowedRows
from extensions.fleet.notifications import Notifications
from extensions.fleet.postgresql_wire import PostgresqlWire
from tests.agent.run.wires import Process, until
from tests.checkpoints.conversations import new
from tests.postgres import Postgres

pytestmark = pytest.mark.slow
RUNS, READERS, TOKENS = 25, 100, 60


@asynccontextmanager
async def _open_process(store: Store, blocking: BlockingPool) -> AsyncIterator[Process]:
    hub = RunHub()
    rows = FollowedRows(store, Runs(store), blocking)
    wire = PostgresqlWire(hub, Notifications(store.database.engine), rows)
    wire.start()
    try:
        await until(lambda: wire._is_listening)
        yield Process(hub, wire)
    finally:
        await wire.close()


@asynccontextmanager
async def _open_processes(address: str, count: int) -> AsyncIterator[tuple[Store, list[Process]]]:
    database, pool = Database.open_url(address), ThreadPoolExecutor(4)
    store = Store(database)
    opened = [_open_process(store, BlockingPool(pool)) for _ in range(count)]
    processes = [await each.__aenter__() for each in opened]
    try:
        await until(lambda: all(each.wire._peers.names for each in processes))
        yield store, processes
    finally:
        for each in opened:
            await each.__aexit__(None, None, None)
        pool.shutdown()
        database.close()


class Writer:
    """A run that is driven here, with its message at the end."""

    def __init__(self, store: Store, process: Process, number: int) -> None:
        self.runs, self.hub = Runs(store), process.hub
        self.thread_id = store.create_thread().id
        self.run: Run = self.runs.begin_run(self.thread_id, new(f"question {number}")[0])
        self.tokens = [f"{number}·{place} " for place in range(TOKENS)]
        self.written: list[Message] = []

    async def write(self, pause: float) -> None:
        self.hub.publish(self.thread_id, RunStarted(self.run.id, 1, None))
        for half in (self.tokens[: TOKENS // 2], self.tokens[TOKENS // 2 :]):
            for token in half:
                self.hub.publish(self.thread_id, TextDelta(token))
                await asyncio.sleep(random.uniform(0, 2 * pause))
            body = {"type": "ai", "data": {"content": "".join(half)}}
            message, version = await asyncio.to_thread(self.runs.commit_message, self.run, NewMessage(body))
            self.hub.publish(self.thread_id, MessageAdded(message, version))
            self.written.append(message)
        end = await asyncio.to_thread(self.runs.end_run, self.run, RunState.DONE)
        self.hub.publish(self.thread_id, RunFinished(self.run.id, RunState.DONE, end))


async def _read(process: Process, store: Store, thread_id: str, delay: float) -> list[str]:
    """What a page shows that opens after a while. One that lags behind, or was cut off, begins anew."""
    await asyncio.sleep(delay)
    while True:
        with suppress(SubscriberLagged):
            return await _follow(process, store, thread_id)


async def _follow(process: Process, store: Store, thread_id: str) -> list[str]:
    """The messages of a thread, and the text that becomes the next."""
    texts: list[str] = []
    async with process.hub.subscribe(thread_id) as following:
        path = await asyncio.to_thread(store.list_messages, thread_id)
        known = {message.id: message for message in path if message.type == "ai"}
        if following.live_run is None and len(known) == 2:
            return [str(message.langchain.text) for message in known.values()]
        text = following.live_run.text if following.live_run else ""
        while True:
            for event in await following.receive():
                if isinstance(event, RunStarted):
                    text = ""
                elif isinstance(event, TextDelta):
                    text += event.text
                elif isinstance(event, MessageAdded):
                    # What was read while it was written is exactly what the message has.
                    assert text == event.message.langchain.text
                    known[event.message.id] = event.message
                    text = ""
                elif isinstance(event, RunFinished):
                    texts = [str(message.langchain.text) for message in known.values()]
                    return [*texts, text] if text else texts


def test_readers_at_random_moments_read_exactly_what_was_written(postgres_url: str) -> None:
    async def story() -> None:
        async with _open_processes(postgres_url, 2) as (store, processes):
            writers = [Writer(store, processes[number % 2], number) for number in range(RUNS)]
            writing = [asyncio.create_task(each.write(0.03)) for each in writers]
            chosen = [random.choice(writers) for _ in range(READERS)]
            reading = [
                asyncio.create_task(_read(random.choice(processes), store, each.thread_id, random.uniform(0, 2.0)))
                for each in chosen
            ]
            await asyncio.sleep(0.5)
            async with _open_process(
                store, BlockingPool(ThreadPoolExecutor(2))
            ) as late:  # a process that starts in the middle
                late_reading = [
                    asyncio.create_task(_read(late, store, each.thread_id, random.uniform(0, 1.0))) for each in writers
                ]
                await asyncio.gather(*writing)
                for writer, texts in zip([*chosen, *writers], await asyncio.gather(*reading, *late_reading), strict=True):
                    half = TOKENS // 2
                    assert texts == ["".join(writer.tokens[:half]), "".join(writer.tokens[half:])]

    asyncio.run(story())


async def _follow_until(process: Process, thread_id: str, text: str) -> None:
    """Read until this text was seen, subscribing again as pages do."""
    while True:
        try:
            async with process.hub.subscribe(thread_id) as following:
                seen = following.live_run.text if following.live_run else ""
                while not seen.endswith(text):
                    seen += "".join(each.text for each in await following.receive() if isinstance(each, TextDelta))
                return
        except SubscriberLagged:
            continue


@pytest.mark.parametrize("kind", ["every listener is cut", "every connection is cut"])
def test_a_cut_connection_is_healed_with_what_was_missed(postgres: Postgres, postgres_url: str, kind: str) -> None:
    listening = "AND query LIKE 'LISTEN%'" if kind == "every listener is cut" else "AND pid != pg_backend_pid()"

    async def story() -> None:
        async with _open_processes(postgres_url, 2) as (store, [here, elsewhere]):
            writer = Writer(store, here, 1)
            here.hub.publish(writer.thread_id, RunStarted(writer.run.id, 1, None))
            here.hub.publish(writer.thread_id, TextDelta("before"))
            await _follow_until(elsewhere, writer.thread_id, "before")
            reading = asyncio.create_task(_follow_until(elsewhere, writer.thread_id, "after"))
            await asyncio.sleep(0)
            name = postgres_url.partition("@/")[2].partition("?")[0]
            postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' {listening}")
            here.hub.publish(writer.thread_id, TextDelta("after"))
            await reading
            assert elsewhere.hub.find_live_run(writer.thread_id).text == "beforeafter"  # type: ignore[union-attr]

    asyncio.run(story())


def test_a_restart_of_the_database_is_told_and_healed() -> None:
    postgres = Postgres()

    async def story() -> None:
        async with _open_processes(postgres.empty(), 2) as (store, [here, elsewhere]):
            writer = Writer(store, here, 1)
            here.hub.publish(writer.thread_id, RunStarted(writer.run.id, 1, None))
            here.hub.publish(writer.thread_id, TextDelta("before"))
            await _follow_until(elsewhere, writer.thread_id, "before")
            await asyncio.to_thread(postgres.stop)
            here.hub.publish(writer.thread_id, TextDelta("meanwhile"))
            await until(lambda: elsewhere.hub.is_delayed)  # the pages say so
            await asyncio.to_thread(postgres.start)
            await _follow_until(elsewhere, writer.thread_id, "meanwhile")
            assert not elsewhere.hub.is_delayed

    try:
        asyncio.run(story())
    finally:
        postgres.close()
