"""A thousand pages cost no more than some: a new one takes the place of the oldest."""

import asyncio
from contextlib import ExitStack

from components.routes.open_pages import MAX_PAGES, MAX_THREAD_PAGES, OpenPages


def open_all(threads: list[str]) -> list[bool]:
    """Whether each page is still served after all were opened."""

    async def whole() -> list[bool]:
        pages = OpenPages()
        tasks = [asyncio.create_task(asyncio.sleep(600)) for _ in threads]
        with ExitStack() as stack:
            for task, thread in zip(tasks, threads, strict=True):
                stack.enter_context(pages.enter(thread, task))
            await asyncio.sleep(0)
            served = [not task.cancelled() for task in tasks]
            assert served == [not pages.was_replaced(task) for task in tasks]
        for task in tasks:
            task.cancel()
        return served

    return asyncio.run(whole())


def test_a_conversation_has_so_many_pages_and_the_newest_stay() -> None:
    assert open_all(["a"] * MAX_THREAD_PAGES) == [True] * MAX_THREAD_PAGES
    assert open_all(["b", *["a"] * 1000]) == [True, *[False] * (1000 - MAX_THREAD_PAGES), *[True] * MAX_THREAD_PAGES]


def test_all_conversations_have_so_many_pages_together() -> None:
    served = open_all([str(number // 10) for number in range(1000)])
    assert served == [False] * (1000 - MAX_PAGES) + [True] * MAX_PAGES
