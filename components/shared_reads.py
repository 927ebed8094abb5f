"""Reads requested by many pages at the same time, for example when they open together. They share a read."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class SharedReads(Generic[T]):
    """Reads by key. At most one read of a key runs at a time, and requests meanwhile share the next read."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Task[T]] = {}
        # A lane lives as long as a read uses it.
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def share(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a read begun after this call, so it sees everything written before."""
        task = self._waiting.get(key)
        if task is None:
            task = self._waiting[key] = asyncio.create_task(self._read_next(key, read))
            # Retrieve the error here as well: the loop reports errors that nobody awaits once all pages have closed.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A page that closes does not cancel the others' read.
        return await asyncio.shield(task)

    async def _read_next(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        async with self._lanes.setdefault(key, asyncio.Lock()):
            del self._waiting[key]
            return await read()
