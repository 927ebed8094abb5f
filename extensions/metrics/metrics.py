"""Counts and times for Prometheus, at /metrics, for clients with the key."""

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.answers import build_text

METRICS_PATH = "/metrics"
SAMPLE_SECONDS = 0.25
# The buckets are in seconds.
SHORT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics(logging.Handler):
    """The metrics of an app. As a handler of the log, it counts log records."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter("waymark_http_requests", "Answered requests.", ["method", "status"], registry=self.registry)
        self._sockets = Gauge("waymark_sockets", "Open sockets of pages.", registry=self.registry)
        self._records = Counter("waymark_log_records", "Records of the log.", ["level"], registry=self.registry)
        self._delays = Histogram(
            "waymark_loop_delay_seconds",
            "How late the event loop is: every token, page and request waits as long.",
            buckets=SHORT_BUCKETS,
            registry=self.registry,
        )
        self._sampling: asyncio.TimerHandle | None = None

    def add_gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a value to read whenever Prometheus asks."""
        Gauge(name, meaning, registry=self.registry).set_function(read)

    def emit(self, record: logging.LogRecord) -> None:
        self._records.labels(record.levelname.lower()).inc()

    def watch(self, app: ASGIApp) -> ASGIApp:
        """Wrap the app, and count its answers and sockets."""

        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            if self._sampling is None:
                self._sample(time.monotonic())
            if scope["type"] == "websocket":
                with self._sockets.track_inprogress():
                    await app(scope, receive, send)
            elif scope["type"] == "http":
                await app(scope, receive, self._count_answer(scope["method"], send))
            else:
                await app(scope, receive, send)

        return count

    def add_route(self, server: FastAPI) -> None:
        @server.get(METRICS_PATH)
        async def get_metrics(request: Request) -> Response:
            kind, _, key = request.headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(key.strip().encode(), self._key.encode()):
                return build_text(HTTPStatus.UNAUTHORIZED)
            return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)

    def _count_answer(self, method: str, send: Send) -> Send:
        known = method if method in ("GET", "HEAD", "POST") else "other"

        async def count_start(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._requests.labels(known, str(message["status"])).inc()
            await send(message)

        return count_start

    def _sample(self, planned: float) -> None:
        """Note the delay of this call, and plan the next."""
        now = time.monotonic()
        self._delays.observe(max(0.0, now - planned))
        self._sampling = asyncio.get_running_loop().call_later(SAMPLE_SECONDS, self._sample, now + SAMPLE_SECONDS)
