"""People on a slow network, and on one that is away: each sign-in, role, password and way in is one, and nothing unsaid."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import networks, test_password
from tests.e2e.networks import Network
from tests.e2e.test_password import PASSWORD, NewPage, invite, join, line_of
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
name, new_page = networks.name, test_password.new_page
FRESH = "another five words in a row"


def submit(page: Page, network: Network, button: str, *values: str) -> None:
    """Fill the form of a page before the sign-in, and send it twice; or in vain, and once more where the network is back."""

    def fill() -> Locator:
        fields = page.tab.locator("form input:not([type=hidden])")
        for number, value in enumerate(values):
            fields.nth(number).fill(value)
        return page.tab.get_by_role("button", name=button, exact=True)

    address = page.tab.url
    if network.is_away:
        fill()
        network.leave()
        fill().click()
        page.tab.wait_for_url("chrome-error:**")
        network.come_back()
        page.tab.goto(address)
        fill().click()
    else:
        fill().dblclick()
    page.composer.wait_for()


def test_one_joins_and_signs_in_once(new_page: NewPage, name: str) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    bob.tab.goto(invite(ann, "Member"))
    network = Network(bob, name)
    submit(bob, network, "Join", "bob", PASSWORD)
    bob.press_in_menu("Sign out")
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()
    submit(bob, network, "Sign in", "bob", PASSWORD)
    ann.press_in_menu("People")
    expect(line_of(ann, "bob")).to_contain_text("1 browser signed in")


def test_a_role_and_a_password_are_changed_once(new_page: NewPage, name: str) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    network = Network(bob, name)
    bob.press_in_menu("Password")
    bob.dialog.get_by_label("Present password").fill(PASSWORD)
    bob.dialog.get_by_label("New password").fill(FRESH)
    network.press(bob.dialog.get_by_role("button", name="Save"))
    expect(bob.toast).to_contain_text("The password is changed.")
    expect(bob.dialog).to_have_count(0)

    network = Network(ann, name)
    ann.press_in_menu("People")
    role = ann.dialog.get_by_label("Role of bob")
    role.wait_for()
    if network.is_away:
        network.leave()
        role.select_option(label="Reader")
        expect(ann.dialog.get_by_role("alert")).to_contain_text("The server does not answer.")
        network.come_back()
        expect(role).to_have_value("member")
    role.select_option(label="Reader")
    expect(line_of(ann, "bob")).to_contain_text("not signed in")
    expect(role).to_have_value("reader")
    expect(ann.dialog.get_by_role("alert")).to_have_count(0)
    expect(bob.tab.get_by_role("heading", name="Sign in")).to_be_visible()


def test_one_is_let_into_a_conversation_and_out_once(new_page: NewPage, name: str) -> None:
    ann, bob = new_page(), new_page()
    join(ann, ann.server.links[0], "Ann")
    join(bob, invite(ann, "Member"), "bob")
    ann.say("Where do the herons nest?")
    network, members = Network(ann, name), ann.dialog.get_by_test_id("member")
    ann.press_in_menu("Share…")
    ann.dialog.get_by_label("Name", exact=True).fill("bob")
    network.press(ann.dialog.get_by_role("button", name="Let in"))
    expect(members).to_have_count(1)
    expect(ann.dialog.get_by_label("Name", exact=True)).to_have_value("")
    expect(ann.dialog.get_by_role("alert")).to_have_count(0)

    bob.reload()
    bob.threads.first.click()
    expect(bob.log).to_contain_text("herons")
    bob.press_in_menu("Share…")
    Network(bob, name).press(bob.dialog.get_by_role("button", name="Leave"))
    expect(bob.tab.locator(".modal")).to_have_count(0)
    expect(bob.threads).to_have_count(0)
    expect(bob.tab.get_by_role("alert")).to_have_count(0)

    ann.confirm("Close")
    ann.press_in_menu("Share…")
    expect(ann.dialog.get_by_role("button", name="Let in")).to_be_visible()
    expect(members).to_have_count(0)
    ann.dialog.get_by_label("Name", exact=True).fill("bob")
    ann.dialog.get_by_role("button", name="Let in").click()
    expect(members).to_have_count(1)
    network.press(ann.dialog.get_by_role("button", name="Remove bob"))
    expect(members).to_have_count(0)
    expect(ann.dialog.get_by_role("alert")).to_have_count(0)
