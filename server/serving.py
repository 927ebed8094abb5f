"""The process that serves: its listening socket, and uvicorn until a signal ends it."""

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from server.bounded_log import WarningLimit
from server.protocol import MAX_HEAD_BYTES, HttpProtocol

MAX_OPEN_FILES = 8_192
# They are for the database, providers, the programs of tools, and served files.
RESERVED_FILES = 256
# The page sends a receipt over its socket.
MAX_SOCKET_MESSAGE_BYTES = 16_384
# After Ctrl+C, requests in progress get this time before they are cancelled.
ENDING_SECONDS = 2
# The same after SIGTERM: a deployment must not cut a person's upload or import.
REPLACEMENT_SECONDS = 10


def raise_file_limit() -> int:
    """Let this process open up to MAX_OPEN_FILES files, or as many as the system allows. Return the number."""
    current, allowed = (
        MAX_OPEN_FILES if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    wanted = min(allowed, MAX_OPEN_FILES)
    if current < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            return wanted
    return min(current, MAX_OPEN_FILES)


def count_allowed_connections(files: int) -> int:
    """Return how many connections leave enough of these files for everything else."""
    return max(files - RESERVED_FILES, files // 2)


def open_listener(host: str, port: int) -> socket.socket:
    """Open a listening socket on a port; 0 takes any free port. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def serve_until_signal(
    asgi: ASGIApp,
    listener: socket.socket,
    announce: Callable[[], None],
    finish_start: Callable[[], Awaitable[None]],
    proxy_headers: frozenset[bytes] = frozenset(),
) -> None:
    """Serve until the process receives a signal to end. `announce` is called once the page can be opened.

    `finish_start` runs beside the page from then on. Its error ends the server, and is raised.
    """
    config = _configure(asgi, proxy_headers)
    uvicorn_log = logging.getLogger("uvicorn.error")
    uvicorn_log.addFilter(WarningLimit(uvicorn_log))
    uvicorn_log.addFilter(_is_no_cancellation)
    server = _AnnouncingServer(config, announce, finish_start)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve([listener]))
    if server.failure is not None:
        raise server.failure


def _configure(asgi: ASGIApp, proxy_headers: frozenset[bytes]) -> uvicorn.Config:
    return uvicorn.Config(
        asgi,
        http=partial(HttpProtocol, proxy_headers=proxy_headers),  # type: ignore[arg-type]  # called like the class
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=count_allowed_connections(raise_file_limit()),
        # The page is usually on the same machine, where compression costs more than it saves.
        ws_per_message_deflate=False,
        # uvicorn's own handlers would write lines without a time, and without escaping quoted texts.
        log_config=None,
        log_level="warning",
        # Otherwise every client on this machine could claim an address and a scheme.
        proxy_headers=False,
        # An address may contain the launch token.
        access_log=False,
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
        server_header=False,
        timeout_graceful_shutdown=ENDING_SECONDS,
        lifespan="on",
    )


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Leave out the traceback of a request cancelled by the end of the server: another line counts these."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class _AnnouncingServer(uvicorn.Server):
    """A server with a callback for the time when the page can be opened."""

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], finish_start: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._finish_start = finish_start
        # `finish_start` raised this error.
        self.failure: Exception | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM:
            self.config.timeout_graceful_shutdown = REPLACEMENT_SECONDS
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()
        # The task ends with the loop.
        self._background = asyncio.create_task(self._run_background())

    async def _run_background(self) -> None:
        try:
            await self._finish_start()
        except Exception as error:  # noqa: BLE001  (raised again once the server has ended)
            self.failure, self.should_exit = error, True
