"""The steps of the event loop: their processor time, and the calls of functions in them.

A step is one callback, or one stretch of a task between two waits: while it runs, nothing else does. Only the steps on the
thread that watches count, so the servers of fakes on other threads do not.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any
from unittest.mock import patch

MAX_STEP_SECONDS = 0.25  # of the processor, on the loop
MAX_COLD_STEP_SECONDS = 0.02  # before a model is asked
TRIES = 3
TEST_TASKS = ("story", "RawProvider._answer")


@dataclass
class Step:
    """A step of the loop."""

    name: str  # of the task or the callback
    seconds: float  # of this thread's processor time


@dataclass
class Steps:
    """The steps that were watched."""

    found: list[Step] = field(default_factory=list)

    @property
    def longest(self) -> Step:
        """Return the longest step, but for those of the tests' own tasks: the story, and fakes of providers."""
        found = (step for step in self.found if not step.name.endswith(TEST_TASKS))
        return max(found, key=lambda step: step.seconds, default=Step("none", 0.0))


def find_longest_step(work: Callable[[], Step], max_seconds: float) -> Step:
    """Return the longest step of the work, of the best of three tries unless the first ones are within `max_seconds`.

    A busy machine empties the caches of a step, which may then take twice its time. It makes none shorter.
    """
    longest = work()
    for _ in range(TRIES - 1):
        if longest.seconds >= max_seconds:
            longest = min(longest, work(), key=lambda step: step.seconds)
    return longest


@contextmanager
def timing_steps() -> Iterator[Steps]:
    """Time each step of the loop, which runs on this thread. Garbage is not collected: the heap is that of all tests."""
    steps, run, thread = Steps(), asyncio.Handle._run, get_ident()

    def run_timed(handle: asyncio.Handle) -> None:
        if get_ident() != thread:
            run(handle)
            return
        start = time.thread_time()
        run(handle)
        steps.found.append(Step(_describe(handle), time.thread_time() - start))

    with _collecting_nothing(), patch.object(asyncio.Handle, "_run", run_timed):
        yield steps


@contextmanager
def counting_step_calls() -> Iterator[list[int]]:
    """Count the calls of functions in each step of the loop, which runs on this thread. A busy machine makes none longer."""
    steps, run, thread = [0], asyncio.Handle._run, get_ident()

    def run_counted(handle: asyncio.Handle) -> None:
        if get_ident() == thread:
            steps.append(0)
        run(handle)

    def count(_frame: object, event: str, _argument: object) -> None:
        steps[-1] += event in ("call", "c_call")

    before = sys.getprofile()
    with _collecting_nothing(), patch.object(asyncio.Handle, "_run", run_counted):
        sys.setprofile(count)
        try:
            yield steps
        finally:
            sys.setprofile(before)


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """No step carries what collecting the garbage of others takes."""
    was_collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def _describe(handle: asyncio.Handle) -> str:
    callback: Any = handle._callback
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()} {getattr(task.get_coro(), '__qualname__', '')}"
    return str(getattr(callback, "__qualname__", callback))
