"""A balancer before several servers: each request goes to the next of them, and a socket stays where it began.

It may be of a network that blocks WebSockets, in one of the ways of `BLOCKS`; have its servers below a path, which it takes
off or keeps; buffer responses; and close sockets on which nothing happens.
"""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import cycle
from types import TracebackType
from typing import Self

_END_OF_HEAD = b"\r\n\r\n"
OTHER_PROGRAM = (
    b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\nAnother program"
)
BLOCKS = {  # an answer to the handshake, or what happens instead
    "forbidden": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "misunderstood": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "a page of its own": b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nBlocked",
    "reset": b"",
    "no answer": None,
    "opened and silent": None,
}


class Balancer:
    """Listens on construction, on a thread of its own. The servers are told before the first request."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}  # of the requests, by the server's port
        self.block: str | None = None  # of WebSockets that begin from now on
        self.delay = 0.0  # of the handshakes of WebSockets, in seconds
        self.sockets = 0  # that got through
        self.below = "/"  # all else on this host is another program's
        self.strips = False  # the path
        self.buffers = False  # each response until it is whole
        self.idle_seconds: float | None = None  # after which it closes a socket
        self.closed = 0  # sockets, for being idle
        self._next: cycle[int] = cycle(())
        self._serving: set[asyncio.Task[None]] = set()  # the loop itself holds none whose client has stopped sending
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._begin, "127.0.0.1", 0), self._loop)
        self._server = listening.result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, ports: Sequence[int]) -> None:
        self._next = cycle(ports)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request: the server is asked to close the connection after it."""
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(_END_OF_HEAD)
            method, target, rest = head.split(b" ", 2)
            if not target.startswith(self.below.encode()):
                writer.write(OTHER_PROGRAM)
                return
            head = b" ".join([method, b"/" + target.removeprefix(self.below.encode()) if self.strips else target, rest])
            if _is_of_socket(head) and self.block and self.block != "opened and silent":
                await _block(BLOCKS[self.block], reader, writer)
                return
            await asyncio.sleep(self.delay * _is_of_socket(head))
            port = next(self._next)
            self.counts[port] = self.counts.get(port, 0) + 1
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(to_writer):
                to_writer.write(_ask_to_close(head))
                if _is_of_socket(head) and self.block:
                    writer.write(await to_reader.readuntil(_END_OF_HEAD))
                    await _block(None, reader, writer)
                    return
                self.sockets += _is_of_socket(head)
                await self._pass_on(reader, writer, to_reader, to_writer, is_of_socket=_is_of_socket(head))

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        to_reader: asyncio.StreamReader,
        to_writer: asyncio.StreamWriter,
        *,
        is_of_socket: bool,
    ) -> None:
        if self.buffers and not is_of_socket:
            asking = asyncio.create_task(_pump(reader, to_writer))
            writer.write(await to_reader.read())
            await writer.drain()
            asking.cancel()
            return
        moved = asyncio.Event()
        tasks = {asyncio.create_task(_pump(reader, to_writer, moved)), asyncio.create_task(_pump(to_reader, writer, moved))}
        if is_of_socket and self.idle_seconds is not None:
            tasks.add(asyncio.create_task(self._wait_until_idle(moved, self.idle_seconds)))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _wait_until_idle(self, moved: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            while True:
                moved.clear()
                await asyncio.wait_for(moved.wait(), seconds)
        self.closed += 1

    async def _close(self) -> None:
        self._server.close()
        own = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not own]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


def _is_of_socket(head: bytes) -> bool:
    return b"\r\nupgrade:" in head.lower()


async def _block(answer: bytes | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a handshake; without an answer, wait until the browser gives up."""
    if answer is None:
        while await reader.read(65_536):
            pass
    elif answer == b"":
        writer.transport.abort()
    else:
        writer.write(answer)
    writer.close()


def _ask_to_close(head: bytes) -> bytes:
    lines = head.removesuffix(_END_OF_HEAD).split(b"\r\n")
    if _is_of_socket(head):
        return head
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"Connection: close"]) + _END_OF_HEAD


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, moved: asyncio.Event | None = None) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            if moved is not None:
                moved.set()
            writer.write(data)
            await writer.drain()
