"""The page while it reads the conversation of its address: one can type and send, and nothing moves when the data comes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from playwright.sync_api import Error, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
READING, MODULES = "**/api/panels", "**/waymark.mjs"
PLACES = [".topbar", "#theme", ".topbar-title", "#open-palette", "#undo", "#show-more", ".transcript", ".message-field"]
RANDOM_ID = re.compile(r'"end_id":"[^"]*"')  # Dash's, another one in each answer
MEASURE = """selectors => selectors.map(selector => {
  const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
  return [selector, ...[x, y, width, height].map(Math.round)].join(" ");
})"""


@contextmanager
def holding(page: Page, path: str) -> Iterator[None]:
    """Open an address while its data is held back. Afterwards, wait until the page is ready."""
    held: list[Route] = []
    page.tab.route(READING, lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks its handlers)
    page.tab.goto(page.server.origin + path, wait_until="commit")
    expect(page.composer).to_be_focused()
    yield
    page.tab.unroute(READING)
    for route in held:
        with suppress(Error):  # its page was reloaded
            route.continue_()
    page.wait_until_ready()


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    """A page with a conversation of its own."""
    page = visit(shared_server)
    page.say("Hello")
    return page


def read_path(page: Page) -> str:
    return page.tab.url.removeprefix(page.server.origin)


@pytest.mark.slow
def test_a_command_waits_for_its_conversation(page: Page) -> None:
    with holding(page, read_path(page)):
        page.tab.keyboard.type("/save Early")
        page.tab.keyboard.press("Enter")
    page.expect_checkpoints(("Early", 2))
    page.expect_messages(2)


def test_a_text_is_kept_with_its_caret(page: Page) -> None:
    with holding(page, read_path(page)):
        page.tab.keyboard.type("What a day")
        for _ in range(len("day")):
            page.tab.keyboard.press("ArrowLeft")
    expect(page.composer).to_be_focused()
    page.tab.keyboard.type("nice ")
    expect(page.composer).to_have_value("What a nice day")
    page.reload()
    expect(page.composer).to_have_value("What a nice day")


@pytest.mark.parametrize("path", ["", pytest.param("/", marks=pytest.mark.slow)])
def test_a_message_is_sent_once_also_after_a_reload(page: Page, path: str) -> None:
    before = 0 if path else 2
    with holding(page, path or read_path(page)):
        page.tab.keyboard.type("What is 6 * 7?")
        page.tab.keyboard.press("Enter")
        expect(page.composer).to_have_value("")
        expect(page.queued).to_contain_text("What is 6 * 7?")
    page.wait_for_answer()
    page.expect_messages(before + 4)  # the question, the call, its result and the answer
    page.reload()
    page.expect_messages(before + 4)
    expect(page.composer).to_have_value("")
    expect(page.queued).to_have_count(0)


@pytest.mark.slow
def test_a_message_waits_for_its_conversation_over_a_reload(page: Page) -> None:
    with holding(page, read_path(page)):
        page.tab.keyboard.type("Thank you")
        page.tab.keyboard.press("Enter")
        page.tab.reload(wait_until="commit")
        page.composer.wait_for()
    page.expect_messages(4)
    page.wait_for_answer()
    assert page.messages()[2].text == "Thank you"


@pytest.mark.slow
def test_a_message_to_a_conversation_that_is_gone_returns_to_its_field(page: Page) -> None:
    with holding(page, "/t/gone"):
        page.tab.keyboard.type("Is anybody there?")
        page.tab.keyboard.press("Enter")
        expect(page.composer).to_have_value("")
    expect(page.composer).to_have_value("Is anybody there?")
    expect(page.queued).to_have_count(0)


@pytest.mark.slow
def test_a_change_during_the_reading_is_shown(page: Page, visit: Visit) -> None:
    other = visit(page.server, read_path(page), beside=page)
    with holding(page, read_path(page)):
        other.say("Thank you")
    page.expect_messages(4)


@pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.slow)])
def test_nothing_moves_when_the_data_comes(page: Page, width: int) -> None:
    page.tab.set_viewport_size({"width": width, "height": 844})
    with holding(page, read_path(page)):
        before = page.tab.evaluate(MEASURE, PLACES)
    page.expect_messages(2)
    assert page.tab.evaluate(MEASURE, PLACES) == before


@pytest.mark.slow
def test_the_renderer_begins_after_modules_that_come_late(page: Page) -> None:
    held: list[Route] = []
    page.tab.route(MODULES, lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks its handlers)
    path = read_path(page)
    with page.tab.expect_request("**/dash_renderer*"):
        page.tab.goto(page.server.origin + path, wait_until="commit")
    expect(page.tab.locator(".empty-frame")).to_be_attached()
    page.tab.wait_for_function("window.DashRenderer !== undefined")
    for route in held:
        route.continue_()
    page.expect_messages(2)


def test_the_index_is_the_same_for_everybody(page: Page) -> None:
    """Without the page's key, the browser has not said who asks."""
    addresses = (page.server.origin + path for path in (read_path(page), "/t/other"))
    first, second = (RANDOM_ID.sub("", page.tab.context.request.get(address).text()) for address in addresses)
    assert first == second
    assert "Hello" not in first
