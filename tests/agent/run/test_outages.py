"""A database server that stops and a tool program that dies while a run is at work: each run ends, and the next works."""

import asyncio
import logging
import shutil
import sys
from pathlib import Path

import pytest
from langchain_core.tools import BaseTool

from agent.tools.mcp import McpServer, McpServers
from checkpoints import Database, RunState, Store, StoreUnavailableError
from tests.agent.running import model_at, running
from tests.app_process import ROOT
from tests.fakes.openai import Call, FakeOpenAI, Say
from tests.postgres import Postgres

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["cut", "stop"])
def test_a_run_whose_database_server_is_gone_ends_and_the_next_works_when_it_is_back(
    way: str, postgres: Postgres, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(fake: FakeOpenAI) -> None:
        database = Database.open_url(postgres_url)
        async with model_at(fake) as model, running(model, database=database, watch_seconds=0.05) as chat:
            fake.hold(1)
            run = await chat.send("please")
            await chat.until(chat.heard)
            await asyncio.to_thread(postgres.stop)
            try:
                if way == "stop":
                    await chat.runner.stop(chat.thread_id)
                fake.release()
                await chat.until(lambda: f"run {run.id} could not be written to its end: The database" in caplog.text)
                with pytest.raises(StoreUnavailableError):
                    await chat.send("and now?")
            finally:
                await asyncio.to_thread(postgres.start)
            assert (await chat.end(run)).state is (RunState.STOPPED if way == "stop" else RunState.FAILED)
            assert (await chat.say("and now?")).state is RunState.DONE

    with FakeOpenAI() as fake:
        fake.reply(Say("one two three"))
        asyncio.run(story(fake))


@pytest.mark.parametrize("way", ["cut", "stop"])
def test_a_run_whose_folder_is_removed_ends_and_the_database_says_why(
    way: str, file_store: Store, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, database=file_store.database, watch_seconds=0.05) as chat:
            fake.hold(1)
            run = await chat.send("please")
            await chat.until(chat.heard)
            shutil.rmtree(file.parent)
            if way == "stop":
                await chat.runner.stop(chat.thread_id)
            fake.release()
            await chat.until(lambda: f"run {run.id} could not be written to its end: " in caplog.text)
            with pytest.raises(StoreUnavailableError, match="was deleted or moved"):
                await chat.send("and now?")
            assert "was deleted or moved" in file_store.database.outage

    with FakeOpenAI() as fake:
        fake.reply(Say("one two three"))
        asyncio.run(story(fake))


def test_a_tool_program_that_fails_is_silent_or_dies_costs_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tools: list[BaseTool] = []
    program = McpServer("fake", sys.executable, ("-m", "tests.fakes.mcp"), {"PYTHONPATH": str(ROOT)}, approval=False)
    servers = McpServers([program], tools, set())
    mark = tmp_path / "begun"

    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, tools, tool_seconds=5) as chat:
            servers.start()
            await chat.until(lambda: tools)
            for call in (Call("fake__fail", {}), Call("fake__hang", {"mark": str(mark)}), Call("fake__die", {})):
                fake.reply(call, Say("So."))
                assert (await chat.say("please")).state is RunState.DONE
            failed, silent, broken = [text for kind, _, text in chat.said() if kind == "tool"]
            assert "Error executing tool fail" in failed
            assert silent == "The tool took longer than 5 s and was stopped."
            assert "broke off in the middle" in broken
            mark.unlink()
            fake.reply(Call("fake__hang", {"mark": str(mark)}))
            run = await chat.send("please")
            await chat.until(mark.exists)
            await chat.runner.stop(chat.thread_id)
            assert (await chat.end(run)).state is RunState.STOPPED
            assert (await chat.say("and now?")).state is RunState.DONE
            assert chat.unanswered() == set()
            await servers.close()

    caplog.set_level(logging.WARNING)
    with FakeOpenAI() as fake:
        asyncio.run(story(fake))
        assert fake.violations == []
    assert "the MCP server fake broke off: " in caplog.text
