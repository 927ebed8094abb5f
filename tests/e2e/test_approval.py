"""A tool that asks first: what a person decides in the page, also after a reload and in another tab."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = pytest.mark.e2e
SUM = Call("calculator", {"expression": "6*7"}, text="Let me see.")


@pytest.fixture
def asked(start: Start, visit: Visit, fake_openai: FakeOpenAI, openai_settings: dict[str, str]) -> Page:
    """A page in which the agent asks for the calculator."""
    page = visit(start(tools_approval="calculator", **openai_settings))
    fake_openai.script(SUM, Say("Here you are."))
    page.send("What is six times seven?")
    expect(page.approval).to_contain_text("The agent asks to use calculator.")
    return page


def decide(page: Page, name: str) -> None:
    page.approval.get_by_role("button", name=name, exact=True).click()


def result(page: Page) -> str:
    expect(page.tab.locator('[data-role="tool"]')).to_have_count(1)
    expect(page.approval).to_have_count(0)
    page.wait_for_answer()
    return next(message.text for message in page.messages() if message.role == "tool")


def test_it_waits_over_a_reload_and_runs_when_it_is_allowed(asked: Page) -> None:
    asked.reload()
    expect(asked.approval).to_be_visible()
    expect(asked.stop_button).to_have_count(0)
    words = asked.tab.locator("details.tool summary").get_by_text("waiting for you").bounding_box()
    assert words is not None
    assert words["width"] > 40  # seen, beside the sign
    decide(asked, "Allow")
    assert result(asked).endswith("→ 42")


def test_a_screen_reader_is_told_that_an_answer_waits(
    start: Start, visit: Visit, fake_openai: FakeOpenAI, openai_settings: dict[str, str]
) -> None:
    page = visit(start(tools_approval="calculator", **openai_settings))
    fake_openai.script(SUM, Say("Here you are."))
    fake_openai.hold(after_tokens=1)
    page.send("What is six times seven?")
    expect(page.spoken).to_have_text("Answering…")
    fake_openai.release()
    expect(page.approval).to_be_visible()
    expect(page.spoken).to_have_text("The answer waits for your approval or reply")
    decide(page, "Allow")
    expect(page.spoken).to_have_text("Answer finished")


@pytest.mark.slow
def test_it_is_denied(asked: Page) -> None:
    decide(asked, "Deny")
    assert result(asked).endswith("→ The user did not allow this call.")


@pytest.mark.slow
def test_it_runs_with_other_arguments(asked: Page) -> None:
    shown = asked.tab.get_by_role("group", name="Arguments", exact=True)
    expect(shown).to_be_visible()
    decide(asked, "Change arguments")
    field = asked.approval.get_by_role("textbox")
    expect(shown).to_be_hidden()  # the field has them
    expect(field).to_have_css("font-family", re.compile("mono", re.IGNORECASE))
    expect(asked.approval.locator(".btn-primary")).to_have_text(["Run with these"])
    decide(asked, "Cancel")
    expect(asked.approval.get_by_role("button", name="Change arguments")).to_be_focused()
    expect(asked.approval.locator(".btn-primary")).to_have_text(["Allow"])
    decide(asked, "Change arguments")
    field.fill("not JSON")
    decide(asked, "Run with these")
    expect(asked.toast).to_contain_text("The arguments are not a JSON object")
    field.fill('{"expression": "6*6"}')
    field.press("Tab")
    expect(asked.approval.get_by_role("button", name="Run with these")).not_to_have_attribute("aria-disabled", "true")
    decide(asked, "Run with these")
    assert result(asked).endswith("36")


@pytest.mark.slow
def test_a_person_answers_in_its_place_from_another_tab(asked: Page, visit: Visit) -> None:
    other = visit(asked.server, asked.tab.url.removeprefix(asked.server.origin))
    decide(other, "Answer instead")
    other.approval.get_by_role("textbox").fill("forty-two")
    decide(other, "Answer")
    assert "forty-two" in result(other)
    assert "forty-two" in result(asked)


@pytest.mark.slow
def test_typing_goes_on_without_it(asked: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Never mind, then."))
    asked.say("Never mind")
    assert result(asked).endswith("→ Not approved: the user went on without it.")


@pytest.mark.slow
def test_the_card_is_accessible(asked: Page) -> None:
    decide(asked, "Change arguments")
    expect_accessible(asked, "a call that waits")


@pytest.mark.slow
def test_the_list_says_that_the_conversation_waits_and_the_focus_stays_on_the_page(asked: Page) -> None:
    expect(asked.threads.first).to_contain_text("waits for you")
    asked.tab.set_viewport_size({"width": 390, "height": 844})
    decide(asked, "Allow")
    result(asked)
    expect(asked.composer).to_be_focused()
    expect(asked.threads.first).not_to_contain_text("waits for you")
