"""Two places of a conversation side by side."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

WIDE = "wide " * 60

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def parted(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A conversation that was restored to its first exchange, and went on otherwise; what had been is a branch."""
    page = visit(shared_openai_server)
    fake_openai.script(
        Say("Red **it is**."), Say(f"Green **it is**.\n\n```\n{WIDE}\n```"), Say(f"Blue it is.\n\n```\n{WIDE}\n```")
    )
    page.say("Red")
    page.save("Begin")
    page.say("Which?")
    page.restore("Begin", keep=True)
    page.say("Which?")
    return page


def side(page: Page, number: int) -> Locator:
    return page.dialog.locator(".compare-side").nth(number)


def tab_names(page: Page) -> Locator:
    """The names of both sides, of which a narrow screen shows one."""
    return page.dialog.get_by_role("group", name="Show").locator("label")


def cell(page: Page, name: str, turn: int = 1) -> Locator:
    """The messages of a turn of one side."""
    return page.dialog.get_by_role("group", name=f"{name}, turn {turn}")


def test_a_branch_is_held_against_where_the_conversation_stands(parted: Page) -> None:
    parted.select(parted.branch("Before restoring Begin")).get_by_test_id("compare").click()
    expect(parted.dialog.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    expect(parted.dialog).to_contain_text("2 messages in common, the last of them:")
    expect(parted.dialog.locator("blockquote strong")).to_have_text("it is")
    expect(side(parted, 0)).to_contain_text("2 more messages")
    expect(side(parted, 0).locator(".figures-line")).to_contain_text(re.compile(r"\d+ in\d+ out"))
    there, here = cell(parted, "Before restoring Begin"), cell(parted, "Current position")
    expect(there.locator("strong")).to_have_text("it is")
    expect(there.locator("del")).to_have_text(["Green"])
    expect(here.locator("ins")).to_have_text(["Blue"])
    boxes = [side(parted, number).bounding_box() for number in (0, 1)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]  # neither lies over the other, however wide its code
    expect_accessible(parted, "two places side by side")
    parted.watch_signs()
    there.locator(".copy-tool").click()
    parted.expect_sign("copy-tool", "check-lg|exclamation-circle")
    parted.tab.set_viewport_size(NARROW)
    tabs = parted.dialog.get_by_role("group", name="Show").get_by_role("radio")
    expect(tab_names(parted)).to_have_text(["Before restoring Begin", "main · current position"])
    expect(tabs.first).to_be_checked()
    expect(there).to_be_visible()
    expect(parted.dialog.locator("[data-side=other]:visible")).to_have_count(0)  # neither its head nor its messages
    tab_names(parted).last.click()
    expect(here).to_be_visible()
    expect(parted.dialog.locator("[data-side=one]:visible")).to_have_count(0)
    assert parted.tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    parted.tab.keyboard.press("Escape")
    expect(parted.dialog).to_have_count(0)


def test_a_turn_names_its_speaker_once_and_the_names_of_the_sides_stay_in_sight(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    reckon = Call("calculator", {"expression": "12480 + 11905.5 + 15221.75"})
    fake_openai.script(Say("Hello."), reckon, Say("39,607.25.\n\n" + "And so on.\n\n" * 60), Say("In yen?"), Say("Blue."))
    page.say("Red")
    page.save("Begin")
    page.say("How much is it?")
    page.say("And in yen?")
    page.restore("Begin", keep=True)
    page.composer.fill("")
    page.say("Blue")
    page.select(page.branch("Before restoring Begin")).get_by_test_id("compare").click()
    expect(cell(page, "Before restoring Begin").locator("h3")).to_have_text(["You", "Agent"])
    figures = side(page, 0).locator(".figures-line")
    expect(figures).to_contain_text(re.compile(r"6 more messages.* in.* out.*fake-model.*calculator"))
    assert count_lines(figures) == 1
    cell(page, "Before restoring Begin", turn=2).locator(".figures-line").scroll_into_view_if_needed()
    expect(cell(page, "Before restoring Begin").locator("h3").first).not_to_be_in_viewport()
    for number in (0, 1):
        expect(side(page, number).get_by_role("combobox")).to_be_in_viewport(ratio=1)
    page.tab.set_viewport_size(NARROW)
    cell(page, "Before restoring Begin", turn=2).locator(".figures-line").scroll_into_view_if_needed()
    expect(tab_names(page).first).to_be_in_viewport(ratio=1)
    expect(side(page, 0)).not_to_be_in_viewport()
    tabs, body = (page.dialog.locator(part).bounding_box() for part in (".compare-tabs", ".modal-body"))
    assert tabs
    assert body
    assert tabs["y"] <= body["y"]  # nothing is seen above them


def count_lines(text: Locator) -> int:
    return int(text.evaluate("e => new Set([...e.children].map(each => each.offsetTop)).size"))


def test_either_place_can_be_another_and_one_can_go_there(parted: Page) -> None:
    parted.select(parted.checkpoint("Begin")).get_by_test_id("compare").click()
    expect(side(parted, 0)).to_contain_text("No other messages")
    expect(cell(parted, "Current position")).to_contain_text("Blue it is.")
    expect(parted.dialog.locator(".compare-cell")).to_have_count(1)  # no empty half beside it
    wide = parted.tab.viewport_size
    assert wide
    parted.tab.set_viewport_size(NARROW)
    expect(cell(parted, "Current position")).to_be_visible()  # the side with messages, though it is the second
    expect(side(parted, 0)).to_be_hidden()
    tab_names(parted).first.click()
    expect(side(parted, 0)).to_be_visible()
    expect(cell(parted, "Current position")).to_be_hidden()
    parted.tab.set_viewport_size(wide)
    parted.dialog.get_by_role("combobox", name="Second position").select_option(label="Before restoring Begin")
    expect(cell(parted, "Before restoring Begin")).to_contain_text("Green it is.")
    parted.dialog.get_by_role("combobox", name="Second position").select_option(label="Begin")
    expect(parted.dialog).to_contain_text("No differences: both have the same 2 messages.")
    side(parted, 0).get_by_role("button", name="Restore").click()
    expect(parted.dialog).to_contain_text("Restore this checkpoint?")
    parted.confirm("Restore")
    parted.expect_messages(2)
    parted.undo()
    parted.expect_messages(4)


def test_a_place_that_another_tab_deleted_is_told(parted: Page, visit: Visit, shared_openai_server: Server) -> None:
    other = visit(shared_openai_server, parted.tab.url.removeprefix(shared_openai_server.origin), beside=parted)
    parted.select(parted.branch("Before restoring Begin")).get_by_test_id("compare").click()
    expect(side(parted, 0)).to_contain_text("2 more messages")
    other.select(other.branch("Before restoring Begin")).get_by_test_id("delete").click()
    other.confirm("Delete")
    expect(parted.dialog).to_contain_text("One of them no longer exists.")
    gone = parted.dialog.get_by_role("combobox", name="First position")
    expect(gone.locator("option:checked")).to_have_text("(no longer exists)")
    gone.select_option(label="Current position")
    expect(parted.dialog).to_contain_text("No differences")
