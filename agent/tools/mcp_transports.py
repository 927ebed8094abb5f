"""Connections to other programs, over a pipe or over HTTP: the library's transports, with limits in between.

The library accepts a line or a body of any length, and reads it on the event loop.
"""

import codecs
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from agent.certificates import load_certificates
from agent.tools.mcp_limits import MAX_MESSAGE_BYTES, Allowance, MessageReader

# A server may hold a stream open between two events.
HTTP_TIMEOUT = httpx2.Timeout(30.0, read=300.0)
JSON, EVENTS = "application/json", "text/event-stream"
_ENCODING = "limited_utf_8"
_UNREADABLE = b"beyond a limit\n"
_VARIABLE = re.compile(r"\$\{(\w+)\}")

# The library's own log messages hold text from servers.
for _name in ("mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def open_program(command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Transport:
    """Start a program, which ends with the context. Raises OSError."""
    own = {
        name: _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0]), value) for name, value in environment.items()
    }
    parameters = StdioServerParameters(
        command=command, args=list(arguments), env=own, encoding=_ENCODING, encoding_error_handler="replace"
    )
    return stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)


class _LimitedDecoder(codecs.IncrementalDecoder):
    """Decodes whole lines of a program. A line beyond a limit becomes a line that is no message."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._reader = MessageReader(b"\n", Allowance())

    # Only bytes arrive here.
    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        lines = (_UNREADABLE if line is None else line for line in self._reader.feed(data))
        return b"".join(line for line in lines if not line.isspace()).decode(errors=self.errors)


def _find_encoding(name: str) -> codecs.CodecInfo | None:
    """Return the encoding by which the library reads a program's output. It is the only place for a limit of its lines."""
    if name != _ENCODING:
        return None
    return codecs.CodecInfo(codecs.utf_8_encode, codecs.utf_8_decode, incrementaldecoder=_LimitedDecoder, name=name)


codecs.register(_find_encoding)


@asynccontextmanager
async def open_address(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Yield the messages of a server at an address, and the stream to it."""
    async with (
        httpx2.AsyncClient(
            verify=load_certificates(),
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=HTTP_TIMEOUT,
            event_hooks={"response": [partial(_limit_response, Allowance())]},
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


async def _limit_response(allowance: Allowance, response: httpx2.Response) -> None:
    """Limit the body of an answer while it arrives unpacked, since a packed body would grow behind the limits.

    Refusals with 400 or 404 may hold a message. Other refusals end the session, so the log names the status. Raises
    `HTTPStatusError`.
    """
    kind = response.headers.get("content-type", "").lower().partition(";")[0]
    may_hold_message = kind == JSON and response.status_code in (httpx2.codes.BAD_REQUEST, httpx2.codes.NOT_FOUND)
    if response.is_error and response.request.method == "POST" and not may_hold_message:
        response.raise_for_status()
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.headers.pop("content-encoding", None)
    # JSON never holds a zero byte.
    reader = MessageReader(b"\n\n" if kind == EVENTS else b"\0", allowance)
    response.stream = _LimitedBody(response.stream, reader)


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer. It ends with `StreamError` at a message beyond the limits."""

    def __init__(self, body: httpx2.AsyncByteStream, reader: MessageReader) -> None:
        self._body, self._reader = body, reader

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._body:
            for message in self._reader.feed(data):
                yield _require(message)
        yield _require(self._reader.finish())

    async def aclose(self) -> None:
        await self._body.aclose()


def _require(message: bytes | None) -> bytes:
    if message is None:
        raise httpx2.StreamError("This message is beyond a limit.")
    return message
