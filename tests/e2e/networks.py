"""Networks that are slow, and one that is away for a while, for the page of a test; and presses on them.

On a slow network each press is a double click. Without a network a press says that it did nothing, and is repeated.
"""

import re

from playwright.sync_api import Locator, expect

from tests.e2e.waymark import Page

UNLIMITED = -1
AWAY = "away"
NETWORKS = {
    "400 ms": {"latency": 400, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    "150 ms": {"latency": 150, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    AWAY: {},
    "800 ms": {"latency": 800, "downloadThroughput": UNLIMITED, "uploadThroughput": UNLIMITED},
    "30 kB/s": {"latency": 0, "downloadThroughput": 30_000, "uploadThroughput": 30_000},
}
UNSAID = re.compile("does not answer|did not answer|could not be", re.IGNORECASE)


class Network:
    """The network of a page, and presses on it."""

    def __init__(self, page: Page, name: str) -> None:
        self._page, self.is_away = page, name == AWAY
        if self.is_away:
            page.expect_lost_server()
            page.expected.append("ERR_INTERNET_DISCONNECTED|fetch dynamically")
        else:
            session = page.tab.context.new_cdp_session(page.tab)
            session.send("Network.emulateNetworkConditions", {"offline": False, **NETWORKS[name]})

    def press(self, button: Locator, again: Locator | None = None) -> None:
        """Press twice; or in vain, and, after the network is back, once more."""
        if not self.is_away:
            button.dblclick()
            return
        self._page.tab.context.set_offline(True)
        button.click()
        expect(self._page.tab.locator("body")).to_contain_text(UNSAID)
        self._page.tab.context.set_offline(False)
        (again or button).click()
        close = self._page.toast.get_by_role("button", name="close")
        if close.is_visible() and not self._page.dialog.is_visible():
            close.click()  # the toast would cover what is pressed next
