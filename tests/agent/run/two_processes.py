"""Two processes that drive runs of one PostgreSQL, in one event loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from langchain_core.tools import BaseTool

from agent.run.hub import RunHub
from agent.run.wire import CommandCallback, LocalWire
from checkpoints import Database, Message, NewMessage, Run, Runs, RunState, Store
from extensions.fleet import run_worker
from extensions.fleet.workers import Workers
from tests.agent.running import Running, model_at, running
from tests.app_process import PATIENCE
from tests.fakes.openai import FakeOpenAI, Fault, Say

Story = Callable[[Running, Running], Awaitable[None]]
HANGING = Fault("hang", Say("one two three"), after_tokens=1)


class Wires:
    """Wires between processes, which bring every command to all of them, or lose it."""

    def __init__(self, *, loses: bool) -> None:
        self.loses = loses
        self.callbacks: list[CommandCallback] = []


class TestWire(LocalWire):
    __test__ = False

    def __init__(self, wires: Wires, hub: RunHub) -> None:
        super().__init__(hub)
        self.wires = wires

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        for callback in [] if self.wires.loses else self.wires.callbacks:
            asyncio.get_running_loop().call_soon(callback, command, thread_id, run_id)

    def on_command(self, callback: CommandCallback) -> None:
        self.wires.callbacks.append(callback)


def play(
    story: Story, address: str, *replies: Any, loses: bool = True, tools: Sequence[BaseTool] = (), **options: Any
) -> FakeOpenAI:
    """Play with two processes at one conversation. The wire loses everything, unless a test says otherwise."""

    async def whole(fake: FakeOpenAI) -> None:
        wires = Wires(loses=loses)
        one, other = Database.open_url(address), Database.open_url(address)
        members = [Workers.join(Store(each), "test") for each in (one, other)]
        for each in members:
            each._judges_from = 0
        ways: list[Any] = [
            {"database": database, "workers": member, "wire": partial(TestWire, wires)}
            for database, member in zip((one, other), members, strict=True)
        ]
        async with (
            model_at(fake) as model,
            running(model, tools, **ways[0], **options) as first,
            running(model, tools, **ways[1], **options, thread_id=first.thread_id) as second,
        ):
            await story(first, second)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
    return fake


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let heartbeats and handovers take some hundredths of a second."""
    monkeypatch.setattr(run_worker, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(run_worker, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(run_worker, "HANDOVER_SECONDS", 0.05)


def stop_beating(process: Running) -> None:
    assert process.runner.fleet is not None
    for task in process.runner.fleet._beating:
        task.cancel()


def freeze(process: Running) -> None:
    """Let a process beat no more, as if it were dead for some time."""
    stop_beating(process)
    with process.store.database.begin_write() as connection:
        connection.execute(
            sa.text("UPDATE worker SET heartbeat = heartbeat - 60000000 WHERE id = :id"), {"id": process.runs.worker_id}
        )


def state_of(process: Running) -> RunState:
    latest = process.runs.get_latest_run(process.thread_id)
    assert latest is not None
    return latest.state


def pause_messages_with_calls(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let the writing of messages that call tools wait. Return the events of its beginning, and of its release."""
    commit, writing, released = Runs.commit_message, threading.Event(), threading.Event()

    def wait_and_commit(runs: Runs, run: Run, message: NewMessage, **place: Any) -> tuple[Message, int]:
        if message.body["data"].get("tool_calls"):
            writing.set()
            assert released.wait(PATIENCE)
        return commit(runs, run, message, **place)

    monkeypatch.setattr(Runs, "commit_message", wait_and_commit)
    return writing, released
