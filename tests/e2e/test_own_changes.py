"""A person's own changes: each is one request, is done once, and is never said to be somebody else's."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_conversations import row
from tests.e2e.test_slow_networks import expect_changes
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
# After each update of the page comes another one, before Dash has looked at it, as for a change that was made elsewhere.
UPDATE_TWICE = """() => {
  const { set_props } = dash_clientside;
  dash_clientside.set_props = (id, values) => {
    set_props(id, values);
    if (id !== "head") return;
    const { tick, go } = values.data;
    set_props(id, { data: { tick: tick + 1, ...(go && { go }) } });
  };
}"""
CHANGES = ("/api/actions/", "/api/panels", "/_dash-update-component")


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    """A conversation of four messages, with a checkpoint after two and another branch there."""
    page = visit(shared_server)
    page.say("Hello")
    page.save("First")
    page.say("Thank you")
    page.press("First", "Branch from First")
    page.dialog.get_by_label("Name").fill("Other")
    page.confirm("Branch")
    page.switch("main")
    page.expect_messages(4)
    return page


@pytest.fixture
def sent(page: Page) -> list[str]:
    """The requests that change something or read the panels, by what follows `/api/`."""
    paths: list[str] = []

    def note(request: object) -> None:
        url = str(getattr(request, "url", ""))
        if any(each in url for each in CHANGES):
            paths.append(url.rpartition("/api/")[2])

    page.tab.on("request", note)
    return paths


def undo_button(page: Page) -> Locator:
    return page.tab.get_by_role("button", name="Undo last change")


def _press(place: str, button: str) -> Callable[[Page], None]:
    return lambda page: page.press(place, button)


def _expect_checkpoints(count: int) -> Callable[[Page], None]:
    return lambda page: expect(page.tab.get_by_test_id("checkpoint")).to_have_count(count)


def _expect_branches(count: int) -> Callable[[Page], None]:
    return lambda page: expect(page.branches).to_have_count(count)


def _expect_messages(count: int) -> Callable[[Page], None]:
    return lambda page: page.expect_messages(count)


Look = Callable[[Page], object]
# By dialog: how it is opened, its button, how the change is seen, and its undo.
CONFIRMED: dict[str, tuple[Look, str, Look, Look]] = {
    "delete-checkpoint": (_press("First", "Delete First"), "Delete", _expect_checkpoints(0), _expect_checkpoints(1)),
    "delete-branch": (_press("Other", "Delete branch Other"), "Delete", _expect_branches(1), _expect_branches(2)),
    "fork-dialog": (_press("First", "Branch from First"), "Branch", _expect_branches(3), _expect_branches(2)),
    "restore-dialog": (_press("First", "Restore First"), "Restore", _expect_messages(2), _expect_messages(4)),
    "delete-branches": (
        lambda page: page.choose_at(page.branch("main"), "Delete all others"),
        "Delete all others",
        _expect_branches(1),
        _expect_branches(2),
    ),
    "clear-dialog": (
        lambda page: page.press_in_menu("Clear conversation"),
        "Clear",
        _expect_messages(0),
        _expect_messages(4),
    ),
}


def test_a_confirmed_change_and_its_undo_are_one_request_each_and_need_no_reading(page: Page, sent: list[str]) -> None:
    """Though they are pressed twice, and no reading of the panels comes back: the reply has all that the page shows."""
    readings: list[Route] = []
    page.tab.route("**/api/panels", lambda route: readings.append(route))  # noqa: PLW0108  (Playwright marks its handlers)
    for name, (open_dialog, button, expect_done, expect_undone) in CONFIRMED.items():
        open_dialog(page)
        page.dialog.wait_for()
        sent.clear()
        page.dialog.get_by_role("button", name=button, exact=True).dblclick()
        expect(page.tab.locator(".modal")).to_have_count(0)
        expect_done(page)
        undo_button(page).dblclick()
        expect_undone(page)
        assert [each for each in sent if each != "panels"] == [f"actions/{name}", "actions/log"]
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    for route in readings:
        route.continue_()


def test_a_deleted_conversation_is_brought_back_by_one_request(page: Page, sent: list[str]) -> None:
    page.tab.get_by_role("button", name="Delete Hello", exact=True).first.press("Enter")
    page.confirm("Delete")
    page.expect_messages(0)
    page.toast.get_by_role("button", name="Undo").dblclick()
    page.expect_messages(4)
    assert [each for each in sent if each.endswith(("thread", "toast"))] == ["actions/delete-thread", "actions/toast"]
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    expect(row(page, "Hello").first).to_be_visible()


def test_what_a_change_did_is_said_though_the_page_is_updated_again_at_once(page: Page) -> None:
    page.tab.evaluate(UPDATE_TWICE)
    page.tab.get_by_role("button", name="Delete Hello", exact=True).first.press("Enter")
    page.confirm("Delete")
    page.expect_messages(0)
    expect(page.toast).to_contain_text("Deleted the conversation Hello")
    page.toast.get_by_role("button", name="Undo").click()
    page.expect_messages(4)


def lose_reply(route: Route) -> None:
    """The server does it, and the page does not hear of it."""
    route.fetch()
    route.abort()


def test_a_change_whose_reply_was_lost_is_repeated_as_the_same_request(page: Page) -> None:
    page.expect_lost_server()
    page.press("First", "Delete First")
    delete = page.dialog.get_by_role("button", name="Delete", exact=True)
    page.tab.route("**/api/actions/*", lose_reply)
    delete.click()
    expect(page.toast).to_contain_text("Try again: it won't be sent twice.")
    expect(page.tab.get_by_test_id("checkpoint")).to_have_count(0)  # the stream tells
    page.tab.unroute("**/api/actions/*")
    delete.click()
    expect(page.tab.locator(".modal")).to_have_count(0)

    page.tab.route("**/api/actions/*", lose_reply)
    undo_button(page).click()
    _expect_checkpoints(1)(page)
    page.tab.unroute("**/api/actions/*")
    with page.tab.expect_response("**/api/actions/log"):
        page.toast.get_by_role("button", name="Try again").click()
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    expect_changes(page, "Undid deleting the checkpoint First", "Deleted the checkpoint First", "Switched to")
