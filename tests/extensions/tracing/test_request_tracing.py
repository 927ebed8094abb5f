"""HTTP requests as spans at a collector of OpenTelemetry, where one is configured."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.tracing.events import RequestServed
from app import create_app
from application.settings import Settings
from extensions.tracing.opentelemetry import OpenTelemetryTracer
from extensions.tracing.span_ids import derive_trace_id
from server.request_times import time_requests
from tests.fakes.otlp import FakeCollector

ORIGIN = "http://127.0.0.1:8050"
SECRET = "a-secret-in-a-path"


def _ask(folder: Path, paths: list[str], method: str = "GET", **settings: Any) -> list[int]:
    """Ask a Waymark of its own for these paths, and close it. Return the statuses."""

    async def story() -> list[int]:
        chosen: Any = {"model": "demo", "titles": "off", "auth": "none"} | settings
        app = create_app(Settings(data_dir=folder, **chosen), port=8050)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app.asgi), base_url=ORIGIN, headers={"Origin": ORIGIN}
        ) as browser:
            await app.load_agent()
            statuses = [(await browser.request(method, path)).status_code for path in paths]
        await app.close()
        return statuses

    return asyncio.run(story())


def test_a_request_is_a_span_with_its_route_and_without_its_path(tmp_path: Path) -> None:
    paths = [f"/api/threads/{SECRET}/usage?{SECRET}=1", f"/nowhere/{SECRET}", "/healthz", "/readyz"]
    with FakeCollector() as collector:
        statuses = _ask(tmp_path / "data", paths, otlp_endpoint=collector.origin)
        assert collector.violations == []
        spans = [span for span in collector.spans if "http.request.method" in span.attributes]
        assert [span["http.response.status_code"] for span in spans] == statuses[:2]
        for span in spans:
            assert span.trace == derive_trace_id(str(span["waymark.request.id"]))
            assert not span.parent
            assert not span.is_failed
        assert [span["http.route"] for span in spans] == ["/api/threads/{thread_id:thread}/usage", None]
        assert SECRET.encode() not in collector.received


def test_the_requests_of_a_page_without_a_socket_are_no_spans(tmp_path: Path) -> None:
    paths = ["/api/events?poll=one", "/api/threads/gone/events?poll=two"]
    with FakeCollector() as collector:
        assert _ask(tmp_path / "data", paths, "POST", otlp_endpoint=collector.origin) == [200, 200]
        assert [span for span in collector.spans if "http.request.method" in span.attributes] == []


def test_without_a_collector_no_request_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("requests are timed")

    monkeypatch.setattr("server.request_times.time_requests", refuse)
    monkeypatch.setattr("extensions.tracing.request_tracing.time_requests", refuse)
    assert _ask(tmp_path / "data", ["/healthz"]) == [200]


def test_a_request_without_an_answer_is_a_failed_span() -> None:
    seen: list[Any] = []

    async def fail(*_: object) -> None:
        raise ValueError(SECRET)

    scope: Any = {"type": "http", "path": "/", "method": "BREW"}
    with pytest.raises(ValueError, match=SECRET):
        asyncio.run(time_requests(fail, seen.append)(scope, None, None))  # type: ignore[arg-type]
    [request] = seen
    assert (request.method, request.route, request.status) == ("_OTHER", "", 0)
    with FakeCollector() as collector:
        tracer = OpenTelemetryTracer(collector.origin, {})
        for status in (request.status, 503, 404):
            tracer.record(RequestServed("id", "GET", "", status, 1, 2))
        tracer.close()
        assert [span.is_failed for span in collector.spans] == [True, True, False]
