"""Agents of LangChain and deepagents, and a project of LangGraph's, in the page as their authors wrote them."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.agent.running import KEY
from tests.e2e.conftest import Start, Visit
from tests.e2e.langgraph_project import ANSWER_ENV, FILES
from tests.e2e.stepping import Steps, read_channels
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.stacks import (
    AFTER_APPROVAL,
    CHANGE,
    CREATE_AGENT,
    DEEP_AGENT,
    PLAN,
    write_agent,
)
from tests.extensions.graphs.test_inputs import TRIP
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = pytest.mark.e2e


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
    steps = Steps(page)
    page.say("How is Ulm?")
    expect(page.tab.locator(".tool-name")).to_have_text(["weather"])
    steps.note()
    page.send("Book 7A")
    expect(question(page)).to_contain_text('"seat": "7A"')
    steps.note()
    approve(page)
    assert page.answer() == "Booked."
    steps.note()
    steps.undo_and_redo_all()


@pytest.mark.slow
def test_a_restore_of_an_agent_of_langchain_moves_every_channel(
    start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(graph=write_graph(tmp_path, write_agent(CREATE_AGENT, fake_openai))))
    fake_openai.script(Call("weather", {"city": "Ulm"}), Say("It is sunny."), Call("book", {"seat": "7A"}), Say("Booked."))
    page.say("How is Ulm?")
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
    steps = Steps(page)
    steps.note()
    approve(page)
    assert page.answer() == "The plan is written."
    steps.note()
    steps.undo_and_redo_all()
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
    steps = Steps(page)
    for turn, text in enumerate(("hi", "hello", "hey"), 1):
        page.say(text)
        assert page.answer() == f"counted {turn}"
        assert any(name.startswith("counter") for name in read_channels(page))  # the memory of the subgraph
        steps.note()
    steps.undo_and_redo_all()
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.message("hey")).to_have_count(0)
    page.say("ho")
    assert page.answer() == "counted 3"


@pytest.mark.slow
def test_a_project_of_langgraph_runs_unchanged(start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "project" / ".env").write_text(ANSWER_ENV.format(address=fake_openai.base_url, key=KEY))
    server = start(graph=str(tmp_path / "project" / "langgraph.json"))
    page = visit(server)
    steps = Steps(page)
    fake_openai.script(Call("search", {"query": "Ulm"}), Say("Ulm has a tall church."), Say("161 metres."))
    page.say("Tell me about Ulm.")
    assert page.answer() == "Ulm has a tall church."
    assert "Search results for Ulm" in page.messages()[2].text
    steps.note()
    page.say("How tall?")
    steps.note()
    steps.undo_and_redo_all()
    page.new_conversation()
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("option", name="new_agent").click()
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    form.get_by_label("Changeme").fill("mine")
    form.get_by_role("button", name="Run").click()
    page.wait_for_answer()
    assert "output from call_model. Configured with None" in page.answer()
    assert "Waymark does not use dependencies, python_version, image_distro." in server.log()


@pytest.mark.slow
def test_each_step_of_a_graph_without_messages_is_undone_and_done_again(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, TRIP)))
    steps = Steps(page)
    form = page.tab.get_by_role("form", name="Inputs of the graph")
    for city in ("Rome", "Oslo", "Bonn"):
        form.get_by_label("City").fill(city)
        form.get_by_role("button", name="Run").click()
        expect(page.message(f'"{city} 0"')).to_have_count(1)
        page.wait_for_answer()
        steps.note()
    steps.undo_and_redo_all()
