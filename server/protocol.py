"""HTTP/1.1 by uvicorn and h11, with a deadline for the head of each request, and a limit on headers of handshakes.

h11 bounds the head in bytes (`MAX_HEAD_BYTES`), and answers simultaneous requests in their order. Slow readers, slow bodies
and floods are for the proxy in front of a public server (see deploy/).
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.session.session_authentication import COOKIE_PREFIX

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 10.0
# Beyond these limits, websockets waits forever.
MAX_SOCKET_LINE_BYTES = 8_000
MAX_SOCKET_HEADERS = 100
_SOCKET_HEADERS = (b"host", b"origin", b"user-agent", b"accept-language", b"upgrade", b"connection")


class HttpProtocol(H11Protocol):
    """uvicorn's protocol. It closes a connection if the head of a request takes longer than `head_seconds`.

    `proxy_headers` are the proxy's headers with a person's name.
    """

    def __init__(
        self, *args: Any, proxy_headers: frozenset[bytes] = frozenset(), head_seconds: float = HEAD_SECONDS, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._proxy_headers = proxy_headers
        self._head_seconds = head_seconds
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self._head_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._clear_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._head_seconds, self.transport.close)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to the socket's protocol, with only the headers for a handshake."""
        self._clear_deadline()
        named = _select_proxy_headers(self.headers, self._proxy_headers)
        self.headers = [*_select_socket_headers(self.headers), *named]
        longest = max(len(event.target), *(len(name) + len(value) for name, value in self.headers))
        # They are not cut: a part of a proxy's groups could give another role.
        if longest > MAX_SOCKET_LINE_BYTES or len(self.headers) > MAX_SOCKET_HEADERS:
            self.send_400_response("The request is too large.")
            return
        super().handle_websocket_upgrade(event)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _select_socket_headers(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """Select the headers for a socket's handshake, and Waymark's own cookies.

    All cookies of this host together may be too long a line for websockets. It also waits for a body.
    """
    for name, value in headers:
        if name == b"cookie":
            pairs = (pair.strip() for pair in value.split(b";"))
            yield name, b"; ".join(pair for pair in pairs if pair.startswith(COOKIE_PREFIX.encode()))
        elif name in _SOCKET_HEADERS or name.startswith(b"sec-websocket-"):
            yield name, value


def _select_proxy_headers(headers: Iterable[tuple[bytes, bytes]], names: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """Select the headers that name a person, also as others read their names. A repeated header is refused later."""
    return [(name, value) for name, value in headers if name.replace(b"_", b"-") in names]
