"""The times of requests, for a collector of traces: with their routes, and without paths, which may hold a secret."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.json_log import read_request_id

UNTIMED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})  # programs ask for them, again and again
UNTIMED_ROUTES = frozenset({"/api/events", "/api/threads/{thread_id:thread}/events"})  # pages do, without a socket
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
NO_ANSWER = 0  # the status of a request that has none: its client has gone, or the server has failed


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request that has ended. Times are nanoseconds since 1970."""

    id: str  # as in the log
    method: str
    route: str  # its pattern; empty where none has taken it, as for files and refusals
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
