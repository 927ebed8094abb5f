"""Reads that many pages ask for at the same time, as when they open together: one read is for all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class SharedReads(Generic[T]):
    """Reads by key. At most one of a key runs at a time, and those that are asked for meanwhile share the next one."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Task[T]] = {}
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # as long as a read uses one

    async def share(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a read that begins after this call: it sees all that was written before."""
        task = self._waiting.get(key)
        if task is None:
            task = self._waiting[key] = asyncio.create_task(self._read_next(key, read))
            # Read here as well: the loop reports a failure that nobody awaits any more, since the pages have closed.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(task)  # a page that closes does not cancel the read of the others

    async def _read_next(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        async with self._lanes.setdefault(key, asyncio.Lock()):
            del self._waiting[key]
            return await read()
