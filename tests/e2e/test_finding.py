"""Finding within the open conversation, of which the page holds a part; the browser finds where it holds everything."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Route, expect

from checkpoints import Database, Store
from tests.checkpoints.conversations import new
from tests.e2e.conftest import Visit
from tests.e2e.keyboard import press_composed
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_search import HOSTILE, PHONE
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MARKED = """name => [...(CSS.highlights.get(name) ?? [])].map(range => range.toString())"""
# The marks of a message that has just changed are set with the next frame.
CHANGE_AND_STEP_BACK = """async () => {
  document.querySelector("article[data-place]").append(document.createComment("changed"));
  await null;
  const key = { key: "Enter", shiftKey: true, bubbles: true, cancelable: true };
  document.querySelector(".find-field").dispatchEvent(new KeyboardEvent("keydown", key));
}"""
IN_VIEW = """() => {
  const [range] = CSS.highlights.get("found-current") ?? [];
  const [box, view] = [range, document.querySelector(".log")].map((each) => each?.getBoundingClientRect());
  return Boolean(box) && box.height > 0 && box.top >= view.top && box.bottom <= view.bottom;
}"""


@pytest.fixture(scope="module")
def long_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("finding")
    database = Database.open_file(folder / "data" / "waymark.db")
    store = Store(database)
    lines = [f"step {number}" for number in range(400)]
    lines[20] = "We saw an **ocelot** in the garden, one OCELOT more\n\n" + "and so on\n\n" * 60 + "ocelots end"
    lines[200], lines[399] = HOSTILE, "Ocelot\u0301 at the end: 東京都の天気"
    long = store.create_thread(title="Long").id
    store.append(long, new(*lines))
    short = store.create_thread(title="Short").id
    store.append(short, new("an ocelot", "yes"))
    while store.index_portion():
        pass
    database.close()
    server = Server(folder, demo_seconds_per_token="0.5")  # an answer that is not over before it is stopped
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def page(long_server: Server, visit: Visit) -> Page:
    page = visit(long_server)
    open_thread(page, "Long")
    return page


def open_thread(page: Page, title: str) -> None:
    page.threads.filter(has_text=title).click()
    expect(page.tab.locator("#thread-title")).to_have_text(title)
    expect(page.tab.locator("#transcript [data-message-id]").first).to_be_attached()


def find(page: Page, text: str) -> Locator:
    """Open the bar by its key, type, and return the bar."""
    page.tab.keyboard.press("Control+f")
    bar = page.tab.get_by_role("search")
    bar.get_by_role("textbox").fill(text)
    return bar


def expect_current(page: Page, text: str) -> None:
    page.tab.wait_for_function(f"text => ({MARKED})('found-current')[0] === text", arg=text)
    page.tab.wait_for_function(IN_VIEW)


def test_what_is_not_in_the_page_is_found_and_walked_by_keyboard(page: Page) -> None:
    page.composer.focus()
    bar = find(page, "ocel")
    expect(bar.get_by_role("status")).to_have_text("2 of 2")
    expect_current(page, "Ocelot\u0301")
    press_composed(bar.get_by_role("textbox"), "Enter", "F3", "Escape")
    page.tab.keyboard.press("F3")
    expect(bar.get_by_role("status")).to_have_text("1 of 2")
    expect_current(page, "ocelot")
    expect(page.tab.locator("article[data-place]")).to_contain_text("in the garden")
    for text in ("OCELOT", "ocelots"):
        page.tab.keyboard.press("Enter")
        expect_current(page, text)
        expect(bar.get_by_role("status")).to_have_text("1 of 2")
    page.tab.evaluate(CHANGE_AND_STEP_BACK)
    expect_current(page, "OCELOT")
    assert set(page.tab.evaluate(MARKED, "found")) == {"ocelot", "OCELOT", "ocelots"}
    expect_accessible(page, "the bar that finds")
    page.tab.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    expect(page.composer).to_be_focused()
    assert page.tab.evaluate(MARKED, "found") == []


def test_keys_pressed_at_once_are_for_the_bar(page: Page) -> None:
    page.composer.press("Control+f")
    page.tab.keyboard.type("ocel")
    expect(page.tab.get_by_role("search").get_by_role("textbox")).to_have_value("ocel")
    expect(page.composer).to_have_value("")


def test_scripts_without_spaces_and_phrases_are_marked(page: Page) -> None:
    find(page, "天気")
    expect_current(page, "天気")
    find(page, "step 39")
    expect_current(page, "step 39")
    expect(find(page, "nowhere at all").get_by_role("status")).to_have_text("Nothing found")


def test_the_browser_finds_where_the_page_holds_everything_and_on_a_second_press(page: Page) -> None:
    page.tab.evaluate("addEventListener('keydown', (event) => (window.isTaken = event.defaultPrevented))")
    find(page, "ocelot")
    assert page.tab.evaluate("isTaken") is True
    page.tab.keyboard.press("Control+f")
    assert page.tab.evaluate("isTaken") is False
    open_thread(page, "Short")
    page.tab.keyboard.press("Control+f")
    assert page.tab.evaluate("isTaken") is False
    expect(page.tab.get_by_role("search")).to_have_count(0)


def test_finding_goes_on_while_an_answer_is_written(page: Page) -> None:
    page.send("Show me a piece of Python")
    expect(page.live.locator(".live-text")).to_have_text(re.compile(r"\w"))
    bar = find(page, "ocel")
    expect(bar.get_by_role("status")).to_have_text("2 of 2")
    page.tab.keyboard.press("Shift+Enter")
    expect_current(page, "ocelots")
    with page.tab.expect_response("**/find?*"):
        page.stop_button.click()
    expect(page.live).to_have_count(0)
    page.tab.evaluate("new Promise((show) => requestAnimationFrame(() => requestAnimationFrame(show)))")
    expect(bar.get_by_role("status")).to_have_text("1 of 2")
    assert page.tab.evaluate(MARKED, "found-current") == ["ocelots"]


def test_a_hostile_text_is_found_and_stays_text(page: Page) -> None:
    find(page, "kingfisher")
    expect_current(page, "kingfisher")
    for text in ("<img src=x onerror=alert(1)>", "' OR 1=1 --", '"', "*", "a NEAR b"):
        expect(find(page, text).get_by_role("textbox")).to_have_value(text)
    assert page.tab.evaluate("window.ran") is None


def test_the_bar_fits_a_phone_in_the_dark(long_server: Server, visit: Visit) -> None:
    page = visit(long_server, color_scheme="dark", **PHONE)
    page.open(str(page.threads.filter(has_text="Long").get_attribute("href")))
    bar = find(page, "ocelot")
    expect(bar.get_by_role("status")).to_have_text("2 of 2")
    box = bar.bounding_box()
    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= 390) == (True, True)
    expect_accessible(page, "the bar that finds, on a phone in the dark")


def test_a_print_has_the_transcript_alone_and_names_what_is_missing(long_server: Server, visit: Visit) -> None:
    page = visit(long_server, color_scheme="dark")
    open_thread(page, "Long")
    note = page.tab.locator(".print-note")
    expect(note).to_be_hidden()
    page.tab.emulate_media(media="print")
    expect(note).to_contain_text("Earlier messages are not in this print.")
    expect(note.get_by_role("link")).to_have_attribute("href", re.compile(f"^{long_server.origin}/t/"))
    expect(page.message("step 398")).to_be_visible()
    expect(page.tab.get_by_role("heading", name="Long")).to_be_visible()
    for hidden in (page.composer, page.save_button, page.threads.first, page.button_of("step 398", "Copy message")):
        expect(hidden).to_be_hidden()
    assert page.tab.evaluate("getComputedStyle(document.querySelector('.message .prose')).color") == "rgb(26, 31, 29)"
    assert page.tab.evaluate("document.body.scrollHeight > innerHeight") is True


def hold(page: Page, address: str) -> list[Route]:
    """Keep the requests of an address from the server, and return them."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.tab.route(address, keep)
    return held


def test_a_search_that_ends_after_a_click_on_another_conversation_does_not_lead_back(page: Page) -> None:
    searches = hold(page, "**/find?*")
    page.tab.keyboard.press("Control+f")
    with page.tab.expect_request("**/find?*"):
        page.tab.keyboard.type("ocelot")
    readings = hold(page, "**/api/panels")
    with page.tab.expect_request("**/api/panels"):
        page.threads.filter(has_text="Short").click()
    with page.tab.expect_response("**/find?*"):
        for route in searches:
            route.continue_()
    page.tab.evaluate("new Promise((show) => requestAnimationFrame(() => requestAnimationFrame(show)))")
    page.tab.unroute("**/api/panels")
    for route in readings:
        route.continue_()
    expect(page.tab.locator("#thread-title")).to_have_text("Short")
