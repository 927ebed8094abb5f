"""OpenAI's HTTP client with connections that are read at an app's shared moments."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import anyio._backends._asyncio  # noqa: F401  (else in the first request, for 15 ms of the event loop)
import httpcore2
import httpx2
from openai import DefaultAsyncHttpxClient, Timeout

from agent.certificates import load_certificates
from agent.models import other_bodies
from agent.models.pacing import StreamPacer

MAX_REFUSAL_BYTES = 1_000_000
MAX_READY_SECONDS = 0.002  # s; a read that takes less had its bytes at hand


def make_paced_client(timeout: Timeout, pacer: StreamPacer) -> httpx2.AsyncClient:
    """Return the HTTP client that OpenAI's own would use, with connections that are read at the pacer's moments.

    It follows no redirect: that would carry the conversation, and Azure's key, to any host.
    """
    hooks = {"response": [_limit_body]}
    client = DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, verify=load_certificates(), event_hooks=hooks)
    transport = client._transport  # every other way in ignores a proxy of the environment
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    transport._pool._network_backend = _PacedBackend(transport._pool._network_backend, pacer)
    return client


async def _limit_body(response: httpx2.Response) -> None:
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    max_bytes = other_bodies.MAX_STREAM_BYTES if response.is_success else MAX_REFUSAL_BYTES
    response.stream = _ShortStream(response.stream, max_bytes)


class _ShortStream(httpx2.AsyncByteStream):
    """The beginning of a body. The client reads whole bodies of refusals and answers, and some have no end."""

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            yield part
            size += len(part)
            if size > self._max_bytes:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


class _PacedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, backend: httpcore2.AsyncNetworkBackend, pacer: StreamPacer) -> None:
        self._backend = backend
        self._pacer = pacer

    async def connect_tcp(self, *to: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _PacedConnection(await self._backend.connect_tcp(*to, **how), self._pacer)

    async def connect_unix_socket(self, *to: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _PacedConnection(await self._backend.connect_unix_socket(*to, **how), self._pacer)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _PacedConnection(httpcore2.AsyncNetworkStream):
    """A connection that keeps a piece for which it has waited until the next moment, and joins the later pieces to it.

    A piece at hand, such as the second of two records of TLS, is returned at once, so a stream cannot fall behind.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream, pacer: StreamPacer, *, gives_records: bool = False) -> None:
        self._stream = stream
        self._pacer = pacer
        self._gives_records = gives_records  # one by one, as TLS does: a short read says nothing of what else is at hand
        self._reads = 0  # since the last write: of one answer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  as the library has it
        loop = asyncio.get_running_loop()
        begun = loop.time()
        part = await self._stream.read(max_bytes, timeout)
        self._reads += 1
        pause = self._pacer.find_pause(self._reads)
        is_head = self._reads == 1  # it waits for the model, and its text is still to come
        if not part or pause <= 0 or is_head or loop.time() - begun <= MAX_READY_SECONDS:
            return part
        await self._pacer.wait_for_moment(pause)
        return part + await self._read_ready(max_bytes - len(part))

    async def _read_ready(self, max_bytes: int) -> bytes:
        """Return the pieces at hand. A failure is left to the next read: it comes again."""
        parts, part = [b""], b""
        with contextlib.suppress(httpcore2.ReadTimeout, httpcore2.ReadError):
            while max_bytes > 0 and (part := await self._stream.read(max_bytes, MAX_READY_SECONDS)):
                parts.append(part)
                max_bytes -= len(part)
                if not self._gives_records:
                    break  # a further read would end by its time: a third of the cost of a moment
        return b"".join(parts)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  as the library has it
        self._reads = 0
        await self._stream.write(buffer, timeout)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  as the library has it
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _PacedConnection(stream, self._pacer, gives_records=True)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
