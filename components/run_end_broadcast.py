"""Ends of runs, for the pages of other conversations: one reading of what they change is for all pages."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager

from agent.run.hub import RunHub
from checkpoints import StateError
from components.broadcasts import Frame, WaitingFrames

PAUSE_SECONDS = 0.5  # from an end until it is told: others may come meanwhile

BuildFrame = Callable[[Collection[str]], Awaitable[Frame]]  # the frame that tells of the ends in these conversations
_log = logging.getLogger(__name__)


class RunEndBroadcast:
    """The pages that are told of ends, each with its conversation, and the ends that they have not been told of."""

    def __init__(self) -> None:
        self._pages: dict[WaitingFrames, str] = {}
        self._ended: set[str] = set()
        self._telling: asyncio.Task[None] | None = None
        self._build_frame: BuildFrame | None = None

    @contextmanager
    def follow(self, hub: RunHub, page: WaitingFrames, thread_id: str, build_frame: BuildFrame) -> Iterator[None]:
        """Tell a page of a conversation about the ends in others until the block ends. One frame is built for all pages."""
        if self._build_frame is None:
            hub.observe_ends(self._note_end)
        self._build_frame = build_frame
        self._pages[page] = thread_id
        try:
            yield
        finally:
            del self._pages[page]

    def _note_end(self, thread_id: str) -> None:
        if all(shown == thread_id for shown in self._pages.values()):
            return  # they are told by the frames of their own conversation
        self._ended.add(thread_id)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="telling of the ends of runs")

    async def _tell(self) -> None:
        while self._ended:
            await asyncio.sleep(PAUSE_SECONDS)
            ended, self._ended = self._ended, set()
            assert self._build_frame is not None
            try:
                frame = await self._build_frame(ended)
            except StateError:
                continue  # each page asks by itself, though later
            except Exception:  # noqa: BLE001  later ends have to be told all the same
                _log.exception("the ends of runs cannot be described")
                continue
            for page, thread_id in self._pages.items():
                if ended != {thread_id}:
                    page.put(frame)
