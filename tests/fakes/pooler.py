"""A connection pooler before PostgreSQL. In transaction mode, each transaction may get another of its few sessions."""

import itertools
import select
import socket
import struct
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_NO_ENCRYPTION = {80877103, 80877104}  # requests for TLS and for GSSAPI
_BACKENDS = 4


class FakePooler:
    """Listens on a TCP port until the block ends; `path` is PostgreSQL's socket."""

    def __init__(self, path: Path, *, keeps_sessions: bool = False) -> None:
        self._path, self._keeps_sessions = str(path), keeps_sessions
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._idle: list[socket.socket] = []  # the session that was used last is used first
        self._opened: list[socket.socket] = []
        self._has_idle = threading.Condition()
        self._numbers = itertools.count(1_000_000)  # as PgBouncer, it gives numbers of its own for its sessions
        self._greeting = b""

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._opened:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._opened.append(client)
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            startup = _read_startup(client)
            with self._has_idle:
                if not self._greeting:
                    self._open_backends(startup)
            key = struct.pack("!ciii", b"K", 12, next(self._numbers), 0)
            client.sendall(self._greeting + key + b"Z\x00\x00\x00\x05I")
            while data := client.recv(65536):
                self._serve_transaction(client, data)
        except (OSError, EOFError, ValueError):  # ValueError: the block has ended, and closed it
            client.close()

    def _open_backends(self, startup: bytes) -> None:
        for _ in range(_BACKENDS):
            backend = socket.socket(socket.AF_UNIX)
            backend.connect(self._path)
            backend.sendall(startup)
            greeting = b""
            while (message := _read_message(backend))[:1] != b"Z":
                greeting += message if message[:1] != b"K" else b""
            self._greeting = greeting
            self._idle.append(backend)
            self._opened.append(backend)

    def _serve_transaction(self, client: socket.socket, data: bytes) -> None:
        """Lend a session until its transaction ends. What came while it was idle is dropped."""
        with self._has_idle:
            self._has_idle.wait_for(lambda: self._idle)
            backend = self._idle.pop()
        while select.select([backend], [], [], 0)[0]:
            _read_message(backend)
        backend.sendall(data)
        while True:
            ready, _, _ = select.select([backend, client], [], [])
            if client in ready:
                if not (more := client.recv(65536)):
                    raise EOFError
                backend.sendall(more)
            if backend in ready:
                message = _read_message(backend)
                client.sendall(message)
                if message[:1] == b"Z" and message[5:] == b"I" and not self._keeps_sessions:
                    break
        with self._has_idle:
            self._idle.append(backend)
            self._has_idle.notify()


def _read_startup(client: socket.socket) -> bytes:
    while True:
        head = _read_bytes(client, 8)
        size, code = struct.unpack("!ii", head)
        if code not in _NO_ENCRYPTION:
            return head + _read_bytes(client, size - 8)
        client.sendall(b"N")


def _read_message(connection: socket.socket) -> bytes:
    head = _read_bytes(connection, 5)
    return head + _read_bytes(connection, struct.unpack("!i", head[1:])[0] - 4)


def _read_bytes(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (part := connection.recv(count - len(data))):
            raise EOFError
        data += part
    return data
