"""The states of a run are written in its order, and none after its end."""

from pathlib import Path

import pytest

from agent.run.answer_writer import RunWriter
from agent.run.recorder import RunEndedError, RunRecorder, WrittenMessage
from checkpoints import RunState
from tests.agent.guests.test_driving import play
from tests.agent.running import Running


def test_nothing_is_written_for_a_run_that_has_ended(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        recorder = RunRecorder(run, RunWriter(run, chat.runs, chat.hub), chat.runner.blocking)
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
