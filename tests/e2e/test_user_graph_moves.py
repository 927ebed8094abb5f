"""The agent of somebody's own graph asks to go back: the same card, the same undo, and all values go along."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.stepping import read_channels
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_user_graphs import question, write_graph
from tests.e2e.waymark import Page
from tests.extensions.graphs.test_time_travel import TRAVELLER, ask, go_to

pytestmark = pytest.mark.e2e


@pytest.fixture
def asked(start: Start, visit: Visit, tmp_path: Path) -> Page:
    """A conversation with a checkpoint, in whose third exchange the agent asks to go back to its first answer."""
    page = visit(start(graph=write_graph(tmp_path, TRAVELLER)))
    page.say("hello")
    page.say("black holes?")
    page.save("Space")
    page.send(ask(go_to("msg_1")))
    expect(page.approval).to_contain_text("The agent asks to go back to message 2:")
    return page


@pytest.mark.slow
def test_a_move_of_a_graph_is_allowed_undone_and_denied(asked: Page, visit: Visit) -> None:
    expect(asked.approval).to_contain_text("4 messages and 1 checkpoint will be removed from the conversation")
    expect(question(asked)).to_have_count(0)
    expect(asked.tab.get_by_text("The graph stopped here.")).to_have_count(0)
    expect_accessible(asked, "a move of a graph that waits")
    waiting = read_channels(asked)
    asked.reload()
    other = visit(asked.server, asked.tab.url.removeprefix(asked.server.origin))
    other.approval.get_by_role("button", name="Allow", exact=True).click()
    for each in (asked, other):
        expect(each.log.get_by_text("2: Only tea.")).to_be_visible()
        each.wait_for_answer()
        each.expect_messages(4)
    other.tab.close()
    assert [each.text for each in asked.messages()] == ["hello", "1: hello", "Only tea.", "2: Only tea."]
    expect(asked.tab.get_by_text("the agent went back to this point · 4 messages removed")).to_be_visible()
    note = asked.tab.locator(".place").filter(has_text="Agent went back").locator(".place-note")
    expect(note.locator(".visually-hidden")).to_have_text("−1 token")
    expect(note).to_have_attribute("title", "−4 messages · −1 token")
    asked.expect_checkpoints()
    asked.notice.get_by_role("button", name="Undo").click()
    expect(asked.approval).to_contain_text("The agent asks to go back to message 2:")
    asked.expect_checkpoints(("Space", 4))
    assert read_channels(asked) == waiting
    asked.approval.get_by_role("button", name="Deny", exact=True).click()
    expect(asked.message("4: ")).to_be_visible()
    asked.wait_for_answer()


@pytest.mark.slow
def test_always_allowed_moves_and_checkpoints_of_a_graph_need_nobody(asked: Page) -> None:
    asked.approval.get_by_role("button", name="Always allow", exact=True).click()
    expect(asked.log.get_by_text("2: Only tea.")).to_be_visible()
    asked.wait_for_answer()
    asked.expect_messages(4)
    asked.say(ask(("save_checkpoint", {"name": "Tea"})))
    expect(asked.checkpoint("Tea")).to_have_count(1)
    asked.say("more")
    asked.send(ask(go_to("Tea", "From here.")))
    expect(asked.log.get_by_text(re.compile(r"^\d+: From here\.$"))).to_be_visible()  # the question quotes it, too
    asked.wait_for_answer()
    assert asked.answer().endswith(": From here.")
