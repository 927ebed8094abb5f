"""The page before its scripts: one can type and send, messages are painted, and nothing moves when the scripts are there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from playwright.sync_api import Error, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
ALL_SCRIPTS, DASH = "**/waymark.mjs", "**/dash_renderer*"
PLACES = [
    ".topbar",
    "#theme",
    ".topbar-title",
    "#open-palette",
    "#undo",
    "#show-more",
    ".transcript",
    ".message-field",
    ".send-button",
]
RANDOM_ID = re.compile(r'"end_id":"[^"]*"')  # Dash's, another one in each answer
MEASURE = """selectors => selectors.map(selector => {
  const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
  return [selector, ...[x, y, width, height].map(Math.round)].join(" ");
})"""

RECORD_FORMATS = """window.formats = [];
for (const { prototype } of [Number, Date]) {
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    const own = prototype[name];
    if (own) prototype[name] = function (...values) { formats.push(name); return own.apply(this, values); };
  }
}
for (const name of ["NumberFormat", "DateTimeFormat", "PluralRules", "RelativeTimeFormat", "Collator"]) {
  Intl[name] = new Proxy(Intl[name], { construct: (...given) => (formats.push(name), Reflect.construct(...given)) });
}"""


@contextmanager
def holding(page: Page, pattern: str, path: str) -> Iterator[None]:
    """Open an address while a script is held back. Afterwards, wait until the page is ready."""
    held: list[Route] = []
    page.tab.route(pattern, lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks its handlers)
    page.tab.goto(page.server.origin + path, wait_until="commit")
    expect(page.composer).to_be_focused()
    yield
    page.tab.unroute(pattern)
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
def test_a_command_that_is_typed_before_the_scripts_is_not_sent_as_a_message(page: Page) -> None:
    with holding(page, ALL_SCRIPTS, read_path(page)):
        page.tab.keyboard.type("/save Early")
        page.tab.keyboard.press("Enter")
    expect(page.composer).to_have_value("/save Early")
    page.composer.press("Enter")
    page.expect_checkpoints(("Early", 2))
    page.expect_messages(2)


def test_text_that_is_typed_before_the_scripts_is_kept_with_its_caret(page: Page) -> None:
    with holding(page, ALL_SCRIPTS, read_path(page)):
        page.tab.keyboard.type("What a day")
        for _ in range(len("day")):
            page.tab.keyboard.press("ArrowLeft")
    expect(page.composer).to_be_focused()
    page.tab.keyboard.type("nice ")
    expect(page.composer).to_have_value("What a nice day")
    page.reload()
    expect(page.composer).to_have_value("What a nice day")


@pytest.mark.parametrize("path", ["", pytest.param("/", marks=pytest.mark.slow)])
def test_a_message_that_is_sent_before_the_scripts_is_sent_once_also_after_a_reload(page: Page, path: str) -> None:
    before = 0 if path else 2
    with holding(page, ALL_SCRIPTS, path or read_path(page)):
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
def test_a_message_that_is_sent_before_the_scripts_waits_for_them_over_a_reload(page: Page) -> None:
    with holding(page, ALL_SCRIPTS, read_path(page)):
        page.tab.keyboard.type("Thank you")
        page.tab.keyboard.press("Enter")
        page.tab.reload(wait_until="commit")
        page.composer.wait_for()
    page.expect_messages(4)
    page.wait_for_answer()
    assert page.messages()[2].text == "Thank you"


@pytest.mark.slow
def test_a_message_to_a_conversation_that_is_gone_returns_to_its_field(page: Page) -> None:
    with holding(page, ALL_SCRIPTS, "/t/gone"):
        page.tab.keyboard.type("Is anybody there?")
        page.tab.keyboard.press("Enter")
        expect(page.composer).to_have_value("")
    expect(page.composer).to_have_value("Is anybody there?")
    expect(page.queued).to_have_count(0)


def test_messages_are_painted_and_one_can_talk_while_dash_is_not_there(page: Page) -> None:
    with holding(page, DASH, read_path(page)):
        page.expect_messages(2)
        expect(page.threads.first).to_be_visible()
        expect(page.tab.get_by_role("heading", name="Hello")).to_be_visible()
        page.send("What is 6 * 7?")
        expect(page.log).to_contain_text("42")
    page.wait_for_answer()
    page.expect_messages(6)
    page.say("Thank you")
    page.expect_messages(8)


@pytest.mark.slow
def test_an_answer_that_ends_while_dash_has_no_layout_is_shown(page: Page, visit: Visit) -> None:
    path = read_path(page)
    other = visit(page.server, path, beside=page)
    with holding(page, DASH, path):
        page.expect_messages(2)
        page.tab.evaluate("() => { dash_component_api = { getLayout: () => { throw new Error('no layout'); } }; }")
        other.say("And then?")
        expect(page.log).to_contain_text("And then?")
        page.expect_messages(4)
    page.expect_messages(4)


@pytest.mark.slow
def test_a_change_after_the_navigation_is_shown_though_the_data_was_read_with_it(page: Page, visit: Visit) -> None:
    other = visit(page.server)
    other.open(read_path(page))
    with holding(page, "**/_dash-layout", read_path(page)):
        other.say("Thank you")
    page.expect_messages(4)


@pytest.mark.slow
def test_messages_are_painted_without_the_browsers_own_formats(page: Page) -> None:
    """The first use of one takes 30 ms."""
    page.tab.add_init_script(RECORD_FORMATS)
    with holding(page, DASH, read_path(page)):
        page.expect_messages(2)
        assert page.tab.evaluate("formats") == []


@pytest.mark.parametrize(
    ("width", "pattern"),
    [(1440, DASH), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1440, ALL_SCRIPTS), (390, DASH)))],
)
def test_nothing_moves_when_the_scripts_are_there(page: Page, width: int, pattern: str) -> None:
    """On a phone the model's hint may take another line below the field when it is known."""
    page.tab.set_viewport_size({"width": width, "height": 844})
    with holding(page, pattern, read_path(page)):
        if pattern == DASH:
            page.expect_messages(2)
        before = page.tab.evaluate(MEASURE, PLACES)
    assert page.tab.evaluate(MEASURE, PLACES) == before


def test_the_first_html_is_the_same_for_everybody(page: Page) -> None:
    """Without the page's key, the browser has not said who asks."""
    addresses = (page.server.origin + path for path in (read_path(page), "/t/other"))
    first, second = (RANDOM_ID.sub("", page.tab.context.request.get(address).text()) for address in addresses)
    assert first == second
    assert "Hello" not in first
