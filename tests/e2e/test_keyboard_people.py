"""People by keyboard alone, with axe in each state: invited, signed in, given a role, let into a conversation, erased."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import test_password
from tests.e2e.keyboard import Keyboard
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_keyboard_alone import button
from tests.e2e.test_password import PASSWORD, NewPage, join, line_of
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
new_page = test_password.new_page  # the fixture
LINK = re.compile("^Give this link")


def menu(page: Page) -> Locator:
    return page.tab.get_by_role("button", name="Conversation menu")


def expect_focus_in_dialog(page: Page) -> None:
    expect(page.dialog.locator(":focus")).to_have_count(1)


def fill_form(page: Page, *values: str) -> None:
    """Fill the fields of a page before the sign-in, from the one that has the focus, and send them."""
    keyboard = page.tab.keyboard
    for number, value in enumerate(values):
        if number:
            keyboard.press("Tab")
        keyboard.press("Control+a")
        keyboard.type(value)
    keyboard.press("Enter")


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    expect(page.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.tab.get_by_label("Name", exact=True)).to_be_focused()
    fill_form(page, name, password)


def make_link(page: Page, days: str) -> str:
    """Make a link for a new member in the open dialog of people, and return it."""
    keys, choice = Keyboard(page), page.dialog.get_by_label("The link works for")
    keys.go(choice)
    keys.key("ArrowUp")
    expect(choice.locator("option:checked")).to_have_text(days)
    keys.press(button(page.dialog, "Make a link"))
    link = page.dialog.get_by_label(LINK)
    expect(link).to_be_focused()
    return link.input_value()


def test_a_person_is_invited_joins_signs_out_and_in_and_changes_the_password(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    keys, his_keys = Keyboard(ann), Keyboard(bob)
    join(ann, ann.server.links[0], "Ann")
    expect(ann.composer).to_be_focused()
    keys.choose_in_bar("People")
    expect_focus_in_dialog(ann)
    link = make_link(ann, "1 day")
    look_at(ann, "people with a link")
    keys.close_dialog(menu(ann))

    bob.tab.goto(link)
    expect(bob.tab.get_by_role("heading", name="Welcome to Waymark")).to_be_visible()
    expect(bob.tab.get_by_label("Name", exact=True)).to_be_focused()
    look_at(bob, "an invitation")
    fill_form(bob, "ANN", PASSWORD)
    expect(bob.tab.get_by_role("alert")).to_contain_text("is taken. Choose another.")
    look_at(bob, "a name that is taken")
    his_keys.replace(bob.tab.get_by_label("Name", exact=True), "bob")
    bob.tab.keyboard.press("Tab")
    fill_form(bob, PASSWORD)
    expect(bob.composer).to_be_focused()
    his_keys.write("The kingfisher digs a tunnel")
    bob.wait_for_answer()

    his_keys.press(menu(bob))
    look_at(bob, "the menu of a person")
    bob.tab.keyboard.press("Escape")
    expect(menu(bob)).to_be_focused()
    his_keys.choose_in_bar("Sign out")
    sign_in(bob, "bob", "a wrong password")
    expect(bob.tab.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    expect(bob.tab.get_by_label("Password")).to_be_focused()
    look_at(bob, "a wrong password")
    fill_form(bob, PASSWORD)
    expect(bob.log).to_contain_text("The kingfisher")
    his_keys.expect_focus()

    his_keys.choose_in_bar("Password")
    former, fresh = bob.dialog.get_by_label("Present password"), bob.dialog.get_by_label("New password")
    expect(former).to_be_focused()
    fill_form(bob, "a wrong password", "another five words in a row")
    expect(bob.dialog.get_by_role("alert")).to_have_text("The present password is wrong.")
    expect(fresh).to_be_focused()
    look_at(bob, "a refused password")
    his_keys.replace(former, PASSWORD)
    his_keys.key("Enter")
    expect(bob.toast).to_contain_text("The password is changed.")
    expect(menu(bob)).to_be_focused()

    bob.tab.goto(link)
    expect(bob.tab.get_by_role("heading", name="This link no longer works")).to_be_visible()
    look_at(bob, "a used link")


def test_a_person_gets_another_role_and_a_new_password_and_is_erased(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    keys, his_keys = Keyboard(ann), Keyboard(bob)
    join(ann, ann.server.links[0], "Ann")
    keys.choose_in_bar("People")
    join(bob, make_link(ann, "1 day"), "bob")
    his_keys.write("The kingfisher digs a tunnel")
    bob.wait_for_answer()
    keys.close_dialog(menu(ann))

    keys.choose_in_bar("People")
    role = ann.dialog.get_by_label("Role of bob")
    keys.go(role)
    keys.key("ArrowDown")
    expect(line_of(ann, "bob")).to_contain_text("not signed in")
    expect(role).to_have_value("reader")
    expect(role).to_be_focused()
    sign_in(bob, "bob")
    expect(bob.composer).to_be_focused()
    expect(bob.composer).to_have_attribute("placeholder", "You can read this conversation, not write in it.")
    look_at(bob, "a page that only reads")

    link, again = ann.dialog.get_by_label(LINK), button(ann.dialog, "A link for a new password of bob")
    keys.press(again)
    expect(link).to_be_focused()
    first = link.input_value()
    keys.press(again)
    expect(link).not_to_have_value(first)
    expect(link).to_be_focused()
    bob.tab.goto(link.input_value())
    expect(bob.tab.get_by_role("heading", name="Choose a new password")).to_be_visible()
    expect(bob.tab.get_by_label("New password")).to_be_focused()
    look_at(bob, "a new password")
    fill_form(bob, "another five words in a row")
    expect(bob.composer).to_be_visible()
    used = link.input_value()
    keys.press(again)
    expect(link).not_to_have_value(used)
    keys.press(ann.dialog.get_by_role("button", name="Revoke: For a new password of bob"))
    expect(ann.dialog.get_by_test_id("person-link")).to_have_count(0)
    expect_focus_in_dialog(ann)

    erase, name = button(ann.dialog, "Erase bob"), ann.dialog.get_by_label("Write the name to confirm")
    keys.press(erase)
    expect(ann.dialog).to_contain_text("1 conversation")
    expect_focus_in_dialog(ann)
    keys.key("Escape")
    expect(erase).to_be_focused()
    keys.key("Enter")
    keys.go(name)
    keys.type("bob")
    look_at(ann, "the erasure of a person")
    keys.press(button(ann.dialog, "Erase for good"))
    expect(ann.dialog.get_by_text("bob is erased.")).to_have_role("status")
    expect(ann.dialog.get_by_test_id("person")).to_have_count(1)
    expect_focus_in_dialog(ann)
    look_at(ann, "people after an erasure")
    keys.close_dialog(menu(ann))
    sign_in(bob, "bob")
    expect(bob.tab.get_by_role("alert")).to_be_visible()


def test_a_person_is_let_into_a_conversation_and_leaves_and_a_link_is_shown_twice(new_page: NewPage) -> None:
    ann, bob = new_page(), new_page()
    keys, his_keys = Keyboard(ann), Keyboard(bob)
    join(ann, ann.server.links[0], "Ann")
    keys.choose_in_bar("People")
    join(bob, make_link(ann, "1 day"), "bob")
    keys.close_dialog(menu(ann))
    keys.write("Where do the herons nest?")
    ann.wait_for_answer()

    keys.choose_in_bar("Share…")
    field, members = ann.dialog.get_by_label("Name", exact=True), ann.dialog.get_by_test_id("member")
    keys.go(field)
    keys.type("nobody")
    keys.key("Enter")
    expect(ann.dialog.get_by_role("alert")).to_contain_text("Nobody here is called nobody.")
    expect(field).to_be_focused()
    look_at(ann, "nobody of a name")
    keys.replace(field, "bob")
    keys.key("Enter")
    expect(members).to_have_count(1)
    expect(field).to_be_focused()
    role = ann.dialog.get_by_label("What bob may do")
    keys.go(role)
    keys.key("ArrowDown")
    expect(role).to_have_value("reader")
    expect(role).to_be_focused()
    link = ann.dialog.get_by_label("The link is shown only now.")
    keys.press(button(ann.dialog, "Make a link"))
    expect(link).to_be_focused()
    first = link.input_value()
    keys.press(button(ann.dialog, "Make a link"))
    expect(link).not_to_have_value(first)
    expect(link).to_be_focused()
    look_at(ann, "sharing with people and by links")

    bob.reload()
    his_keys.press(bob.threads.first)
    expect(bob.log).to_contain_text("herons")
    his_keys.choose_in_bar("Share…")
    expect(bob.dialog).to_contain_text("Ann has let you into this conversation.")
    look_at(bob, "the people, for a member")
    his_keys.close_dialog(menu(bob))
    his_keys.choose_in_bar("Share…")
    his_keys.press(button(bob.dialog, "Leave"))
    expect(bob.dialog).to_have_count(0)
    expect(bob.threads).to_have_count(0)
    his_keys.expect_focus()

    keys.close_dialog(menu(ann))
    keys.choose_in_bar("Share…")
    expect(members).to_have_count(0)
    for left in (1, 0):
        keys.press(ann.dialog.get_by_role("button", name="Revoke").first)
        expect(ann.dialog.get_by_test_id("share-link")).to_have_count(left)
        expect_focus_in_dialog(ann)
    keys.close_dialog(menu(ann))
