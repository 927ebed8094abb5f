"""A burst of requests does not hold the loop: a few start in each of its turns, and each browser has its turn."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from server.request_turns import MAX_STARTS_PER_TURN, RequestTurns
from tests.server.test_protocol import ask, serve


def tell(story: Callable[[RequestTurns], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story(RequestTurns())

    asyncio.run(whole())


def test_a_few_requests_start_at_once_and_the_others_in_the_next_turns() -> None:
    async def story(turns: RequestTurns) -> None:
        started: list[int] = []
        for number in range(2 * MAX_STARTS_PER_TURN + 1):
            turns.add(b"a", partial(started.append, number))
        for count in (MAX_STARTS_PER_TURN, 2 * MAX_STARTS_PER_TURN, 2 * MAX_STARTS_PER_TURN + 1):
            assert started == list(range(count))
            await asyncio.sleep(0)
        turns.add(b"a", lambda: started.append(-1))
        assert started[-1] == -1  # that was a turn ago

    tell(story)


def test_a_request_of_another_browser_waits_for_one_turn_alone() -> None:
    async def story(turns: RequestTurns) -> None:
        started: list[bytes] = []
        for _ in range(50 * MAX_STARTS_PER_TURN):
            turns.add(b"a", lambda: started.append(b"a"))
        turns.add(b"b", lambda: started.append(b"b"))
        assert b"b" not in started
        await asyncio.sleep(0)
        assert b"b" in started

    tell(story)


def test_every_request_of_a_burst_is_answered() -> None:
    async def story(port: int) -> None:
        head = b"GET / HTTP/1.1\r\nHost: x\r\nCookie: a=%d\r\nConnection: close\r\n\r\n"
        answers = await asyncio.gather(*(ask(port, head % (number % 3)) for number in range(40)))
        assert [each[:15] for each in answers] == [b"HTTP/1.1 200 OK"] * 40

    serve(story)
