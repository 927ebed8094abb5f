"""The pages that follow conversations, at most so many: each piece of an answer costs the server work for each page."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

MAX_THREAD_PAGES = 20  # that follow one conversation
MAX_PAGES = 200  # of all conversations


class OpenPages:
    """The tasks that send to pages, oldest first. A new page beyond a limit takes the place of the oldest one."""

    def __init__(self) -> None:
        self._threads: dict[asyncio.Task[None], str] = {}
        self._replaced: set[asyncio.Task[None]] = set()

    @contextmanager
    def enter(self, thread_id: str, sending: asyncio.Task[None]) -> Iterator[None]:
        """Hold a place for a page, and end the pages that it replaces."""
        same = [task for task, thread in self._threads.items() if thread == thread_id]
        if len(same) >= MAX_THREAD_PAGES:
            self._replace(same[0])
        elif len(self._threads) >= MAX_PAGES:
            self._replace(next(iter(self._threads)))
        self._threads[sending] = thread_id
        try:
            yield
        finally:
            self._threads.pop(sending, None)
            self._replaced.discard(sending)

    def was_replaced(self, sending: asyncio.Task[None]) -> bool:
        return sending in self._replaced

    def _replace(self, sending: asyncio.Task[None]) -> None:
        del self._threads[sending]
        self._replaced.add(sending)
        sending.cancel()
