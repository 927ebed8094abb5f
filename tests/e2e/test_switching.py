"""From the click on a conversation, it is the one that a person acts on, however late the page shows it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.panel_requests import panels_held_back, panels_lost
from tests.e2e.server import Server
from tests.e2e.test_attachments import NOTES, attach, chips
from tests.e2e.waymark import SHOWN, Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
ACTIONS = re.compile("/api/actions/")
# Some browsers tell a page that is left of its lost requests, and others do not.
UNREAD = """() => {
  const { fetch } = window;
  const isReading = (address) => String(address).includes("/api/panels");
  window.fetch = (address, ...rest) => isReading(address) ? new Promise(() => {}) : fetch(address, ...rest);
}"""
QUESTIONS = f'{SHOWN}[data-role="user"]'


@pytest.fixture
def page(start: Start, visit: Visit) -> Page:
    """A page with the conversations Alpha and Beta, of one question each; Alpha is open."""
    page = visit(start())
    for text in ("Alpha", "Beta"):
        page.new_conversation()
        page.say(text)
    open_thread(page, "Alpha")
    return page


def link(page: Page, title: str) -> Locator:
    return page.threads.filter(has_text=title)


def open_thread(page: Page, title: str) -> None:
    link(page, title).click()
    expect(page.message(title).first).to_be_visible()
    expect(page.tab.locator("html")).not_to_have_attribute("data-going", "")


def expect_asked(page: Page, *texts: str) -> None:
    """The open conversation has these questions, and the last one is answered."""
    expect(page.tab.locator(QUESTIONS)).to_have_text([re.compile(r"\s*".join(text.split())) for text in texts])
    page.wait_for_answer()
    expect(page.queued).to_have_count(0)


def write(page: Page, text: str) -> None:
    """Type into the field as a person does who looks at the keys, and not at the page."""
    page.composer.focus()
    page.tab.keyboard.type(text)


@contextmanager
def actions_held_back(page: Page, kind: str) -> Iterator[None]:
    """The server gets no action of this kind before the end."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if f'"type":"{kind}"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.tab.route(ACTIONS, hold)
    yield
    page.tab.unroute(ACTIONS)  # and what was held goes on


def test_what_is_typed_after_a_click_is_for_the_conversation_that_was_clicked(page: Page) -> None:
    write(page, "a draft of Alpha")
    with panels_held_back(page):
        link(page, "Beta").click()
        expect(page.composer).to_have_value("")
        write(page, "More of Beta\nAnd more\n a draft of Beta")
        expect(page.queued).to_contain_text("More of Beta")
    expect_asked(page, "Beta", "More of Beta\n\nAnd more")
    expect(page.composer).to_have_value(" a draft of Beta")
    open_thread(page, "Alpha")
    expect(page.composer).to_have_value("a draft of Alpha")
    expect_asked(page, "Alpha")
    open_thread(page, "Beta")
    expect(page.composer).to_have_value(" a draft of Beta")
    expect_asked(page, "Beta", "More of Beta\n\nAnd more")


@pytest.mark.slow
def test_the_last_click_counts(page: Page) -> None:
    page.new_conversation()
    page.say("Gamma")
    open_thread(page, "Alpha")
    with panels_held_back(page):
        link(page, "Beta").click()
        write(page, "unsent in Beta")
        link(page, "Gamma").click()
        write(page, "More of Gamma\n")
    expect_asked(page, "Gamma", "More of Gamma")
    open_thread(page, "Alpha")
    with panels_held_back(page):
        link(page, "Beta").click()
        expect(page.composer).to_have_value("unsent in Beta")
        link(page, "Alpha").click()  # which is still shown
        write(page, "More of Alpha\n")
        expect(page.tab.locator(QUESTIONS)).to_have_count(2)
    expect_asked(page, "Alpha", "More of Alpha")
    expect(link(page, "Alpha")).to_have_attribute("aria-current", "page")
    open_thread(page, "Beta")
    expect_asked(page, "Beta")


@pytest.mark.slow
def test_a_message_after_the_back_button_is_for_the_conversation_before(page: Page) -> None:
    open_thread(page, "Beta")
    page.composer.focus()
    with panels_held_back(page):
        page.tab.evaluate("history.back()")
        page.tab.wait_for_url(re.compile("/t/"))
        expect(link(page, "Alpha")).to_have_attribute("aria-current", "page")
        page.tab.keyboard.type("More of Alpha\n")
    expect_asked(page, "Alpha", "More of Alpha")


@pytest.mark.slow
def test_a_conversation_is_begun_at_typing_speed(page: Page) -> None:
    page.composer.focus()
    with panels_held_back(page):
        page.tab.keyboard.press("Control+Shift+O")
        page.tab.keyboard.type("Gamma\n")
    expect_asked(page, "Gamma")
    expect(page.threads).to_have_count(3)
    with actions_held_back(page, "send"):
        page.tab.keyboard.press("Control+Shift+O")
        page.tab.keyboard.type("Delta\n")
        page.tab.keyboard.type("a draft of Delta")
        expect(page.tab.locator(".send-button .spinner")).to_be_visible()
        page.tab.keyboard.press("Control+Shift+O")
        expect(page.composer).to_have_value("")
        page.tab.keyboard.type("Epsilon\n")
    expect_asked(page, "Epsilon")
    expect(page.threads).to_have_count(5)
    open_thread(page, "Delta")
    expect_asked(page, "Delta")
    expect(page.composer).to_have_value("a draft of Delta")


@pytest.mark.slow
def test_keys_after_a_click_are_for_the_conversation_that_was_clicked(start: Start, visit: Visit) -> None:
    page = visit(start(demo_seconds_per_token="0.3"))
    page.say("Beta")
    page.new_conversation()
    page.send("Alpha, a long answer, please")
    expect(page.live).to_be_visible()
    page.composer.focus()
    with panels_held_back(page):
        link(page, "Beta").click()
        page.composer.focus()
        expect(page.stop_button).to_have_count(0)
        page.tab.keyboard.press("Escape")
        page.tab.keyboard.press("Control+s")
        page.tab.keyboard.type("By key\n")
        write(page, "/save By command\n")
        expect(page.composer).to_have_value("")
    expect(page.message("Beta").first).to_be_visible()
    expect(page.checkpoint("By command")).to_be_visible()
    expect(page.checkpoint("By key")).to_be_visible()
    link(page, "Alpha").click()
    expect(page.stop_button).to_be_visible()
    page.expect_checkpoints()


@pytest.mark.slow
def test_a_command_that_waits_is_back_in_the_field_after_a_reload(page: Page) -> None:
    page.tab.evaluate(UNREAD)
    link(page, "Beta").click()
    write(page, "/save Kept\n")
    expect(page.composer).to_have_value("")
    page.tab.wait_for_url(f"**{link(page, 'Beta').get_attribute('href')}")
    page.reload()
    expect(page.message("Beta").first).to_be_visible()
    expect(page.composer).to_have_value("/save Kept")
    page.composer.press("Enter")
    page.expect_checkpoints(("Kept", 2))
    expect(page.composer).to_have_value("")
    page.reload()
    expect(page.composer).to_have_value("")


@pytest.mark.slow
def test_a_file_is_for_the_conversation_that_was_clicked(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    fake_openai.script(Say("One."), Say("Two."), Say("Three."), Say("Four."))
    page = visit(shared_openai_server)
    for text in ("Files of Alpha", "Files of Beta"):
        page.new_conversation()
        page.say(text)
    page.say("Go on.")
    link(page, "Files of Alpha").click()
    expect(page.message("Files of Alpha").first).to_be_visible()
    with panels_held_back(page):
        link(page, "Files of Beta").click()
        attach(page, NOTES)
        expect(chips(page)).to_have_count(1)
        write(page, "Read this\n")
    expect_asked(page, "Files of Beta", "Go on.", "Read this")
    assert "the plan" in str(fake_openai.requests[-1]["messages"][-1]["content"])


@pytest.mark.slow
def test_a_conversation_that_cannot_be_read_keeps_the_text(page: Page) -> None:
    page.expect_lost_server()
    problem = page.tab.locator(".composer-problem")
    with panels_lost(page):
        link(page, "Beta").click()
        write(page, "More of Beta\n")
        expect(problem).to_contain_text("is not shown yet: the server does not answer")
        expect(page.composer).to_have_value("More of Beta")
    problem.get_by_role("button", name="Try again").click()
    expect_asked(page, "Beta", "More of Beta")
    expect(page.composer).to_have_value("")
    open_thread(page, "Alpha")
    expect_asked(page, "Alpha")


def test_a_message_after_a_switch_is_for_the_branch_that_was_chosen(page: Page) -> None:
    answer = page.message("Alpha").last
    answer.hover()
    answer.get_by_role("button", name="Branch from here", exact=True).click()
    page.dialog.get_by_label("Name").fill("Other")
    page.confirm("Branch")
    page.say("On the other branch")
    page.switch("main")
    page.expect_messages(2)
    page.composer.focus()
    with actions_held_back(page, "switch"):
        page.switch("Other")
        write(page, "Also on the other branch\n")
        expect(page.queued).to_contain_text("Also on the other branch")
    expect_asked(page, "Alpha", "On the other branch", "Also on the other branch")
