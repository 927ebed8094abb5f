"""Reads that begin before they are asked for, and whose results wait a moment for the request that is sure to come."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_EARLY_SECONDS = 5.0  # that a result waits: what it shows must not be old
MAX_EARLY_READS = 32  # at once: more requests read for themselves


class EarlyReads(Generic[T]):
    """Reads by key. Each result is for one request."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[T]] = {}
        self._running: set[str] = set()

    def begin(self, key: str, read: Callable[[], Awaitable[T]]) -> None:
        """Begin a read in place of an earlier one. While that is not over, none begins: asking often costs no more."""
        self._tasks.pop(key, None)
        if key in self._running or len(self._tasks) >= MAX_EARLY_READS:
            return
        self._running.add(key)
        task = self._tasks[key] = asyncio.create_task(self._run(key, read))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # perhaps nobody awaits it
        asyncio.get_running_loop().call_later(MAX_EARLY_SECONDS, self._drop, key, task)

    def take(self, key: str) -> asyncio.Task[T] | None:
        """Return the read of a key, begun or over; None without one."""
        return self._tasks.pop(key, None)

    async def _run(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        try:
            return await read()
        finally:
            self._running.discard(key)

    def _drop(self, key: str, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
