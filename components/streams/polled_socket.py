"""Sockets over requests, where a network lets no WebSocket through: a page asks again and again for what was sent.

To the route, one is a socket like any other. Every request passes the guard, so that an ended session gets nothing more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocketDisconnect

from components.people import name_for_owner

HOLD_SECONDS = 0.5  # of a request that finds nothing: longer ones would hold connections, of which a browser has six
MAX_SILENT_SECONDS = 75.0  # until a page that does not ask is gone: browsers let hidden ones act once a minute
MAX_KEPT_FRAMES = 20  # of one page; pieces of text that wait for a place are joined
MAX_KEPT_CODES = 1_000
CLOSE_GOING_AWAY = 1001


class PolledSocket:
    """A socket whose frames are kept until the page says that it has seen them, so a reply that is lost loses none."""

    def __init__(self) -> None:
        self._frames: list[str] = []
        self._seen = 0
        self._texts: asyncio.Queue[str] = asyncio.Queue()
        self._has_news, self._has_room = asyncio.Event(), asyncio.Event()
        self.code: int | None = None

    async def send_text(self, text: str) -> None:
        while len(self._frames) >= MAX_KEPT_FRAMES:
            self._has_room.clear()
            await self._has_room.wait()
        self._frames.append(text)
        self._has_news.set()

    async def receive_text(self) -> str:
        """Return the next text of the page. Raises `WebSocketDisconnect` if the page no longer asks."""
        text = ""
        while not text:
            try:
                async with asyncio.timeout(MAX_SILENT_SECONDS):
                    text = await self._texts.get()
            except TimeoutError:
                raise WebSocketDisconnect(CLOSE_GOING_AWAY) from None
        return text

    async def close(self, code: int) -> None:
        self.code = code
        self._has_news.set()

    async def answer(self, seen: int, text: str) -> dict[str, Any]:
        """Take a text of the page, which may be empty, and return the frames after those that it has seen."""
        self._texts.put_nowait(text)
        count = min(max(seen - self._seen, 0), len(self._frames))
        del self._frames[:count]
        self._seen += count
        self._has_room.set()
        if not self._frames and self.code is None:
            self._has_news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(HOLD_SECONDS):
                    await self._has_news.wait()
        return {"frames": self._frames[:], "code": self.code}


class PolledSockets:
    """The sockets over requests of this process, by the ids that pages give them."""

    def __init__(self) -> None:
        self._sockets: dict[str, PolledSocket] = {}
        self._codes: dict[str, int] = {}  # of sockets that have ended since their last request
        self._serving: set[asyncio.Task[None]] = set()

    async def answer(
        self, poll: str, seen: int | None, text: str, serve: Callable[[PolledSocket], Awaitable[None]]
    ) -> dict[str, Any]:
        """Answer a request of a page. Its first one, which has seen nothing, opens the socket."""
        key = name_for_owner(poll)
        socket = self._sockets.get(key)
        if socket is None and seen is None:
            socket = self._sockets[key] = PolledSocket()
            task = asyncio.create_task(self._serve(key, socket, serve))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        if socket is None:  # it has ended, or is another process's: the page opens a new one
            return {"frames": [], "code": self._codes.pop(key, CLOSE_GOING_AWAY)}
        return await socket.answer(seen or 0, text)

    async def _serve(self, key: str, socket: PolledSocket, serve: Callable[[PolledSocket], Awaitable[None]]) -> None:
        try:
            await serve(socket)
        finally:
            await socket.close(socket.code or CLOSE_GOING_AWAY)
            del self._sockets[key]
            self._codes[key] = socket.code or CLOSE_GOING_AWAY
            if len(self._codes) > MAX_KEPT_CODES:
                del self._codes[next(iter(self._codes))]
