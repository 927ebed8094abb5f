"""Long work on a thread, which gives way to the event loop.

Python has one lock for all threads. Beside a thread at work the loop has it for half of the time, in turns of a fraction of
a millisecond: whatever it does takes twice as long. So the work pauses between its steps while another thread wants that
lock, until the other one waits for something else. All pauses together take no longer than the work.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MIN_STEP_SECONDS = 0.0005  # between two looks, each of which costs a microsecond
MIN_LOST_SECONDS = 0.00015  # by the clock, without the processor: a thread that takes Python's lock keeps it for longer
MIN_WORK_SECONDS = 0.05  # until it counts as long: a turn and most views take less
PAUSE_SECONDS = 0.005
MAX_EARNED_SECONDS = 0.05  # of pauses, by work


@dataclass
class Yielder:
    """The pauses of one work on one thread: those that it has earned, and when it looked last."""

    clock: Callable[[], float] = time.perf_counter
    processor: Callable[[], float] = time.thread_time  # of this thread alone
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self._earned_seconds = -MIN_WORK_SECONDS
        self.begin_step()

    def begin_step(self) -> None:
        """Begin to watch. What was before is no step: it may have waited for a database."""
        self._step_began, self._worked_until = self.clock(), self.processor()

    def end_step(self) -> None:
        """Pause if this thread has waited for another one in the step, and again as long as it does after a pause."""
        elapsed = self.clock() - self._step_began
        if elapsed < MIN_STEP_SECONDS:
            return
        worked = self.processor() - self._worked_until
        self._earned_seconds = min(self._earned_seconds + worked, MAX_EARNED_SECONDS)
        lost = elapsed - worked
        while lost >= MIN_LOST_SECONDS and self._earned_seconds >= PAUSE_SECONDS:
            self._earned_seconds -= PAUSE_SECONDS
            paused_at = self.clock()
            self.sleep(PAUSE_SECONDS)
            lost = self.clock() - paused_at - PAUSE_SECONDS
        self.begin_step()


class _Thread(threading.local):
    yielder: Yielder | None = None


_thread = _Thread()


@contextmanager
def yielding_to_loop(yielder: Yielder | None = None) -> Iterator[None]:
    """Let the steps of the block give way: its thread is one beside an event loop."""
    with _use(yielder or Yielder()):
        yield


@contextmanager
def without_yielding() -> Iterator[None]:
    """Let nothing of the block give way: others wait for what it holds."""
    with _use(None):
        yield


@contextmanager
def _use(yielder: Yielder | None) -> Iterator[None]:
    before, _thread.yielder = _thread.yielder, yielder
    try:
        yield
    finally:
        _thread.yielder = before


def begin_step() -> None:
    """Begin the first of several steps."""
    if (yielder := _thread.yielder) is not None:
        yielder.begin_step()


def yield_to_loop() -> None:
    """End a step of long work, on any thread, and begin the next: it pauses if another thread wants Python's lock."""
    if (yielder := _thread.yielder) is not None:
        yielder.end_step()
