"""Export, import and search of a conversation that somebody's own graph answered."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_search import search
from tests.e2e.test_user_graphs import question, write_graph

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
# Channels of plain JSON, and one that is not.
COUNTING = """
from datetime import UTC, datetime
from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState, total=False):
    turns: int
    notes: dict
    seen_at: datetime


def node(state):
    turns, text = state.get("turns", 0) + 1, state["messages"][-1].text
    said = interrupt("Which bird?") if text == "ask" else text
    notes = {**state.get("notes", {}), said: turns}
    return {"turns": turns, "notes": notes, "seen_at": datetime.now(UTC), "messages": [AIMessage(f"{turns}: {said}")]}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
"""
LEFT_OUT = "Values of its graph that are not plain JSON are not in it: seen_at."


def test_a_graphs_conversation_is_found_exported_and_goes_on_with_its_values_elsewhere(
    start: Start, visit: Visit, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, COUNTING)
    here, there = visit(start(graph=graph)), visit(start(graph=graph))
    here.say("pangolin")
    here.save("First")
    here.say("more")
    here.send("ask")
    expect(question(here)).to_contain_text("Which bird?")
    file = here.export(tmp_path)
    exported = json.loads(file.read_text())
    assert {"turns": 2}.items() <= exported["states"][-1]["values"].items()
    assert not any("seen_at" in each["values"] for each in exported["states"])

    there.choose_import(file)
    expect(there.dialog).to_contain_text(LEFT_OUT)
    expect(there.dialog).to_contain_text("As a new conversation, the graph graph answers it.")
    there.confirm("As a new conversation")
    there.tab.wait_for_url(re.compile("/t/"))
    there.expect_messages(5)
    assert there.messages() == here.messages()
    expect(question(there)).to_contain_text("Which bird?")
    question(there).get_by_role("textbox").fill("heron")
    question(there).get_by_role("button", name="Answer").click()
    expect(question(there)).to_have_count(0)
    there.wait_for_answer()
    assert there.answer() == "3: heron"
    there.restore("First")
    there.open_card_menu(there.checkpoint("First")).get_by_test_id("state").click()
    channels = there.tab.get_by_test_id("channel")
    expect(channels.filter(has_text="turns").locator("summary")).to_contain_text("1")
    expect(channels.filter(has_text="notes")).to_have_count(1)
    expect(channels.filter(has_text="seen_at")).to_have_count(0)
    there.tab.keyboard.press("Escape")
    expect(there.dialog).to_have_count(0)
    there.say("other")
    assert there.answer() == "2: other"
    there.new_conversation()
    search(there, "1: pangolin", "1: pangolin").click()
    expect(there.tab.locator("article[data-place]")).to_contain_text("1: pangolin")
    there.expect_messages(4)
