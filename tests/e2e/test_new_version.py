"""A page that is open while its server is replaced by a newer one."""

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server

pytestmark = pytest.mark.e2e


def test_a_page_that_is_older_than_the_server_offers_to_be_loaded_again(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Tell me of harbours")
    offer = page.tab.get_by_text("Waymark was updated. Reload the page to use the new version.")
    expect(offer).to_have_count(0)  # it is of the same version

    def answer_as_newer(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, headers={**reply.headers, "waymark-page": "fedcba9876543210"})

    page.tab.route("**/api/actions/*", answer_as_newer)
    page.tab.evaluate("dash_clientside.set_props('toast', {is_open: true})")  # about something that the person has done
    expect(page.toast.locator(".toast.show")).to_be_visible()
    page.say("Tell me of bridges")
    expect(page.toast).not_to_contain_text("Waymark was updated.")
    page.tab.locator("#toast-close").click()
    expect(offer).to_be_visible()
    page.tab.unroute("**/api/actions/*")
    with page.tab.expect_navigation():
        page.tab.get_by_role("button", name="Reload").click()
    page.expect_messages(4)
    expect(offer).to_have_count(0)
