"""Long requests with several processes: a page may ask any process about a request at another process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from checkpoints import StoreUnavailableError
from checkpoints.values.progress import Progress
from components.transfers.long_requests import LongRequest, LongRequests
from extensions.fleet.followed_requests import FollowedRequests

# A request is noted for the other processes after this time, and again after each such time.
NOTE_SECONDS = 0.5


class SharedLongRequests(LongRequests):
    """The requests now running in any process."""

    def __init__(self, followed: FollowedRequests, run_blocking: Callable[..., Awaitable[Any]]) -> None:
        super().__init__()
        self._followed = followed
        self._run = run_blocking

    @asynccontextmanager
    async def follow(self, identifier: str) -> AsyncIterator[LongRequest]:
        async with super().follow(identifier) as request:
            noting = asyncio.create_task(self._note_repeatedly(identifier, request))
            try:
                yield request
            finally:
                noting.cancel()
                await asyncio.wait({noting})

    async def find_progress(self, identifier: str) -> Progress | None:
        if self._find_running(identifier):
            return await super().find_progress(identifier)
        found: Progress | None = await self._run(self._followed.find_progress, identifier)
        return found

    async def cancel(self, identifier: str) -> None:
        if self._find_running(identifier):
            await super().cancel(identifier)
        else:
            await self._run(self._followed.cancel, identifier)

    async def _note_repeatedly(self, identifier: str, request: LongRequest) -> None:
        """Note a request's progress for the other processes until it ends, and learn whether one of them cancelled it."""
        await asyncio.sleep(NOTE_SECONDS)
        try:
            while True:
                with suppress(StoreUnavailableError):
                    request.is_cancelled |= await self._run(self._followed.note, identifier, request.progress)
                await asyncio.sleep(NOTE_SECONDS)
        finally:
            with suppress(StoreUnavailableError):
                await self._run(self._followed.forget, identifier)
