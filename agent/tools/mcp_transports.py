"""Connections to other programs, over a pipe or over HTTP, that read every answer with limits.

They replace the library's reading of bytes: it keeps a line of any length, and parses it on the event loop.
"""

import json
import os
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import httpx
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage

from agent.certificates import load_certificates
from agent.tools.mcp_messages import (
    BROKEN_CODE,
    MAX_EVENT_LINES,
    MAX_LINES,
    MAX_MESSAGE_SECONDS,
    UNREADABLE_CODE,
    BoundedBytes,
    Budget,
    EndlessMessageError,
    LineSplitter,
    UnreadableMessageError,
    encode_message,
    is_notification,
    make_error,
    read_message,
)

MAX_EXIT_SECONDS = 2.0  # of a program whose input was closed
HTTP_TIMEOUT = httpx.Timeout(30.0, read=300.0)  # a server may hold a stream open between two events
JSON, EVENTS = "application/json", "text/event-stream"
_VARIABLE = re.compile(r"\$\{(\w+)\}")

Messages = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_program(command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[Messages]:
    """Start a program, and yield its messages and the way to it; the program ends with the context. Raises OSError."""
    own = {
        name: _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0]), value) for name, value in environment.items()
    }
    process = await anyio.open_process(
        [command, *arguments], env=get_default_environment() | own, stderr=None, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_lines, process.stdout, incoming)
            tasks.start_soon(_write_lines, process.stdin, outgoing)
            try:
                yield received, sent
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):  # a program must not outlive its session
            await _end_program(process)
        for stream in (incoming, received, sent, outgoing):
            stream.close()


async def _read_lines(output: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    splitter = LineSplitter(Budget(MAX_LINES))
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, EndlessMessageError):
        async with incoming:  # the session learns by the closing that the program ended
            async for data in _read_until_late(output, lambda: splitter.open_line):
                for line in splitter.feed(data):
                    if line.start.strip() and (found := _read_line(line)) is not None:
                        await incoming.send(found)


async def _read_until_late(pieces: AsyncIterable[bytes], get_open_message: Callable[[], int | None]) -> AsyncIterator[bytes]:
    """Yield the pieces, while the message that has begun is not older than MAX_MESSAGE_SECONDS.

    `get_open_message` returns its number; None between two messages. Raises `EndlessMessageError`.
    """
    waiting, number, start = aiter(pieces), None, 0.0
    while True:
        if (now_open := get_open_message()) != number:
            number, start = now_open, anyio.current_time()
        try:
            with anyio.fail_after(None if number is None else start + MAX_MESSAGE_SECONDS - anyio.current_time()):
                data = await anext(waiting)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise EndlessMessageError("This message does not end.") from None
        yield data


def _read_line(line: BoundedBytes) -> SessionMessage | Exception | None:
    """Return the message of a line, or why there is none; None for a notification."""
    try:
        message = read_message(line)
        return None if is_notification(message) else SessionMessage(JSONRPCMessage.model_validate(message))
    except ValueError as error:  # also the library's own for what is no message
        return error


async def _write_lines(program_input: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the reader notices that the program ended
        async for each in outgoing:
            await program_input.send(each.message.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n")


async def _end_program(process: Process) -> None:
    """Close the program's input, and end it with its children if it does not end by itself, as the protocol asks."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(MAX_EXIT_SECONDS):
        await process.wait()
    if process.returncode is None:
        await terminate_posix_process_tree(process)
    await process.aclose()


@asynccontextmanager
async def open_address(url: str, headers: Mapping[str, str]) -> AsyncIterator[Messages]:
    """Yield the messages of a server at an address, and the way to it."""
    plain = {"Accept-Encoding": "identity"}  # a packed body would be read without a limit
    hooks: dict[str, list[Any]] = {"response": [partial(_limit_response, Budget(MAX_EVENT_LINES))]}
    async with (
        httpx.AsyncClient(
            verify=load_certificates(), headers={**headers, **plain}, timeout=HTTP_TIMEOUT, event_hooks=hooks
        ) as client,
        streamable_http_client(url, http_client=client) as (received, sent, _),
    ):
        yield received, sent


async def _limit_response(budget: Budget, response: httpx.Response) -> None:
    """Replace the body of an answer by one that is read with limits, and that always answers its request."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    has_answer = response.is_success and response.status_code != httpx.codes.ACCEPTED
    request_id = _find_request_id(response.request) if has_answer else None
    kind = response.headers.get("content-type", "").lower().partition(";")[0]
    is_known = kind in (JSON, EVENTS) and response.headers.get("content-encoding", "identity") == "identity"
    if has_answer and not is_known:
        response.headers.update({"content-encoding": "identity", "content-type": JSON})
    response.headers.pop("content-length", None)
    response.stream = _LimitedBody(
        response.stream,
        request_id,
        budget,
        is_events=is_known and kind == EVENTS,
        is_ignored=not (has_answer and is_known),
    )


def _find_request_id(request: httpx.Request) -> int | str | None:
    """Return the id of the call in a request; None for a notification and for the stream that a GET opens."""
    message = json.loads(request.content) if request.method == "POST" else {}
    return message.get("id") if "method" in message else None


class _LimitedBody(httpx.AsyncByteStream):
    """The body of an answer: each message in it within the limits, and one that answers the request in any case."""

    def __init__(
        self,
        body: httpx.AsyncByteStream,
        request_id: int | str | None,
        budget: Budget,
        *,
        is_events: bool,
        is_ignored: bool,
    ) -> None:
        self._body = body
        self._budget = budget
        self._request_id = request_id
        self._is_events = is_events
        self._is_ignored = is_ignored
        self._is_answered = request_id is None
        self._can_resume = False  # the library opens the stream again after an event that has an id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        code = UNREADABLE_CODE
        try:
            async for piece in self._read_events() if self._is_events else self._read_whole():
                yield piece
        except httpx.TransportError:
            code = BROKEN_CODE
        except EndlessMessageError:
            self._can_resume = False
        if not (self._is_answered or self._can_resume):
            yield self._frame(make_error(self._request_id, code))

    async def aclose(self) -> None:
        await self._body.aclose()

    async def _read_whole(self) -> AsyncIterator[bytes]:
        whole = BoundedBytes()
        if not self._is_ignored:
            async for data in _read_until_late(self._body, lambda: 0 if whole.size else None):
                whole.add(data)
            self._budget.take(whole)
            yield self._read(whole)

    async def _read_events(self) -> AsyncIterator[bytes]:
        splitter, message, count = LineSplitter(self._budget), BoundedBytes(), 0

        def get_open_message() -> int | None:
            return count if message.size else splitter.open_line

        async for data in _read_until_late(self._body, get_open_message):
            for line in splitter.feed(data):
                text = line.start.rstrip(b"\r")
                if text.startswith(b"data:"):
                    message.join(line, skipped=len(b"data:"))
                elif not text and message.size:
                    yield self._read(message)
                    message, count = BoundedBytes(), count + 1
                elif not line.is_cut:
                    self._can_resume = self._can_resume or text.startswith(b"id:")
                    yield text + b"\n"

    def _read(self, found: BoundedBytes) -> bytes:
        """Return a message of the body; nothing for a notification, one that cannot be read, or one that answers another
        request."""
        try:
            message = read_message(found)
        except UnreadableMessageError:
            return b""
        if is_notification(message):
            return b""
        if self._request_id is not None and ("result" in message or "error" in message):
            if str(message.get("id")) != str(self._request_id):
                return b""  # the library would take it for the end of this request
            self._is_answered = True
        return self._frame(message)

    def _frame(self, message: dict[str, Any]) -> bytes:
        data = encode_message(message)
        return b"data: " + data + b"\n\n" if self._is_events else data
