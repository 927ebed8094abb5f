"""The pages that follow conversations, at most so many: each piece of an answer costs the server work for each page.

A page proves that it reads by sending back the receipt of its first frame. Pages that have not done so have few places of
their own, so that no number of them takes the place of a page that reads.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from components.people import read_owner

MAX_THREAD_PAGES = 20  # that read, of one conversation
MAX_PAGES = 200  # that read, of all conversations
MAX_PERSON_PAGES = 40  # that read, of one person, where people are separated
MAX_UNREAD_THREAD_PAGES = 10
MAX_UNREAD_PERSON_PAGES = 20
MAX_UNREAD_PAGES = 50

PageTask = asyncio.Task[Any]


class OpenPages:
    """The tasks that send to pages. A page beyond a limit takes the place of the oldest one of its kind."""

    def __init__(self, *, separates_people: bool = False) -> None:
        unread, reading = (MAX_UNREAD_PERSON_PAGES, MAX_PERSON_PAGES) if separates_people else (None, None)
        self._unread_pages = _Places(MAX_UNREAD_THREAD_PAGES, MAX_UNREAD_PAGES, unread)
        self._reading_pages = _Places(MAX_THREAD_PAGES, MAX_PAGES, reading)
        self._replaced: set[PageTask] = set()

    @contextmanager
    def enter(self, thread_id: str, sending: PageTask) -> Iterator[None]:
        """Hold a place for a page, and end the page that it replaces."""
        self._take_place(self._unread_pages, thread_id, sending)
        try:
            yield
        finally:
            self._unread_pages.leave(sending)
            self._reading_pages.leave(sending)
            self._replaced.discard(sending)

    def note_receipt(self, sending: PageTask) -> None:
        """Move a page to the places of those that read. It may replace one of them."""
        if thread_id := self._unread_pages.leave(sending):
            self._take_place(self._reading_pages, thread_id, sending)

    def was_replaced(self, sending: PageTask) -> bool:
        return sending in self._replaced

    def _take_place(self, places: "_Places", thread_id: str, sending: PageTask) -> None:
        if replaced := places.enter(thread_id, sending):
            self._replaced.add(replaced)
            replaced.cancel()


class _Places:
    """A number of places, oldest first, of which one conversation may have a part, and one person."""

    def __init__(self, max_of_thread: int, max_of_all: int, max_of_person: int | None) -> None:
        self._max_of_thread, self._max_of_all = max_of_thread, max_of_all
        self._max_of_person = max_of_all if max_of_person is None else max_of_person
        self._threads: dict[PageTask, str] = {}

    def enter(self, thread_id: str, sending: PageTask) -> PageTask | None:
        """Return the task that has lost its place."""
        same = [task for task, thread in self._threads.items() if thread == thread_id]
        person = read_owner(thread_id)
        of_person = [task for task, thread in self._threads.items() if read_owner(thread) == person]
        replaced = None
        if len(same) >= self._max_of_thread:
            replaced = same[0]
        elif len(of_person) >= self._max_of_person:
            replaced = of_person[0]
        elif len(self._threads) >= self._max_of_all:
            replaced = next(iter(self._threads))
        if replaced:
            del self._threads[replaced]
        self._threads[sending] = thread_id
        return replaced

    def leave(self, sending: PageTask) -> str | None:
        """Return the conversation of a task that had a place."""
        return self._threads.pop(sending, None)
