"""Indexing for the search, in portions between the changes of people: queued messages are found soon."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from checkpoints import StateError

PAUSE_SECONDS = 0.02  # between two portions: other changes take their turn
_log = logging.getLogger(__name__)


class SearchIndexing:
    """At most one task that indexes until nothing is queued."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def ensure_running(self, index_portion: Callable[[], Awaitable[bool]]) -> None:
        """Begin to index, unless that is under way. After an outage the next call begins again."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._index(index_portion), name="index for the search")

    async def _index(self, index_portion: Callable[[], Awaitable[bool]]) -> None:
        try:
            while await index_portion():  # noqa: ASYNC110  (a pause, not a wait)
                await asyncio.sleep(PAUSE_SECONDS)
        except StateError as error:  # an outage, which the database reports itself
            _log.warning("indexing for the search ended: %s", error)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
