"""The graph of History: walked by keys, with the card of a place, and with what a restore left behind."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.changing import changed_behind
from tests.e2e.conftest import WIDE, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SUM = "What is 6 * 7?"
DESCRIPTION = "A long way. " * 30


WATCH_ADDITIONS = """element => {
  window.additions = [];
  const note = ({ target, addedNodes }) =>
    target.closest(".track, .graph, .place-card") || additions.push(...[...addedNodes].map((each) => each.outerHTML));
  new MutationObserver((changes) => changes.forEach(note)).observe(element, { subtree: true, childList: true });
}"""


def prepare(page: Page) -> None:
    """A checkpoint, and after it a branch and another continuation with a second checkpoint."""
    page.say("Hello")
    page.save("Begin", DESCRIPTION)
    page.say(SUM)
    page.ask_to_branch(SUM).get_by_label("Name").fill("Other")
    page.confirm("Branch")
    page.expect_messages(2)
    page.composer.fill("")
    page.say("Another way")
    page.save("Elsewhere")


def open_history(page: Page, size: Any) -> None:
    if size is NARROW:
        page.tab.get_by_role("button", name="History", exact=True).click()


def focus_of(page: Page) -> Locator:
    return page.tab.locator(".place:has(:focus)")


def expect_above(upper: Locator, lower: Locator) -> None:
    expect(lower).to_be_visible()
    shown, below = upper.bounding_box(), lower.bounding_box()
    assert shown is not None
    assert below is not None
    assert shown["y"] + shown["height"] <= below["y"]


@pytest.mark.parametrize(
    ("locale", "given"), [("en-US", "Before restoring Begin"), ("de-DE", "Vor der Wiederherstellung: Begin")]
)
def test_a_branch_that_a_restore_named_shows_its_own_question(
    shared_server: Server, visit: Visit, locale: str, given: str
) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("Begin")
    page.say(SUM)
    page.restore("Begin", keep=True)
    page = visit(shared_server, page.tab.url.removeprefix(shared_server.origin), locale=locale)
    kept = page.branch(given)
    expect(kept.locator(".place-name")).to_have_text(f"“{SUM}”" if locale == "en-US" else f"„{SUM}“")
    kept.get_by_role("button").click()
    expect(page.tab.locator(".place-card h3")).to_have_text(given)
    page.tab.locator(".place-card").get_by_test_id("switch").click()
    expect(page.tab.locator("#branch-chip")).to_contain_text(given)
    expect(page.branch(given).locator(".place-name")).to_have_text(f"“{SUM}”" if locale == "en-US" else f"„{SUM}“")


def test_the_graph_is_walked_by_keys(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    prepare(page)
    page.switch("main")
    page.expect_messages(6)
    expect(page.branch("main")).to_have_attribute("aria-current", "location")
    keyboard = page.tab.keyboard
    page.branch("main").get_by_role("button").focus()
    keyboard.press("ArrowUp")
    expect(focus_of(page)).to_contain_text("Begin")
    expect(page.tab.locator(".place-card")).to_contain_text(DESCRIPTION.strip())
    page.expect_messages(6)  # nothing moves
    keyboard.press("ArrowRight")
    expect(focus_of(page)).to_contain_text("Elsewhere")
    expect(page.tab.get_by_test_id("checkpoint-elsewhere")).to_have_count(1)
    keyboard.press("ArrowDown")
    expect(focus_of(page)).to_contain_text("Other")
    keyboard.press("n")
    expect(focus_of(page)).to_contain_text("Begin")
    keyboard.press("c")
    expect(page.dialog).to_contain_text("2 messages in common")
    keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    keyboard.press("b")
    expect(page.dialog).to_contain_text("From checkpoint “Begin”, at message 2:")
    page.confirm("Cancel")
    page.select(page.checkpoint("Begin"))
    keyboard.press("r")
    expect(page.dialog).to_contain_text("Go back to “Begin” (2 messages)")
    page.confirm("Restore")
    page.expect_messages(2)


def test_a_key_over_the_whole_history_adds_rows_alone(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        for number in range(100):
            store.save(thread_id, name=f"Place {number}")
    page.select(page.tab.get_by_test_id("checkpoint").last)
    leads_back = page.tab.locator(".here-button")
    expect(leads_back).to_be_hidden()
    page.tab.locator(".history").evaluate(WATCH_ADDITIONS)
    for key, row in (("Home", "Place 0"), ("End", "Place 99"), ("Home", "Place 0")):
        page.tab.keyboard.press(key)
        expect(focus_of(page)).to_contain_text(row)
        assert page.tab.locator(".place").count() < 70
    expect(leads_back).to_be_visible()
    assert page.tab.evaluate("additions") == []
    leads_back.click()
    expect(page.tab.locator(".place.here")).to_be_in_viewport(ratio=1)
    expect(leads_back).to_be_hidden()


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", NARROW)])
def test_what_a_restore_removed_is_dimmed_until_the_next_message(
    theme: str, size: Any, shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server, color_scheme=theme, viewport=size, reduced_motion="reduce")
    removed = page.tab.locator(".place-removed")
    page.say("Hello")
    open_history(page, size)
    page.save("Begin")
    page.tab.keyboard.press("Escape")
    page.say("Hello again")
    open_history(page, size)
    page.restore("Begin")
    open_history(page, size)  # a restore closes the sheet
    expect(removed).to_have_text("2 messages removed")
    page.select(removed)
    expect_accessible(page, "removed messages")
    page.tab.get_by_role("button", name="Undo the restore").click()
    expect(removed).to_have_count(0)
    page.expect_messages(4)
    open_history(page, size)  # so does an undo
    page.restore("Begin")
    expect(removed).to_have_count(1)
    page.composer.fill("")
    page.say("Something else")
    expect(removed).to_have_count(0)
    expect(page.tab.locator(".place.here")).to_contain_text("You are here")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["1440", "390"])
def test_where_one_is_can_be_read_however_little_room_its_row_has(
    viewport: Any, shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    prepare(page)
    page.say("And on")
    page.save("The cost model as we agreed on it in the end, with all of its invoices")
    page.tab.set_viewport_size(viewport)
    open_history(page, viewport)
    row = page.tab.locator(".place.here")
    for width in (0, 60, 112):  # of more lanes
        page.tab.locator(".graph-area").evaluate(
            "(e, width) => e.style.setProperty('--graph-width', `${30 + width}px`)", width
        )
        here = row.get_by_text("you are here", exact=True)
        expect(here).to_be_in_viewport(ratio=1)
        boxes = [each.bounding_box() for each in (here, row.locator(".place-time"), row, row.locator(".place-name"))]
        text, time, whole, name = (box or pytest.fail("it has no box") for box in boxes)
        assert name["x"] >= whole["x"] + 30 + width
        assert text["x"] + text["width"] <= time["x"]
        assert time["x"] + time["width"] <= whole["x"] + whole["width"]
        assert here.evaluate("e => e.scrollWidth <= e.clientWidth && e.getClientRects().length === 1")
        assert row.locator(".place-jump").evaluate("e => e.clientWidth") >= 24


def test_on_a_small_phone_the_card_of_a_place_lies_over_no_row(shared_server: Server, visit: Visit) -> None:
    name = "The cost model as we agreed on it in the end, with all of its invoices"
    page = visit(shared_server)
    page.say("Hello")
    page.save(name, DESCRIPTION)
    page.say("And on")
    page.tab.set_viewport_size({"width": 320, "height": 568})
    open_history(page, NARROW)
    card = page.select(page.checkpoint(name))
    expect(card).to_contain_text("A long way.")
    expect_above(page.tab.locator(".history-rows"), card)
    expect_above(page.checkpoint(name), card)
    card.get_by_role("button", name="Restore").click()
    expect(page.dialog).to_contain_text("Restore this checkpoint?")


def test_an_alternative_is_a_place_and_can_be_chosen(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("Begin")
    page.say(SUM)
    page.edit(SUM, "Tell me about stocks")
    page.alternatives("2 of 2").wait_for()
    page.wait_for_answer()
    alternative = page.tab.locator(".place-alternative")
    expect(alternative).to_contain_text(SUM)
    expect(alternative).to_have_attribute("data-messages", "6")
    page.select(alternative).get_by_test_id("switch").click()
    page.expect_messages(6)
    expect(alternative).to_contain_text("Tell me about stocks")


def test_the_beginning_is_restored_by_its_key_and_a_place_elsewhere_says_why_not(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    prepare(page)
    press = page.tab.keyboard.press
    page.switch("main")
    page.select(page.tab.get_by_test_id("checkpoint-elsewhere"))
    press("r")
    expect(page.toast).to_contain_text("This place is on the branch “Other”. Switch to it first, with s.")
    expect(page.dialog).to_have_count(0)
    expect_above(page.tab.locator(".place-card"), page.toast.locator(".toast.show"))
    press("s")
    expect(page.branch("Other")).to_contain_text("you are here")
    page.select(page.branch("Other"))
    press("r")
    expect(page.toast).to_contain_text("The conversation is at this place already.")

    page.edit("Hello", "Good morning")
    page.wait_for_answer()
    page.expect_messages(2)
    page.select(page.place("Beginning"))
    press("r")
    expect(page.dialog).to_contain_text("Restore to the beginning?")
    expect(page.dialog).to_contain_text("2 messages will be removed")
    page.confirm("Restore")
    page.expect_messages(0)
    expect(page.composer).to_have_value("Good morning")
    page.undo()
    page.expect_messages(2)


def test_a_checkpoint_where_another_branch_ends_is_pinned_renamed_and_deleted(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    prepare(page)
    page.switch("main")
    page.expect_messages(6)
    row, undo = page.tab.get_by_test_id("checkpoint-elsewhere"), page.tab.get_by_role("button", name="Undo last change")
    page.choose_at(row, "Pin")
    expect(row).to_contain_text("Pinned")
    page.choose_at(row, "Rename")
    page.tab.get_by_label("Name", exact=True).fill("Set aside")
    page.tab.keyboard.press("Enter")
    expect(row).to_contain_text("Set aside")
    page.press("Set aside", "Delete Set aside")
    expect(page.dialog).to_contain_text("“Set aside” will be removed.")
    page.confirm("Delete")
    expect(row).to_have_count(0)
    expect(page.branch("Other")).to_have_count(1)
    undo.click()
    expect(row).to_contain_text("Set aside")
    undo.click()
    expect(row).to_contain_text("Elsewhere")
    undo.click()
    expect(row).not_to_contain_text("Pinned")
    page.choose_at(row, "Delete the branch")
    expect(page.dialog).to_contain_text("Other")
    page.confirm("Delete")
    expect(row).to_have_count(0)
    expect(page.branch("Other")).to_have_count(0)
    undo.click()
    expect(row).to_contain_text("Elsewhere")


def test_the_card_of_a_checkpoint_that_a_restore_removed_says_why_it_cannot_be_changed(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("Begin")
    page.say(SUM)
    page.save("Sum", DESCRIPTION)
    page.restore("Begin")
    row, items = page.tab.get_by_test_id("checkpoint-elsewhere"), page.tab.get_by_role("menuitem")
    page.open_card_menu(row)
    expect(items.filter(has_text="Copy link")).to_have_count(1)
    for name in ("Pin", "Rename", "Share"):
        expect(items.filter(has_text=name)).to_have_count(0)
    page.tab.keyboard.press("Escape")
    card = page.tab.locator(".place-card")
    expect(card).to_contain_text("The last restore removed this. Undo brings it back.")
    expect(card).to_contain_text(DESCRIPTION.strip())
    expect(card.get_by_test_id("delete")).to_have_count(0)
    page.undo()
    expect(page.select(page.checkpoint("Sum")).get_by_role("button", name="Delete Sum")).to_be_visible()


def test_the_links_of_a_checkpoint_and_of_a_branch_are_copied(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    prepare(page)
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name, row, kind in (("Begin", page.checkpoint("Begin"), "checkpoint"), ("main", page.branch("main"), "branch")):
        page.choose_at(row, "Copy link")
        expect(page.toast).to_contain_text("Link copied")
        identifier = row.get_attribute(f"data-{kind}-id")
        assert page.tab.evaluate("navigator.clipboard.readText()") == f"{page.tab.url}?{kind}={identifier}"
        expect(page.tab.get_by_role("button", name=f"More for {name}")).to_be_focused()
