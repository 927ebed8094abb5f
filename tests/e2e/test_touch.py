"""A phone, by touch alone: the story of time travel, menus within its view, and cards that are followed into it."""

from typing import Any, cast

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW
from tests.e2e.test_candidates import candidate
from tests.e2e.test_conversations import row
from tests.e2e.test_time_travel import expect_sheet_closed, mark
from tests.e2e.waymark import SHOWN, Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PHONE: Any = {"viewport": NARROW, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
LIST_COVERED = """async (place) => {
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);  // a height is known after one
  const toast = document.querySelector(".toast").getBoundingClientRect();
  const isCovered = (box) => box.width > 0 && box.bottom > toast.top && box.top < toast.bottom
    && box.right > toast.left && box.left < toast.right;
  const controls = [...document.querySelectorAll(`${place} :is(button, a, input, textarea, select)`)];
  const covered = controls.filter((each) => isCovered(each.getBoundingClientRect()));
  return covered.map((each) => each.ariaLabel || each.textContent);
}"""
LONG = "A long answer of very many words, none of which says anything new. " * 40


@pytest.fixture
def page(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    fake_openai.script(Say("Red it is."), Say("Green it is."), Say("Blue it is."))
    return visit(shared_openai_server, **PHONE)


def say(page: Page, text: str) -> None:
    page.composer.tap()
    page.composer.fill(text)
    page.tab.get_by_test_id("send").tap()
    expect(page.composer).to_have_value("")
    page.wait_for_answer()


def open_history(page: Page) -> Locator:
    page.tab.get_by_role("button", name="History", exact=True).tap()
    history = page.tab.get_by_role("complementary", name="History")
    expect(history).to_be_in_viewport()
    return history


def test_after_a_switch_or_a_branch_from_history_one_sees_where_one_is(page: Page) -> None:
    say(page, "Red?")
    say(page, "Green?")
    page.button_of("Red it is.", "More").tap()
    page.tab.get_by_role("menuitem", name="Branch from here").tap()
    page.dialog.get_by_role("button", name="Branch", exact=True).tap()
    page.expect_messages(2)
    open_history(page)
    page.select(page.branch("main")).get_by_test_id("switch").tap()
    expect_sheet_closed(page)
    page.expect_messages(4)
    open_history(page)
    page.select(page.branch("main")).get_by_test_id("fork").tap()
    page.dialog.get_by_role("button", name="Branch", exact=True).tap()
    expect_sheet_closed(page)


def expect_in_view(part: Locator) -> None:
    expect(part).to_be_in_viewport(ratio=1)


def test_one_saves_restores_undoes_branches_and_compares(page: Page) -> None:
    say(page, "Red?")
    open_history(page).get_by_test_id("save").tap()
    form = page.tab.get_by_role("form", name="Save checkpoint")
    form.get_by_label("Name").fill("Begin")
    form.get_by_role("button", name="Save").tap()
    expect_sheet_closed(page)
    say(page, "Green?")

    mark(page, "Begin").tap()
    restore = page.tab.locator(".place-card").get_by_role("button", name="Restore Begin")
    expect_in_view(restore)
    restore.tap()
    expect_in_view(page.dialog.get_by_role("button", name="Cancel"))
    page.dialog.get_by_role("button", name="Restore", exact=True).tap()
    expect_sheet_closed(page)
    expect_in_view(page.notice)
    page.expect_messages(2)
    page.notice.get_by_role("button", name="Undo").tap()
    page.expect_messages(4)

    page.button_of("Red it is.", "More").tap()
    page.tab.get_by_role("menuitem", name="Branch from here").tap()
    page.dialog.get_by_role("button", name="Branch", exact=True).tap()
    page.expect_messages(2)
    expect_sheet_closed(page)
    page.composer.fill("")
    say(page, "Blue?")

    open_history(page)
    page.branch("main").get_by_role("button").tap()
    compare = page.tab.locator(".place-card").get_by_test_id("compare")
    expect_in_view(compare)
    compare.tap()
    expect(page.dialog).to_contain_text("2 messages in common")
    expect(page.dialog).to_contain_text("Blue it is.")
    expect_one_side(page, "one", "Green it is.")  # there is no room for both
    page.dialog.locator(".compare-tabs label").last.tap()
    expect_one_side(page, "other", "Blue it is.")
    close_dialog(page)

    page.checkpoint("Begin").get_by_role("button").first.tap()
    page.tab.locator(".place-card").get_by_test_id("compare").tap()
    expect_one_side(page, "other", "Blue it is.")  # the first has no other messages
    close_dialog(page)

    page.branch("main").get_by_role("button").tap()
    page.tab.locator(".place-card").get_by_role("button", name="More for main").tap()
    page.tab.get_by_role("menuitem", name="Quote in this branch").tap()
    page.dialog.get_by_label("Conclusion").fill("Green is better.")
    page.dialog.get_by_role("button", name="Add note").tap()
    expect_sheet_closed(page)
    expect_in_view(page.notice)
    expect(page.tab.locator(":focus")).to_be_visible()


def expect_one_side(page: Page, name: str, text: str) -> None:
    """Only this side of a comparison is seen, with the messages of its one turn."""
    expect(page.dialog.locator(f".compare-cell[data-side={name}]")).to_contain_text(text)
    expect(page.dialog.locator("[data-side]:visible")).to_have_count(2)  # a head and a cell
    expect(page.dialog.locator(f"[data-side={name}]:visible")).to_have_count(2)


def close_dialog(page: Page) -> None:
    page.dialog.get_by_role("button", name="Close").tap()
    expect(page.tab.locator(".modal")).to_have_count(0)


def tap(part: Page | Locator, name: str) -> None:
    (part.tab if isinstance(part, Page) else part).get_by_role("button", name=name, exact=True).tap()


def expect_to_fit(page: Page) -> None:
    """Nothing is beside the window, and something has the focus."""
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    expect(page.tab.locator(":focus")).to_have_count(1)


def test_one_asks_several_models_runs_again_keeps_prompts_and_shares(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings), **PHONE)
    fake_openai.script(Say("Red it is."), Say("Rot."), Say("Forty-two."), Say("Forty-three."))
    say(page, "Red?")
    tap(page, "Conversation menu")
    tap(page, "Run again…")
    expect_to_fit(page)
    tap(page.dialog, "Start")
    banner = page.tab.get_by_test_id("rerun")
    expect(banner).to_contain_text("asked again")
    tap(banner, "Dismiss")
    expect(banner).to_have_count(0)
    expect_to_fit(page)

    page.tab.get_by_test_id("model").tap()
    page.tab.get_by_role("button", name="Ask several at once").tap()
    page.tab.get_by_role("option", name="other-model").tap()
    tap(page, "Done")
    page.composer.fill("How much?")
    page.tab.get_by_test_id("send").tap()
    expect(page.stop_button).to_have_count(0)
    choice = candidate(page, 2)
    tap(choice, "Continue from this answer")
    expect(choice.get_by_role("button", name="Continuing from this answer")).to_be_visible()
    expect_to_fit(page)

    page.composer.fill("/prompts")
    page.tab.get_by_role("option", name="Prompts").tap()
    tap(page.dialog, "New prompt")
    page.dialog.get_by_label("Name").fill("Greeting")
    page.dialog.get_by_label("Text").fill("Good day, {{name}}")
    tap(page.dialog, "Save")
    expect_to_fit(page)
    tap(page.dialog, "Insert Greeting")
    page.tab.get_by_label("name", exact=True).fill("Ann")
    tap(page.dialog, "Insert")
    expect(page.composer).to_have_value("Good day, Ann")
    expect_to_fit(page)

    tap(page, "Conversation menu")
    tap(page, "Share…")
    tap(page.dialog, "Make a link")
    expect(page.dialog.get_by_label("The link is shown only now.")).to_be_visible()
    page.dialog.get_by_role("button", name="Revoke").tap()
    expect(page.dialog.get_by_test_id("share-link")).to_have_count(0)
    expect_to_fit(page)
    tap(page.dialog, "Close")
    page.tab.get_by_test_id("meter").tap()
    expect_in_view(page.tab.locator(".meter-panel"))
    expect_to_fit(page)


def test_one_tags_archives_and_deletes_conversations_and_undoes_each(server: Server, visit: Visit) -> None:
    page = visit(server, **PHONE)
    say(page, "Bread")
    tap(page, "Conversations")
    tap(page, "New conversation")
    say(page, "Cake")
    tap(page, "Conversations")
    tap(page, "More for Bread")
    page.tab.get_by_role("menuitem", name="Tags", exact=True).tap()
    page.tab.get_by_role("combobox", name="Find or add a tag").fill("Kitchen")
    tap(page.dialog, "Add")
    expect(row(page, "Bread")).to_contain_text("Kitchen")
    expect_to_fit(page)
    tap(page.dialog, "Close")
    tap(page.toast, "Undo")
    expect(row(page, "Bread").locator(".thread-tag")).to_have_count(0)
    tap(page, "More for Bread")
    page.tab.get_by_role("menuitem", name="Archive", exact=True).tap()
    expect(row(page, "Bread")).to_have_count(0)
    tap(page.toast, "Undo")
    expect(row(page, "Bread")).to_have_count(1)
    expect_to_fit(page)
    tap(page, "Select")
    bar = page.tab.get_by_role("toolbar", name="Selected conversations")
    tap(bar, "All")
    tap(bar, "Delete")
    tap(page.dialog, "Delete")
    expect(page.threads).to_have_count(0)
    tap(page.toast, "Undo")
    expect(page.threads).to_have_count(2)
    tap(bar, "Done")
    expect_to_fit(page)


def list_covered(page: Page, place: str) -> list[str]:
    """Return the controls of a part of the page that a toast covers, wholly or not."""
    expect(page.toast.locator(".toast.show")).to_be_visible()
    page.tab.wait_for_function("getComputedStyle(document.querySelector('.toast')).opacity === '1'")
    return cast("list[str]", page.tab.evaluate(LIST_COVERED, place))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_toast_covers_no_control(server: Server, visit: Visit, scheme: str) -> None:
    page = visit(server, **PHONE | {"color_scheme": scheme})
    say(page, "Bread")
    tap(page, "Conversations")
    tap(page, "More for Bread")
    page.tab.get_by_role("menuitem", name="Archive", exact=True).tap()
    assert list_covered(page, ".pane-threads") == []
    tap(page, "New conversation")
    expect_sheet_closed(page)
    assert list_covered(page, ".composer") == []
    page.composer.fill("One\nTwo\nThree\nFour\nFive")
    assert list_covered(page, ".composer") == []
    open_history(page)
    assert list_covered(page, ".pane-history") == []
    page.tab.keyboard.press("Escape")
    page.tab.get_by_test_id("send").tap()
    page.wait_for_answer()
    expect(page.toast.locator(".toast.show")).to_be_visible()
    tap(page, "Conversation menu")
    tap(page, "Change log")
    expect(page.dialog).to_be_visible()
    assert list_covered(page, ".modal") == []


def test_a_menu_is_wholly_in_view_wherever_it_is_opened(page: Page, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Yes."), Say(LONG))
    say(page, "A question that fills a line?")  # its button is far left
    say(page, "B?")
    for number in range(page.tab.locator(SHOWN).count()):
        message = page.tab.locator(SHOWN).nth(number)
        more = message.get_by_role("button", name="More", exact=True)
        more.scroll_into_view_if_needed()
        more.tap()
        expect_in_view(page.tab.get_by_role("menu"))
        expect_in_view(page.tab.get_by_role("menuitem").first)
        page.tab.keyboard.press("Escape")
    expect_in_view(page.open_menu())
    page.tab.keyboard.press("Escape")
    page.tab.get_by_role("button", name="Conversations", exact=True).tap()
    page.threads.first.locator("xpath=..").get_by_role("button", name="More for").tap()
    expect_in_view(page.tab.get_by_role("menu"))


def test_a_card_that_waits_is_followed_into_view(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(tools_approval="calculator", **openai_settings), **PHONE)
    fake_openai.script(
        *(Say(LONG), Call("calculator", {"expression": "6*7"}, text=LONG), Say(LONG)),
        *(Call("goto", {"position": "msg_0", "message": "Once more, from the beginning."}, text=LONG), Say(LONG)),
    )
    say(page, "A?")
    page.send("B?")
    expect_in_view(page.approval.get_by_role("button", name="Deny", exact=True))
    page.approval.get_by_role("button", name="Allow", exact=True).tap()
    page.wait_for_answer()
    expect_in_view(page.message(LONG[:40]).last.get_by_role("button", name="More", exact=True))
    page.send("C?")
    expect_in_view(page.approval.get_by_role("button", name="Allow", exact=True))
    expect_in_view(page.approval.get_by_role("button", name="Deny", exact=True))
    page.approval.get_by_role("button", name="Allow", exact=True).tap()
    expect_in_view(page.notice)
