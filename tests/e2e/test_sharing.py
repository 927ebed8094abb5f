"""Links in the browser: made in one, opened in another without an account, revoked and ended; and the log of it."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from tests.browser import PATIENCE_MS
from tests.components.transfers.test_html_export import HOSTILE
from tests.e2e import test_password
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_hostile_names import watch_dialogs, write_everywhere
from tests.e2e.test_password import NewPage, invite, join
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Stranger = Callable[[str], Tab]
new_page = test_password.new_page  # the fixture
READING = '"changedPropIds":["share-dialog-changed.data"]'
HOLD_FIRST_READING_OF_LINKS = """(reading) => {
  const fetchNow = window.fetch;
  let isHeld = false;
  const held = new Promise((pass) => { window.letReadingPass = async () => {
    pass();
    await new Promise((painted) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(painted))));
  }; });
  window.fetch = async (address, options) => {
    if (isHeld || !String(options?.body).includes(reading)) return fetchNow(address, options);
    isHeld = true;
    const reply = await fetchNow(address, { ...options, signal: undefined });
    const text = await reply.text();
    await held;
    return new Response(text, { status: reply.status, headers: reply.headers });
  };
}"""


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Stranger]:
    """Opens an address in a browser that nobody has signed in."""
    with ExitStack() as stack:

        def open_address(address: str) -> Tab:
            context = stack.enter_context(browser.new_context())
            context.set_default_timeout(PATIENCE_MS)
            tab = context.new_page()
            tab.goto(address)
            return tab

        yield open_address


def make_link(page: Page) -> str:
    page.dialog.get_by_role("button", name="Make a link").click()
    field = page.dialog.get_by_label("The link is shown only now.")
    field.wait_for()
    return field.input_value()


def share_checkpoint(page: Page, name: str) -> str:
    page.choose_at(page.checkpoint(name), "Share")
    return make_link(page)


def test_a_third_reads_a_checkpoint_without_an_account_until_it_is_revoked(
    server: Server, visit: Visit, stranger: Stranger
) -> None:
    page = visit(server)
    page.say("Where do the herons nest?")
    page.save("At the lake", "Before the kingfisher")
    page.say("And the kingfisher?")
    link = share_checkpoint(page, "At the lake")
    expect_accessible(page, "the links")
    third = stranger(link)
    expect(third.get_by_role("heading", name="At the lake")).to_be_visible()
    expect(third.locator("body")).to_contain_text("Where do the herons nest?")
    expect(third.locator("body")).to_contain_text("Before the kingfisher")
    expect(third.locator("body")).not_to_contain_text("And the kingfisher?")
    assert third.context.cookies() == []
    third.goto(page.tab.url)
    expect(third.locator("body")).not_to_contain_text("herons")
    page.confirm("Close")
    page.press_in_menu("Share…")
    row = page.dialog.get_by_test_id("share-link")
    expect(row).to_contain_text("Checkpoint At the lake")
    expect(row).to_contain_text("opened 1 time")
    row.get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    third.goto(link)
    expect(third.get_by_role("heading", name="This link does not work")).to_be_visible()
    page.confirm("Close")
    page.press_in_menu("Audit log")
    expect(page.dialog.get_by_test_id("audit-entry").first).to_contain_text("Revoked a link to the conversation")
    expect_accessible(page, "the audit log")
    page.dialog.get_by_label("Kind").select_option(label="Links opened")
    expect(page.dialog.get_by_test_id("audit-entry")).to_have_count(1)


def test_a_link_to_a_conversation_shows_what_it_is_now_and_ends(server: Server, visit: Visit, stranger: Stranger) -> None:
    page = visit(server)
    page.say("Where do the herons nest?")
    page.press_in_menu("Share…")
    page.dialog.get_by_label("Words to redact").fill("heron*")
    link = make_link(page)
    page.confirm("Close")
    page.say("And the kingfisher?")
    third = stranger(link)
    expect(third.locator("main")).to_contain_text("And the kingfisher?")
    expect(third.locator("main")).to_contain_text("Where do the [redacted] nest?")
    page.tab.goto("about:blank")  # its sockets would complain
    server.stop()
    end_links(server)
    server.start()
    third.goto(link)
    expect(third.get_by_role("heading", name="This link does not work")).to_be_visible()


def end_links(server: Server) -> None:
    """Let the day come on which all links end."""
    engine = sa.create_engine(f"sqlite:///{server.folder}/data/waymark.db")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE share SET expires_at = :now"), {"now": int(time.time() * 1_000_000)})
    engine.dispose()


def test_a_reading_of_the_links_that_comes_after_a_new_link_does_not_replace_it(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Where do the herons nest?")
    page.tab.evaluate(HOLD_FIRST_READING_OF_LINKS, READING)
    page.press_in_menu("Share…")
    first = make_link(page)
    page.dialog.get_by_role("button", name="Make a link").click()
    expect(page.dialog.get_by_label("The link is shown only now.")).not_to_have_value(first)
    lines = page.dialog.get_by_role("button", name="Revoke")
    expect(lines).to_have_count(2)
    page.tab.evaluate("() => window.letReadingPass()")  # it is of before the second link, and knows no abort
    expect(lines).to_have_count(2)


def test_a_link_that_could_not_be_made_is_said_until_one_is(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.press_in_menu("Share…")
    make = page.dialog.get_by_role("button", name="Make a link")
    make.wait_for()
    page.tab.context.set_offline(True)
    page.expected.append("ERR_INTERNET_DISCONNECTED|Callback failed")
    make.click()
    expect(page.dialog.get_by_role("alert")).to_contain_text("The server does not answer.")
    with page.tab.expect_response(lambda reply: "share-dialog-again.n_clicks" in (reply.request.post_data or "")):
        page.tab.context.set_offline(False)
    page.tab.evaluate("new Promise((show) => requestAnimationFrame(() => requestAnimationFrame(show)))")
    expect(page.dialog.get_by_role("alert")).to_be_visible()
    make.click()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    expect(page.dialog.get_by_role("alert")).to_have_count(0)


def test_a_press_repeated_after_a_lost_answer_makes_one_link(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.press_in_menu("Share…")
    make = page.dialog.get_by_role("button", name="Make a link")
    make.wait_for()

    def lose_answer(route: Route) -> None:
        if "share-form.n_submit" in (route.request.post_data or ""):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.tab.route("**/_dash-update-component*", lose_answer)
    page.expected.append("ERR_FAILED|Callback failed")
    make.click()
    expect(page.dialog.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.tab.unroute("**/_dash-update-component*")
    make.click()
    expect(page.dialog.get_by_label("The link is shown only now.")).to_have_value(re.compile("token="))
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(1)
    make.click()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(2)


def test_a_line_says_to_the_second_when_its_link_was_made_and_so_does_its_button(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.press_in_menu("Share…")
    make_link(page)
    name = page.dialog.get_by_test_id("share-link").locator("p").first
    expect(name).to_have_text(re.compile(r"^The conversation · made \d+ \w+ \d{4}, \d\d:\d\d:\d\d$"))
    expect(page.dialog.get_by_role("button", name=f"Revoke {name.inner_text()}", exact=True)).to_have_count(1)


def test_the_dialog_of_a_conversation_closes_when_that_is_deleted_in_another_tab(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Where do the bitterns boom?")
    other = visit(shared_server, page.tab.url.removeprefix(shared_server.origin), beside=page)
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").wait_for()
    other.tab.get_by_role("button", name="Delete Where do the bitterns boom?").click()
    other.confirm("Delete")
    expect(page.dialog).to_have_count(0)


def test_120_hostile_texts_run_and_load_nothing_in_a_shared_page(start: Start, visit: Visit, stranger: Stranger) -> None:
    server = start()
    server.stop()
    thread_id = write_everywhere(server.folder / "data" / "waymark.db")
    server.start()
    page = visit(server, f"/t/{thread_id}")
    ran = watch_dialogs(page)
    page.press_in_menu("Share…")
    link = make_link(page)
    third = stranger("about:blank")
    asked: list[str] = []
    third.on("dialog", lambda dialog: dialog.dismiss())
    third.on("request", lambda request: asked.append(request.url))
    third.goto(link)
    expect(third.locator("article").first).to_be_visible()
    assert third.locator("article").count() > len(HOSTILE)
    assert [url for url in asked if not url.startswith("data:")] == [link]
    assert third.evaluate("document.querySelectorAll('script, iframe, form, link, base').length") == 0
    assert ran == []


def test_a_name_is_shown_where_it_is_wanted_and_an_admin_sees_who_shared(new_page: NewPage, stranger: Stranger) -> None:
    ann, bob, cy = new_page(), new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    join(cy, invite(ann, "Reader"), "Cy")
    bob.say("The kingfisher digs a tunnel")
    bob.press_in_menu("Share…")
    third = stranger(make_link(bob))
    expect(third.locator("main")).to_contain_text("The kingfisher")
    expect(third.locator("body")).not_to_contain_text("bob")
    bob.dialog.get_by_label("Show my name").check()
    bob.dialog.get_by_role("button", name="Make a link").click()
    expect(bob.dialog.get_by_test_id("share-link")).to_have_count(2)
    third.goto(bob.dialog.get_by_label("The link is shown only now.").input_value())
    expect(third.locator("header p")).to_contain_text("Shared by bob")
    third.get_by_role("link", name="Open your own Waymark").click()
    expect(third.get_by_role("heading", name="Sign in")).to_be_visible()
    bob.confirm("Close")
    expect(bob.open_menu().get_by_role("button", name="Audit log")).to_have_count(0)
    expect(cy.open_menu().get_by_role("button", name="Share…")).to_have_count(0)
    ann.press_in_menu("Audit log")
    ann.dialog.get_by_label("Kind").select_option(label="Links made")
    expect(ann.dialog.get_by_test_id("audit-entry")).to_have_count(2)
    ann.dialog.get_by_label("Person").select_option(label="Ann")
    expect(ann.dialog.get_by_text("No entries.")).to_be_visible()
