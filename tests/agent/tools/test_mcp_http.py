"""A server of tools at an address that answers a call with anything: each call ends at once, and the next one works."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from agent.tools import mcp
from agent.tools.mcp import McpServer
from agent.tools.mcp_messages import MAX_EVENT_LINES
from tests.agent.tools.test_mcp import opened

pytestmark = pytest.mark.slow

TOOL = {"name": "ask", "description": "", "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}}}
NOTE = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'
HTML, EVENTS, JSON = "text/html", "text/event-stream", "application/json"


def result(text: str, request_id: int) -> bytes:
    return json.dumps({"result": {"content": [{"type": "text", "text": text}]}, "jsonrpc": "2.0", "id": request_id}).encode()


def bodies(request_id: int) -> dict[str, tuple[str, bytes]]:
    """For each way to answer: the content type, with further headers, and the body."""
    huge = result("x" * 20_000_000, request_id)
    packed = gzip.compress(huge)
    return {
        "good": (JSON, result("good", request_id)),
        "good events": (EVENTS, b": hello\r\nevent: message\r\ndata: " + result("good", request_id) + b"\r\n\r\n"),
        "page": (HTML, b"<html>"),
        "no JSON": (JSON, b"this is not JSON"),
        "no events": (EVENTS, b""),
        "junk events": (EVENTS, b"data: junk\n\ndata: [1]\n\n"),
        "another id": (EVENTS, b"data: " + result("other", request_id + 1000) + b"\n\n"),
        "broken off": (f"{JSON}\r\nX-Missing: 1", b'{"jsonrpc'),
        "packed": (f"{JSON}\r\nContent-Encoding: gzip", packed),
        "huge": (JSON, huge),
        "some notes": (EVENTS, NOTE * 1_000 + b"data: " + result("good", request_id) + b"\n\n"),
        "huge event": (EVENTS, b"data: " + huge + b"\n\n"),
        "endless notes": (EVENTS, NOTE * MAX_EVENT_LINES + b"data: " + result("late", request_id) + b"\n\n"),
    }


@asynccontextmanager
async def serve_anything() -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        kind, body = answer(json.loads(await reader.readexactly(size) or b"{}"))
        missing = 10 if "X-Missing" in kind else 0
        status = "200 OK" if kind else "405 Method Not Allowed" if head.startswith("get") else "202 Accepted"
        fields = f"Content-Type: {kind}\r\nContent-Length: {len(body) + missing}\r\nConnection: close\r\n\r\n"
        writer.write(f"HTTP/1.1 {status}\r\n{fields}".encode() + body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

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
            return bodies(message["id"])[message["params"]["arguments"]["how"]]
    return "", b""


def test_every_answer_ends_its_call_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "MAX_NOISE_SECONDS", 600.0)  # so that no call ends by it

    async def whole() -> None:
        async with (
            asyncio.timeout(50),
            serve_anything() as url,
            opened(McpServer("far", url=url, approval=False)) as offered,
        ):
            for how in bodies(0):
                text = await offered.call("far__ask", how=how)
                if how.startswith(("good", "some")):
                    assert text == "good"
                elif how.startswith("huge"):
                    assert text.startswith("x" * mcp.MAX_REMOTE_RESULT_CHARS)
                    assert "the whole result has 20,000,0" in text
                else:
                    broken = "broke off in the middle" if how == "broken off" else "no message of the protocol"
                    assert broken in text, (how, text)

    asyncio.run(whole())
