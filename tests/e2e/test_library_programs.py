"""The page on the database of a program that uses the installed library: what one does, the other goes on from."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.deploy.supply.wheel import unpack_wheel
from tests.e2e.conftest import Start, Visit
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PROGRAM = """
import sys
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from waymark_checkpoints.langgraph import WaymarkSaver

class State(MessagesState, total=False):
    turns: int

def answer(state):
    turns = state.get("turns", 0) + 1
    return {"messages": [AIMessage(f"{turns}: {state['messages'][-1].text}")], "turns": turns}

builder = StateGraph(State).add_node("answer", answer).add_edge(START, "answer")
with WaymarkSaver.open(sys.argv[1]) as saver:
    graph, config = builder.compile(checkpointer=saver), {"configurable": {"thread_id": "trip"}}
    for text in sys.argv[2:]:
        graph.invoke({"messages": [("human", text)]}, config)
        saver.store.save("trip", name=f"After {text}")
    print([message.text for message in graph.get_state(config).values["messages"]])
"""
ONE, TWO = ["one", "1: one"], ["two", "2: two"]


class Program:
    """The program, which runs where nothing of the repository can be imported."""

    def __init__(self, folder: Path, address: str) -> None:
        self._library, self._script, self._address = unpack_wheel(folder), folder / "program.py", address
        self._script.write_text(PROGRAM)

    def run(self, *questions: str) -> str:
        ran = subprocess.run(
            [sys.executable, self._script, self._address, *questions],
            cwd=self._script.parent,
            env={"PYTHONPATH": str(self._library)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stderr == ""
        return ran.stdout.strip()


def read_texts(page: Page) -> list[str]:
    return [message.text for message in page.messages()]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_program_and_the_page_take_turns(
    database: str, start: Start, visit: Visit, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_file = database == "sqlite"  # which one program at a time opens
    address = f"sqlite:///{tmp_path / 'trip.sqlite'}" if is_file else request.getfixturevalue("postgres_url")
    program = Program(tmp_path, address)
    assert program.run("one", "two") == str(ONE + TWO)
    server = start(database_url=address)
    page = visit(server, "/t/trip")
    page.expect_messages(4)
    assert read_texts(page) == ONE + TWO
    page.expect_checkpoints(("After one", 2), ("After two", 4))
    compare_values(page)
    dialog = page.ask_to_restore("After one")
    expect(dialog).to_contain_text("turns: 2 → 1")
    expect(dialog).to_contain_text("What its tools did in the world stays")
    page.confirm("Restore")
    page.expect_messages(2)
    page.undo()
    page.expect_messages(4)
    page.restore("After one")
    page.expect_messages(2)
    ask_the_built_in_agent(page)
    if is_file:
        page.expect_lost_server()
        server.stop()
    assert program.run("other") == str([*ONE, "other", "2: other"])
    if is_file:
        server.start()
    page.open("/t/trip")
    page.expect_messages(4)
    assert read_texts(page)[2:] == ["other", "2: other"]


def compare_values(page: Page) -> None:
    """See what the program's graph had at another place."""
    page.select(page.checkpoint("After one")).get_by_test_id("compare").click()
    expect(page.dialog.get_by_test_id("channel")).to_contain_text("1 → 2")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)


def ask_the_built_in_agent(page: Page) -> None:
    """It does not answer here, where the program goes on. It does in a new conversation."""
    expect(page.tab.get_by_test_id("limits")).to_contain_text("A program's graph answers here.")
    page.composer.fill("And you?")
    page.composer.press("Enter")
    expect(page.tab.locator(".composer-problem")).to_contain_text("branch into a new conversation")
    expect(page.composer).to_have_value("And you?")
    page.expect_messages(2)
    page.composer.fill("")
    dialog = page.ask_to_branch("1: one")
    expect(dialog).to_contain_text("In a new conversation the built-in agent answers.")
    expect(dialog.get_by_label("A new conversation", exact=True)).to_be_checked()
    page.confirm("Branch")
    expect(page.tab.get_by_test_id("limits")).to_have_count(0)
    page.say("hello")
    page.expect_messages(4)
    page.open("/t/trip")
    page.expect_messages(2)
