"""The frames of a conversation are built once, and every page gets each of them once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from components import broadcasts
from components.broadcasts import Broadcasts, Frame, PageLaggedError, WaitingFrames


class Source:
    """A conversation whose frames a test gives."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[Frame | Exception] = asyncio.Queue()
        self.built: list[Frame] = []
        self.has_ended = False

    def build_first(self) -> Frame:
        return {"kind": "hello", "built": len(self.built)}

    async def build_frames(self) -> AsyncGenerator[Frame]:
        yield self.build_first()
        try:
            while True:
                found = await self.news.get()
                if isinstance(found, Exception):
                    raise found
                self.built.append(found)
                yield found
        finally:
            self.has_ended = True


def run(story: Callable[[Broadcasts, Source], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story(Broadcasts(), Source())

    asyncio.run(whole())


def delta(stable: str, tail: str) -> Frame:
    return {"kind": "delta", "stable": stable, "tail": tail}


def head(version: int) -> Frame:
    return {"kind": "head", "version": version}


async def expect_news(source: Source, *pages: WaitingFrames) -> None:
    """Expect that these new pages get a first frame, and then the news of this source."""
    assert [(await page.take())["kind"] for page in pages] == ["hello"] * len(pages)
    source.news.put_nowait(head(1))
    assert [await page.take() for page in pages] == [head(1)] * len(pages)


async def take_all(page: WaitingFrames) -> None:
    """Take frames until the page ends with an error."""
    while True:
        await page.take()


def test_a_frame_is_built_once_for_all_pages_and_a_late_page_gets_the_state_first() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        async with open_pages.follow("a", lambda: source) as early, open_pages.follow("a", Source) as second:
            assert [await early.take(), await second.take()] == [{"kind": "hello", "built": 0}] * 2
            source.news.put_nowait(head(1))
            assert await early.take() is await second.take()
            async with open_pages.follow("a", Source) as late:
                source.news.put_nowait(head(2))
                assert [await late.take(), await late.take()] == [{"kind": "hello", "built": 1}, await early.take()]
        assert len(source.built) == 2

    run(story)


def test_the_last_page_ends_the_broadcast_and_the_next_one_begins_another() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        async with open_pages.follow("a", lambda: source) as page:
            async with open_pages.follow("a", Source):
                pass
            await page.take()
            assert not source.has_ended
        assert (source.has_ended, open_pages._running) == (True, {})
        another = Source()
        async with open_pages.follow("a", lambda: another) as page:
            await expect_news(another, page)

    run(story)


def test_an_error_of_the_source_reaches_every_page_and_the_next_page_begins_anew() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        async with open_pages.follow("a", lambda: source) as page, open_pages.follow("a", Source) as other:
            source.news.put_nowait(LookupError("gone"))
            for each in (page, other):
                with pytest.raises(LookupError):
                    await take_all(each)
            another = Source()
            async with open_pages.follow("a", lambda: another) as new:
                await expect_news(another, new)

    run(story)


def test_the_pages_of_a_failed_broadcast_leave_the_next_one_as_it_is() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        another = Source()
        async with AsyncExitStack() as open_later:
            async with open_pages.follow("a", lambda: source) as failed:
                source.news.put_nowait(LookupError("gone"))
                with pytest.raises(LookupError):
                    await take_all(failed)
                new = await open_later.enter_async_context(open_pages.follow("a", lambda: another))
            other = await open_later.enter_async_context(open_pages.follow("a", Source))
            await expect_news(another, new, other)

    run(story)


def test_text_that_waits_for_a_slow_page_is_one_frame_and_keeps_its_order() -> None:
    async def story(_: Broadcasts, __: Source) -> None:
        page = WaitingFrames()
        for frame in (delta("<p>a</p>", "b"), delta("<p>b</p>", "c"), head(2), delta("", "d")):
            page.put(frame)
        assert [await page.take() for _ in range(3)] == [delta("<p>a</p><p>b</p>", "c"), head(2), delta("", "d")]

    run(story)


def test_reasoning_that_waits_is_one_frame_apart_from_the_answer() -> None:
    async def story(_: Broadcasts, __: Source) -> None:
        page = WaitingFrames()
        reasoning = [{"kind": "reasoning", "text": text} for text in ("One ", "moment.")]
        for frame in (*reasoning, delta("", "a")):
            page.put(frame)
        assert [await page.take() for _ in range(2)] == [{"kind": "reasoning", "text": "One moment."}, delta("", "a")]

    run(story)


def test_a_page_for_which_too_many_frames_wait_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcasts, "MAX_WAITING_FRAMES", 3)

    async def story(_: Broadcasts, __: Source) -> None:
        page = WaitingFrames()
        for frame in (head(0), head(1), delta("", "a"), delta("", "b")):
            page.put(frame)
        assert await page.take() == head(0)  # three frames may wait, and the two texts are one
        for version in (2, 3):
            page.put(head(version))
        with pytest.raises(PageLaggedError):
            await page.take()

    run(story)
