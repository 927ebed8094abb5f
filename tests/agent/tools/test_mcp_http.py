"""A server of tools at an address that answers a call with anything: each call ends at once, and the next one works."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import Any

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from agent.tools import mcp
from agent.tools.mcp import McpServer, McpServers
from tests.agent.tools.test_mcp import TOO_MANY, opened
from tests.app_process import PATIENCE

pytestmark = pytest.mark.slow

TOOL = {"name": "ask", "description": "", "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}}}
NOTE = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'
HTML, EVENTS, JSON = "text/html", "text/event-stream", "application/json"


def result(text: str, request_id: int) -> bytes:
    return json.dumps({"result": {"content": [{"type": "text", "text": text}]}, "jsonrpc": "2.0", "id": request_id}).encode()


def repeat_letters(request_id: int) -> bytes:
    return result("x" * 20_000_000, request_id)


# For each way to answer: the content type, with further headers, and the body for a request.
BODIES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "good": (JSON, partial(result, "good")),
    "good events": (EVENTS, lambda number: b": hello\r\nevent: message\r\ndata: " + result("good", number) + b"\r\n\r\n"),
    "page": (HTML, lambda _: b"<html>"),
    "no JSON": (JSON, lambda _: b"this is not JSON"),
    "no events": (EVENTS, lambda _: b""),
    "junk events": (EVENTS, lambda _: b"data: junk\n\ndata: [1]\n\n"),
    "another id": (EVENTS, lambda number: b"data: " + result("other", number + 1000) + b"\n\n"),
    "broken off": (f"{JSON}\r\nX-Missing: 1", lambda _: b'{"jsonrpc'),
    "packed": (f"{JSON}\r\nContent-Encoding: gzip", lambda number: gzip.compress(repeat_letters(number))),
    "huge": (JSON, repeat_letters),
    "some notes": (EVENTS, lambda number: NOTE * 1_000 + b"data: " + result("good", number) + b"\n\n"),
    "huge event": (EVENTS, lambda number: b"data: " + repeat_letters(number) + b"\n\n"),
    "endless notes": (EVENTS, lambda number: NOTE * TOO_MANY + b"data: " + result("late", number) + b"\n\n"),
}


@asynccontextmanager
async def serve_anything(seen: list[dict[str, Any]], status: str = "200 OK") -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):  # a client may leave without a request
            await respond(reader, writer)

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        message = json.loads(await reader.readexactly(size) or b"{}")
        seen.append(message)
        kind, body = answer(message)
        missing = 10 if "X-Missing" in kind else 0
        answered = status if kind else "405 Method Not Allowed" if head.startswith("get") else "202 Accepted"
        fields = f"Content-Type: {kind}\r\nContent-Length: {len(body) + missing}\r\nConnection: close\r\n\r\n"
        writer.write(f"HTTP/1.1 {answered}\r\n{fields}".encode() + body)
        await writer.drain()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def answer(message: dict[str, Any]) -> tuple[str, bytes]:
    match message.get("method"):
        case "initialize":
            info = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "f", "version": "1"}}
            return JSON, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": info}).encode()
        case "tools/list":
            return JSON, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [TOOL]}}).encode()
        case "ping":
            return JSON, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode()
        case "tools/call":
            kind, build = BODIES[message["params"]["arguments"]["how"]]
            return kind, build(message["id"])
    return "", b""


def test_every_answer_ends_its_call_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "MAX_NOISE_SECONDS", 600.0)  # so that no call ends by it

    async def whole() -> None:
        async with (
            asyncio.timeout(PATIENCE),
            serve_anything([]) as url,
            opened(McpServer("far", url=url, approval=False)) as offered,
        ):
            for how in BODIES:
                text = await offered.call("far__ask", how=how)
                if how.startswith(("good", "some")):
                    assert text == "good"
                elif how == "another id":
                    assert text == "other"
                else:
                    assert "it may have been done or not" in text, (how, text)

    asyncio.run(whole())


def test_a_server_learns_nothing_of_the_trace_of_a_run() -> None:
    async def whole(seen: list[dict[str, Any]]) -> None:
        span = NonRecordingSpan(SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
        async with serve_anything(seen) as url, opened(McpServer("far", url=url, approval=False)) as offered:
            with use_span(span):
                assert await offered.call("far__ask", how="good") == "good"

    asyncio.run(asyncio.wait_for(whole(seen := []), PATIENCE))
    [call] = [message["params"] for message in seen if message.get("method") == "tools/call"]
    assert call == {"name": "ask", "arguments": {"how": "good"}}


def test_a_server_that_refuses_is_named_in_the_log_with_its_status(caplog: pytest.LogCaptureFixture) -> None:
    async def whole() -> None:
        async with serve_anything([], "401 Unauthorized") as url:
            servers = McpServers([McpServer("far", url=f"{url}?key=sk-canary")], [], set())
            servers.start()
            while not caplog.messages:  # noqa: ASYNC110  (a foreign program has no event of ours)
                await asyncio.sleep(0.02)
            await servers.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(whole(), PATIENCE))
    assert caplog.messages == ["the MCP server far is not there: HTTP 401"]
