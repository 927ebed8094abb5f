"""The log of refused requests."""

import logging
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.types import Scope

from server.bounded_log import WINDOW_SECONDS, LineLimiter, Schedule, read_client, schedule_on_loop

MAX_SHOWN_CHARS = 80
_log = logging.getLogger("waymark.guard")


class RefusalLog:
    """Log the first refusals of each window. A line at its end counts the others."""

    def __init__(self, schedule: Schedule = schedule_on_loop) -> None:
        self._limiter = LineLimiter(_report_refusals, schedule)

    def note_refusal(self, scope: Scope, status: int) -> None:
        """Log a refusal, without any secrets of the address or the headers."""
        if not self._limiter.admit_line():
            return
        headers = Headers(scope=scope)
        origin = f", Origin {headers['origin'][:MAX_SHOWN_CHARS]!r}" if "origin" in headers else ""
        _log.warning(
            "refused from %s: %s %s: %d %s (Host %r%s)",
            read_client(scope),
            scope.get("method", "WEBSOCKET"),
            quote(scope["path"])[:MAX_SHOWN_CHARS],
            status,
            HTTPStatus(status).phrase,
            headers.get("host", "")[:MAX_SHOWN_CHARS],
            origin,
        )


def _report_refusals(suppressed: int) -> None:
    _log.warning("refused %d more requests within %d seconds", suppressed, WINDOW_SECONDS)
