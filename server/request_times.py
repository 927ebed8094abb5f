"""The times of requests, for a collector of traces: with routes instead of paths, which may contain a secret."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.json_log import read_request_id

# Programs poll these paths.
UNTIMED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
# Pages without a socket poll these routes.
UNTIMED_ROUTES = frozenset({"/api/events", "/api/threads/{thread_id:thread}/events"})
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
# A request without an answer has this status: its client has gone, or the server has failed.
NO_ANSWER = 0


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A finished request. Times are nanoseconds since 1970."""

    # The log has the same id.
    id: str
    method: str
    # It is the route's pattern; it is empty if no route took the request, as for files and refusals.
    route: str
    status: int
    began_ns: int
    ended_ns: int


def time_requests(app: ASGIApp, report: Callable[[TimedRequest], None]) -> ASGIApp:
    """Wrap the app, and report each request as it ends. `report` must not wait."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNTIMED_PATHS:
            await app(scope, receive, send)
            return
        began_ns, status = time.time_ns(), NO_ANSWER

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, note_status)
        finally:
            method = scope["method"] if scope["method"] in KNOWN_METHODS else "_OTHER"
            route = _read_route(scope)
            if route not in UNTIMED_ROUTES:
                report(TimedRequest(read_request_id(), method, route, status, began_ns, time.time_ns()))

    return serve


def _read_route(scope: Scope) -> str:
    route: Any = scope.get("route")
    return str(getattr(route, "path", ""))
