"""The process that serves: it ends in order, and no stranger can fill its log or sign it."""

import asyncio
import signal
import socket
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from server import serving
from server.bounded_log import MAX_LINES
from tests.servers import Server


def send_raw(origin: str, data: bytes) -> bytes:
    host, _, port = origin.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(data)
        return connection.recv(4096)


@pytest.mark.slow
def test_requests_that_are_no_http_are_few_lines_and_each_has_a_time(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        for _ in range(50):
            assert b"400" in send_raw(server.origin, b"\x1b]0;title\x07 nonsense\r\n\r\n")
        server.stop()
    lines = [line for line in server.log.splitlines() if "Invalid HTTP request" in line]
    assert 1 <= len(lines) <= MAX_LINES
    assert all(datetime.fromisoformat(line.partition(" ")[0]).tzinfo for line in lines)


@pytest.mark.slow
def test_nobody_signs_a_request_with_another_address_or_scheme(tmp_path: Path) -> None:
    claims = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Forwarded": "for=203.0.113.9;proto=https"}
    with Server(tmp_path / "data") as server:
        https = server.origin.replace("http:", "https:")
        refused = httpx.post(
            f"{server.origin}/api/sessions/current/end", headers={"Origin": https, **claims}, trust_env=False
        )
        answer = httpx.get(server.link, headers=claims, trust_env=False)
        server.stop()
    assert (refused.status_code, answer.status_code) == (403, 200)
    assert "203.0.113.9" not in server.log
    assert "refused from 127.0.0.1" in server.log
    assert "signed in: session" in server.log
    assert "from 127.0.0.1" in server.log
    assert "Secure" not in answer.headers["set-cookie"]


async def _answer_lifespan(receive: Receive, send: Send) -> None:
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


def test_an_error_at_the_end_of_the_start_ends_the_server_and_is_raised() -> None:
    events: list[str] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "lifespan"
        for event in ("startup", "shutdown"):
            await receive()
            events.append(event)
            await send({"type": f"lifespan.{event}.complete"})

    async def fail() -> None:
        raise LookupError("the agent")

    with serving.open_listener("127.0.0.1", 0) as listener, pytest.raises(LookupError, match="the agent"):
        serving.serve_until_signal(answer, listener, lambda: events.append("announced"), fail)
    assert events == ["startup", "announced", "shutdown"]


def test_a_long_request_at_the_end_of_the_server_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "ENDING_SECONDS", 0)
    under_way = asyncio.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            under_way.set()
            await asyncio.Event().wait()
        await _answer_lifespan(receive, send)

    async def end_the_server() -> None:
        await under_way.wait()
        raise LookupError("the end")

    with serving.open_listener("127.0.0.1", 0) as listener, socket.socket() as client:
        listener.listen()
        client.connect(listener.getsockname())
        client.sendall(b"GET / HTTP/1.1\r\nHost: me\r\n\r\n")
        with pytest.raises(LookupError, match="the end"):
            serving.serve_until_signal(answer, listener, lambda: None, end_the_server)
    assert "running task(s)" in caplog.text
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(("asked", "is_answered"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_a_deployment_lets_requests_end_and_ctrl_c_waits_little(
    monkeypatch: pytest.MonkeyPatch, asked: signal.Signals, is_answered: bool
) -> None:
    monkeypatch.setattr(serving, "ENDING_SECONDS", 0)
    under_way = asyncio.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            under_way.set()
            await asyncio.sleep(0.5)  # longer than the server gives the other one
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await _answer_lifespan(receive, send)

    async def ask_to_end() -> None:
        await under_way.wait()
        signal.raise_signal(asked)

    before = signal.signal(asked, lambda *_: None)  # the server raises it once more at its end
    try:
        with serving.open_listener("127.0.0.1", 0) as listener, socket.socket() as client:
            listener.listen()
            client.connect(listener.getsockname())
            client.sendall(b"GET / HTTP/1.1\r\nHost: me\r\n\r\n")
            serving.serve_until_signal(answer, listener, lambda: None, ask_to_end)
            reply = client.recv(100)
    finally:
        signal.signal(asked, before)
    assert reply.startswith(b"HTTP/1.1 200") == is_answered
