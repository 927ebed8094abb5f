"""kill -9 while tools run or wait for a person: none runs twice by itself; one can continue, decide or just type.

Also while the model thinks: the reasoning is shown after the start.
"""

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.context.request import UNKNOWN_RESULT_TEXT
from agent.tools.decisions import NOT_APPROVED_TEXT
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say
from tests.fakes.tavily import FakeTavily, Fault
from tests.faults.page import JSON, PageClient
from tests.servers import Server

pytestmark = pytest.mark.slow

SEARCH = Call("web_search", {"query": "otters"}, text="Let me look. ")
SUM = Call("calculator", {"expression": "6*7"})
READ = Call("read_file", {"path": "note.txt"})


@pytest.fixture(scope="module")
def fakes() -> Iterator[tuple[FakeOpenAI, FakeTavily]]:
    with FakeOpenAI() as model, FakeTavily() as search:
        yield model, search


@pytest.fixture
def model(fakes: tuple[FakeOpenAI, FakeTavily]) -> FakeOpenAI:
    fakes[0].script()
    fakes[0].requests.clear()
    return fakes[0]


@pytest.fixture
def search(fakes: tuple[FakeOpenAI, FakeTavily]) -> FakeTavily:
    fakes[1].requests.clear()
    fakes[1].script(*[Fault("hang")] * 2)
    return fakes[1]


@pytest.fixture(scope="module")
def server(fakes: tuple[FakeOpenAI, FakeTavily], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("kill")
    (folder / "files").mkdir()
    (folder / "files" / "note.txt").write_text("The sea is calm.\n")
    keys = {"OPENAI_API_KEY": "sk-fake", "TAVILY_API_KEY": "tvly-fake"}
    places = {"OPENAI_BASE_URL": fakes[0].base_url, "TAVILY_BASE_URL": fakes[1].base_url}
    tools = {"FILES_DIR": str(folder / "files"), "TOOLS_APPROVAL": "read_file"}
    with Server(folder / "data", MODEL="openai:fake-model", TIME_TRAVEL="off", **keys, **places, **tools) as server:
        yield server


@pytest.fixture
def pages(server: Server) -> Iterator[tuple[PageClient, PageClient]]:
    """Two tabs, each on a conversation of its own."""
    first = PageClient(server.link)
    second = first.tab()
    yield first, second
    first.close()
    second.close()


def killed(server: Server, pages: tuple[PageClient, PageClient], is_there: Callable[[JSON], bool]) -> list[JSON]:
    """Ask in both tabs, kill the server when both stand where they should, start it again; what each tab then shows."""
    for page in pages:
        page.thread = None
        page.look()
        assert page.send("Tell me about otters, and what is 6*7?")["ok"]
    for page in pages:
        end = time.monotonic() + 60
        while not is_there(shown := page.look()):
            assert time.monotonic() < end, shown
    server.kill()
    server.restart()
    return [page.look() for page in pages]


def tools_of(shown: JSON) -> dict[str, tuple[str, str | None]]:
    return {tool["name"]: (tool["status"], tool["result"]) for message in shown["messages"] for tool in message["tools"]}


def results_in(request: JSON) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def goes_on(page: PageClient, model: FakeOpenAI) -> JSON:
    """Continue; what the model was asked."""
    model.script(Say("That is all I found."))
    page.act("transcript", "continue")
    shown = page.rest()
    assert (shown["run"], shown["messages"][-1]["text"]) == (None, "That is all I found.")
    return model.requests[-1]


def types(page: PageClient, model: FakeOpenAI) -> JSON:
    """Something else instead; what the model was asked."""
    model.script(Say("As you like."))
    shown = page.say("Never mind. Hello!")
    assert (shown["run"], shown["messages"][-1]["text"]) == (None, "As you like.")
    return model.requests[-1]


def test_a_tool_that_was_running_is_not_run_again_by_itself(
    server: Server, model: FakeOpenAI, search: FakeTavily, pages: tuple[PageClient, PageClient]
) -> None:
    model.script(SEARCH, SEARCH)
    for shown in killed(server, pages, lambda shown: len(search.requests) == 2):
        assert shown["run"]["state"] == "interrupted"
        assert tools_of(shown)["web_search"][0] == "stopped"
    assert len(model.requests) == 2
    assert results_in(goes_on(pages[0], model)) == [UNKNOWN_RESULT_TEXT]
    assert results_in(types(pages[1], model)) == [UNKNOWN_RESULT_TEXT]
    assert len(search.requests) == 2


def test_between_two_parallel_tools_the_result_of_the_one_is_kept_and_the_other_is_not_run_again(
    server: Server, model: FakeOpenAI, search: FakeTavily, pages: tuple[PageClient, PageClient]
) -> None:
    model.script(*[Calls((SEARCH, SUM))] * 2)

    def is_between(shown: JSON) -> bool:
        return tools_of(shown).get("calculator", ("", None))[0] == "done" and len(search.requests) == 2

    for shown in killed(server, pages, is_between):
        assert shown["run"]["state"] == "interrupted"
        assert tools_of(shown) == {"calculator": ("done", "42"), "web_search": ("stopped", None)}
    assert results_in(goes_on(pages[0], model)) == [UNKNOWN_RESULT_TEXT, "42"]
    assert results_in(types(pages[1], model)) == [UNKNOWN_RESULT_TEXT, "42"]
    assert (len(search.requests), len(model.requests)) == (2, 4)


def test_a_call_that_waited_for_a_person_waits_still_and_runs_once_when_it_is_allowed(
    server: Server, model: FakeOpenAI, pages: tuple[PageClient, PageClient]
) -> None:
    model.script(READ, READ)
    shown = killed(server, pages, lambda shown: tools_of(shown).get("read_file", ("", None))[0] == "waiting")[0]
    assert tools_of(shown) == {"read_file": ("waiting", None)}
    model.script(Say("It is calm."))
    call = shown["messages"][-1]["tools"][0]["id"]
    decision = {
        "type": "decide",
        "request_id": str(uuid.uuid4()),
        "version": shown["version"],
        "call": call,
        "kind": "allow",
    }
    pages[0].request_action("transcript", decision)
    assert pages[0].rest()["messages"][-1]["text"] == "It is calm."
    (result,) = results_in(model.requests[-1])
    assert "The sea is calm." in result
    assert results_in(types(pages[1], model)) == [NOT_APPROVED_TEXT]
    assert len(model.requests) == 4


def find_draft(folder: Path, thought: str) -> bool:
    """Whether a running draft on disk holds this reasoning."""
    with closing(sqlite3.connect(f"file:{folder}/waymark.db?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT 1 FROM run WHERE draft_reasoning = ?", (thought,)).fetchone() is not None


def test_reasoning_that_was_streamed_is_shown_after_a_kill(
    server: Server, model: FakeOpenAI, pages: tuple[PageClient, PageClient]
) -> None:
    model.manner = "deepseek"
    model.script(Say("Good day to you", thought="The user wants a greeting."))
    model.hold(after_tokens=3)
    page = pages[0]
    page.thread = None
    page.look()
    assert page.send("Greet me")["ok"]
    end = time.monotonic() + 60
    while not find_draft(server.folder, "The user wants "):
        assert time.monotonic() < end
        time.sleep(0.05)
    server.kill()
    model.release()
    model.manner = "openai"
    server.restart()
    cut_off = page.look()["messages"][-1]
    assert (cut_off["state"], cut_off["text"], cut_off["reasoning"]["text"]) == ("partial", "", "The user wants")
    assert results_in(goes_on(page, model)) == []
