"""Blocking work runs to its end, whatever becomes of its caller."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.run.blocking import BlockingPool


def test_a_cancelled_caller_goes_on_only_after_the_work_has_ended() -> None:
    begun, free, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        free.wait(60)
        ended.set()

    async def story(pool: ThreadPoolExecutor) -> None:
        caller = asyncio.create_task(BlockingPool(pool).run(work))
        await asyncio.to_thread(begun.wait, 60)
        caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done()
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert ended.is_set()

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(story(pool))


def test_a_failure_of_which_nobody_hears_is_no_lost_one() -> None:
    begun, free, lost = threading.Event(), threading.Event(), list[object]()

    def fail() -> None:
        begun.set()
        free.wait(60)
        raise ValueError

    async def story(pool: ThreadPoolExecutor) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: lost.append(told))
        caller = asyncio.create_task(BlockingPool(pool).run(fail))
        await asyncio.to_thread(begun.wait, 60)
        caller.cancel()
        await asyncio.sleep(0)
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
        gc.collect()

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(story(pool))
    assert lost == []


def test_work_that_raises_stop_iteration_fails_and_does_not_wait_for_ever() -> None:
    async def story(pool: ThreadPoolExecutor) -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await BlockingPool(pool).run(next, iter(()))

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(story(pool))
