"""A turn passes little to threads: each pass costs the event loop more than the first request of a short path."""

import asyncio
from typing import Any

from tests.agent.running import Running, model_at, running
from tests.fakes.openai import FakeOpenAI, Say


async def count_passes(chat: Running, text: str) -> int:
    """Return how often a turn passes work to a thread."""
    passes, pool = 0, chat.runner.blocking.pool
    submit = pool.submit

    def count(*work: Any) -> Any:
        nonlocal passes
        passes += 1
        return submit(*work)

    pool.submit = count  # type: ignore[method-assign]
    await chat.say(text)
    del pool.submit
    return passes


def test_the_first_request_of_a_short_path_is_built_without_a_thread() -> None:
    async def talk(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, ()) as chat:
            await chat.say("hello")
            assert await count_passes(chat, "and a short one") == 3  # the beginning, the answer, the end
            assert await count_passes(chat, "a long one " * 1_000) >= 5  # and both halves of the request

    with FakeOpenAI() as fake:
        fake.script(Say("one"), Say("two"), Say("three"))
        asyncio.run(talk(fake))
