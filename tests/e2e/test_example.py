"""The example of the first screen: somebody new tries time travel before writing a word."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
TITLE, PLAN = "Example: a weekend in Lisbon", "First plan"


def open_example(page: Page) -> None:
    page.tab.get_by_test_id("example").click()
    expect(page.tab.locator("#thread-title")).to_have_text(TITLE)


def test_a_newcomer_goes_back_and_forth_in_the_example(server: Server, visit: Visit) -> None:
    page = visit(server)
    expect(page.log).to_contain_text("travel in time")
    expect_accessible(page, "the first screen with an example")
    open_example(page)
    page.expect_messages(6)
    expect(page.log.locator(".foot-model")).to_have_text(["Model: demo"] * 3)
    expect(page.notice).to_have_count(0)
    page.expect_checkpoints((PLAN, 2))
    expect(page.branches.filter(has_text="On a budget")).to_have_count(1)
    expect_accessible(page, "the example")
    page.restore(PLAN)
    page.expect_messages(2)
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_messages(6)
    page.switch("On a budget")
    expect(page.log).to_contain_text("as cheap as possible")
    page.expect_messages(4)
    page.say("Hello")
    page.new_conversation()
    open_example(page)
    page.expect_messages(4 + 2)  # it is the same, and not another
    expect(page.threads).to_have_count(1)


@pytest.mark.slow
def test_the_example_is_in_german_and_fits_a_phone(server: Server, visit: Visit) -> None:
    page = visit(server, viewport=NARROW, has_touch=True, is_mobile=True, locale="de-DE")
    page.tab.get_by_test_id("example").tap()
    expect(page.tab.locator("#thread-title")).to_have_text("Beispiel: ein Wochenende in Lissabon")
    expect(page.log).to_contain_text("Nichts geht verloren")
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


@pytest.mark.slow
def test_who_has_conversations_is_not_offered_the_example(server: Server, visit: Visit) -> None:
    page = visit(server)
    expect(page.tab.get_by_test_id("example")).to_have_count(1)
    for text in ("One", "Two", "Three"):
        page.say(text)
        page.new_conversation()
    expect(page.tab.get_by_test_id("example")).to_have_count(0)
