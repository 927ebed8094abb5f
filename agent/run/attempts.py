"""Repeated work that survives any failure. An outage of the database is logged once, not each second."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from agent.run.outcome import locate_error
from checkpoints import StoreUnavailableError


class Attempts:
    """Logs failures for a module. The same outage is logged once, until an attempt succeeds or fails otherwise."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._outage = ""

    async def do(self, work: Coroutine[Any, Any, object], failure: str) -> bool:
        """Return whether the work succeeded. A stray cancellation is a failure; a cancellation of the calling task is
        raised.
        """
        try:
            await work
        except (Exception, asyncio.CancelledError) as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            cause = locate_error(error)
            outage = cause if isinstance(error, StoreUnavailableError) else ""
            if not outage or outage != self._outage:
                self._log.warning("%s: %s", failure, cause)
            self._outage = outage
            return False
        self._outage = ""
        return True
