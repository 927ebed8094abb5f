"""A conversation that opens: its last messages are painted first, those above follow, and nothing in sight moves."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Request, expect

from checkpoints import Database, Store
from tests.checkpoints.conversations import new
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MESSAGES, LOADED, FIRST = 60, 50, 10
HOLD = "window.held = []; window.requestIdleCallback = (callback) => held.push(callback);"  # moments without other work
GO_ON = """() => new Promise((resolve) => {
  const run = () => resolve(held.splice(0).forEach((callback) => callback()));
  const goOn = () => (held.length > 0 ? run() : requestAnimationFrame(goOn));
  goOn();
})"""
PARAGRAPH = "Some words that fill a line of the conversation and then another one. " * 12
CONVERSATIONS = {
    "Long": [f"{PARAGRAPH} Text {number}." for number in range(MESSAGES)],
    "Whole": [f"{PARAGRAPH} Text {number}." for number in range(LOADED)],
    "Short": [f"Line {number}" for number in range(FIRST + 2)],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("first-screen")
    database = Database.open_file(folder / "data" / "waymark.db")
    store = Store(database)
    for title, texts in CONVERSATIONS.items():
        store.append(store.create_thread(title=title).id, new(*texts))
    database.close()
    server = Server(folder)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def page(server: Server, visit: Visit) -> Page:
    page = visit(server)
    page.tab.add_init_script(HOLD)
    return page


def open_thread(page: Page, title: str) -> str:
    """Open the conversation by its address, as a new page, and return the address."""
    path = f"/t/{page.threads.filter(has_text=title).get_attribute('data-thread-id')}"
    page.open(path)
    return path


def go_on(page: Page) -> None:
    """Let come what waits for a moment without other work."""
    page.tab.evaluate(GO_ON)


def test_the_last_messages_are_there_before_the_others_which_move_nothing(page: Page) -> None:
    open_thread(page, "Long")
    last = page.message(f"Text {MESSAGES - 1}.")
    expect(last).to_be_in_viewport()
    page.expect_messages(FIRST)
    earlier = page.tab.get_by_role("button", name="Earlier messages")
    expect(earlier).to_have_count(0)
    before = last.bounding_box()
    go_on(page)
    page.expect_messages(LOADED)
    expect(earlier).to_have_count(1)
    assert last.bounding_box() == before
    for title, count in (("Short", FIRST + 2), ("Whole", FIRST)):  # in the same page
        page.threads.filter(has_text=title).click()
        page.expect_messages(count)
    go_on(page)
    page.expect_messages(LOADED)


def test_a_linked_message_that_follows_is_shown_without_being_asked_for(page: Page) -> None:
    path = open_thread(page, "Whole")
    go_on(page)
    message = page.message("Text 5.").get_attribute("data-message-id")
    asked: list[str] = []
    page.tab.on("request", lambda request: asked.append(read_action(request)))
    with page.tab.expect_response("**/place"):
        page.open(f"{path}?message={message}")
    page.expect_messages(FIRST)
    go_on(page)
    marked = page.tab.locator("article[data-place]")
    expect(marked).to_contain_text("Text 5.")
    expect(marked).to_be_in_viewport()
    assert "show" not in asked


def read_action(request: Request) -> str:
    """Return the type of an action of the transcript."""
    sent = request.post_data_json if request.url.endswith("/api/actions/transcript") else None
    return str(sent["action"]["type"]) if sent else ""


def test_short_messages_that_fill_no_screen_are_there_at_once(page: Page) -> None:
    open_thread(page, "Short")
    page.expect_messages(FIRST + 2)
