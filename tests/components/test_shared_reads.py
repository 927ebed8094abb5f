"""A thousand pages that open together cost two reads, and each sees all that was written before it asked."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from components.shared_reads import SharedReads


class Database:
    """A version that each write raises. A read waits until the test lets it go on."""

    def __init__(self) -> None:
        self.version, self.reads = 1, 0
        self.has_begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def read(self) -> int:
        self.reads += 1
        self.has_begun.set()
        version = self.version
        await self.go_on.wait()
        return version


def run(story: Callable[[SharedReads[int], Database], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story(SharedReads(), Database())

    asyncio.run(whole())


def test_callers_that_ask_before_a_read_begins_share_it_and_later_ones_share_the_next() -> None:
    async def story(reads: SharedReads[int], database: Database) -> None:
        early = [asyncio.create_task(reads.share("a", database.read)) for _ in range(500)]
        await database.has_begun.wait()
        database.version = 2
        late = [asyncio.create_task(reads.share("a", database.read)) for _ in range(500)]
        await asyncio.sleep(0)
        database.go_on.set()
        assert await asyncio.gather(*early, *late) == [1] * 500 + [2] * 500
        assert database.reads == 2

    run(story)


def test_reads_of_other_keys_do_not_wait() -> None:
    async def story(reads: SharedReads[int], database: Database) -> None:
        waiting = asyncio.create_task(reads.share("a", database.read))
        assert await reads.share("b", lambda: asyncio.sleep(0, 7)) == 7
        database.go_on.set()
        assert await waiting == 1

    run(story)


def test_a_caller_that_leaves_cancels_no_read_and_an_error_reaches_all_who_stay() -> None:
    async def story(reads: SharedReads[int], database: Database) -> None:
        async def fail() -> int:
            await database.go_on.wait()
            raise LookupError

        leaving, *staying = [asyncio.create_task(reads.share("a", fail)) for _ in range(3)]
        await asyncio.sleep(0)
        leaving.cancel()
        database.go_on.set()
        for each in staying:
            with pytest.raises(LookupError):
                await each

    run(story)


def test_a_failure_that_no_caller_waits_for_any_more_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def story(reads: SharedReads[int], database: Database) -> None:
        async def fail() -> int:
            await database.read()
            raise LookupError

        caller = asyncio.create_task(reads.share("a", fail))
        await database.has_begun.wait()
        caller.cancel()
        await asyncio.wait({caller})
        database.go_on.set()
        assert await reads.share("a", database.read) == 1

    run(story)
    gc.collect()
    assert caplog.text == ""
