"""The palette, the list of places to go back to, and the keys: nothing moves by a key alone."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.keyboard import press_composed
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def talked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    page = visit(shared_openai_server)
    fake_openai.script(Say("Red it is."), Say("Green it is."))
    page.say("Red please")
    page.save("Begin")
    page.say("Green please")
    return page


def palette(page: Page) -> Locator:
    page.composer.press("Control+k")
    box = page.tab.get_by_role("combobox", name="Find a conversation, checkpoint or action")
    expect(box).to_be_focused()
    return box


def options(page: Page) -> Locator:
    return page.tab.get_by_role("option")


def go_back(page: Page) -> None:
    page.composer.press("Escape")
    page.composer.press("Escape")
    expect(page.tab.get_by_role("combobox", name="Go back to a place")).to_be_focused()


def test_a_place_or_an_action_is_found_by_a_few_letters(talked: Page) -> None:
    box = palette(talked)
    expect_accessible(talked, "the palette")
    box.fill("conv new")
    expect(options(talked).first).to_have_text("New conversation/newCtrlShiftO")  # others of this server may have no title
    box.fill("green plea")
    expect(options(talked).first).to_contain_text("Green please")
    expect(talked.tab.get_by_role("group", name="Go back to")).to_have_count(0)  # a message is to be read
    box.fill("no such thing")
    expect(talked.dialog).to_contain_text("No matches.")
    box.press("Enter")
    expect(talked.dialog).to_be_visible()
    box.fill("export")
    box.press("Enter")
    expect(talked.dialog).to_contain_text("Words to redact")
    talked.confirm("Cancel")
    talked.new_conversation()
    palette(talked).fill("red pl")
    expect(options(talked).first).to_contain_text("Red please")
    talked.tab.keyboard.press("Enter")
    talked.expect_messages(4)


def test_the_arrows_choose_and_escape_gives_the_field_back(talked: Page) -> None:
    box = palette(talked)
    first = options(talked).first
    expect(first).to_have_attribute("aria-selected", "true")
    box.press("ArrowUp")
    expect(options(talked).last).to_have_attribute("aria-selected", "true")
    box.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "true")
    box.press("Escape")
    expect(talked.dialog).to_have_count(0)
    expect(talked.composer).to_be_focused()


def test_escape_twice_lists_where_one_can_go_back_to_and_asks_first(talked: Page) -> None:
    talked.reload()
    go_back(talked)
    expect(options(talked)).to_contain_text(["Begin", "“Green please”", "“Red please”"])
    expect_accessible(talked, "the places to go back to")
    talked.tab.keyboard.press("Enter")
    expect(talked.dialog).to_contain_text("Restore this checkpoint?")
    talked.confirm("Cancel")
    talked.expect_messages(4)
    go_back(talked)
    options(talked).filter(has_text="Green please").click()
    expect(talked.dialog).to_contain_text("Go back to before your message “Green please” (2 messages).")
    talked.confirm("Restore")
    talked.expect_messages(2)
    expect(talked.composer).to_have_value("Green please")


def test_the_key_pressed_again_opens_no_second_palette(talked: Page) -> None:
    talked.composer.press("Control+k")
    talked.composer.press("Control+k")
    expect(talked.dialog).to_have_count(1)
    talked.tab.keyboard.press("Escape")
    expect(talked.dialog).to_have_count(0)
    talked.tab.keyboard.down("Escape")
    for _ in range(3):
        talked.tab.keyboard.down("Escape")  # held: it repeats
    talked.tab.keyboard.up("Escape")
    palette(talked)
    expect(talked.dialog).to_have_count(1)


def test_keys_pressed_at_once_are_for_the_palette(talked: Page) -> None:
    talked.composer.press("Control+k")
    talked.tab.keyboard.type("dark themf")
    for key in ("Backspace", "e", "ArrowDown", "ArrowUp"):
        talked.tab.keyboard.press(key)
    box = talked.tab.get_by_role("combobox")
    expect(box).to_be_focused()
    expect(box).to_have_value("dark theme")
    expect(talked.composer).to_have_value("")


@pytest.mark.parametrize("last", ["Enter", "Escape"])
def test_a_command_is_chosen_or_called_off_at_once(talked: Page, last: str) -> None:
    talked.composer.press("Control+k")
    talked.tab.keyboard.type("keys")
    talked.tab.keyboard.press(last)
    expect(talked.tab.get_by_role("dialog", name="Keys")).to_have_count(1 if last == "Enter" else 0)
    expect(talked.composer).to_have_value("")
    talked.expect_messages(4)


def test_one_saves_restores_undoes_branches_and_compares_by_keyboard_alone(talked: Page) -> None:
    press, cards = talked.tab.keyboard.press, talked.tab.locator(".place.selected")
    press("Control+s")
    talked.tab.keyboard.type("Later")
    press("Enter")
    talked.expect_checkpoints(("Begin", 2), ("Later", 4))
    press("Alt+ArrowUp")
    expect(cards).to_contain_text("Begin")
    press("r")
    expect(talked.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    press_tab_to(talked, "Restore")
    press("Enter")
    talked.expect_messages(2)
    expect(cards.get_by_role("button")).to_be_focused()
    press_tab_to(talked, "Undo")
    press("Enter")
    talked.expect_messages(4)
    expect(talked.composer).to_be_focused()
    press("Alt+ArrowUp")
    press("Alt+ArrowUp")
    expect(cards).to_contain_text("Begin")
    press("b")
    expect(talked.dialog).to_contain_text("From checkpoint “Begin”, at message 2:")
    expect(talked.dialog.locator(":focus")).to_have_count(1)
    press("Enter")
    talked.expect_messages(2)
    expect(talked.branch("Branch 2")).to_contain_text("you are here")
    press("Shift+Escape")
    press("F6")  # from the field to History
    press_tab_to(talked, "Begin", ".place-jump")
    press("ArrowDown")  # “Begin” and the end of “Branch 2” are one row
    expect(cards).to_contain_text("Later")
    press("c")
    expect(talked.dialog).to_contain_text("2 messages in common")
    press("Escape")
    expect(talked.dialog).to_have_count(0)
    expect(cards.get_by_role("button")).to_be_focused()


def press_tab_to(page: Page, name: str, kind: str = "button") -> None:
    """Press Tab until a button of this name has the focus."""
    for _ in range(200):  # the page of a session has as many stops as it has conversations
        page.tab.keyboard.press("Tab")
        if (
            page.tab.evaluate("kind => document.activeElement.matches(kind) && document.activeElement.innerText", kind)
            == name
        ):
            return
    raise AssertionError(f"Tab never came to {name!r}")


def test_escape_opens_nothing_where_something_is_written(talked: Page) -> None:
    talked.composer.fill("a thought")
    talked.composer.press("Escape")
    talked.composer.press("Escape")
    talked.composer.fill("")
    talked.composer.press("Escape")
    talked.composer.press("ArrowLeft")
    talked.composer.press("Escape")
    talked.tab.locator(".log").press("?")
    expect(talked.tab.get_by_role("dialog", name="Keys")).to_be_visible()  # and only that
    expect(talked.dialog).to_have_count(1)


def test_a_question_mark_is_a_letter_in_a_field_and_shows_the_keys_elsewhere(talked: Page) -> None:
    talked.composer.press("?")
    expect(talked.composer).to_have_value("?")
    expect(talked.dialog).to_have_count(0)
    talked.tab.locator(".log").press("?")
    expect(talked.tab.get_by_role("dialog", name="Keys")).to_contain_text("choose a place to go back to")
    expect(talked.tab.get_by_role("dialog").get_by_role("heading", level=3)).to_have_text(
        ["Writing", "Anywhere", "In History"]
    )
    expect_accessible(talked, "the keys")
    talked.tab.keyboard.press("Control+k")
    talked.tab.keyboard.press("Escape")
    expect(talked.dialog).to_have_count(0)


def test_keys_are_named_in_the_palette_begin_a_conversation_and_go_to_the_field(talked: Page) -> None:
    lines = palette(talked)
    lines.fill("Save checkpoint")
    expect(talked.tab.get_by_role("option").first.locator("kbd")).to_have_text(["Ctrl", "S"])
    talked.tab.keyboard.press("Escape")
    talked.log.focus()
    talked.tab.keyboard.press("Shift+Escape")
    expect(talked.composer).to_be_focused()
    talked.tab.keyboard.press("Control+Shift+o")
    talked.tab.wait_for_url(f"{talked.server.origin}/")
    talked.expect_messages(0)


def test_the_last_change_is_undone_and_done_again_by_keys_except_in_a_field_with_text(talked: Page) -> None:
    undo = talked.tab.locator("#undo")
    expect(undo).to_have_attribute("aria-keyshortcuts", "Control+Alt+Z Meta+Alt+Z")
    talked.composer.fill("half a thought")
    talked.composer.press("Control+Alt+z")  # the field's own
    talked.composer.fill("")
    talked.expect_messages(4)
    talked.composer.press("Control+Alt+z")
    talked.expect_messages(2)
    talked.composer.fill("")  # undo gives the question back
    talked.composer.press("Control+Alt+Shift+z")
    talked.expect_messages(4)
    talked.composer.fill("")
    talked.composer.press("Control+Alt+Shift+z")
    expect(talked.toast).to_contain_text("Nothing to redo")


def test_single_keys_can_be_switched_off(talked: Page) -> None:
    talked.press_in_menu("App settings")
    talked.dialog.get_by_label("Single-key shortcuts").uncheck()
    expect_accessible(talked, "the option of single keys")
    talked.confirm("Close")
    talked.tab.locator(".log").press("?")
    talked.select(talked.checkpoint("Begin"))
    for key in ("r", "b", "c"):
        talked.tab.keyboard.press(key)
    expect(talked.dialog).to_have_count(0)
    talked.tab.keyboard.press("ArrowDown")
    expect(talked.tab.locator(".place.selected")).to_contain_text("You are here")
    talked.reload()  # this browser keeps it
    talked.tab.locator(".log").press("?")
    expect(talked.dialog).to_have_count(0)
    talked.press_in_menu("App settings")
    talked.dialog.get_by_label("Single-key shortcuts").check()
    talked.confirm("Close")
    talked.tab.locator(".log").press("?")
    expect(talked.tab.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_keys_of_an_input_method_choose_send_and_close_nothing(talked: Page) -> None:
    talked.composer.fill("/")
    expect(options(talked).first).to_have_attribute("aria-selected", "true")
    press_composed(talked.composer, "ArrowDown", "Enter", "Escape")
    expect(options(talked).first).to_have_attribute("aria-selected", "true")
    talked.composer.fill("")
    box = palette(talked)
    box.fill("export")
    press_composed(box, "Enter")
    expect(box).to_be_focused()
    expect(talked.dialog).not_to_contain_text("Words to redact")
