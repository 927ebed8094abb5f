"""Agents of LangChain and deepagents, and a project of LangGraph's, in the page as their authors wrote them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from checkpoints import Database, Store
from tests.agent.guests.stacks import (
    AFTER_APPROVAL,
    CHANGE,
    CREATE_AGENT,
    DEEP_AGENT,
    PLAN,
    read_identities,
    write_agent,
)
from tests.e2e.conftest import Start, Visit
from tests.e2e.test_guests import question, write_graph
from tests.e2e.waymark import SHOWN, Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = pytest.mark.e2e


def read_channels(page: Page) -> dict[str, Any]:
    """The hash of each channel where the conversation of the page stands."""
    copy = page.server.folder / "copy.db"  # the server holds its own
    with (
        closing(sqlite3.connect(page.server.folder / "data" / "waymark.db")) as own,
        closing(sqlite3.connect(copy)) as other,
    ):
        own.backup(other)
    with closing(Database.open_file(copy)) as database:
        return read_identities(Store(database), page.tab.url.rsplit("/", 1)[1])


def approve(page: Page) -> None:
    question(page).get_by_role("button", name="Approve").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()


def channel(page: Page, name: str) -> Locator:
    return page.tab.get_by_test_id("channel").filter(has=page.tab.get_by_text(name, exact=True))


@pytest.mark.slow
def test_an_agent_of_langchain_calls_tools_asks_and_goes_back(
    start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(graph=write_graph(tmp_path, write_agent(CREATE_AGENT, fake_openai))))
    fake_openai.script(Call("weather", {"city": "Ulm"}), Say("It is sunny."), Call("book", {"seat": "7A"}), Say("Booked."))
    page.say("How is Ulm?")
    expect(page.tab.locator(".tool-name")).to_have_text(["weather"])
    page.save("Asked")
    before = read_channels(page)
    page.send("Book 7A")
    expect(question(page)).to_contain_text("book")
    expect(question(page)).to_contain_text('"seat": "7A"')
    approve(page)
    assert page.answer() == "Booked."
    after = read_channels(page)
    page.restore("Asked")
    assert read_channels(page) == before != after
    page.undo()
    assert read_channels(page) == after


@pytest.mark.slow
def test_todos_files_and_a_sub_agent_of_a_deep_agent_are_seen_and_go_back(
    start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(graph=write_graph(tmp_path, write_agent(DEEP_AGENT, fake_openai))))
    fake_openai.script(*PLAN, *AFTER_APPROVAL, *CHANGE)
    page.send("Plan a trip to Ulm.")
    expect(question(page)).to_contain_text("write_file")
    expect(question(page)).to_contain_text("/plan.md")
    page.reload()
    approve(page)
    assert page.answer() == "The plan is written."
    expect(page.tab.locator(".tool-name")).to_have_text(["write_todos", "task", "scout", "write_file", "write_todos"])
    expect(page.log).to_contain_text("It is sunny in Ulm.")  # of the sub-agent, as the result of its call
    page.save("Planned")
    planned = read_channels(page)
    page.say("It will rain.")
    changed = read_channels(page)
    page.open_card_menu(page.checkpoint("Planned")).get_by_test_id("state").click()
    expect(channel(page, "files")).to_have_attribute("data-difference", "changed")
    expect(channel(page, "todos")).not_to_have_attribute("data-difference", "changed")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    dialog = page.ask_to_restore("Planned")
    expect(dialog).to_contain_text("files")
    page.confirm("Restore")
    expect(page.notice).to_contain_text("Restored to Planned")
    assert read_channels(page) == planned
    page.undo()
    assert read_channels(page) == changed != planned


# A counter in a subgraph with a memory, a reducer of the author's, and all but the newest four messages removed.
REDUCERS = """
from operator import add
from typing import Annotated

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph


def keep_longest(one, other):
    return max(one or "", other or "", key=len)


class Count(MessagesState, total=False):
    count: int


class State(MessagesState, total=False):
    longest: Annotated[str, keep_longest]
    lengths: Annotated[list[int], add]


def count(state):
    reached = state.get("count", 0) + 1
    return {"count": reached, "messages": [AIMessage(f"counted {reached}")]}


def answer(state):
    text = state["messages"][-2].text
    removed = [RemoveMessage(each.id) for each in state["messages"][:-4]]
    return {"messages": removed, "longest": text, "lengths": [len(text)]}


counter = StateGraph(Count).add_node("count", count).add_edge(START, "count").compile(checkpointer=True)
builder = StateGraph(State).add_node("counter", counter).add_node("answer", answer)
graph = builder.add_edge(START, "counter").add_edge("counter", "answer").compile()
"""


@pytest.mark.slow
def test_reducers_removed_messages_and_a_subgraph_with_a_memory_are_undone_and_done_again(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    page = visit(start(graph=write_graph(tmp_path, REDUCERS)))
    seen = []
    for turn, text in enumerate(("hi", "hello", "hey"), 1):
        page.say(text)
        assert page.answer() == f"counted {turn}"
        expect(page.tab.locator(".topbar")).to_contain_text(f"{min(2 * turn, 4)} messages")  # the panels have followed
        seen.append(([each.text for each in page.messages()], read_channels(page)))
    for name, wanted in (("Undo last change", seen[1::-1]), ("Redo", seen[1:])):
        for texts, channels in wanted:
            page.tab.get_by_role("button", name=name, exact=True).click()
            expect(page.tab.locator(f"{SHOWN} > .prose")).to_have_text(texts)
            assert read_channels(page) == channels
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.message("hey")).to_have_count(0)
    page.say("ho")
    assert page.answer() == "counted 3"


PROJECT = {
    "langgraph.json": json.dumps(
        {
            "$schema": "https://langgra.ph/schema.json",
            "python_version": "3.13",
            "dependencies": ["."],
            "graphs": {"agent": "trip_agent.graph:graph", "minimal": "./src/agent/graph.py:graph"},
            "env": ".env",
            "image_distro": "wolfi",
        }
    ),
    "pyproject.toml": '[project]\nname = "trip-agent"\nversion = "0.0.1"\ndependencies = ["langgraph>=1.0.0"]\n',
    "src/trip_agent/__init__.py": '"""An agent."""\n',
    "src/trip_agent/tools.py": 'def greet(name: str) -> str:\n    return f"Hello {name}."\n',
    "src/trip_agent/graph.py": """
from __future__ import annotations

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph

from trip_agent.tools import greet


async def answer(state: MessagesState) -> MessagesState:
    return {"messages": [AIMessage(greet(state["messages"][-1].text))]}


graph = StateGraph(MessagesState).add_node(answer).add_edge("__start__", "answer").compile(name="Trips")
""",
    "src/agent/__init__.py": '"""A graph of one node."""\n\nfrom agent.graph import graph\n\n__all__ = ["graph"]\n',
    "src/agent/graph.py": """
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict


class Context(TypedDict):
    tone: str


@dataclass
class State:
    word: str = "example"


async def shout(state: State, runtime: Runtime[Context]) -> Dict[str, Any]:
    return {"word": f"{state.word.upper()} {(runtime.context or {}).get('tone')}"}


graph = StateGraph(State, context_schema=Context).add_node(shout).add_edge("__start__", "shout").compile(name="Shout")
""",
}  # laid out and written like the projects of `langgraph new`: modules under src, no .env yet


@pytest.mark.slow
def test_a_project_of_langgraph_runs_unchanged(start: Start, visit: Visit, tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    server = start(graph=str(tmp_path / "project" / "langgraph.json"))
    page = visit(server)
    page.say("Ada")
    assert page.answer() == "Hello Ada."
    page.new_conversation()
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("option", name="minimal").click()
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    form.get_by_label("Word").fill("quiet")
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert '"QUIET None"' in page.answer()
    assert "ignored are python_version, dependencies, image_distro." in server.log()
