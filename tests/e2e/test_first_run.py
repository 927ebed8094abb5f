"""The tips for somebody who sees the page for the first time: beside what they describe, and gone for good."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e


def tip(page: Page, text: str) -> Locator:
    return page.tab.get_by_role("note", name="Tip").filter(has_text=text)


@pytest.mark.slow
def test_tips_go_one_by_one_for_good_and_all_with_the_first_checkpoint(server: Server, visit: Visit) -> None:
    page = visit(server, is_newcomer=True)
    tips = page.tab.get_by_test_id("tip")
    expect(tip(page, "Write a message")).to_be_visible()
    expect(page.composer).to_have_accessible_description(re.compile("^Write a message"))
    expect_accessible(page, "the first run")
    button = tip(page, "Write a message").get_by_role("button", name="Got it")
    button.focus()
    page.tab.keyboard.press("Enter")
    expect(page.composer).to_be_focused()
    expect(tips).to_have_count(0)  # the next one comes with the second answer
    page.say("Hello")  # nothing is in its way
    page.say("Thank you")
    page.reload()
    expect(tip(page, "it appears here as a diamond")).to_be_in_viewport()
    expect(tips).to_have_count(1)
    expect_accessible(page, "a tip")
    page.tab.emulate_media(media="print")
    expect(tip(page, "it appears here as a diamond")).to_be_hidden()
    page.tab.emulate_media(media="screen")
    page.save("First")
    expect(tips).to_have_count(1)
    expect(tip(page, "History draws")).to_be_visible()
    page.say("Goodbye")
    page.save("Second")
    expect(tips).to_have_count(0)
    page.new_conversation()
    page.reload()
    expect(tips).to_have_count(0)


@pytest.mark.slow
def test_the_tip_about_messages_ends_with_the_first_one(server: Server, visit: Visit) -> None:
    page = visit(server, is_newcomer=True)
    expect(tip(page, "Write a message")).to_be_visible()
    page.say("Hello")
    expect(page.tab.get_by_test_id("tip")).to_have_count(0)
    page.reload()
    expect(page.tab.get_by_test_id("tip")).to_have_count(0)


@pytest.mark.slow
def test_on_a_phone_a_tip_covers_nothing(server: Server, visit: Visit) -> None:
    page = visit(server, is_newcomer=True, viewport=NARROW, has_touch=True, is_mobile=True)
    field, mark = page.composer, tip(page, "it appears here as a diamond")
    first = tip(page, "Write a message")
    boxes = [each.bounding_box() for each in (first, field)]
    tops = [box["y"] for box in boxes if box]
    assert tops == sorted(tops)
    assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in pairwise(boxes) if upper and lower)
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.say("Hello")
    page.say("Thank you")
    expect(mark).to_be_in_viewport(ratio=1)
    mark.get_by_role("button").tap()
    page.tab.get_by_role("button", name="History", exact=True).tap()
    expect(tip(page, "History draws")).to_be_in_viewport(ratio=1)
    expect_accessible(page, "a tip in the sheet")


@pytest.mark.slow
def test_on_a_phone_the_page_stays_where_it_is_when_its_last_line_has_the_focus(start: Start, visit: Visit) -> None:
    page = visit(start(model=""), viewport=NARROW, has_touch=True, is_mobile=True)
    page.tab.get_by_test_id("connect").focus()
    assert page.tab.evaluate(
        "[document.scrollingElement.scrollTop, document.scrollingElement.scrollHeight - innerHeight]"
    ) == [0, 0]


@pytest.mark.slow
def test_who_has_conversations_gets_no_tips(server: Server, visit: Visit) -> None:
    visit(server).say("Hello")
    page = visit(server, is_newcomer=True)
    expect(page.threads).to_have_count(1)
    page.tab.wait_for_function("localStorage.getItem('waymark.tip-field-read') === 'on'")
    expect(page.tab.get_by_test_id("tip")).to_have_count(0)
