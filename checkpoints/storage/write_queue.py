"""The queue of the threads that write to a SQLite file, which takes one writer at a time.

SQLite lets a waiting writer look again now and then: whoever comes later may be first, and among many one waits in vain.
Here they take turns.
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
    """A place in the queue. Its event is set when the turn has come, or at once with a failure for all."""

    event: threading.Event = field(default_factory=threading.Event)
    has_failed: bool = False


class WriteQueue:
    """Turns to write, in the order in which they were asked for.

    A writer gives up once no turn has ended for `max_turn_seconds`: one change takes too long, such as an import. Where
    another program holds the file, one writer waits for it, and all that wait behind are told the same.
    """

    def __init__(self, max_turn_seconds: float) -> None:
        self.max_turn_seconds = max_turn_seconds
        self._lock = threading.Lock()
        self._is_taken = False
        self._ended_turns = 0
        self._waiting: deque[_Turn] = deque()

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """Wait for one's turn. Raises `StoreBusyError`, or `StoreUnavailableError` where another program has the file."""
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
        if has_come:  # while it gave up: the next one has the turn
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
