"""A limit on lines of the log, so nobody can fill the disk or hide in the noise."""

import asyncio
import logging
from collections.abc import Callable

from starlette.types import Scope

# Each window has this many lines.
MAX_LINES = 5
WINDOW_SECONDS = 60
Schedule = Callable[[float, Callable[[], None]], object]


def schedule_on_loop(seconds: float, function: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, function)


class LineLimiter:
    """Admit the first lines of each window. At its end, `report` gets the number of further lines, if there were any.

    It belongs to the event loop's thread.
    """

    def __init__(self, report: Callable[[int], None], schedule: Schedule = schedule_on_loop) -> None:
        self._report = report
        self._schedule = schedule
        self._line_count = 0

    def admit_line(self) -> bool:
        if self._line_count == 0:
            self._schedule(WINDOW_SECONDS, self._end_window)
        self._line_count += 1
        return self._line_count <= MAX_LINES

    def _end_window(self) -> None:
        suppressed, self._line_count = self._line_count - MAX_LINES, 0
        if suppressed > 0:
            self._report(suppressed)


class WarningLimit(logging.Filter):
    """Limit the warnings of a logger, such as uvicorn's about requests other than HTTP. Errors pass."""

    def __init__(self, logger: logging.Logger, schedule: Schedule = schedule_on_loop) -> None:
        super().__init__()
        self._logger = logger
        self._limiter = LineLimiter(self._report, schedule)

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno != logging.WARNING or self._limiter.admit_line()

    def _report(self, suppressed: int) -> None:
        self._logger.error("%d more warnings within %d seconds", suppressed, WINDOW_SECONDS)


def read_client(scope: Scope) -> str:
    """Return the network address of a request's sender. No header of a proxy changes it."""
    client, *_ = scope.get("client") or ("an unknown address",)
    return str(client)
