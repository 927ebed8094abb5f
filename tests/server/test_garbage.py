"""No full pass of the garbage collector halts the server while it works; what it left is collected when it is idle."""

import asyncio
import gc
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count, repeat
from typing import Any

import pytest

from server import garbage


@pytest.fixture(autouse=True)
def serving_process() -> Iterator[None]:
    thresholds = gc.get_threshold()
    garbage.postpone_full_passes()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.parametrize("go_on", [garbage.postpone_full_passes, garbage.resume_passes])
def test_the_collector_that_the_start_switched_off_works_again(go_on: Callable[[], None]) -> None:
    gc.disable()
    try:
        go_on()
        assert gc.isenabled()
    finally:
        gc.enable()


@contextmanager
def record_passes() -> Iterator[list[int]]:
    """Record the generation of each pass."""
    passes: list[int] = []

    def record(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            passes.append(info["generation"])

    gc.callbacks.append(record)
    try:
        yield passes
    finally:
        gc.callbacks.remove(record)


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_a_large_file_is_read_without_a_full_pass() -> None:
    with record_passes() as passes:
        objects: list[list[int]] = [[] for _ in range(1_000_000)]
    assert len(objects) == 1_000_000
    assert passes.count(0) > 300
    assert 2 not in passes


@pytest.mark.parametrize(
    ("busy_seconds", "grown", "is_collected"),
    [
        (0, (0,), True),
        (1, (0,), False),
        (1, (10_000_000,), True),
        (1, (-10_000_000, -9_000_000), False),
        (1, (-10_000_000, 0), True),
    ],
)
def test_old_garbage_is_collected_once_the_server_is_idle_or_has_grown(
    monkeypatch: pytest.MonkeyPatch, busy_seconds: int, grown: tuple[int, ...], is_collected: bool
) -> None:
    clock = count(step=busy_seconds)

    async def story() -> None:
        garbage_of_a_run = weakref.ref(node := Node())
        gc.collect(1)
        gc.collect(1)
        del node
        with record_passes() as passes:
            looking = asyncio.create_task(garbage.collect_when_idle())
            while len(looks) < 20:  # noqa: ASYNC110  (the loop of the looks has no event)
                await asyncio.sleep(0)
            looking.cancel()
        assert (garbage_of_a_run() is None, passes.count(2)) == (is_collected, int(is_collected))

    looks: list[int] = []
    blocks = chain([0], (each for each in grown for _ in range(2)), repeat(grown[-1]))  # each look reads it twice
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: next(blocks))
    monkeypatch.setattr(garbage, "IDLE_SECONDS", 1e-6)
    monkeypatch.setattr(time, "process_time", lambda: looks.append(next(clock)) or looks[-1])
    asyncio.run(story())
