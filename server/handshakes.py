"""The handshakes of sockets, spaced out: each costs the loop some milliseconds, which answers and requests would wait for.

Nothing in a handshake stands out: its three milliseconds are spread over uvicorn, websockets, FastAPI and the guard.
"""

import asyncio
from collections import deque
from typing import Protocol

HANDSHAKE_SECONDS = 0.02  # from the begin of one to the next
MAX_WAITING_HANDSHAKES = 50


class Handshake(Protocol):
    """A handshake that has not begun."""

    def begin(self) -> None: ...

    def refuse(self) -> None: ...

    @property
    def is_lost(self) -> bool:
        """Whether its connection is closed."""


class HandshakeQueue:
    """Begins handshakes one after the other, of each browser in turn. A browser is named by its cookie.

    If too many wait, the oldest one of the browser with the most is refused: a page tries again by itself.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[Handshake]] = {}  # the browser whose turn it is comes first
        self._is_resting = False

    def add(self, browser: bytes, handshake: Handshake) -> None:
        """Begin the handshake, at once if none was begun a moment ago."""
        self._waiting.setdefault(browser, deque()).append(handshake)
        if not self._is_resting:
            self._begin_next()
        elif sum(map(len, self._waiting.values())) > MAX_WAITING_HANDSHAKES:
            self._take(max(self._waiting, key=lambda each: len(self._waiting[each]))).refuse()

    def _begin_next(self) -> None:
        self._is_resting = False
        while self._waiting and not self._is_resting:
            handshake = self._take(next(iter(self._waiting)))
            if not handshake.is_lost:
                self._is_resting = True
                asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self._begin_next)
                handshake.begin()

    def _take(self, browser: bytes) -> Handshake:
        """Take the browser's oldest handshake; its next one comes after those of the others."""
        handshakes = self._waiting.pop(browser)
        handshake = handshakes.popleft()
        if handshakes:
            self._waiting[browser] = handshakes
        return handshake
