"""The agent tries several ways at once: the card lists them before and after, and opens each as a branch."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_the_card_lists_the_ways_asks_first_and_opens_each(start: Start, visit: Visit) -> None:
    page = visit(start())
    page.send("Please try two ways: tell me about tea; what is 2 * 21?")
    expect(page.approval).to_contain_text("The agent asks to try these approaches, each on its own branch.")
    expect(page.log.locator(".attempts li")).to_have_text(["tell me about tea", "what is 2 * 21?"])
    expect_accessible(page, "a fork that waits")
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    expect(page.log.get_by_text("I tried each on a branch of its own.")).to_be_visible()
    page.wait_for_answer()
    card = page.tab.locator("details.tool").first
    expect(card.locator("summary")).to_contain_text("2 of 2 done")
    expect(page.notice).to_contain_text("The agent opened 2 branches")
    card.locator("summary").click()
    expect(card.get_by_role("group", name="Result")).to_contain_text("2. what is 2 * 21?")  # and no JSON
    card.get_by_role("button", name="Open what is 2 * 21?").click()
    expect(page.branch("what is 2 * 21?")).to_contain_text("you are here")
    assert "42" in page.answer()
    assert [message.text for message in page.messages() if message.role == "user"][1] == "what is 2 * 21?"


def test_what_is_done_shows_while_the_others_are_at_work(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Call("fork", {"prompts": ["Try a", "Try b"]}), Say("A."), Fault("hang"))
    page.send("Which?")
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    card = page.tab.locator("details.tool").first
    expect(card.locator("summary")).to_contain_text("1 of 2 done")
    page.stop_button.click()
    card.locator("summary").click()
    ways = card.get_by_test_id("way")
    expect(ways.locator(".visually-hidden")).to_have_text([re.compile("done|not finished")] * 2)
    expect(ways.filter(has_text="not finished")).to_have_count(1)  # either: they ask the model at the same time
    for prompt in ("Try a", "Try b"):
        expect(card.get_by_role("button", name=f"Open {prompt}")).to_be_visible()
