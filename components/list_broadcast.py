"""Changes in the list of conversations, for pages with another conversation: ends of runs and changes of members.

A single read of the changes serves all pages or, where people are separated, all pages of a person.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from agent.run.hub import RunHub
from checkpoints import StateError, act_for
from components.broadcasts import Frame, WaitingFrames

# The pause from a change until pages are told, so that further changes join it.
PAUSE_SECONDS = 0.5
EVERY_PAGE = None

# The function builds the frame about the changes in these conversations.
BuildFrame = Callable[[Collection[str]], Awaitable[Frame]]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowingPage:
    """A page to be told: its conversation and its person."""

    thread_id: str
    person: str | None

    def needs(self, person: str | None, thread_ids: Collection[str]) -> bool:
        """Return whether the page is told of a person's changes. Other frames tell of its own conversation."""
        return person in (EVERY_PAGE, self.person) and set(thread_ids) != {self.thread_id}


class ListBroadcast:
    """The pages to be told, and the conversations with changes not yet told, by person."""

    def __init__(self) -> None:
        self._pages: dict[WaitingFrames, FollowingPage] = {}
        self._changed: defaultdict[str | None, set[str]] = defaultdict(set)
        self._telling: asyncio.Task[None] | None = None
        self._build_frame: BuildFrame | None = None

    @contextmanager
    def follow(
        self, hub: RunHub, waiting: WaitingFrames, page: FollowingPage, build_frame: BuildFrame, *, tells_ends: bool
    ) -> Iterator[None]:
        """Tell a page about changes in other conversations until the block ends. All pages share the same frame."""
        if self._build_frame is None:
            hub.observe_members(self._note_change)
            if tells_ends:
                hub.observe_ends(lambda thread_id: self._note_change(thread_id, EVERY_PAGE))
        self._build_frame = build_frame
        self._pages[waiting] = page
        try:
            yield
        finally:
            del self._pages[waiting]

    def _note_change(self, thread_id: str, person: str | None) -> None:
        if not any(page.needs(person, [thread_id]) for page in self._pages.values()):
            return
        self._changed[person].add(thread_id)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="telling of changes of lists")

    async def _tell(self) -> None:
        while self._changed:
            await asyncio.sleep(PAUSE_SECONDS)
            changed, self._changed = self._changed, defaultdict(set)
            for person, thread_ids in changed.items():
                await self._tell_pages(person, thread_ids)

    async def _tell_pages(self, person: str | None, thread_ids: Collection[str]) -> None:
        assert self._build_frame is not None
        try:
            with nullcontext() if person is EVERY_PAGE else act_for(person):
                frame = await self._build_frame(thread_ids)
        except StateError:
            # Each page asks by itself, though later.
            return
        except Exception:  # noqa: BLE001  later changes have to be told all the same
            _log.exception("the changes of lists cannot be described")
            return
        for waiting, page in self._pages.items():
            if page.needs(person, thread_ids):
                waiting.put(frame)
