"""A burst of sockets does not hold the loop: handshakes begin one after the other, and of too many some are refused."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from server import handshakes
from server.handshakes import MAX_WAITING_HANDSHAKES, HandshakeQueue


class Caller:
    """A handshake that notes what becomes of it."""

    def __init__(self, name: str, notes: list[str], *, is_lost: bool = False) -> None:
        self.name, self.notes, self.is_lost = name, notes, is_lost

    def begin(self) -> None:
        self.notes.append(self.name)

    def refuse(self) -> None:
        self.notes.append(f"-{self.name}")


def tell(story: Callable[[HandshakeQueue, list[str]], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story(HandshakeQueue(), [])

    asyncio.run(whole())


async def wait_for(notes: list[str], count: int) -> list[str]:
    while len(notes) < count:  # noqa: ASYNC110  (a list has no event)
        await asyncio.sleep(0.001)
    return notes


def test_the_first_handshake_begins_at_once_and_the_next_one_after_a_pause() -> None:
    async def story(queue: HandshakeQueue, notes: list[str]) -> None:
        queue.add(b"a", Caller("first", notes))
        queue.add(b"a", Caller("second", notes))
        assert notes == ["first"]
        assert await wait_for(notes, 2) == ["first", "second"]

    tell(story)


def test_browsers_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS", 0)

    async def story(queue: HandshakeQueue, notes: list[str]) -> None:
        for number in range(4):
            queue.add(b"a", Caller(f"a{number}", notes))
        queue.add(b"b", Caller("b0", notes))
        assert await wait_for(notes, 5) == ["a0", "a1", "b0", "a2", "a3"]

    tell(story)


def test_of_too_many_the_oldest_of_the_busiest_browser_is_refused() -> None:
    async def story(queue: HandshakeQueue, notes: list[str]) -> None:
        queue.add(b"a", Caller("begun", notes))
        queue.add(b"b", Caller("b", notes))
        for number in range(MAX_WAITING_HANDSHAKES + 2):
            queue.add(b"a", Caller(str(number), notes))
        assert notes == ["begun", "-0", "-1", "-2"]

    tell(story)


def test_a_handshake_whose_connection_is_lost_takes_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS", 0)

    async def story(queue: HandshakeQueue, notes: list[str]) -> None:
        queue.add(b"a", Caller("first", notes))
        for name in ("lost", "gone"):
            queue.add(b"a", Caller(name, notes, is_lost=True))
        queue.add(b"a", Caller("last", notes))
        assert await wait_for(notes, 2) == ["first", "last"]
        queue.add(b"a", Caller("later", notes))
        assert await wait_for(notes, 3) == ["first", "last", "later"]

    tell(story)
