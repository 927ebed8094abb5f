"""The process that works and serves no page, until a signal ends it."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from server.serving import ENDING_SECONDS, count_allowed_connections, raise_file_limit

_log = logging.getLogger(__name__)


async def run_until_signal(start: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]) -> None:
    """Run `start`, wait for a signal to end, and `close`. A signal during the start ends it soon after."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await start()
        await ended.wait()
        # A second signal ends the process at once.
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)
    finally:
        await close()


@asynccontextmanager
async def answer_beside(asgi: ASGIApp, listener: socket.socket | None) -> AsyncIterator[None]:
    """Answer requests of monitoring programs on a socket until the end of the block."""
    if listener is None:
        yield
        return
    config = uvicorn.Config(
        asgi,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=count_allowed_connections(raise_file_limit()),
        timeout_graceful_shutdown=ENDING_SECONDS,
    )
    server = _QuietServer(config)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait({serving})
        if not serving.cancelled() and (error := serving.exception()) is not None:
            _log.error("the port of this worker failed: %r", error)


class _QuietServer(uvicorn.Server):
    """A server that leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
