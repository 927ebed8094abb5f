"""An authenticating proxy: it passes on the requests of whom the cookie `person` names, and says who that is."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OWN_HEADERS = re.compile(rb"\r\n(x-forwarded-user|x-waymark-proxy-secret):[^\r]*", re.IGNORECASE)
PERSON = re.compile(rb"\r\ncookie:[^\r]*\bperson=(\w+)", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class AuthProxy:
    """Listens from its start on; the server behind it may start later."""

    def __init__(self, upstream_port: int, secret: str) -> None:
        self._upstream_port, self._secret = upstream_port, secret
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        async def end_tasks() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end_tasks(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, to_upstream = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        answering = asyncio.create_task(_copy(upstream, writer))
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    to_upstream.write(self._name_person(head))
                    if b"\r\nupgrade: websocket" in head.lower():
                        await _copy(reader, to_upstream)
                        return
                    length = LENGTH.search(head)
                    to_upstream.write(await reader.readexactly(int(length[1]) if length else 0))
        finally:
            answering.cancel()
            for each in (writer, to_upstream):
                each.close()

    def _name_person(self, head: bytes) -> bytes:
        person = PERSON.search(head)
        headers = f"\r\nX-Waymark-Proxy-Secret: {self._secret}".encode()
        headers += b"\r\nX-Forwarded-User: " + person[1] if person else b""
        return OWN_HEADERS.sub(b"", head)[:-4] + headers + b"\r\n\r\n"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def open_proxy(upstream_port: int, secret: str) -> Iterator[AuthProxy]:
    proxy = AuthProxy(upstream_port, secret)
    try:
        yield proxy
    finally:
        proxy.close()
