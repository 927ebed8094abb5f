"""A process among several that is asked to end: which of its runs it brings to their end, and which it hands over."""

import asyncio
from pathlib import Path

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage

from agent.run.answer_writer import RunWriter
from agent.run.open_calls import OpenCalls
from agent.run.recorder import RunRecorder
from agent.tools.decisions import STOPPED_TEXT
from checkpoints import Database, RunState, Store
from extensions.fleet import run_worker
from extensions.fleet.workers import Workers
from tests.agent.run.two_processes import HANGING, hurry, pause_messages_with_calls, play, state_of
from tests.agent.running import Running, running, tool
from tests.checkpoints.conversations import new
from tests.extensions.graphs.running_graphs import hosting, one_node
from tests.fakes.openai import Call, Say


@pytest.fixture(autouse=True)
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def test_a_process_that_ends_hands_its_runs_over(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(one.heard)
        await one.runner.close()
        assert (await other.end(run)).state is RunState.DONE
        assert other.said() == [("human", "done", "please"), ("ai", "partial", "one "), ("ai", "done", "two three")]

    play(story, postgres_url, HANGING, Say("two three"))


class Gate:
    """A tool that is at work until a test lets it end."""

    def __init__(self) -> None:
        self.begun = 0
        self.opened = asyncio.Event()
        self.tool = tool("look", self._look)

    async def _look(self) -> str:
        self.begun += 1
        await self.opened.wait()
        return "seen"


def test_a_process_that_ends_waits_for_its_tool_and_hands_the_answer_over(postgres_url: str) -> None:
    gate = Gate()

    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(lambda: gate.begun)
        closing = asyncio.create_task(one.runner.close())
        await asyncio.sleep(4 * run_worker.HANDOVER_SECONDS)
        assert state_of(one) is RunState.RUNNING
        assert not closing.done()
        gate.opened.set()
        assert (await other.end(run)).state is RunState.DONE
        await closing
        whole = [each for each in other.said() if each[1] == "done"]
        assert whole == [("human", "done", "please"), ("ai", "done", ""), ("tool", "done", "seen"), ("ai", "done", "done")]
        assert gate.begun == 1

    play(story, postgres_url, Call("look", {}), Say("done"), Say("done"), tools=[gate.tool])


def test_a_tool_that_is_asked_for_in_the_moment_of_the_handover_still_runs(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, writing, written = Gate(), *pause_messages_with_calls(monkeypatch)
    gate.opened.set()

    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(writing.is_set)
        work, closing = one.runner.active_runs.by_thread[one.thread_id].work, asyncio.create_task(one.runner.close())
        await asyncio.wait({work, closing}, timeout=4 * run_worker.HANDOVER_SECONDS)
        written.set()
        assert (await other.end(run)).state is RunState.DONE
        await closing
        assert gate.begun == 1

    play(story, postgres_url, Call("look", {}), Say("done"), Say("done"), tools=[gate.tool])


def test_who_writes_a_message_after_the_handover_is_cancelled_and_its_text_is_kept() -> None:
    """The work is cancelled in one moment, and each of its parts learns it a moment later."""

    async def story() -> None:
        async with running(FakeListChatModel(responses=[])) as chat:
            run = chat.runs.begin_run(chat.thread_id, new("please")[0])
            recorder = RunRecorder(run, RunWriter(run, chat.runs, chat.hub), chat.runner.parts.blocking)
            recorder.append_text("seen")
            recorder.is_handed_over = True
            with pytest.raises(asyncio.CancelledError):
                await recorder.commit(AIMessage("seen"))
            async with recorder.hold_draft() as draft:
                assert draft.text == "seen"
            assert [text for _, _, text in chat.said()] == ["please"]
            chat.runs.end_run(run, RunState.STOPPED)

    asyncio.run(story())


@pytest.mark.parametrize("loses", [True, False])
def test_a_run_that_a_person_stops_at_a_process_that_ends_was_stopped(postgres_url: str, loses: bool) -> None:
    gate = Gate()

    async def story(one: Running, other: Running) -> None:
        await one.send("please")
        await one.until(lambda: gate.begun)
        closing = asyncio.create_task(one.runner.close())
        await one.until(one.runner.active_runs.closing.is_set)
        assert await other.runner.stop(other.thread_id)
        await closing
        assert state_of(other) is RunState.STOPPED

    play(story, postgres_url, Call("look", {}), tools=[gate.tool], loses=loses)


def test_a_tool_that_takes_longer_than_the_process_has_is_cut_off_and_told(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    async def story(one: Running, other: Running) -> None:
        run = await one.send("please")
        await one.until(lambda: gate.begun)
        await one.runner.close()
        assert state_of(other) is RunState.INTERRUPTED
        assert other.said()[-1] == ("tool", "done", STOPPED_TEXT)
        assert f"run {run.id} is cut off" in caplog.text

    play(story, postgres_url, Call("look", {}), tools=[gate.tool], shutdown_seconds=0.2)


WAITING_NODE = one_node("""
async def node(state):
    while not os.path.exists(GATE):
        await asyncio.sleep(0.01)
    return {"messages": [AIMessage("done")]}
""")


def test_a_process_that_ends_waits_for_its_user_graph(postgres_url: str, tmp_path: Path) -> None:
    async def story() -> None:
        databases = Database.open_url(postgres_url), Database.open_url(postgres_url)
        one_of, other_of = (Workers.join(Store(each), "test") for each in databases)
        gate = tmp_path / "gate"
        graph = f"import os\nGATE = {str(gate)!r}\n{WAITING_NODE}"
        async with (
            hosting(tmp_path, graph, database=databases[0], workers=one_of) as one,
            hosting(tmp_path, graph, database=databases[1], workers=other_of, thread_id=one.thread_id) as other,
        ):
            run = await one.send("please")
            closing = asyncio.create_task(one.runner.close())
            await asyncio.sleep(4 * run_worker.HANDOVER_SECONDS)
            assert state_of(other) is RunState.RUNNING
            gate.touch()
            await closing
            assert other.runs.get_run(run.id).state is RunState.DONE  # type: ignore[union-attr]
            assert other.said()[-1] == ("ai", "done", "done")

    asyncio.run(story())


def test_a_worker_that_ends_leaves_its_runs_to_one_that_comes_later_while_the_page_is_served(postgres_url: str) -> None:
    async def story(one: Running, page: Running) -> None:
        page.runner.active_runs.max_runs = 0
        run = await one.send("please")
        await one.until(one.heard)
        await one.runner.close()
        assert state_of(page) is RunState.RUNNING
        page.runner.active_runs.max_runs = None  # as one that comes
        assert (await page.end(run)).state is RunState.DONE
        assert page.said() == [("human", "done", "please"), ("ai", "partial", "one "), ("ai", "done", "two three")]

    play(story, postgres_url, HANGING, Say("two three"))


def test_the_last_process_interrupts_its_runs_at_its_end(postgres_url: str) -> None:
    async def story(one: Running, other: Running) -> None:
        await one.send("please")
        await one.until(one.heard)
        await other.runner.close()
        await one.runner.close()
        assert state_of(one) is RunState.INTERRUPTED

    play(story, postgres_url, HANGING)


def test_the_tools_of_several_answers_are_waited_for_together() -> None:
    async def story() -> None:
        calls = OpenCalls()
        part = calls.begin_part()
        part.note_message(AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]), "main")
        waiting = asyncio.create_task(calls.wait_for_results())
        await asyncio.sleep(0)
        assert not waiting.done()
        assert calls.make_results() == []  # the answer's own end has its results
        part.note_message(ToolMessage("seen", tool_call_id="1"), "main")
        await waiting

    asyncio.run(story())
