"""The first turn of a conversation: its page reads the panels once, whoever tells it of the beginning and the title."""

import json
import re

import pytest
from playwright.sync_api import Request, WebSocketRoute, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.panel_requests import panels_held_back
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
RECORD_REPLY = """() => {
  const { set_props } = dash_clientside;
  dash_clientside.set_props = (id, values) => {
    if (id === "composer-panel" && values.reply) window.shownAtReply = document.getElementById("transcript").textContent;
    set_props(id, values);
  };
}"""
WAIT_FOR_WORD = """() => {  // however long it takes
  const wait = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => (ms === 200 ? 0 : wait(work, ms, ...rest));
}"""


def hear_of_run_first(socket: WebSocketRoute) -> None:
    """Let the socket's first frame tell of the run, as on a busy server, where the run begins before that frame."""
    names: list[str] = []  # the first is that of the conversation, and of its first run

    def tell(frame: str | bytes) -> None:
        told = json.loads(frame)
        if told["kind"] == "hello" and told["run"] is None:
            run = {"id": names[0], "stable": "", "tail": "", "reasoning": ""}
            frame = json.dumps({**told, "version": 1, "run": run})
        socket.send(frame)

    def send(text: str | bytes) -> None:
        names.append(str(text))
        server.send(text)

    server = socket.connect_to_server()
    server.on_message(tell)
    socket.on_message(send)


def watch_readings(page: Page) -> list[Request]:
    """Return the page's requests for its panels from now on."""
    readings: list[Request] = []
    page.tab.on("request", lambda request: readings.append(request) if request.url.endswith("/api/panels") else None)
    return readings


def expect_begun(page: Page) -> None:
    """Wait until the panels have followed to the conversation."""
    expect(page.tab).to_have_url(re.compile("/t/"))
    expect(page.tab.locator("#transcript")).not_to_have_attribute("data-thread", "")
    expect(page.tab.locator("html")).not_to_have_attribute("data-going", "")


@pytest.mark.parametrize(
    "is_told_first", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "the socket tells first"]
)
def test_a_conversation_that_begins_is_read_once_however_late_the_reading_comes(
    is_told_first: bool, shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.tab.clock.install()
    if is_told_first:
        page.tab.route_web_socket(re.compile("/events"), hear_of_run_first)
    page.reload()
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say("The first line stands. The second line runs."))
    readings = watch_readings(page)
    with panels_held_back(page):
        with page.tab.expect_request("**/api/panels"):
            page.send("Write me a poem")
        expect(page.live).to_contain_text("The first line stands.")
        page.tab.clock.run_for(5000)  # all that the page does where it hears nothing of its message
    expect_begun(page)
    fake_openai.release()
    page.wait_for_answer()
    expect(page.tab.locator("#undo")).to_be_enabled()
    assert len(readings) == 1


@pytest.mark.slow
def test_a_title_that_comes_after_the_answer_is_shown_and_no_panel_is_read(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings, titles="on"))
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say("The first line stands. The second line runs."), Say("A poem of two lines"))
    page.send("Write me a poem")
    expect_begun(page)
    expect(page.threads.first).to_contain_text("Write me a poem")  # shown last
    readings = watch_readings(page)
    fake_openai.release()
    for shown in (page.tab.locator("#thread-title"), page.threads.first):
        expect(shown).to_contain_text("A poem of two lines")
    page.wait_for_answer()
    assert readings == []
    page.tab.locator("#undo").click()
    page.expect_messages(0)
    page.tab.locator("#redo").click()
    page.expect_messages(2)
    expect(page.tab.locator("#thread-title")).to_have_text("A poem of two lines")


@pytest.mark.slow
def test_the_first_word_is_shown_before_the_reply_to_its_message_is_applied(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.tab.evaluate(WAIT_FOR_WORD)
    _send_to_slow_model(page, fake_openai)
    page.tab.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    fake_openai.release()
    page.tab.wait_for_function("() => window.shownAtReply?.includes('Kingfishers')")
    expect_begun(page)
    page.wait_for_answer()


@pytest.mark.slow
def test_a_model_that_thinks_for_long_keeps_neither_the_reply_nor_the_address(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    _send_to_slow_model(page, fake_openai)
    page.tab.wait_for_function("() => window.shownAtReply !== undefined")
    expect_begun(page)
    fake_openai.release()
    page.wait_for_answer()


def _send_to_slow_model(page: Page, fake_openai: FakeOpenAI) -> None:
    """Send the first message of a conversation; its answer is held back."""
    fake_openai.hold()
    fake_openai.script(Say("Kingfishers stand on the first line."))
    page.tab.evaluate(RECORD_REPLY)
    with page.tab.expect_response("**/api/actions/composer-panel"):
        page.send("Write me a poem")
