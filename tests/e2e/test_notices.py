"""Answers that end out of sight: the mark in the title, and the browser's notification."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.hostile_texts import TAGS

pytestmark = pytest.mark.e2e
# A browser without a screen shows no notifications: this one notes them, and grants what is asked for.
NOTIFICATIONS = """
window.shown = []; window.asked = 0;
window.Notification = class {
  static async requestPermission() { window.asked += 1; return window.answer ?? "granted"; }
  constructor(title, options) { Object.assign(this, { title, ...options }); window.shown.push(this); }
  close() { this.closed = true; }
};
let visibility = "visible";
Object.defineProperty(document, "visibilityState", { get: () => visibility });
window.turn = (to) => { visibility = to; document.dispatchEvent(new Event("visibilitychange")); };
"""
SHOWN = "window.shown.map(({title, body}) => [title, body])"
OPTION = re.compile("Notify me")


def switch_on(page: Page) -> None:
    page.press_in_menu("App settings")
    option = page.dialog.get_by_role("checkbox", name=OPTION)
    option.check()
    expect(option).to_be_checked()
    page.tab.keyboard.press("Escape")


@pytest.fixture
def page(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    page = visit(shared_openai_server)
    page.tab.add_init_script(NOTIFICATIONS)
    page.reload()
    return page


@pytest.mark.slow
def test_an_answer_that_ends_in_a_hidden_page_is_marked_and_notified(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Secret words one two three"), Say("More secret words"))
    page.say("Red please")
    assert page.tab.evaluate("window.asked") == 0  # not before it is switched on
    expect(page.tab).to_have_title("Red please · Waymark")
    switch_on(page)
    assert page.tab.evaluate(SHOWN) == []
    fake_openai.hold(after_tokens=1)
    page.send("Green please")
    expect(page.live).to_contain_text("More")
    page.tab.evaluate("turn('hidden')")
    fake_openai.release()
    expect(page.tab).to_have_title(re.compile(r"^\(1\) .*Waymark$"))
    (shown,) = page.tab.evaluate(SHOWN)
    assert shown[1] == "The answer has ended."
    assert "secret" not in " ".join(shown).lower()
    page.tab.evaluate("turn('visible')")
    expect(page.tab).not_to_have_title(re.compile(r"^\("))


@pytest.mark.slow
def test_an_answer_that_ends_in_another_conversation_is_marked_and_leads_there(page: Page, fake_openai: FakeOpenAI) -> None:
    switch_on(page)
    fake_openai.script(Say("Red it is."), Say("one two three four"))
    page.say(TAGS[1])
    fake_openai.hold(after_tokens=2)
    page.send("Count, please")
    expect(page.live).to_contain_text("two")
    page.new_conversation()
    expect(page.log).not_to_contain_text("two")
    reads: list[Any] = []  # of the panels
    page.tab.on("request", lambda request: reads.append(request.post_data_json) if "/panels" in request.url else None)
    fake_openai.release()
    expect(page.tab).to_have_title("(1) Waymark")
    assert {body["list_only"] for body in reads} == {True}
    ((title, body),) = page.tab.evaluate(SHOWN)
    assert body == "The answer has ended."
    assert title != ""
    page.tab.evaluate("window.shown[0].onclick()")
    expect(page.log).to_contain_text("one two three four")
    expect(page.tab).not_to_have_title(re.compile(r"^\("))


@pytest.mark.slow
def test_a_browser_that_refuses_is_told(page: Page) -> None:
    page.tab.evaluate("window.answer = 'denied'")
    page.press_in_menu("App settings")
    page.dialog.get_by_role("checkbox", name=OPTION).click()
    expect(page.dialog).to_contain_text("The browser does not allow notifications of this page.")
    expect(page.dialog.get_by_role("checkbox", name=OPTION)).not_to_be_checked()


@pytest.mark.slow
def test_a_page_learns_of_an_end_elsewhere_without_asking(
    page: Page, visit: Visit, shared_openai_server: Server, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("Red it is."), Say("Green it is."), Say("one two three four"))
    page.say("Red please")
    other = visit(shared_openai_server)
    other.say("Green please")
    reads: list[str] = []
    page.tab.on("request", lambda request: reads.append(request.url) if "/api/" in request.url else None)
    fake_openai.hold(after_tokens=2)
    other.send("Count, please")
    expect(other.live).to_contain_text("two")
    fake_openai.release()
    expect(page.tab.get_by_test_id("thread").first).to_contain_text("Green please")
    assert reads == []
