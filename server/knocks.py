"""The log of refused requests. It has a limit, so that nobody can fill the disk or hide in the noise."""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.types import Scope

MAX_KNOCK_LINES = 5  # in each window
KNOCK_WINDOW_SECONDS = 60
MAX_SHOWN_CHARS = 80
Schedule = Callable[[float, Callable[[], None]], object]
_log = logging.getLogger("waymark.guard")


def _schedule_on_loop(seconds: float, function: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, function)


class KnockLog:
    """Logs the first refusals of each window; one line at its end counts the others."""

    def __init__(self, schedule: Schedule = _schedule_on_loop) -> None:
        self._schedule = schedule
        self._knock_count = 0

    def note_refusal(self, scope: Scope, status: int) -> None:
        """Log a refusal, without what the address or the headers may hold of secrets."""
        if self._knock_count == 0:
            self._schedule(KNOCK_WINDOW_SECONDS, self._end_window)
        self._knock_count += 1
        if self._knock_count > MAX_KNOCK_LINES:
            return
        headers, (client, *_) = Headers(scope=scope), scope.get("client") or ("an unknown address",)
        origin = f", Origin {headers['origin'][:MAX_SHOWN_CHARS]!r}" if "origin" in headers else ""
        _log.warning(
            "refused from %s: %s %s: %d %s (Host %r%s)",
            client,
            scope.get("method", "WEBSOCKET"),
            quote(scope["path"])[:MAX_SHOWN_CHARS],
            status,
            HTTPStatus(status).phrase,
            headers.get("host", "")[:MAX_SHOWN_CHARS],
            origin,
        )

    def _end_window(self) -> None:
        suppressed, self._knock_count = self._knock_count - MAX_KNOCK_LINES, 0
        if suppressed > 0:
            _log.warning("refused %d more requests within %d seconds", suppressed, KNOCK_WINDOW_SECONDS)
