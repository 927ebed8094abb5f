"""The starts of requests, a few in each turn of the event loop, and each browser in turn.

Four hundred connections that ask at once held the loop for 40 ms a turn, and a new one waited behind them all.
"""

import asyncio
from collections import deque
from collections.abc import Callable

MAX_STARTS_PER_TURN = 4  # each takes about a millisecond until it first waits

Start = Callable[[], None]


class RequestTurns:
    """Starts requests at once, or in the next turns of the loop if too many come together.

    A browser is named by its cookie. Each connection has one request that waits, so their number is bounded.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[Start]] = {}  # the browser whose turn it is comes first
        self._starts = 0  # in this turn of the loop

    def add(self, browser: bytes, start: Start) -> None:
        """Start a request of a browser now, or when it is its turn."""
        if self._starts < MAX_STARTS_PER_TURN and not self._waiting:
            self._start(start)
        else:
            self._waiting.setdefault(browser, deque()).append(start)

    def _start(self, start: Start) -> None:
        if not self._starts:
            asyncio.get_running_loop().call_soon(self._begin_turn)
        self._starts += 1
        start()

    def _begin_turn(self) -> None:
        self._starts = 0
        while self._waiting and self._starts < MAX_STARTS_PER_TURN:
            self._start(self._take_next())

    def _take_next(self) -> Start:
        """Take the oldest request of the next browser; its next one comes after those of the others."""
        browser = next(iter(self._waiting))
        starts = self._waiting.pop(browser)
        start = starts.popleft()
        if starts:
            self._waiting[browser] = starts
        return start
