"""The graphs of docs/graphs.md, as a reader would copy them."""

import asyncio
import re
from pathlib import Path

import pytest
from langchain_openai.chat_models import _client_utils

from agent.tools.decisions import Decision
from benchmarks import graphs_table
from checkpoints import Caller, RunState
from tests.agent.running import KEY, Running
from tests.app_process import ROOT
from tests.extensions.graphs.running_graphs import answer, decide, hosting
from tests.extensions.graphs.stacks import read_identities
from tests.extensions.graphs.test_driving import play
from tests.fakes.openai import Call, FakeOpenAI, Say

DOCUMENT = (ROOT / "docs" / "graphs.md").read_text()
FIRST_AGENT, BOOKING, DEEP_AGENT, TRAVELLER = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)


def name_fake(fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the document's own `ChatOpenAI(model=…)` find the fake."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
    _client_utils._cached_async_httpx_client.cache_clear()  # its connections are of an event loop that has ended


def test_the_first_agent_of_the_document_calls_its_tool_and_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        with FakeOpenAI() as fake:
            name_fake(fake, monkeypatch)
            async with hosting(tmp_path, FIRST_AGENT) as chat:
                fake.script(Call("weather", {"city": "Ulm"}), Say("Sunny."), Say("It was sunny."))
                for text in ("How is Ulm?", "And yesterday?"):
                    assert (await chat.say(text)).state is RunState.DONE
                assert chat.said()[2:4] == [("tool", "done", "It is sunny in Ulm."), ("ai", "done", "Sunny.")]
                chat.store.undo(chat.thread_id)
                assert chat.said()[-1] == ("ai", "done", "Sunny.")
            assert fake.violations == []

    asyncio.run(story())


def test_the_table_beside_other_savers_has_the_figures_of_the_benchmark() -> None:
    document, results = (each.read_text(encoding="utf-8") for each in (graphs_table.DOCUMENT, graphs_table.RESULTS))
    assert graphs_table.read_table(document) == graphs_table.make_table(results)


def test_the_graph_of_the_document_books_seats_and_forgets_them_with_an_undo(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        for seat, shown in (("7A", "Booked: 7A."), ("8B", "Booked: 7A, 8B.")):
            assert (await chat.say(seat)).state is RunState.WAITING
            assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == [f"Book {seat}?"]
            await answer(chat, "yes")
            assert chat.said()[-1] == ("ai", "done", shown)
        chat.store.undo(chat.thread_id)
        await answer(chat, "no")
        assert chat.said()[-1] == ("ai", "done", "Not booked.")
        await chat.say("9C")
        await answer(chat, "yes")
        assert chat.said()[-1] == ("ai", "done", "Booked: 7A, 9C.")

    play(tmp_path, story, BOOKING)


def test_the_deep_agent_of_the_document_asks_before_it_writes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        with FakeOpenAI() as fake:
            name_fake(fake, monkeypatch)
            async with hosting(tmp_path, DEEP_AGENT) as chat:
                written = Call("write_file", {"file_path": "/ulm.md", "content": "sunny"})
                fake.script(Call("weather", {"city": "Ulm"}), written, Say("It is written."))
                assert (await chat.say("How is Ulm?")).state is RunState.WAITING
                await answer(chat, decide("approve"))
                assert chat.said()[-1] == ("ai", "done", "It is written.")
                assert "files" in read_identities(chat.store, chat.thread_id)
            assert fake.violations == []

    asyncio.run(story())


def test_the_agent_of_the_document_goes_back_with_the_leave_of_a_person(tmp_path: Path) -> None:
    async def story() -> None:
        async with hosting(tmp_path, TRAVELLER, time_travel="ask") as chat:
            await chat.say("hello")
            assert (await chat.say("That was wrong.")).state is RunState.WAITING
            (call_id,) = chat.runner.list_move_calls(chat.thread_id)
            run = await chat.runner.decide(chat.thread_id, Decision(call_id, "allow"), caller=Caller())
            await chat.end(run)
            assert [message.type for message in chat.path()] == ["human", "human", "ai"]
            assert "Answer about AI." in chat.said()[1][2]

    asyncio.run(story())
