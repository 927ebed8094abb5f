"""Sockets over requests, for networks that block WebSockets: a page polls for the frames.

The route uses it like any other socket. Every request passes the guard, so an ended session gets nothing more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocketDisconnect

from components.people import name_for_owner

# A request without news is held only so long: a browser has six connections, and held requests occupy them.
HOLD_SECONDS = 0.5
# A page that has not asked for this long is gone. Browsers let hidden pages act once a minute.
MAX_SILENT_SECONDS = 75.0
# This many frames are kept for one page. Pieces of text that wait for room are joined.
MAX_KEPT_FRAMES = 20
MAX_KEPT_CODES = 1_000
CLOSE_GOING_AWAY = 1001


class PolledSocket:
    """A socket that keeps its frames until the page has seen them, so a lost reply loses no frame."""

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
        """Return the page's next text. Raises `WebSocketDisconnect` if the page no longer asks."""
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
        """Take a text of the page, which may be empty. Return the frames that the page has not seen."""
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
    """The sockets over requests of this process, by ids from their pages."""

    def __init__(self) -> None:
        self._sockets: dict[str, PolledSocket] = {}
        # The close codes are of sockets that have ended since their last request.
        self._codes: dict[str, int] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def answer(
        self, poll: str, seen: int | None, text: str, serve: Callable[[PolledSocket], Awaitable[None]]
    ) -> dict[str, Any]:
        """Answer a page's request. Its first request, which has seen nothing, opens the socket."""
        key = name_for_owner(poll)
        socket = self._sockets.get(key)
        if socket is None and seen is None:
            socket = self._sockets[key] = PolledSocket()
            task = asyncio.create_task(self._serve(key, socket, serve))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        if socket is None:
            # The socket has ended or belongs to another process: the page opens a new one.
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
