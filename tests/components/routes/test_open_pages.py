"""A thousand pages cost no more than some: a new one replaces the oldest, and one that reads only once it reads itself."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pytest

from components.routes.stream import (
    MAX_PAGES,
    MAX_PERSON_PAGES,
    MAX_THREAD_PAGES,
    MAX_UNREAD_PAGES,
    MAX_UNREAD_PERSON_PAGES,
    MAX_UNREAD_THREAD_PAGES,
    OpenPages,
)

LIMITS = {True: (MAX_THREAD_PAGES, MAX_PAGES), False: (MAX_UNREAD_THREAD_PAGES, MAX_UNREAD_PAGES)}


def open_all(threads: Sequence[str], is_reading: Callable[[int], bool], *, separates_people: bool = False) -> list[bool]:
    """Open pages of these conversations. Return whether each is still served after all were opened."""

    async def whole() -> list[bool]:
        pages = OpenPages(separates_people=separates_people)
        tasks = [asyncio.create_task(asyncio.sleep(600)) for _ in threads]
        with ExitStack() as stack:
            for number, (task, thread) in enumerate(zip(tasks, threads, strict=True)):
                stack.enter_context(pages.enter(thread, task))
                if is_reading(number):
                    pages.note_receipt(task)
                    pages.note_receipt(task)
            await asyncio.sleep(0)
            served = [not task.cancelled() for task in tasks]
            assert served == [not pages.was_replaced(task) for task in tasks]
        for task in tasks:
            task.cancel()
        return served

    return asyncio.run(whole())


@pytest.mark.parametrize("reads", LIMITS)
def test_a_conversation_has_so_many_pages_and_the_newest_stay(reads: bool) -> None:
    most, _ = LIMITS[reads]
    assert open_all(["a"] * most, lambda _: reads) == [True] * most
    served = open_all(["b", *["a"] * 1000], lambda _: reads)
    assert served == [True, *[False] * (1000 - most), *[True] * most]


@pytest.mark.parametrize("reads", LIMITS)
def test_all_conversations_have_so_many_pages_together(reads: bool) -> None:
    _, most = LIMITS[reads]
    served = open_all([str(number // 10) for number in range(1000)], lambda _: reads)
    assert served == [False] * (1000 - most) + [True] * most


def test_a_thousand_pages_that_do_not_read_replace_none_that_reads() -> None:
    threads = [str(number % 20) for number in range(MAX_PAGES)] + [str(number % 20) for number in range(1000)]
    served = open_all(threads, lambda number: number < MAX_PAGES)
    assert served[:MAX_PAGES] == [True] * MAX_PAGES
    assert sum(served[MAX_PAGES:]) == MAX_UNREAD_PAGES


def test_a_new_page_of_a_full_conversation_replaces_the_oldest_once_it_reads() -> None:
    count = MAX_THREAD_PAGES + 1
    assert open_all(["a"] * count, lambda number: number < MAX_THREAD_PAGES) == [True] * count
    assert open_all(["a"] * count, lambda _: True) == [False] + [True] * MAX_THREAD_PAGES


@pytest.mark.parametrize("reads", LIMITS)
def test_one_person_takes_no_place_of_another(reads: bool) -> None:
    most = MAX_PERSON_PAGES if reads else MAX_UNREAD_PERSON_PAGES
    threads = ["bob\0a", *[f"ann\0{number}" for number in range(1000)]]
    served = open_all(threads, lambda _: reads, separates_people=True)
    assert served == [True, *[False] * (1000 - most), *[True] * most]
