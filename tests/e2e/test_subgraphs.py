"""Subgraphs of somebody's own graph in the page: their words as they come, and what they have written at their question."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.agent.running import KEY
from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_user_graphs import question, write_graph
from tests.extensions.graphs.test_subgraphs import AGENTS, DRAFT, SUPERVISED
from tests.fakes.openai import FakeOpenAI

pytestmark = pytest.mark.e2e


def write_agents(tmp_path: Path, fake: FakeOpenAI, graph: str) -> str:
    return write_graph(tmp_path, AGENTS.format(address=fake.base_url, key=KEY) + graph)


@pytest.mark.slow
def test_an_agent_of_a_supervisor_writes_under_its_name_in_every_tab(
    start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(graph=write_agents(tmp_path, fake_openai, SUPERVISED)))
    fake_openai.hold(after_tokens=2)
    page.send("go")
    expect(page.live.locator(".live-agent")).to_have_text("scout")
    page.tab.wait_for_url("**/t/*")
    later = visit(page.server, page.tab.url.removeprefix(page.server.origin))
    for each in (page, later):
        expect(each.live.locator(".live-text")).to_have_text("scoutYou said:")
    fake_openai.release()
    for each in (page, later):
        each.wait_for_answer()
        assert each.answer().startswith("You said: writer")
        expect(each.message("You said: scout")).to_have_count(1)


@pytest.mark.slow
def test_a_draft_is_above_its_question_and_its_values_are_in_state_until_the_answer_and_after_an_undo(
    start: Start, visit: Visit, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(graph=write_agents(tmp_path, fake_openai, DRAFT)))
    page.send("go")
    draft = question(page).get_by_test_id("draft")
    expect(draft).to_contain_text("Draft of sub")
    expect(draft).to_contain_text("You said: draft")
    expect(page.live).to_have_count(0)  # it stands once
    page.reload()
    expect(draft).to_contain_text("You said: draft")
    expect_accessible(page, "a draft at its question")
    page.save("Asked")
    page.open_card_menu(page.checkpoint("Asked")).get_by_test_id("state").click()
    subgraph = page.dialog.get_by_test_id("subgraph")
    subgraph.locator("summary").first.click()
    expect(subgraph.get_by_test_id("channel")).to_contain_text("2 messages")
    expect(subgraph.get_by_test_id("channel")).to_have_attribute("data-difference", "same")
    expect_accessible(page, "the state of a subgraph")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    question(page).get_by_role("textbox").fill("yes")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "yes"
    expect(page.tab.locator(".topbar")).to_contain_text("3 messages")  # the panels have followed, and with them the version
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(draft).to_contain_text("You said: draft")
