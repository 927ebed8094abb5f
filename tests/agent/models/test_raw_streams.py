"""Streams with everything that the standard of server-sent events allows, and what servers make of it."""

import asyncio

import pytest

from agent.models import pacing
from checkpoints import Run, RunState
from tests.agent.running import model_at, running
from tests.fakes.raw import DONE, HEAD, Pieces, RawProvider, finish, say

FOREVER = float("inf")
PAUSE = 0.05  # seconds; without it the pieces may arrive together, and the answer is the same
PING = b": ping\n\n"
HELLO = say("Hello"), finish()


def play(*answers: Pieces) -> tuple[Run, list[tuple[str, str, str]], RawProvider]:
    """The first run, and the conversation at its end. The next message must be answered."""

    async def whole() -> tuple[Run, list[tuple[str, str, str]], RawProvider]:
        provider = RawProvider(*answers)
        async with provider.serve(), model_at(provider) as model, running(model) as chat:
            run, said = await chat.say("hello"), chat.said()
            assert (await chat.say("and now?")).state is RunState.DONE
            return run, said, provider

    return asyncio.run(whole())


@pytest.mark.parametrize(
    "end",
    [
        [DONE, FOREVER],
        [DONE + PING, FOREVER],
        [DONE + PING, PAUSE, PING],
        [DONE[:9], PAUSE, DONE[9:], FOREVER],
        [DONE[:9], PAUSE, DONE[9:], PAUSE, PING],
        [DONE[:-1], PAUSE, DONE[-1:], FOREVER],
        [DONE.replace(b"\n", b"\r\n"), FOREVER],
    ],
    ids=str,
)
def test_an_answer_at_its_end_is_whole_whatever_its_connection_does(
    end: list[bytes | float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "MAX_ENDING_SECONDS", 0.02)
    run, said, _ = play([HEAD, *HELLO, PAUSE, *end])
    assert (run.error, said[-1]) == (None, ("ai", "done", "Hello"))
