"""An agent asks another: its work is folded below the call, opens as a transcript, leaves and comes back with the rest."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ASK = Call("ask_agent", {"agent": "critic", "question": "Is **it** sound?"}, text="Let me ask.")
RESEARCH = Call("ask_agent", {"agent": "researcher", "question": "How far is it?"})
SEARCH = Call("web_search", {"query": "moon"})


def fold(page: Page) -> Locator:
    return page.tab.get_by_test_id("work")


@pytest.fixture
def asked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A checkpoint, and after it a turn in which the critic was asked."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("Hello."), ASK, Say("It has a **gap**."), Say("So it has."))
    page.say("hello")
    page.save("Before")
    page.say("check it")
    return page


def test_the_work_of_an_agent_is_folded_and_opens_as_a_transcript(asked: Page) -> None:
    expect(fold(asked)).to_have_text("critic2 messages")
    fold(asked).locator("summary").focus()
    asked.tab.keyboard.press("Enter")
    said = fold(asked).get_by_test_id("agent-message")
    expect(said).to_have_text(["asked by the main agentIs **it** sound?", "It has a gap."])
    expect_accessible(asked, "the work of an agent")
    fold(asked).get_by_role("button", name="Open as a transcript").click()
    transcript = asked.tab.get_by_role("dialog", name="Everything critic remembers")
    expect(transcript.get_by_test_id("agent-message")).to_have_count(2)
    expect_accessible(asked, "the transcript of an agent")
    asked.tab.keyboard.press("Escape")
    expect(transcript).to_have_count(0)
    assert asked.answer() == "So it has."


def test_a_restore_takes_the_work_along_and_undo_brings_it_back(asked: Page) -> None:
    question = asked.ask_to_restore("Before")
    expect(question).to_contain_text("6 messages, including the work of critic, will be removed from the conversation.")
    asked.confirm("Restore")
    expect(fold(asked)).to_have_count(0)
    asked.notice.get_by_role("button", name="Undo").click()
    expect(fold(asked)).to_have_text("critic2 messages")
    asked.reload()
    expect(fold(asked)).to_have_text("critic2 messages")


def test_a_call_of_an_agent_waits_under_its_name_also_after_a_restart(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    server = start(**openai_settings, tools_approval="web_search")
    page = visit(server)
    fake_openai.script(RESEARCH, SEARCH, Say("Far."), Say("It is far."))
    page.send("how far?")
    page.approval.wait_for()
    address = page.tab.url
    page.tab.goto("about:blank")
    server.kill()
    server.restart()
    page.tab.goto(address)
    expect(page.approval).to_contain_text("researcher asks to use web_search.")
    expect(page.approval).to_have_count(1)
    page.approval.get_by_role("button", name="Deny").click()
    expect(page.log.get_by_text("It is far.")).to_be_visible()
    expect(fold(page)).to_have_text("researcher4 messages")
