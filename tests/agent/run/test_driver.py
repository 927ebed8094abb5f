"""A turn passes little to threads: a pass costs the event loop more than the first request of a short path."""

import asyncio
import threading
from typing import Any

import pytest

from agent.run.driver import RunDriver
from tests.agent.running import model_at, running
from tests.fakes.openai import FakeOpenAI, Say


def test_the_first_request_of_a_short_path_is_built_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    load, threads = RunDriver._load_request, list[int]()

    def note_thread(*given: Any) -> Any:
        threads.append(threading.get_ident())
        return load(*given)

    async def talk(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, ()) as chat:
            await chat.say("a short one")
            await chat.say("a long one " * 1_000)

    monkeypatch.setattr(RunDriver, "_load_request", note_thread)
    with FakeOpenAI() as fake:
        fake.script(Say("one"), Say("two"))
        asyncio.run(talk(fake))
    assert [each == threading.get_ident() for each in threads] == [True, False]
