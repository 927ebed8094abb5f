"""HTTP before anybody has signed in: a bounded head, and a deadline for each part of a request and for its answer.

uvicorn's own protocol collects a head of any size, and waits without end for a request, and for a client that does not read.
"""

import asyncio
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.handshakes import HandshakeQueue
from server.request_turns import RequestTurns
from server.session.session_authentication import COOKIE_PREFIX

MAX_HEAD_BYTES = 65_536  # of the address and the headers of one request
MAX_HEAD_SECONDS = 10.0  # from the connection, or from a request's first byte, to the end of its headers
MAX_BODY_SECONDS = 120.0  # from there to the end of its body: an import of 10 MB over a slow line
MAX_UNREAD_SECONDS = 30.0  # in which a client takes MIN_READ_BYTES of an answer that waits for it, or the rest
MIN_READ_BYTES = 10_000
MAX_PROXY_HEADERS = 4  # of a handshake: three are right
MAX_PROXY_HEADER_BYTES = 4_000
_TOO_MANY_SOCKETS = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_SOCKET_HEADERS = (b"host", b"origin", b"user-agent", b"accept-language", b"upgrade", b"connection")


class HeadTooLargeError(httptools.HttpParserError):
    """A request has more headers than any browser sends."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits. A request over a limit is refused, and its connection is closed.

    `handshakes` and `turns` are one queue each for all connections of a server. A connection beyond `max_connections` is
    closed at once.
    `proxy_headers` are those in which a proxy names a person.
    """

    def __init__(
        self,
        *args: Any,
        handshakes: HandshakeQueue,
        turns: RequestTurns,
        max_connections: int,
        proxy_headers: frozenset[bytes] = frozenset(),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._handshakes = handshakes
        self._turns = turns
        self._max_connections = max_connections
        self._proxy_headers = proxy_headers
        self._head_bytes = 0
        self._is_reading_head = False
        self._deadline: asyncio.TimerHandle | None = None
        self._reader_watch: asyncio.TimerHandle | None = None
        self._unread_bytes = 0  # when the watch began
        self._answered: RequestResponseCycle | None = None  # the request that is being answered
        self._is_ending = False  # the answers under way are the last: nothing more is read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            self.logger.warning("A connection was closed: too many are open at once.")
            transport.abort()
            return
        self._set_deadline(MAX_HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        self._end_reader_watch()
        self._give_up_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._set_deadline(MAX_HEAD_SECONDS)
        super().data_received(data)
        if self._is_reading_head:  # the parser keeps an unfinished header to itself
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_reading_head, self._head_bytes = True, 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_reading_head = False
        self._set_deadline(MAX_BODY_SECONDS)
        super().on_headers_complete()
        if self.expect_100_continue and self.cycle is not None:
            self.cycle.keep_alive = False  # refused before its body, the client may send another request in its place

    def on_message_complete(self) -> None:
        self._clear_deadline()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._end_reader_watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be read, and close the connection: after the answers to requests before it."""
        broken = self.cycle if self.cycle is not None and self.cycle.more_body else None  # its head could be read
        if self.pipeline and self.pipeline[0][0] is broken:
            self.pipeline.popleft()
        if self._is_answering and self._answered is not broken:
            self._end_after_answers()
        elif self._is_answering and broken is not None and broken.response_started:
            self._close()
        else:
            super().send_400_response(msg)
            self._watch_reader()

    def _unsupported_upgrade_warning(self) -> None:
        """Take no more requests: the parser has dropped the bytes after this one."""
        super()._unsupported_upgrade_warning()
        self._end_after_answers()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def handle_websocket_upgrade(self) -> None:
        """Wait for the handshake's turn, and read nothing meanwhile. A socket begins on no connection with open answers."""
        if self._is_answering:
            self._end_after_answers()
            return
        self._clear_deadline()
        named = _select_proxy_headers(self.scope["headers"], self._proxy_headers)
        if len(named) > MAX_PROXY_HEADERS or any(len(value) > MAX_PROXY_HEADER_BYTES for _, value in named):
            self._refuse()  # half of its groups would be another role
            return
        self.transport.pause_reading()
        headers = list(_select_socket_headers(self.scope["headers"]))
        self.scope["headers"] = headers + named
        self._handshakes.add(
            b"".join(value for name, value in headers if name == b"cookie") + b"".join(value for _, value in named), self
        )

    @property
    def is_lost(self) -> bool:
        return self.transport.is_closing()

    def begin(self) -> None:
        """Begin the handshake of a socket."""
        self.transport.resume_reading()
        self._end_reader_watch()  # the socket's protocol has its own
        super().handle_websocket_upgrade()
        self.loop.call_later(MAX_HEAD_SECONDS, _close_without_handshake, self.transport)

    def refuse(self) -> None:
        """Refuse the handshake of a socket."""
        self.logger.warning("A socket was refused: too many open at once.")
        if not self.is_lost:
            self.transport.write(_TOO_MANY_SOCKETS)
            self._close()

    def _count(self, size: int) -> None:
        """Count bytes that arrived in one piece, also of the fields after a body."""
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise HeadTooLargeError

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(seconds, self._close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        browser = b"".join(value for name, value in cycle.scope["headers"] if name == b"cookie")
        self._turns.add(browser, partial(super()._start_asgi_task, cycle, app))

    @property
    def _is_answering(self) -> bool:
        return self._answered is not None and not self._answered.response_complete

    def _end_after_answers(self) -> None:
        """Close the connection after the last answer to requests that were read, and read no more."""
        self._is_ending, self._is_reading_head = True, False
        self._clear_deadline()
        last = self.pipeline[0][0] if self.pipeline else self._answered
        if last is not None:
            last.keep_alive = False

    def _give_up_requests(self) -> None:
        """Tell the request that is being answered, too: uvicorn tells the last one, and the others would write on."""
        self.pipeline.clear()
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def _close(self) -> None:
        self.transport.close()  # once the client has read all that waits
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Drop the connection if too few of the waiting bytes are read in time. No more is written meanwhile."""
        if self._reader_watch is None:
            self._unread_bytes = self.transport.get_write_buffer_size()
            self._reader_watch = self.loop.call_later(MAX_UNREAD_SECONDS, self._check_reader)

    def _check_reader(self) -> None:
        self._reader_watch = None
        unread = self.transport.get_write_buffer_size()
        if unread and self._unread_bytes - unread < MIN_READ_BYTES:
            _drop(self.transport)
        elif unread:
            self._watch_reader()

    def _end_reader_watch(self) -> None:
        if self._reader_watch is not None:
            self._reader_watch.cancel()
            self._reader_watch = None

    def _refuse(self) -> None:
        self._clear_deadline()
        self._is_reading_head = False
        if self.transport is not None and not self.transport.is_closing():
            self.send_400_response("The request is too large.")


def _select_socket_headers(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """Select the headers that a socket's handshake needs, and of the cookies those of Waymark.

    websockets waits without end after a line of 8 kB, as all cookies of this host may be, after 128 headers, and for a body.
    """
    for name, value in headers:
        if name == b"cookie":
            pairs = (pair.strip() for pair in value.split(b";"))
            yield name, b"; ".join(pair for pair in pairs if pair.startswith(COOKIE_PREFIX.encode()))
        elif name in _SOCKET_HEADERS or name.startswith(b"sec-websocket-"):
            yield name, value


def _select_proxy_headers(headers: Iterable[tuple[bytes, bytes]], names: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """Select the headers that name a person, and those that others read as them: more than one of each is refused."""
    return [(name, value) for name, value in headers if name.replace(b"_", b"-") in names]


def _close_without_handshake(transport: asyncio.Transport) -> None:
    if getattr(transport.get_protocol(), "handshake_complete", True):
        return
    if transport.get_write_buffer_size():  # of an answer before it: nobody would wait for its reader any more
        _drop(transport)
    else:
        transport.close()


def _drop(transport: asyncio.Transport) -> None:
    """End the connection at once. Without SO_LINGER the kernel would go on offering its own buffer, which has megabytes."""
    opened = transport.get_extra_info("socket")
    if opened is not None:
        with suppress(OSError):  # it has ended by itself
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
