"""The long requests of pages, by an id from the page: their progress, and whether the user cancelled them.

A page names such a request in a header, reads its progress while it waits, and may cancel it (see routes.request_progress).
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import StateError
from checkpoints.values.progress import Progress, Report, ignore_progress
from checkpoints.values.sentence import sentence
from components.people import name_for_owner

HEADER = "waymark-request"
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_report: ContextVar[Report] = ContextVar("report", default=ignore_progress)


class RequestCancelledError(StateError):
    """The user has cancelled the request. Nothing of its current change is written."""

    def __init__(self) -> None:
        super().__init__(sentence("It was cancelled."))


@dataclass
class LongRequest:
    progress: Progress | None = None
    is_cancelled: bool = False

    def report(self, progress: Progress) -> None:
        """Record the progress, on any thread. Raises `RequestCancelledError`."""
        if self.is_cancelled:
            raise RequestCancelledError
        self.progress = progress


class LongRequests:
    """The requests now running in this process."""

    def __init__(self) -> None:
        self._running: dict[str, LongRequest] = {}

    @asynccontextmanager
    async def follow(self, identifier: str) -> AsyncIterator[LongRequest]:
        """Follow a request until the block ends."""
        identifier = name_for_owner(identifier)
        request = self._running[identifier] = LongRequest()
        try:
            yield request
        finally:
            if self._running.get(identifier) is request:
                del self._running[identifier]

    async def find_progress(self, identifier: str) -> Progress | None:
        """Return the last progress; None before the first report and after the request has ended."""
        request = self._find_running(identifier)
        return request.progress if request else None

    async def cancel(self, identifier: str) -> None:
        """Cancel a request: its next report ends it. After its last report, it ends as if it were not cancelled."""
        if request := self._find_running(identifier):
            request.is_cancelled = True

    def _find_running(self, identifier: str) -> LongRequest | None:
        return self._running.get(name_for_owner(identifier))


def get_progress_callback() -> Report:
    """Return the progress callback of the current request. Call it before the work moves to another thread."""
    return _report.get()


class ProgressMiddleware:
    """ASGI middleware that follows each request with an id, from the first byte of its body on."""

    def __init__(self, app: ASGIApp, requests: LongRequests) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identifier = Headers(scope=scope).get(HEADER, "") if scope["type"] == "http" else ""
        if not _ID.fullmatch(identifier):
            await self._app(scope, receive, send)
            return
        async with self._requests.follow(identifier) as request:
            token = _report.set(request.report)
            try:
                await self._app(scope, receive, send)
            finally:
                _report.reset(token)
