"""The queue of threads writing to a SQLite file, which takes a single writer at a time.

SQLite lets waiting writers poll, so a later writer may win, and among many a writer may wait in vain. This queue is fair.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..values.errors import StoreBusyError, StoreUnavailableError
from .driver_errors import LOCKED


@dataclass(eq=False)
class _Turn:
    """A place in the queue. Its event is set when its turn comes, or when all waiting writers fail."""

    event: threading.Event = field(default_factory=threading.Event)
    has_failed: bool = False


class WriteQueue:
    """Turns to write, first come, first served.

    A writer gives up once no turn has ended for `max_turn_seconds`, because a change, such as an import, takes too
    long. If another program holds the file, the first writer waits for it, and all writers behind get the same error.
    """

    def __init__(self, max_turn_seconds: float) -> None:
        self.max_turn_seconds = max_turn_seconds
        self._lock = threading.Lock()
        self._is_taken = False
        self._ended_turns = 0
        self._waiting: deque[_Turn] = deque()

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """Wait for a turn. Raises `StoreBusyError`, or `StoreUnavailableError` if another program has the file."""
        self._wait_for_turn()
        try:
            yield
        except StoreUnavailableError as error:
            if str(error) == LOCKED:
                self._fail_waiting()
            raise
        finally:
            self._end_turn()

    def _wait_for_turn(self) -> None:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            self._waiting.append(turn := _Turn())
            seen = self._ended_turns
        try:
            while not turn.event.wait(self.max_turn_seconds):
                if seen == self._ended_turns:
                    raise StoreBusyError
                seen = self._ended_turns
        except BaseException:
            self._leave(turn)
            raise
        if turn.has_failed:
            raise StoreUnavailableError(LOCKED)

    def _leave(self, turn: _Turn) -> None:
        with self._lock:
            has_come = turn.event.is_set() and not turn.has_failed
            if turn in self._waiting:
                self._waiting.remove(turn)
        if has_come:
            # The turn came while this writer gave up, so it goes to the next.
            self._end_turn()

    def _fail_waiting(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                turn.has_failed = True
                turn.event.set()

    def _end_turn(self) -> None:
        with self._lock:
            self._ended_turns += 1
            if self._waiting:
                self._waiting.popleft().event.set()
            else:
                self._is_taken = False
