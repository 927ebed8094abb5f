"""The questions of a conversation once more, with another model and other instructions, compared afterwards."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

QUESTIONS = ("Red?", "Green?", "Blue?")

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def banner(page: Page) -> Locator:
    return page.tab.get_by_test_id("rerun")


def begin(page: Page) -> None:
    page.press_in_menu("Run again…")
    expect(page.dialog).to_contain_text("3 questions are asked once more on a new branch, one after the other.")
    page.dialog.get_by_label("Model").select_option(label="other-model")
    page.dialog.get_by_label("Instructions").fill("Be brief.")
    expect(page.dialog.get_by_label("From question").locator("option:enabled")).to_have_text(
        [f"{number}. {text}" for number, text in enumerate(QUESTIONS, 1)]
    )
    expect_accessible(page, "the dialog to run again")
    page.confirm("Start")


def test_the_questions_are_asked_again_and_the_answers_compared(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    server = start(**openai_settings)
    page = visit(server)
    fake_openai.script(Say("Red it is."), Say("Green it is."), Say("Blue it is."), Say("Rot."), Say("Gruen ist es."))
    for text in QUESTIONS:
        page.say(text)
    fake_openai.hold(2)
    begin(page)
    expect(banner(page)).to_contain_text("Asking again on other-model: question 2 of 3")
    other = visit(server, page.tab.url.removeprefix(server.origin), beside=page)
    page.reload()
    for each in (page, other):  # the same after a reload, and in another tab
        expect(banner(each)).to_contain_text("question 2 of 3")
        expect(each.stop_button).to_be_visible()
    page.expect_lost_server()
    other.expect_lost_server()
    server.kill()
    fake_openai.release()
    server.restart()
    expect(banner(page)).to_contain_text("2 of 3 questions were asked again on other-model. The last one was not.")
    fake_openai.script(Fault("status", status=401), Say("Gruen."), Say("Blau."))
    banner(page).get_by_role("button", name="Go on").click()
    expect(page.log).to_contain_text("refused the API key")
    banner(page).get_by_role("button", name="Go on").click()
    expect(banner(page)).to_contain_text("All 3 questions were asked again on other-model.")
    assert [each.text for each in page.messages()] == ["Red?", "Rot.", "Green?", "Gruen.", "Blue?", "Blau."]
    assert {request["model"] for request in fake_openai.requests[3:]} == {"other-model"}
    banner(other).get_by_role("button", name="Compare").click()
    expect(other.dialog.get_by_role("group", name="Current position, turn 3")).to_contain_text("Blau.")
    expect(other.dialog.get_by_role("group", name="main, turn 3")).to_contain_text("Blue it is.")
    expect(other.dialog.locator(".compare-length")).to_have_count(2)
    banner(page).get_by_role("button", name="Dismiss").click()
    expect(banner(page)).to_have_count(0)


def test_stop_and_a_queued_message(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red?")
    page.say("Green?")
    fake_openai.script(Say("Rot ist es."), Say("Fine."), Say("Rot."))
    fake_openai.hold(1)
    page.composer.fill("/again")
    page.composer.press("Enter")
    page.confirm("Start")
    expect(page.live).to_contain_text("Rot")
    expect(banner(page)).to_contain_text("question 1 of 2")
    page.composer.fill("And now?")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("And now?")
    expect(banner(page).get_by_role("button", name="Stop asking")).to_have_count(0)
    fake_openai.release()
    expect(page.message("And now?")).to_be_visible()
    page.wait_for_answer()
    assert [each.text for each in page.messages()] == ["Red?", "Rot ist es.", "And now?", "Fine."]
    expect(banner(page)).to_have_count(0)  # a message of one's own ends it
    fake_openai.script(Fault("hang"))
    page.choose_at(page.branch("main"), "Run again")
    page.confirm("Start")
    expect(banner(page)).to_contain_text("question 1 of 2")
    banner(page).get_by_role("button", name="Stop asking").click()
    expect(banner(page)).to_contain_text("1 of 2 questions was asked again. The last one was not.")
    expect(page.branches).to_have_count(3)
    page.tab.locator("#undo").click()
    expect(page.branches).to_have_count(2)
    expect(banner(page)).to_have_count(0)
