"""Wires between processes that a test plays in one event loop, over notifications in memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agent.events import Event
from agent.run.hub import RunHub, StoredEvent
from agent.run.live_runs import LiveRun
from checkpoints import Message, StoreUnavailableError
from extensions.fleet.postgresql_wire import PostgresqlWire


@dataclass
class Line:
    """PostgreSQL's notifications, in memory. It can be cut."""

    listeners: list[asyncio.Queue[str]] = field(default_factory=list)
    payloads: list[str] = field(default_factory=list)
    is_up: bool = True

    @property
    def has_one(self) -> bool:
        """Whether one process listens: it has nobody to hear."""
        return len(self.listeners) == 1

    async def send(self, payloads: Sequence[str]) -> None:
        if not self.is_up:
            raise StoreUnavailableError("cut")
        self.payloads += payloads
        for listener in self.listeners:
            for payload in payloads:
                listener.put_nowait(payload)

    async def listen(self, idle_seconds: float) -> AsyncGenerator[str]:
        if not self.is_up:
            raise StoreUnavailableError("cut")
        queue: asyncio.Queue[str] = asyncio.Queue()
        self.listeners.append(queue)
        try:
            yield ""
            while True:
                payload = ""
                with suppress(TimeoutError):
                    async with asyncio.timeout(idle_seconds):
                        payload = await queue.get()
                if payload == "cut":
                    raise StoreUnavailableError("cut")
                yield payload
        finally:
            if queue in self.listeners:
                self.listeners.remove(queue)

    def cut(self) -> None:
        """Cut every connection; what was sent before still comes."""
        self.is_up = False
        for listener in self.listeners:
            listener.put_nowait("cut")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Rows:
    """What followers read: the same for all processes."""

    drafts: dict[str, LiveRun] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)

    async def read_running(self, thread_id: str) -> LiveRun | None:
        return self.drafts.get(thread_id)

    async def load_event(self, _: str, event: StoredEvent) -> Event:
        return event.complete(self.messages[event.message_id])


@dataclass
class Process:
    """One of several processes: its hub and its wire."""

    hub: RunHub
    wire: PostgresqlWire


@asynccontextmanager
async def open_processes(count: int, line: Line, rows: Rows) -> AsyncIterator[list[Process]]:
    """Open processes that know one another."""
    hubs = [RunHub() for _ in range(count)]
    processes = [Process(hub, PostgresqlWire(hub, line, rows)) for hub in hubs]
    for each in processes:
        each.wire.start()
    await until(lambda: all(each.wire._is_listening and (line.has_one or each.wire._peers.names) for each in processes))
    try:
        yield processes
    finally:
        for each in processes:
            await each.wire.close()


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (what is waited for has no event of its own)
            await asyncio.sleep(0.001)
