"""Several models answer one question side by side; a person goes on from one of the answers."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Fault, Say

pytestmark = pytest.mark.e2e


def candidate(page: Page, number: int) -> Locator:
    return page.tab.locator(f'[data-testid="candidate"][data-number="{number}"]')


def choose_models(page: Page, other: str, group: str | None = None) -> None:
    """Choose another model beside the one in use, in a list that has this group."""
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Ask several at once").click()
    page.tab.get_by_role("option", name=other).click()
    if group is not None:
        expect(page.tab.get_by_role("group", name=group, exact=True)).to_be_visible()
    expect(page.tab.locator(".model-list")).to_contain_text("2 models answer the next question side by side.")
    expect_accessible(page, "the choice of several models")
    page.tab.get_by_role("button", name="Done").click()
    expect(page.tab.get_by_test_id("model")).to_have_text("Model: 2 models")


def expect_states(page: Page, *states: str) -> None:
    for number, state in enumerate(states, 1):
        expect(candidate(page, number)).to_have_attribute("data-state", state)


@pytest.mark.slow
def test_two_models_answer_side_by_side_and_the_conversation_goes_on_from_one(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    choose_models(page, "demo", "OpenAI-compatible server")
    fake_openai.script(Say("A long answer of many words."), Say("Forty-two."))
    fake_openai.hold(3)
    page.send("hello")
    expect_states(page, "running", "done")
    expect(candidate(page, 1)).to_contain_text("A long")
    expect(candidate(page, 2)).to_contain_text("I am the demo model")
    expect_accessible(page, "two answers in progress")
    other = visit(shared_openai_server, page.tab.url.removeprefix(shared_openai_server.origin), beside=page)
    page.reload()
    for each in (page, other):  # all of it is there after a reload, and in another tab
        expect_states(each, "running", "done")
        expect(candidate(each, 1)).to_contain_text("A long")
        expect(candidate(each, 2)).to_contain_text("I am the demo model")
    candidate(page, 1).get_by_role("button", name="Stop fake-model").click()
    for each in (page, other):
        expect_states(each, "stopped", "done")
        expect(each.stop_button).to_have_count(0)
    fake_openai.release()
    expect(candidate(page, 1).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    expect(candidate(page, 2)).to_contain_text(" out")  # its tokens
    candidate(page, 2).get_by_role("button", name="Continue from this answer").click()
    for each in (page, other):
        expect(candidate(each, 2).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    expect_accessible(page, "two answers")
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Ask one only").click()
    expect(page.tab.locator(".model-list")).to_have_count(0)
    page.say("How much?")
    expect(page.tab.get_by_test_id("candidate")).to_have_count(0)
    assert page.answer() == "Forty-two."
    expect(page.tab.get_by_role("group", name="Alternative 1 of 2")).to_have_count(1)
    undo = page.tab.get_by_role("button", name="Undo last change")
    undo.click()
    expect(candidate(page, 2).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    undo.click()  # the choice
    expect(candidate(page, 1).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    undo.click()  # the question with both answers
    page.expect_messages(0)
    expect(page.tab.get_by_test_id("candidate")).to_have_count(0)
    page.tab.get_by_role("button", name="Redo", exact=True).click()
    expect_states(page, "stopped", "done")


@pytest.mark.slow
def test_a_model_that_fails_says_so_in_its_column(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server, viewport={"width": 390, "height": 844})
    choose_models(page, "demo")
    fake_openai.script(Fault("status", status=401))
    page.send("hello")
    expect_states(page, "failed", "done")
    expect(candidate(page, 1).get_by_role("alert")).to_contain_text("refused the API key")
    expect(candidate(page, 2).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    expect_accessible(page, "an answer that failed")
    candidate(page, 2).scroll_into_view_if_needed()
    expect(candidate(page, 2)).to_be_in_viewport(ratio=0.5)
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    expect(candidate(page, 1).get_by_role("alert")).to_contain_text("refused the API key")


@pytest.mark.slow
def test_one_model_that_failed_is_asked_again_alone_and_while_the_other_writes(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Ask several at once").click()
    page.tab.get_by_role("option", name="other-model").click()
    page.tab.get_by_role("button", name="Done").click()
    fake_openai.script(Fault("status", status=401), Say("It is this one, of many words."))
    page.send("Which?")
    failed = page.tab.locator('[data-testid="candidate"][data-state="failed"]')
    expect(failed).to_contain_text("refused the API key")
    number = int(failed.get_attribute("data-number") or 0)
    page.tab.wait_for_url("**/t/*")
    other = visit(shared_openai_server, page.tab.url.removeprefix(shared_openai_server.origin), beside=page)
    expect(candidate(page, 3 - number)).to_have_attribute("data-state", "done")
    fake_openai.script(Fault("status", status=401), Say("It is that one, of as many words."))
    again = candidate(page, number).get_by_role("button", name="Try again")
    again.dblclick()
    expect(failed).to_have_count(1)
    expect(page.stop_button).to_have_count(0)
    fake_openai.hold(3)
    again.click()
    for each in (page, other):
        expect(candidate(each, number)).to_have_attribute("data-state", "running")
        expect(candidate(each, number)).to_contain_text("It is")
        expect(candidate(each, number).get_by_role("alert")).to_have_count(0)
        expect(candidate(each, 3 - number)).to_contain_text("It is this one")
    page.reload()
    expect(candidate(page, number)).to_contain_text("It is")
    fake_openai.release()
    for each in (page, other):
        expect_states(each, "done", "done")
        expect(candidate(each, number)).to_contain_text("It is that one, of as many words.")
    assert len(fake_openai.requests) == 4
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_messages(0)


@pytest.mark.slow
def test_undo_right_after_the_answers_takes_them_back(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    """The panels do not know of the answers yet, and the person has seen them."""
    page = visit(shared_openai_server)
    page.say("Red?")
    choose_models(page, "demo")
    undo = page.tab.get_by_role("button", name="Undo last change")
    expect(undo).to_be_enabled()
    page.tab.route("**/api/panels", lambda _: None)
    page.send("hello")
    expect_states(page, "done", "done")
    undo.click()
    page.tab.unroute("**/api/panels")  # and what was held goes on
    page.expect_messages(2)
    expect(page.tab.locator("body")).not_to_contain_text("changed elsewhere")


@pytest.mark.slow
def test_a_killed_server_gives_back_what_each_model_has_written(start: Start, visit: Visit) -> None:
    server = start(demo_seconds_per_token="0.2")
    page = visit(server)
    choose_models(page, "brief")
    page.send("hello")
    expect_states(page, "running", "done")  # the brief one takes longer than the first draft of the other
    page.expect_lost_server()
    server.kill()
    server.restart()
    page.reload()
    expect_states(page, "interrupted", "done")
    expect(candidate(page, 1)).to_contain_text("Hello! I am")
    expect(candidate(page, 2)).to_contain_text("I am the brief")
