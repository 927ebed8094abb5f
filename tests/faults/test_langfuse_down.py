"""Langfuse that is away, hangs, fails or answers nonsense: turns go on as without it, and so does the exit."""

import asyncio
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.context.prompts import SYSTEM_PROMPT
from agent.demo.model import DemoChatModel
from agent.tracing.events import Feedback
from checkpoints import RunState
from extensions.tracing.langfuse import LangfuseTracer
from tests.agent.running import running
from tests.fakes.langfuse import FakeLangfuse, Fault
from tests.fakes.server import silent_port
from tests.faults.page import PageClient
from tests.servers import Server

pytestmark = pytest.mark.slow

PUBLIC, SECRET = "pk-lf-public-0123456789", "sk-lf-secret-0123456789"
GIVEN_UP = 120.0  # seconds: what hangs does so for ever; how long it takes is measured in benchmarks/
TROUBLES = {
    "hangs": Fault("hang"),
    "hangs in mid-answer": Fault("hang", after_bytes=0),
    "drips": Fault("drip", seconds=0.5),
    "resets": Fault("reset"),
    "fails": Fault("status", status=500, message=f"crashed with {SECRET}"),
    "is overloaded": Fault("status", status=503, retry_after="60"),
    "refuses the keys": Fault("status", status=401, message=f"wrong: {SECRET}"),
    "talks nonsense": Fault("garbage", after_bytes=0),
}


@pytest.fixture
def fake() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as server:
        yield server


def tracer_at(origin: str) -> LangfuseTracer:
    key = SecretStr(SECRET)
    return LangfuseTracer(public_key=PUBLIC, secret_key=key, host=origin, prompt_label="production", mask=False)


async def turn(tracer: LangfuseTracer) -> RunState:
    async with running(DemoChatModel(seconds_per_token=0), tracer=tracer) as chat:
        run = await chat.say("What is 12 * 3?")
        tracer.record(Feedback(run.id, chat.path()[-1].id, True))
        assert tracer.find_prompt("system", SYSTEM_PROMPT).text == SYSTEM_PROMPT
        assert tracer.link_run(run.id) == ""
        return run.state


def closing(tracer: LangfuseTracer) -> float:
    began = time.monotonic()
    tracer.close()
    return time.monotonic() - began


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_turn_and_the_exit_go_on_whatever_langfuse_does(
    fake: FakeLangfuse, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake.trouble = TROUBLES[trouble]
    tracer = tracer_at(fake.origin)
    assert asyncio.run(turn(tracer)) is RunState.DONE
    assert closing(tracer) < GIVEN_UP
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    # A broken connection has two kinds of errors, by what the client was doing, and each is told once.
    assert len(said) == len({record.args for record in said}) <= 2, caplog.text
    assert SECRET not in caplog.text
    assert PUBLIC not in caplog.text


def test_langfuse_that_is_not_there_is_said_once_and_without_keys(caplog: pytest.LogCaptureFixture) -> None:
    with silent_port() as port:
        tracer = tracer_at(f"http://127.0.0.1:{port}")
        assert asyncio.run(turn(tracer)) is RunState.DONE
        assert closing(tracer) < GIVEN_UP
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].startswith("Langfuse does not take or give what it should")
    assert SECRET not in caplog.text


def test_what_langfuse_misses_while_it_fails_is_not_held_against_what_comes_after(fake: FakeLangfuse) -> None:
    fake.trouble = Fault("status", status=500)
    tracer = tracer_at(fake.origin)
    tracer.record(Feedback("run", "lost", True))
    fake.wait_for(lambda: any(b"lost" in each for each in fake.received))
    fake.trouble = None
    tracer.record(Feedback("run", "kept", True))
    fake.wait_for(lambda: bool(fake.scores))
    tracer.close()
    assert len(fake.scores) == 1


def test_the_server_ends_although_langfuse_hangs(fake: FakeLangfuse, tmp_path: Path) -> None:
    fake.trouble = Fault("hang")
    keys = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "LANGFUSE_HOST": fake.origin}
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0", **keys) as server:
        page = PageClient(server.link)
        assert page.say("hello")["run"] is None
        fake.wait_for(lambda: any(b"/traces" in each for each in fake.received))
        page.close()
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < GIVEN_UP
        assert SECRET not in server.log
        assert "Traceback" not in server.log
