"""Sub-agents of a user graph fold below the calls that started them, while they work and afterwards."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.test_delegated_work import SCOUTS

pytestmark = pytest.mark.e2e


def work(page: Page) -> Locator:
    return page.tab.get_by_test_id("work")


@pytest.mark.slow
def test_the_work_of_a_sub_agent_is_folded_below_its_call_as_it_comes(start: Start, visit: Visit, tmp_path: Path) -> None:
    page = visit(start(graph=write_graph(tmp_path, SCOUTS)))
    page.send("far")
    page.tab.wait_for_url("**/t/*")
    expect(work(page)).to_contain_text("ask_scout")
    expect(work(page)).to_contain_text("2 messages")  # while its call goes on
    address = page.tab.evaluate("location.pathname")
    page.tab.evaluate("history.replaceState(history.state, '', '/')")  # as while the first turn has no address yet
    work(page).locator("summary").first.focus()
    page.tab.keyboard.press("Enter")
    expect(work(page).get_by_test_id("agent-message")).to_have_count(2)
    page.tab.evaluate("address => history.replaceState(history.state, '', address)", address)
    (tmp_path / "arrived").touch()
    page.wait_for_answer()
    assert page.answer() == "The scout says SEEN FAR."
    expect(work(page)).to_contain_text("4 messages")
    expect(work(page)).to_contain_text("SEEN FAR")
    page.save("Seen")
    page.send("closed")
    expect(question(page)).to_contain_text("Look at closed?")
    page.reload()
    expect(work(page)).to_have_count(2)
    expect(page.approval).to_have_count(0)  # the graph asks, and no card does
    question(page).get_by_role("textbox").fill("a wall")
    question(page).get_by_role("button", name="Answer").click()
    expect(question(page)).to_have_count(0)
    page.wait_for_answer()
    assert page.answer() == "The scout says A WALL."
    expect(work(page).last).to_contain_text("4 messages")
    page.restore("Seen")
    expect(work(page)).to_have_count(1)
    page.undo()
    expect(work(page)).to_have_count(2)
