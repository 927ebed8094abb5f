"""Reading from models in larger pieces where many of them answer at once.

To wake up for a token, to read it and to tell everybody of it costs the same as for four tokens. So what streams is read
at moments that all streams share and that are the farther apart the more of them there are; a stream that is alone is read
as it comes.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2
from openai import DefaultAsyncHttpxClient, Timeout

PAUSE_SECONDS_PER_STREAM = 0.008  # s between two reads, for each other stream
MAX_READ_PAUSE_SECONDS = 0.3  # s
MAX_READY_SECONDS = 0.002  # s; what is read in less has been there before
MAX_ENDING_SECONDS = (
    1.0  # s for the rest of a response whose stream is over; a connection that is read to its end is used again
)

_stream_count = 0  # that are read now, in this process


@contextmanager
def count_stream() -> Iterator[None]:
    """While a stream is read."""
    global _stream_count  # noqa: PLW0603  all connections of the process share its processor
    _stream_count += 1
    try:
        yield
    finally:
        _stream_count -= 1


def make_paced_client(timeout: Timeout) -> httpx2.AsyncClient:
    """The HTTP client that OpenAI's own would use, whose connections are read at shared moments."""
    client = DefaultAsyncHttpxClient(timeout=timeout)
    transport = client._transport  # there is no other way in that leaves a proxy of the environment in its place
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    transport._pool._network_backend = _PacedBackend(transport._pool._network_backend)
    return client


class _PacedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(self, *to: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _PacedConnection(await self._backend.connect_tcp(*to, **how))

    async def connect_unix_socket(self, *to: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _PacedConnection(await self._backend.connect_unix_socket(*to, **how))

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _PacedConnection(httpcore2.AsyncNetworkStream):
    """After a read that waited, the next one pauses, so that more has come. Never twice without a wait: a piece that is at
    hand, as the second of two records of TLS, is read at once, and a stream cannot fall behind.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._has_waited = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  as the library has it
        loop = asyncio.get_running_loop()
        pause = min((_stream_count - 1) * PAUSE_SECONDS_PER_STREAM, MAX_READ_PAUSE_SECONDS)
        if self._has_waited and pause > 0:
            await asyncio.sleep(pause - loop.time() % pause)
        begun = loop.time()
        part = await self._stream.read(max_bytes, timeout)
        self._has_waited = loop.time() - begun > MAX_READY_SECONDS
        return part

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  as the library has it
        await self._stream.write(buffer, timeout)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  as the library has it
    ) -> httpcore2.AsyncNetworkStream:
        return _PacedConnection(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


async def gather_ready(parts: AsyncIterator[bytes], end: re.Pattern[bytes]) -> AsyncIterator[bytes]:
    """The same bytes; what comes without a wait between is one. What `end` is found in is the last."""
    come: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    async def read_parts() -> None:
        try:
            async for part in parts:
                come.put_nowait(part)
        except Exception as error:  # noqa: BLE001  (of any kind: it is raised below)
            come.put_nowait(error)
        finally:
            come.put_nowait(None)

    reading = asyncio.create_task(read_parts(), name="reading from a model")
    try:
        last: bytes | Exception | None = b""
        while isinstance(last, bytes):
            pieces = []
            last = await come.get()
            while isinstance(last, bytes):
                pieces.append(last)
                if come.empty():
                    break
                last = come.get_nowait()
            if whole := b"".join(pieces):
                if end.search(whole):
                    await asyncio.wait({reading}, timeout=MAX_ENDING_SECONDS)
                    reading.cancel()
                yield whole
        if isinstance(last, Exception):
            raise last
    finally:
        reading.cancel()
        await asyncio.wait({reading})
