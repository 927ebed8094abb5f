"""What a person sees of a change or of another conversation, however its replies come."""

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.panel_requests import panels_held_back
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ACTIONS = "**/api/actions/restore-dialog"


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    """A page with a conversation of four messages and a checkpoint after two."""
    page = visit(shared_server)
    page.say("Hello")
    page.save("First")
    page.say("Thank you")
    return page


def test_a_restore_is_sent_once(page: Page) -> None:
    button = page.ask_to_restore("First").get_by_role("button", name="Restore", exact=True)
    held: list[Route] = []
    page.tab.route(ACTIONS, lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks its handlers)
    button.dblclick()
    page.expect_messages(4)  # nothing is shown before it is done
    assert len(held) == 1
    held[0].continue_()
    page.expect_messages(2)
    expect(page.notice).to_contain_text("Restored to First")
    page.undo()
    page.expect_messages(4)


def test_the_reply_to_a_restore_fills_the_field_though_its_change_is_shown_already(page: Page) -> None:
    held: list[tuple[Route, APIResponse]] = []
    page.tab.route(ACTIONS, lambda route: held.append((route, route.fetch())))
    page.ask_to_restore("First").get_by_role("button", name="Restore", exact=True).click()
    page.expect_messages(2)  # as other pages: by the broadcast
    page.tab.route("**/api/panels", lambda _: None)
    route, reply = held.pop()
    route.fulfill(response=reply)
    expect(page.dialog).to_have_count(0)
    expect(page.composer).to_have_value("Thank you")
    page.tab.unroute("**/api/panels")  # and what was held goes on
    page.undo()
    expect(page.composer).to_have_value("")


def test_the_address_follows_where_the_reading_is_late(page: Page) -> None:
    address = page.tab.url
    page.new_conversation()
    page.say("Another one")
    with panels_held_back(page):
        page.threads.filter(has_text="Hello").first.click()
        expect(page.tab).to_have_url(address)
    page.expect_checkpoints(("First", 2))
    page.expect_messages(4)


def test_a_server_that_went_back_to_a_backup_is_believed(page: Page, shared_server: Server) -> None:
    """Its versions are lower than those that the page has shown."""

    def reply_from_before(route: Route) -> None:
        body = route.fetch().json()
        body["transcript"]["data"]["version"] = 1
        body["thread-title"]["children"] = "From the backup"
        route.fulfill(json=body)

    page.tab.route("**/api/panels", reply_from_before)
    other = Page(page.tab.context.new_page(), shared_server)
    other.tab.goto(page.tab.url)
    expect(other.tab.get_by_test_id("checkpoint")).to_have_count(1)
    other.save("Second")
    expect(page.tab.locator("#thread-title")).to_have_text("From the backup")
