"""Time travel in the conversation: checkpoints beside messages, and what a restore removed below them."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import WIDE, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
HOSTILE = "<img src=x onerror=document.body.remove()>"
PHONE: Any = {"viewport": NARROW, "has_touch": True}


@pytest.fixture(params=[{"viewport": WIDE}, pytest.param(PHONE, marks=pytest.mark.slow)], ids=["wide", "phone"])
def talked(request: pytest.FixtureRequest, shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    fake_openai.script(Say("Red it is."), Say(f"Green it is. **{HOSTILE}**"), Say("Blue it is."))
    page = visit(shared_openai_server, reduced_motion="reduce", **request.param)
    for text in ("Red please", "Green please", "Blue please"):
        page.say(text)
    return page


def choose(page: Page, text: str, item: str) -> None:
    """Choose an item of a message's menu."""
    page.button_of(text, "More").click()
    page.tab.get_by_role("menuitem", name=item).click()


def save_at(page: Page, text: str, name: str) -> None:
    choose(page, text, "Save checkpoint here")
    form = page.tab.get_by_role("form", name="Save checkpoint")
    expect(form).to_contain_text(f"At “{text}")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Name").press("Enter")
    expect(mark(page, name)).to_be_visible()


def mark(page: Page, name: str) -> Locator:
    return page.tab.get_by_role("button", name=f"Checkpoint {name}", exact=True)


def open_card(page: Page, name: str) -> Locator:
    mark(page, name).click()
    card = page.tab.locator(".place-card")
    expect(card.get_by_role("heading", name=name, exact=True)).to_be_visible()
    return card


def expect_sheet_closed(page: Page) -> None:
    expect(page.tab.locator(".show-history")).to_have_count(0)


def expect_focus(page: Page) -> None:
    """The focus is on the field; on a touch screen, where that opens the keyboard, on the conversation."""
    is_fine = page.tab.evaluate("matchMedia('(pointer: fine)').matches")
    expect(page.composer if is_fine else page.log).to_be_focused()


def test_one_goes_back_within_the_conversation(talked: Page, visit: Visit) -> None:
    page, removed = talked, talked.tab.get_by_test_id("removed")
    save_at(page, "Red it is.", HOSTILE)
    expect_sheet_closed(page)
    other = visit(page.server, page.tab.url.removeprefix(page.server.origin), beside=page)
    save_at(other, "Green please", "Second question")
    expect(mark(page, "Second question")).to_be_visible()  # in this tab as well
    expect_accessible(page, "marks")

    card = open_card(page, HOSTILE)
    expect(card.get_by_role("button", name=f"Restore {HOSTILE}")).to_be_focused()
    card.get_by_role("button", name=f"Restore {HOSTILE}").click()
    expect(page.dialog).to_contain_text("4 messages and 1 checkpoint will be removed")
    page.confirm("Restore")
    expect(page.notice).to_have_text(re.compile(re.escape(f"Restored to {HOSTILE}. 4 messages and 1 checkpoint removed.")))
    expect(page.notice).to_be_in_viewport(ratio=1)
    expect_sheet_closed(page)
    expect_focus(page)
    expect(page.toast.locator(".toast.show")).to_have_count(0)
    expect(page.composer).to_have_value("Green please")
    expect(mark(page, "Second question")).to_have_count(0)
    expect(removed.locator(".removed-message")).to_contain_text(["Green please", f"Green it is. {HOSTILE}", "Blue please"])
    expect(removed).to_contain_text("1 more message, until you write or undo")
    expect_accessible(page, "restored")

    page.reload()
    removed.get_by_role("button", name="Open").click()
    expect(page.dialog).to_contain_text("Blue it is.")
    page.tab.keyboard.press("Escape")
    page.notice.get_by_role("button", name="Keep as branch").click()
    expect(page.notice).to_contain_text(f"kept as the branch Before restoring {HOSTILE}")
    expect(removed).to_have_count(0)
    page.undo()
    expect_focus(page)
    expect(removed).to_be_visible()
    page.say("Yellow please")
    expect(removed).to_have_count(0)
    page.expect_messages(4)


@pytest.mark.slow
def test_the_name_that_a_checkpoint_gets_by_itself_is_broken_between_words(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save()
    count_lines = """element => {
      const word = document.createRange();
      word.setStart(element.firstChild, 0);
      word.setEnd(element.firstChild, "Checkpoint".length);
      return word.getClientRects().length;
    }"""
    for width in (1100, 1440, 1920):
        page.tab.set_viewport_size({"width": width, "height": 900})
        name = mark(page, "Checkpoint 1").locator(".mark-name")
        assert name.evaluate(count_lines) == 1
        assert (
            name.evaluate(
                "e => e.closest('.mark').getBoundingClientRect().left - e.closest('.log').getBoundingClientRect().left"
            )
            >= 0
        )


@pytest.mark.slow
def test_the_menu_of_a_mark_is_over_the_marks_below_it(talked: Page) -> None:
    save_at(talked, "Green it is.", "Later")
    for number in range(6):
        choose(talked, "Red it is.", "Save checkpoint here")
        form = talked.tab.get_by_role("form", name="Save checkpoint")
        form.get_by_label("Name").fill(f"Red {number}")
        form.get_by_label("Name").press("Enter")
        expect(form).to_have_count(0)
    talked.tab.get_by_role("button", name=re.compile(r"Checkpoint Red \d and 5 more")).click()
    items = talked.tab.get_by_role("menu", name="Checkpoints").get_by_role("menuitem")
    expect(items).to_have_count(6)
    is_seen = """e => {
      const { left, width, top, height } = e.getBoundingClientRect();
      return [left + 4, left + width / 2].every((x) => document.elementFromPoint(x, top + height / 2) === e);
    }"""
    assert [item.evaluate(is_seen) for item in items.all()] == [True] * 6


@pytest.mark.slow
def test_a_restore_and_what_it_leaves_are_one_request(talked: Page) -> None:
    save_at(talked, "Red it is.", "Red")
    open_card(talked, "Red").get_by_role("button", name="Restore").click()
    expect(talked.dialog).to_be_visible()
    sent: list[str] = []
    talked.tab.on("request", lambda request: sent.append(request.url.partition("/api/")[2]))
    talked.confirm("Restore")
    expect(talked.notice).to_contain_text("Restored to Red")
    talked.expect_messages(2)
    assert [each for each in sent if each.startswith(("actions", "panels"))] == ["actions/restore-dialog"]


def test_a_message_is_restored_to_and_taken_back(talked: Page) -> None:
    page = talked
    page.composer.fill("a draft of mine")
    choose(page, "Red it is.", "Restore to here")
    expect(page.dialog).to_contain_text("Go back to “Red it is.” (2 messages).")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Restore")
    expect(page.notice).to_contain_text("Restored to message 2. 4 messages removed.")
    expect(page.composer).to_have_value("a draft of mine")
    page.notice.get_by_role("button", name="Close notice").click()
    expect(page.notice).to_have_count(0)
    expect_focus(page)
    page.button_of("Red it is.", "More").click()
    expect(page.tab.get_by_role("menuitem", name="Save checkpoint here")).to_be_visible()
    expect(page.tab.get_by_role("menuitem", name="Restore to here")).to_have_count(0)  # this is where one is
    page.tab.keyboard.press("Escape")
    page.composer.fill("")
    choose(page, "Red please", "Restore to here")
    page.dialog.get_by_label("Keep the removed messages as a branch").check()
    page.confirm("Restore")
    page.expect_messages(0)
    expect(page.composer).to_have_value("Red please")
    expect(page.notice).to_contain_text("Restored to the beginning. 2 messages kept as a branch.")


@pytest.mark.slow
def test_a_deleted_checkpoint_leaves_the_focus_on_the_page(talked: Page) -> None:
    page = talked
    save_at(page, "Red please", "One")
    save_at(page, "Green please", "Two")
    open_card(page, "One").get_by_role("button", name="Delete One").click()
    page.confirm("Delete")
    expect(mark(page, "One")).to_have_count(0)
    expect(page.tab.locator(":focus")).to_be_visible()
    expect(page.tab.locator("body:focus")).to_have_count(0)
