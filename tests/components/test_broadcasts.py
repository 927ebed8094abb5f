"""The frames of a conversation are built once, and every page gets each of them once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

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
        async with asyncio.timeout(30):
            await story(Broadcasts(), Source())

    asyncio.run(whole())


def delta(stable: str, tail: str) -> Frame:
    return {"kind": "delta", "stable": stable, "tail": tail}


def test_a_frame_is_built_once_for_all_pages_and_a_late_page_gets_the_state_first() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        async with open_pages.follow("a", lambda: source) as early, open_pages.follow("a", Source) as second:
            assert [await early.take(), await second.take()] == [{"kind": "hello", "built": 0}] * 2
            source.news.put_nowait({"kind": "head", "version": 1})
            assert await early.take() is await second.take()
            async with open_pages.follow("a", Source) as late:
                source.news.put_nowait({"kind": "head", "version": 2})
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
        assert source.has_ended
        async with open_pages.follow("a", Source) as page:
            assert (await page.take())["kind"] == "hello"

    run(story)


def test_an_error_of_the_source_reaches_every_page_and_the_next_page_begins_anew() -> None:
    async def story(open_pages: Broadcasts, source: Source) -> None:
        async with open_pages.follow("a", lambda: source) as page, open_pages.follow("a", Source) as other:
            source.news.put_nowait(LookupError("gone"))
            for each in (page, other):
                with pytest.raises(LookupError):
                    await _take_all(each)
            async with open_pages.follow("a", Source) as new:
                assert (await new.take())["kind"] == "hello"

    run(story)


async def _take_all(page: WaitingFrames) -> None:
    while True:
        await page.take()


def test_text_that_waits_for_a_slow_page_is_one_frame_and_keeps_its_order() -> None:
    async def story(_: Broadcasts, __: Source) -> None:
        page = WaitingFrames()
        for frame in (delta("<p>a</p>", "b"), delta("<p>b</p>", "c"), {"kind": "head", "version": 2}, delta("", "d")):
            page.put(frame)
        assert [await page.take() for _ in range(3)] == [
            delta("<p>a</p><p>b</p>", "c"),
            {"kind": "head", "version": 2},
            delta("", "d"),
        ]

    run(story)


def test_a_page_for_which_too_many_frames_wait_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcasts, "MAX_WAITING_FRAMES", 3)

    async def story(_: Broadcasts, __: Source) -> None:
        page = WaitingFrames()
        for version in range(4):
            page.put({"kind": "head", "version": version})
        with pytest.raises(PageLaggedError):
            await page.take()

    run(story)
