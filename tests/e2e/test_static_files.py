"""The page's files in a browser: few requests, nothing fetched twice, and icons that need no server."""

import os
import signal
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
MAX_FIRST_REQUESTS = 16  # the page, its 4 files, Dash's 8, Dash's layout and callbacks, and one to spare
STATIC = ("/assets/", "/_dash-component-suites/")
ADDS_ICON = """address => document.body.insertAdjacentHTML(
  "beforeend", `<svg id="new-icon"><use href="${address}#trash3"></use></svg>`)"""
IS_DRAWN = """() => document.querySelector("#new-icon").getBBox().width > 0"""
IMPORTED = """async addresses => {
  for (const address of addresses) if (!Object.keys(await import(address)).length) throw new Error(address);
  return performance.getEntriesByType("resource").map(entry => new URL(entry.name).pathname);
}"""


@dataclass
class Transfers:
    """The files that the server has sent to a tab. Answers out of the browser's cache are not in it."""

    page: Page
    sent: list[str] = field(default_factory=list)
    cached: set[str] = field(default_factory=set)  # ids of requests

    def __post_init__(self) -> None:
        session = self.page.tab.context.new_cdp_session(self.page.tab)
        session.on("Network.requestServedFromCache", lambda event: self.cached.add(event["requestId"]))
        session.on("Network.responseReceived", self._note_response)
        session.send("Network.enable")

    def _note_response(self, event: dict[str, Any]) -> None:
        response = event["response"]
        path = urlsplit(response["url"]).path
        is_cached = response.get("fromDiskCache") or event["requestId"] in self.cached or response["status"] == 304
        if path.startswith(STATIC) and not is_cached:
            self.sent.append(path)


def test_the_first_screen_needs_few_requests(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.tab.wait_for_load_state("networkidle")
    requests = page.tab.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert len(requests) + 1 <= MAX_FIRST_REQUESTS, requests
    assert len([address for address in requests if "/assets/" in address]) <= 4, requests


@pytest.mark.slow
def test_nothing_is_fetched_twice_over_several_changes_of_the_page(server: Server, visit: Visit) -> None:
    page = visit(server)
    transfers = Transfers(page)
    page.reload()
    transfers.sent.clear()  # the cache is full, the tab is watched
    for text in ("Hello", "How is the weather?"):
        page.say(text)
        page.new_conversation()
    page.threads.filter(has_text="Hello").click()
    page.expect_messages(2)
    for _ in range(2):
        page.tab.keyboard.press("Control+k")
        expect(page.tab.get_by_role("dialog")).to_be_visible()
        page.tab.keyboard.press("Escape")
        expect(page.tab.get_by_role("dialog")).to_have_count(0)
    page.reload()
    page.expect_messages(2)
    assert transfers.sent == []


@pytest.mark.slow
def test_icons_appear_while_the_server_is_frozen(start: Start, visit: Visit) -> None:
    server = start()
    page = visit(server)
    page.tab.wait_for_load_state("networkidle")
    address = page.tab.locator("svg.icon use").first.get_attribute("href")
    assert address
    os.kill(server.pid, signal.SIGSTOP)
    try:
        page.tab.evaluate(ADDS_ICON, address.partition("#")[0])
        page.tab.wait_for_function(IS_DRAWN)
    finally:
        os.kill(server.pid, signal.SIGCONT)
