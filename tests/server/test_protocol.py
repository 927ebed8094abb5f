"""A connection that nobody has signed in on: its heads are short and come soon, and answers come in their order."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from typing import Any

import pytest
import uvicorn
import uvloop
from starlette.responses import PlainTextResponse

from server import protocol
from server.protocol import (
    HEAD_SECONDS,
    MAX_HEAD_BYTES,
    MAX_SOCKET_HEADERS,
    MAX_SOCKET_LINE_BYTES,
    HttpProtocol,
    _select_proxy_headers,
)
from server.session.session_authentication import COOKIE_PREFIX

Story = Callable[[int], Awaitable[None]]
NAMED = ("/held", "/second", "/last", "/refused", "/body", "/up")
HOLDING: list[asyncio.Event] = []


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Say hello to a request, or name its address, and refuse a socket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})
    elif scope["path"] in NAMED:
        body = scope["path"].encode()
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 413 if body == b"/refused" else 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body[:2], "more_body": True})
        if body == b"/held":
            await HOLDING.pop().wait()
        await send({"type": "http.response.body", "body": body[2:]})
    elif scope["method"] == "POST":
        while (await receive()).get("more_body"):
            pass
    else:
        await PlainTextResponse("hello")(scope, receive, send)


def serve(
    story: Story,
    run: Callable[..., object] = asyncio.run,
    head_seconds: float = HEAD_SECONDS,
    proxy_headers: frozenset[bytes] = frozenset(),
) -> None:
    async def whole() -> None:
        make = partial(HttpProtocol, head_seconds=head_seconds, proxy_headers=proxy_headers)
        config = uvicorn.Config(
            answer,
            http=make,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            log_level="critical",
            lifespan="off",
            timeout_keep_alive=1,
        )
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        create = partial(make, config, server.server_state, {})
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(60), await loop.create_server(create, "127.0.0.1", 0) as listening:
            try:
                await story(listening.sockets[0].getsockname()[1])
            finally:
                # As uvicorn ends: since 3.12, Python waits for a server's connections.
                for connection in list(server.server_state.connections):
                    connection.shutdown()

    run(whole())


async def ask(port: int, *pieces: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer), suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        return await reader.read()
    return b"closed"


def request(head: bytes = b"", address: bytes = b"/") -> bytes:
    return b"GET " + address + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + head + b"\r\n"


def test_a_head_is_taken_up_to_the_limit_and_no_further() -> None:
    async def story(port: int) -> None:
        room = MAX_HEAD_BYTES - 200
        assert b"hello" in await ask(port, request(b"A: " + b"x" * room + b"\r\n"))
        assert b"hello" in await ask(port, request(address=b"/" + b"x" * room))
        more = b"x" * 10 * MAX_HEAD_BYTES  # than the server reads at once
        for much in (request(b"A: " + more + b"\r\n"), request(address=b"/" + more)):
            assert b"hello" not in await ask(port, much)

    serve(story)


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nA: ", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5])
def test_a_head_without_end_is_refused_long_before_it_fills_the_memory(start: bytes) -> None:
    async def story(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        sent = 0
        with suppress(ConnectionError):
            while sent < 50 * MAX_HEAD_BYTES and not reader.at_eof():
                writer.write(b"x" * 8192)
                await writer.drain()
                await asyncio.sleep(0)
                sent += 8192
        assert sent < 50 * MAX_HEAD_BYTES
        writer.close()

    serve(story)


@pytest.mark.parametrize("begun", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: a\r\n", b"\r\n\r\n"])
def test_a_head_that_does_not_come_to_its_end_is_not_waited_for(begun: bytes) -> None:
    async def story(port: int) -> None:
        answers = await asyncio.gather(*(ask(port, begun) for _ in range(40)))  # until the server closes
        assert len(answers) == 40

    serve(story, head_seconds=0.1)


def test_a_second_head_has_a_deadline_as_well() -> None:
    async def story(port: int) -> None:
        whole = request().replace(b"Connection: close\r\n", b"")
        assert (await ask(port, whole, b"\r\n")).count(b"hello") == 1
        assert (await ask(port, whole + whole, b"GET")).count(b"hello") == 2

    serve(story, head_seconds=0.1)


HELD = b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n"  # whose answer has begun, and ends when the test says so
REFUSED = b"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n"
SECOND = b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"GET /up HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
SOCKET = (
    b"GET /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        ([HELD, b"\0\0\0\r\n\r\n", LAST], ["/held"]),
        ([HELD, SECOND, b"\0\0\0\r\n\r\n", LAST], ["/held", "/second"]),
        ([HELD, CHUNKED, b"no length\r\n", LAST], ["/held"]),
        ([HELD, SOCKET, LAST], ["/held", "403"]),
        ([HELD, UPGRADE, LAST], ["/held", "/up", "/last"]),
        ([HELD, REFUSED, b"GET /body HTTP/1.1\r\nHost: a\r\n\r\nabcdefghi", LAST], ["/held", "/refused", "/last"]),
        ([REFUSED, b"GET /body HTTP/1.1\r\nHost: a\r\n\r\nabcdefghi", LAST], ["/refused", "/last"]),
        ([REFUSED.replace(b"Host", b"Expect: 100-continue\r\nHost"), LAST], ["/refused"]),
        ([CHUNKED, b"no length\r\n", LAST], ["400"]),
        ([b"\0\0\0\r\n\r\n", LAST], ["400"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_no_answer_is_taken_for_that_of_another_request(
    sent: list[bytes], answers: list[str], at_once: bool, run: Callable[..., object]
) -> None:
    """Send requests on one connection, some of which are refused; and read every answer."""

    async def story(port: int) -> None:
        held = asyncio.Event()
        HOLDING[:] = [held]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in [b"".join(sent)] if at_once else sent:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.005)  # mostly enough for a piece of its own: any other division has the same answers
        held.set()
        found = []
        with suppress(ConnectionError):  # what was sent after a refusal is not read
            while found[-1:] != ["400"] and (line := await reader.readline()):
                length = 0
                while (header := await reader.readline()).strip():
                    name, _, value = header.lower().partition(b":")
                    length = int(value) if name == b"content-length" else length
                body = (await reader.readexactly(length)).decode()
                found.append(body if line.startswith((b"HTTP/1.1 200", b"HTTP/1.1 413")) else line.split()[1].decode())
            await reader.read()
        writer.close()
        expected = [*answers, "400"]
        assert found == expected[: len(found)] != []  # or the end of the connection comes before the last

    serve(story, run)


def upgrade(head: bytes = b"", key: bytes = b"dGhlIHNhbXBsZSBub25jZQ==") -> bytes:
    asked = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key
    return b"GET / HTTP/1.1\r\nHost: a\r\n" + asked + b"\r\n" + head + b"\r\n"


@pytest.mark.parametrize(
    "head", [b"", b"Cookie: other=" + b"x" * 20_000 + b"\r\n", b"A: b\r\n" * 300, b"Content-Length: 9\r\n"]
)
def test_a_socket_is_answered_whatever_else_its_request_carries(head: bytes) -> None:
    async def story(port: int) -> None:
        assert b"403" in (await ask(port, upgrade(head))).partition(b"\r\n")[0]

    serve(story)


@pytest.mark.parametrize(
    "asked",
    [
        upgrade().replace(b"GET / ", b"GET /?x=" + b"x" * 9_000 + b" "),
        *(upgrade(name + b": " + b"x" * 9_000 + b"\r\n") for name in (b"User-Agent", b"Origin", b"Sec-WebSocket-Protocol")),
        upgrade(b"Cookie: " + COOKIE_PREFIX.encode() + b"1=" + b"x" * 9_000 + b"\r\n"),
        upgrade(b"".join(b"Sec-WebSocket-X%d: x\r\n" % number for number in range(140))),
    ],
    ids=lambda asked: asked[-60:].decode(),
)
def test_a_socket_that_would_wait_without_end_is_refused(asked: bytes) -> None:
    async def story(port: int) -> None:
        assert b"400" in (await ask(port, asked)).partition(b"\r\n")[0]

    serve(story)


def test_a_socket_gets_the_cookies_of_its_own_server_alone() -> None:
    headers = [(b"cookie", b"a=1; waymark_8050=b;c=d"), (b"x-more", b"x"), (b"origin", b"o"), (b"sec-websocket-key", b"k")]
    kept = [(b"cookie", b"waymark_8050=b"), (b"origin", b"o"), (b"sec-websocket-key", b"k")]
    assert list(protocol._select_socket_headers(headers)) == kept


@pytest.mark.parametrize(
    ("named", "wanted"),
    [
        (b"X-Forwarded-Groups: " + b"g" * (MAX_SOCKET_LINE_BYTES - 18) + b"\r\n", b"403"),  # of the app, which was asked
        (b"X-Forwarded-Groups: " + b"g" * (MAX_SOCKET_LINE_BYTES - 17) + b"\r\n", b"400"),
        (b"X-Forwarded_Groups: g\r\n" * (MAX_SOCKET_HEADERS - 10), b"403"),
        (b"X-Forwarded_Groups: g\r\n" * MAX_SOCKET_HEADERS, b"400"),
    ],
)
def test_headers_of_a_proxy_that_are_too_long_or_too_many_are_refused_and_not_cut(named: bytes, wanted: bytes) -> None:
    """The groups that a cut takes away would be those that make somebody a reader."""

    async def story(port: int) -> None:
        assert wanted in (await ask(port, upgrade(named))).partition(b"\r\n")[0]

    serve(story, proxy_headers=frozenset({b"x-forwarded-groups"}))


def test_a_handshake_keeps_the_headers_of_a_proxy_also_in_disguise() -> None:
    names = frozenset({b"x-forwarded-user"})
    given = [(b"cookie", b"x"), (b"x-forwarded-user", b"ann"), (b"x_forwarded-user", b"bob")]
    assert _select_proxy_headers(given, names) == given[1:]
