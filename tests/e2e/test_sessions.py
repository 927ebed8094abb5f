"""Sessions in the browser: they are seen and ended, and a cookie that another port received opens nothing."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import httpx
import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from tests.browser import PATIENCE_MS
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
NOT_SIGNED_IN = "This browser is not signed in"


@pytest.fixture
def page(server: Server, visit: Visit) -> Page:
    """A page of the browser that opened the first link."""
    return visit(server)


@pytest.fixture
def other_tab(page: Page, browser: Browser) -> Iterator[Tab]:
    """A tab of another browser, which opened a link of its own."""
    server = page.server
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    used = len(server.links)
    tab = context.new_page()
    tab.goto(server.links[0])
    tab.get_by_role("heading", name="This link no longer works").wait_for()
    tab.goto(server.wait_for_link(used))
    tab.get_by_test_id("composer").wait_for()
    yield tab
    context.close()


def expect_signed_out(tab: Tab) -> None:
    expect(tab.get_by_role("heading", name=NOT_SIGNED_IN)).to_be_visible()


def test_other_sessions_are_seen_and_ended(page: Page, other_tab: Tab) -> None:
    page.say("Hello")
    other_tab.goto(page.tab.url)
    expect(other_tab.get_by_role("log")).to_contain_text("Hello")
    page.press_in_menu("Sessions")
    lines = page.dialog.get_by_test_id("session")
    expect(lines).to_have_count(2)
    expect(lines.filter(has_text="This browser")).to_have_text(re.compile("Chrome.*Signed in .*, last seen now"))
    expect_accessible(page, "the sessions")
    page.dialog.get_by_role("button", name="Sign all others out").click()
    expect(lines).to_have_count(1)
    expect_signed_out(other_tab)  # without a click: its stream was closed
    page.confirm("Close")
    page.say("Still here")


def test_a_page_without_a_conversation_is_left_when_its_session_ends(page: Page, other_tab: Tab) -> None:
    page.say("A secret")
    other_tab.reload()
    expect(other_tab.get_by_text("A secret")).to_be_visible()  # its title, in the list of conversations
    page.press_in_menu("Sessions")
    page.dialog.get_by_role("button", name="Sign all others out").click()
    expect_signed_out(other_tab)
    expect(other_tab.get_by_text("A secret")).to_have_count(0)


def test_signing_out_leaves_nothing_that_opens_the_door(page: Page) -> None:
    cookies = page.tab.context.cookies()
    page.press_in_menu("Sessions")
    page.dialog.get_by_role("button", name="Sign out").click()
    expect_signed_out(page.tab)
    assert page.complaints == []
    assert page.tab.context.cookies() == []
    page.expected.append("401")
    page.tab.context.add_cookies(cookies)  # type: ignore[arg-type]
    page.tab.goto(page.server.origin)
    expect_signed_out(page.tab)


def read_storage(tab: Tab) -> str:
    """What the browser keeps for this tab alone, as unsent texts are."""
    found: str = tab.evaluate("JSON.stringify({...sessionStorage})")
    return found


def test_the_end_of_a_session_takes_unsent_texts_from_the_browser(page: Page, other_tab: Tab) -> None:
    other_tab.get_by_test_id("composer").fill("An unsent secret")
    assert "An unsent secret" in read_storage(other_tab)
    page.press_in_menu("Sessions")
    page.dialog.get_by_role("button", name="Sign all others out").click()
    expect_signed_out(other_tab)
    assert read_storage(other_tab) == "{}"


class OtherPort(BaseHTTPRequestHandler):
    """Another program's server on this host, which keeps what a browser sends to it."""

    cookies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_cookie_that_another_port_received_opens_nothing(page: Page) -> None:
    server = page.server
    page.say("A secret")
    address = page.tab.url
    with HTTPServer(("127.0.0.1", 0), OtherPort) as other:
        thread = threading.Thread(target=other.handle_request)
        thread.start()
        page.tab.context.request.get(f"http://127.0.0.1:{other.server_port}/")
        thread.join()
    [cookie] = OtherPort.cookies
    assert cookie.startswith(f"waymark_{server.port}=")
    thread_id = address.rpartition("/")[2]
    stolen = {"cookie": cookie, "origin": server.origin, "referer": address}
    frame = httpx.get(address, headers=stolen, trust_env=False)
    assert (frame.status_code, "A secret" in frame.text) == (200, False)
    for path in ("/_dash-layout", f"/api/threads/{thread_id}/export", "/api/sessions"):
        assert httpx.get(server.origin + path, headers=stolen, trust_env=False).status_code == 401
    for path in ("/_dash-update-component", "/api/sessions/current/end"):
        assert httpx.post(server.origin + path, headers=stolen, trust_env=False).status_code == 401
    assert f"refused from 127.0.0.1: GET /api/threads/{thread_id}/export: 401" in server.log()
