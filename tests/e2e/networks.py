"""Networks that are slow, and one that is away for a while, for the page of a test; and presses on them.

On a slow network each press is a double click. Without a network a press says that it did nothing, and is repeated.
"""

import re

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.rounds import sample

UNLIMITED = -1
AWAY = "away"
SILENT_STEPS = 5  # without a request
NETWORKS = {
    "400 ms": {"latency": 400, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    "150 ms": {"latency": 150, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    AWAY: {},
    "800 ms": {"latency": 800, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    "30 kB/s": {"latency": 0, "downloadThroughput": 30_000, "uploadThroughput": 30_000},
}
UNSAID = re.compile("does not answer|did not answer|could not be|cannot be", re.IGNORECASE)

# In one step: the reply may bring a toast with Undo in its place.
CLOSE_NOTICE = """(unsaid) => {
  const toast = document.querySelector("[data-testid=toast]");
  if (toast && new RegExp(unsaid, "i").test(toast.textContent)) document.querySelector("#toast-close").click();
}"""


@pytest.fixture(params=sample(NETWORKS, 2))
def name(request: pytest.FixtureRequest) -> str:
    """The name of a network: one that is slow, and one that is away, each time."""
    return str(request.param)


@pytest.fixture
def page(start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A conversation of one question, on a quick network; the next answer says that green it is."""
    page = visit(start(**openai_settings))
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red?")
    return page


class Network:
    """The network of a page, and presses on it."""

    def __init__(self, page: Page, name: str) -> None:
        self._page, self.is_away = page, name == AWAY
        self._open: set[Request] = set()
        page.tab.on("request", self._begin)
        page.tab.on("requestfinished", self._end)
        page.tab.on("requestfailed", self._end)
        if self.is_away:
            page.expect_lost_server()
            page.expected.append("ERR_INTERNET_DISCONNECTED|fetch dynamically")
        else:
            session = page.tab.context.new_cdp_session(page.tab)
            session.send("Network.emulateNetworkConditions", {"offline": False, **NETWORKS[name]})

    def _begin(self, request: Request) -> None:
        self._open.add(request)

    def _end(self, request: Request) -> None:
        self._open.discard(request)

    def leave(self) -> None:
        """Go away, if the network is one that does, after every reply: no other request is lost than those that follow.

        Rows that appear ask the server a moment later.
        """
        silent = 0
        while self.is_away and silent < SILENT_STEPS:
            silent = 0 if self._open else silent + 1
            self._page.tab.wait_for_timeout(20)
        self._page.tab.context.set_offline(self.is_away)

    def come_back(self) -> None:
        self._page.tab.context.set_offline(False)

    def press(self, button: Locator, again: Locator | None = None) -> None:
        """Press what is there twice; or in vain, and, after the network is back, once more."""
        button.wait_for()  # without a network it would never come
        if not self.is_away:
            button.dblclick()
            return
        self.leave()
        button.click()
        expect(self._page.tab.locator("body")).to_contain_text(UNSAID, use_inner_text=True)
        if self._page.dialog.is_visible():
            expect(self._page.dialog.get_by_role("alert")).to_contain_text(UNSAID)
            expect(self._page.toast).not_to_contain_text(UNSAID)  # one notice, where the person looks
        self.come_back()
        (again or button).click()
        if not self._page.dialog.is_visible():
            self._page.tab.evaluate(CLOSE_NOTICE, UNSAID.pattern)  # it would cover what is pressed next
