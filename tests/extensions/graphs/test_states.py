"""The states of a run are written in its order, and none after its end."""

import asyncio
import inspect
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.run.answer_writer import RunWriter
from agent.run.recorder import RunEndedError, RunRecorder, WrittenMessage
from checkpoints import RunState
from checkpoints.values.standing_answers import StandingAnswers
from extensions.graphs.run_saver import RunSaver
from tests.agent.running import Running
from tests.extensions.graphs.test_driving import play


def test_nothing_is_written_for_a_run_that_has_ended(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        recorder = RunRecorder(run, RunWriter(run, chat.runs, chat.hub), chat.runner.parts.blocking)
        tries: list[str] = []

        def write() -> list[WrittenMessage]:
            tries.append("written")
            return []

        await recorder.record_write(write)
        recorder.end_work(RunState.STOPPED)
        with pytest.raises(RunEndedError):
            await recorder.record_write(write)
        assert tries == ["written"]

    play(tmp_path, story)


def test_a_graph_that_outlives_its_app_writes_nothing_and_leaves_nothing_behind() -> None:
    begun = list[Coroutine[Any, Any, None]]()

    class States:
        recorder = SimpleNamespace(run=SimpleNamespace(id="r"))

        def put_writes(self, *_: object) -> Coroutine[Any, Any, None]:
            async def write() -> None:
                """Never awaited: its loop is closed."""

            begun.append(write())
            return begun[-1]

    states, unused, pages = cast(Any, States()), cast(Any, None), asyncio.new_event_loop()
    pages.close()
    saver = RunSaver(InMemorySaver(), states, unused, pages, answers=StandingAnswers())
    with pytest.raises(RuntimeError, match="closed"):
        saver.put_writes({"configurable": {}}, [], "task")
    assert [inspect.getcoroutinestate(each) for each in begun] == [inspect.CORO_CLOSED]
