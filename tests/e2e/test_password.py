"""People with passwords, each in a browser of their own: invited, signed in and out, and erased."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Page as Tab

from tests.browser import PATIENCE_MS
from tests.e2e.server import TIPS, Server
from tests.e2e.test_accessibility import ANY_IMPACT, expect_accessible
from tests.e2e.test_sessions import read_storage
from tests.e2e.test_tags import close_tags, type_tag
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PASSWORD = "four plain words in a row"
NewPage = Callable[[], Page]


@pytest.fixture
def new_page(tmp_path: Path, browser: Browser) -> Iterator[NewPage]:
    """Pages of one server, each in a browser of its own."""
    server = Server(tmp_path, auth="password")
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)

        def open_page() -> Page:
            context = stack.enter_context(browser.new_context(viewport={"width": 1440, "height": 900}))
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
            return Page(context.new_page(), server)

        yield open_page


def join(page: Page, link: str, name: str) -> None:
    page.tab.goto(link)
    expect_accessible(page, "the page of a link", ANY_IMPACT)
    expect(page.tab.get_by_label("Name", exact=True)).to_be_focused()
    page.tab.keyboard.type(name)
    page.tab.keyboard.press("Tab")
    page.tab.keyboard.type(PASSWORD)
    page.tab.keyboard.press("Enter")
    page.composer.wait_for()
    assert page.tab.evaluate("document.referrer") == ""


def sign_in(tab: Tab, name: str, password: str) -> None:
    tab.get_by_label("Name", exact=True).fill(name)
    tab.get_by_label("Password").fill(password)
    tab.keyboard.press("Enter")


def line_of(page: Page, name: str) -> Locator:
    return page.dialog.get_by_test_id("person").filter(has_text=name)


def invite(page: Page, role: str) -> str:
    page.press_in_menu("People")
    page.dialog.get_by_label("As", exact=True).select_option(label=role)
    page.dialog.get_by_role("button", name="Make a link").click()
    expect(page.dialog.get_by_test_id("person-link")).to_have_count(1)
    expect_accessible(page, "the people")
    link = page.dialog.get_by_label(re.compile("^Give this link")).input_value()
    page.confirm("Close")
    return link


def test_people_are_invited_keep_apart_and_leave(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    bob.say("The kingfisher digs a tunnel")
    ann.reload()
    expect(ann.tab.get_by_test_id("thread")).to_have_count(0)
    bob.open_menu()
    expect(bob.tab.get_by_text("Signed in as bob")).to_be_visible()
    expect(bob.tab.get_by_role("button", name="People")).to_have_count(0)
    expect_accessible(bob, "the menu of a person")
    address = urlsplit(bob.tab.url).path
    bob.tab.get_by_role("button", name="Sign out").click()
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    expect_accessible(bob, "the sign-in", ANY_IMPACT)
    bob.expected.append("401")
    bob.tab.goto(bob.server.origin + address)
    sign_in(bob.tab, "bob", "a wrong password")
    expect(bob.tab.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    expect_accessible(bob, "a wrong password", ANY_IMPACT)
    sign_in(bob.tab, "bob", PASSWORD)
    expect(bob.log).to_contain_text("The kingfisher")
    assert urlsplit(bob.tab.url).path == address
    ann.press_in_menu("People")
    line_of(ann, "bob").get_by_role("button", name="Erase").click()
    expect(ann.dialog).to_contain_text("1 conversation")
    expect_accessible(ann, "the erasure of a person")
    ann.dialog.get_by_label("Write the name to confirm").fill("bob")
    ann.dialog.get_by_role("button", name="Erase for good").click()
    expect(ann.dialog.get_by_test_id("person")).to_have_count(1)
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(bob.tab, "bob", PASSWORD)
    expect(bob.tab.get_by_role("alert")).to_be_visible()


def test_a_reader_is_told_and_a_password_is_changed(new_page: NewPage) -> None:
    ann, cy = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(cy, invite(ann, "Reader"), "Cy")
    expect(cy.composer).to_have_attribute("placeholder", "You can read conversations here, not write in them.")
    expect(cy.composer).not_to_be_editable()
    expect(cy.log.get_by_text("You can read, search, compare and export")).to_be_visible()
    expect(cy.log.get_by_role("button")).to_have_count(0)
    expect(cy.tab.get_by_role("button", name="New conversation")).to_have_count(0)
    expect(cy.tab.locator("#history")).not_to_contain_text("Save one")
    expect(cy.tab.locator(".threads")).to_contain_text("Conversations shared with you appear here.")
    expect(cy.open_menu().get_by_role("button", name="Import")).to_have_count(0)
    cy.tab.keyboard.press("Escape")
    expect_accessible(cy, "the start page of a reader")
    cy.press_in_menu("Password")
    cy.dialog.get_by_label("Present password").fill("a wrong password")
    cy.dialog.get_by_label("New password").fill("another five words in a row")
    cy.dialog.get_by_role("button", name="Save").click()
    expect(cy.dialog.get_by_role("alert")).to_have_text("The present password is wrong.")
    expect_accessible(cy, "the change of a password")
    cy.dialog.get_by_label("Present password").fill(PASSWORD)
    cy.dialog.get_by_role("button", name="Save").click()
    expect(cy.toast).to_contain_text("The password is changed.")


def test_a_member_who_became_a_reader_is_offered_no_change_of_tags_and_prompts(new_page: NewPage) -> None:
    ann, cy = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(cy, invite(ann, "Member"), "Cy")
    cy.say("Where do the herons nest?")
    cy.tab.get_by_test_id("thread").hover()
    cy.tab.get_by_role("button", name="More for").click()
    cy.tab.get_by_role("menuitem", name="Tags").click()
    type_tag(cy, "Birds")
    close_tags(cy)
    cy.expected.append("401")
    ann.press_in_menu("People")
    line_of(ann, "Cy").get_by_role("combobox").select_option(label="Reader")
    expect(cy.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(cy.tab, "Cy", PASSWORD)
    cy.message("Where do the herons nest?").first.get_by_role("button", name="More", exact=True).click()
    expect(cy.tab.get_by_role("menuitem")).to_have_text(["Copy link"])
    cy.tab.keyboard.press("Escape")
    cy.tab.locator(".threads-foot").get_by_role("button", name="Tags").click()
    expect(cy.dialog.get_by_test_id("tag").get_by_role("button")).to_have_text(["Show"])
    expect_accessible(cy, "the tags, for a reader")


SUBMIT_TWICE = """() => {
  let count = 0;
  addEventListener("submit", (event) => { count += event.defaultPrevented ? 0 : 1; event.preventDefault(); });
  for (const _ of [1, 2]) document.querySelector("form").requestSubmit();
  return count;
}"""


def test_a_form_is_not_sent_again_while_its_answer_is_awaited(new_page: NewPage) -> None:
    ann = new_page()
    ann.tab.goto(ann.server.links[0])
    ann.tab.get_by_label("Name", exact=True).fill("Ann")
    ann.tab.get_by_label("Password").fill(PASSWORD)
    assert ann.tab.evaluate(SUBMIT_TWICE) == 1


def test_a_page_is_left_when_another_person_signs_in_in_its_browser(new_page: NewPage) -> None:
    ann = new_page()
    join(ann, ann.server.links[0], "Ann")
    link = invite(ann, "Member")
    ann.say("The heron nests at the lake")
    ann.composer.fill("An unsent secret")
    tab = ann.tab.context.new_page()
    join(Page(tab, ann.server), link, "bob")
    expect(ann.tab.get_by_text("The heron nests")).to_have_count(0)
    assert urlsplit(ann.tab.url).path in ("/", "/sign-in")
    assert "secret" not in read_storage(ann.tab)
    ann.open("/")
    ann.open_menu()
    expect(ann.tab.get_by_text("Signed in as bob")).to_be_visible()


def test_pages_go_on_when_their_person_signs_in_again_in_another_tab(new_page: NewPage) -> None:
    ann = new_page()
    join(ann, ann.server.links[0], "Ann")
    ann.say("The heron nests at the lake")
    ann.composer.fill("An unsent text")
    tab = ann.tab.context.new_page()
    tab.goto(f"{ann.server.origin}/sign-in")
    sign_in(tab, "Ann", PASSWORD)
    expect(tab.get_by_test_id("thread")).to_have_count(1)
    ann.composer.press("Enter")
    ann.wait_for_answer()
    expect(ann.log).to_contain_text("An unsent text")


def test_a_page_sends_nothing_in_the_name_of_another_person(new_page: NewPage) -> None:
    """Its browser may not have told it yet that another person has signed in: a tab in the background sleeps."""
    ann, sent = new_page(), list[str]()
    join(ann, ann.server.links[0], "Ann")
    ann.composer.fill("An unsent secret")
    ann.tab.on("request", lambda request: sent.append(request.url))
    ann.tab.evaluate("localStorage.setItem('waymark.person', 'bob')")
    ann.composer.press("Enter")
    expect(ann.composer).to_have_value("")
    assert not [each for each in sent if "/api/actions" in each]
