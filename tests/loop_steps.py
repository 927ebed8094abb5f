"""The steps of the event loop: their processor time, and the calls of functions in them.

A step is one callback, or one stretch of a task between two waits: while it runs, nothing else does. Only the steps on the
thread that watches count, so the servers of fakes on other threads do not.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any
from unittest.mock import patch

MAX_STEP_SECONDS = 0.05  # of the processor, on the loop: the bar of issue 12
# A busy machine empties the caches of a step, and may take twice its time. What this bar is for takes ten times as long.
MAX_BUSY_STEP_SECONDS = 3 * MAX_STEP_SECONDS


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
        return max(self.found, key=lambda step: step.seconds, default=Step("none", 0.0))


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

    was_collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        with patch.object(asyncio.Handle, "_run", run_timed):
            yield steps
    finally:
        if was_collecting:
            gc.enable()


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
    with patch.object(asyncio.Handle, "_run", run_counted):
        sys.setprofile(count)
        try:
            yield steps
        finally:
            sys.setprofile(before)


def _describe(handle: asyncio.Handle) -> str:
    callback: Any = handle._callback
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()} {getattr(task.get_coro(), '__qualname__', '')}"
    return str(getattr(callback, "__qualname__", callback))
