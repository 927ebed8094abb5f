"""Broadcasts: build the frames of a conversation once, however many pages follow it."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

# A page may have this many waiting frames. Joined pieces of text count as one frame.
MAX_WAITING_FRAMES = 1_000

Frame = dict[str, Any]


class PageLaggedError(Exception):
    """The page read too slowly, and its frames are lost. It can open the conversation again."""


class FrameSource(Protocol):
    """The frames of a conversation, for any number of pages."""

    def build_first(self) -> Frame:
        """Build the first frame of a new page. It contains the text of all earlier frames."""

    def build_frames(self) -> AsyncGenerator[Frame]:
        """Build a first frame, then every new frame, without end."""


class WaitingFrames:
    """Frames waiting for a page. Successive pieces of text are joined while they wait."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._arrived = asyncio.Event()
        self._error: Exception | None = None

    def put(self, frame: Frame) -> None:
        joined = _join_frames(self._frames[-1], frame) if self._frames else None
        if joined is not None:
            self._frames[-1] = joined
        elif len(self._frames) < MAX_WAITING_FRAMES:
            self._frames.append(frame)
        else:
            self.fail(PageLaggedError())
        self._arrived.set()

    def fail(self, error: Exception) -> None:
        """End the page's frames with this error."""
        self._error = self._error or error
        self._arrived.set()

    async def take(self) -> Frame:
        """Return the next frame as soon as it arrives. Raises the error of the ended broadcast."""
        while not self._frames or self._error:
            if self._error:
                raise self._error
            self._arrived.clear()
            await self._arrived.wait()
        return self._frames.popleft()


class Broadcasts:
    """The broadcasts in progress, by conversation and language."""

    def __init__(self) -> None:
        self._running: dict[str, _Broadcast] = {}

    @asynccontextmanager
    async def follow(self, key: str, create_source: Callable[[], FrameSource]) -> AsyncIterator[WaitingFrames]:
        """Follow a conversation until the block ends. The first page begins the broadcast, and the last page ends it."""
        broadcast = self._running.get(key)
        if broadcast is None or broadcast.has_ended:
            broadcast = self._running[key] = _Broadcast(create_source())
        page = broadcast.add_page()
        try:
            yield page
        finally:
            if broadcast.remove_page(page):
                if self._running.get(key) is broadcast:
                    del self._running[key]
                await broadcast.stop()


class _Broadcast:
    """The task that builds the frames of a conversation, and the pages that get them."""

    def __init__(self, source: FrameSource) -> None:
        self._source = source
        self._pages: set[WaitingFrames] = set()
        self._has_begun = False
        self._task = asyncio.create_task(self._send_frames())

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    def add_page(self) -> WaitingFrames:
        page = WaitingFrames()
        if self._has_begun:
            page.put(self._source.build_first())
        self._pages.add(page)
        return page

    def remove_page(self, page: WaitingFrames) -> bool:
        """Remove a page. Return whether no page is left."""
        self._pages.discard(page)
        return not self._pages

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _send_frames(self) -> None:
        try:
            async with aclosing(self._source.build_frames()) as frames:
                async for frame in frames:
                    self._has_begun = True
                    for page in self._pages:
                        page.put(frame)
        except Exception as error:  # noqa: BLE001  each page raises it, and its route answers or logs it
            for page in self._pages:
                page.fail(error)


def _join_frames(first: Frame, second: Frame) -> Frame | None:
    """Join two frames if both bring text of the same kind; otherwise return None."""
    match first["kind"], second["kind"]:
        case "delta", "delta":
            return {**second, "stable": first["stable"] + second["stable"]}
        case "reasoning", "reasoning":
            return {**second, "text": first["text"] + second["text"]}
        case "texts", "texts":
            return {**second, "answers": _join_answers(first["answers"], second["answers"])}
    return None


def _join_answers(first: Frame, second: Frame) -> Frame:
    joined = dict(first)
    for number, new in second.items():
        old = joined.get(number, {"stable": "", "reasoning": ""})
        parts = {name: old[name] + new[name] for name in ("stable", "reasoning")}
        joined[number] = {**new, **parts}
    return joined
