"""What the page does besides its main story: conversations, deleting and clearing, themes, phones, keys."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LINES_OF_TEXT = """hint => {
  const text = new Range();
  text.selectNodeContents(hint);
  return new Set(Array.from(text.getClientRects(), ({ top, height }) => Math.round((top + height / 2) / 4))).size;
}"""
FITS = "field => field.scrollHeight <= field.clientHeight"


def test_conversations_are_begun_renamed_switched_and_named_by_the_address(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Tell me about stocks")
    first = page.tab.url
    assert re.fullmatch(re.escape(server.origin) + r"/t/[\w-]+", first)
    page.new_conversation()
    page.say("How is the weather?")
    second = page.tab.url
    assert page.thread_titles() == ["How is the weather?", "Tell me about stocks"]

    page.threads.filter(has_text="stocks").click()
    page.tab.wait_for_url(first)
    expect(page.log).to_contain_text("Do not trade on them")
    page.tab.go_back()
    page.tab.wait_for_url(second)
    expect(page.log).to_contain_text("I made this weather up")
    expect(page.log).not_to_contain_text("Do not trade on them")

    page.threads.filter(has_text="stocks").press("F2")
    page.tab.get_by_label("Title of the conversation").fill("Money")
    page.tab.keyboard.press("Enter")
    expect(page.threads.filter(has_text="Money")).to_be_visible()
    other = visit(server, first.removeprefix(server.origin))
    expect(other.tab.get_by_role("heading", name="Money")).to_be_visible()
    other.expect_messages(2)


@pytest.mark.slow
def test_deleting_a_conversation_asks_first_and_can_be_undone(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("What is 6 * 7?")
    page.save("The sum")
    everything, address = page.messages(), page.tab.url

    page.tab.get_by_role("button", name="Delete What is 6 * 7?").click()
    expect(page.dialog).to_contain_text("What is 6 * 7?")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Cancel")
    expect(page.threads).to_have_count(1)

    page.tab.get_by_role("button", name="Delete What is 6 * 7?").click()
    page.confirm("Delete")
    expect(page.threads).to_have_count(0)
    page.tab.wait_for_url(f"{server.origin}/")
    page.toast.get_by_role("button", name="Undo").click()
    page.tab.wait_for_url(address)
    page.expect_messages(4)
    assert page.messages() == everything
    page.expect_checkpoints(("The sum", 4))


@pytest.mark.slow
def test_deleting_a_checkpoint_asks_first_and_can_be_undone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("One")
    page.say("Hello again")
    page.save("Two")

    page.press("One", "Delete One")
    expect(page.dialog).to_contain_text("One")
    page.tab.keyboard.press("Escape")
    expect(page.dialog).to_have_count(0)
    page.expect_checkpoints(("One", 2), ("Two", 4))

    page.press("One", "Delete One")
    page.confirm("Delete")
    page.expect_checkpoints(("Two", 4))
    page.expect_messages(4)
    page.reload()
    page.undo()
    page.expect_checkpoints(("One", 2), ("Two", 4))


def test_clearing_asks_first_and_can_be_undone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("What is 6 * 7?")
    page.save("The sum")
    everything = page.messages()

    page.press_in_menu("Clear conversation")
    expect(page.dialog).to_contain_text("4 messages and 1 checkpoint")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Cancel")
    page.expect_messages(4)

    page.press_in_menu("Clear conversation")
    page.confirm("Clear")
    page.expect_messages(0)
    page.expect_checkpoints()
    page.undo()
    page.expect_messages(4)
    assert page.messages() == everything
    page.expect_checkpoints(("The sum", 4))


def test_what_the_head_of_the_conversation_undoes_it_can_redo(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Hello")
    page.save("One")
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_checkpoints()
    page.tab.get_by_role("button", name="Redo").click()
    page.expect_checkpoints(("One", 2))


def test_save_says_why_it_is_disabled(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    expect(page.save_button).to_have_attribute("aria-disabled", "true")
    expect(page.save_button).to_have_attribute("title", re.compile("start a conversation first"))
    expect(page.save_button).to_have_accessible_description(re.compile("start a conversation first"))
    page.save_button.click(force=True)
    page.tab.keyboard.press("Control+s")
    expect(page.tab.get_by_role("form")).to_have_count(0)
    page.say("Hello")
    expect(page.save_button).to_have_attribute("aria-disabled", "false")
    page.save()
    page.expect_checkpoints(("Checkpoint 1", 2))


def test_the_theme_can_be_light_dark_or_as_the_system(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, color_scheme="light")
    root = page.tab.locator("html")
    button = page.tab.get_by_role("button", name="Theme")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.tab.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    seen = []
    for _ in range(3):
        before = root.get_attribute("data-theme-choice")
        button.click()
        expect(root).not_to_have_attribute("data-theme-choice", str(before))
        expect(button).to_have_accessible_name(f"Theme: {root.get_attribute('data-theme-choice')}")
        seen.append((root.get_attribute("data-theme-choice"), root.get_attribute("data-bs-theme")))
    assert seen == [("light", "light"), ("dark", "dark"), ("system", "dark")]
    button.click()
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "light")


@pytest.mark.slow
def test_the_demos_hint_takes_one_line_beside_the_meter(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport={"width": 1440, "height": 900})
    page.say("Hello")
    expect(page.tab.get_by_test_id("meter")).to_be_visible()
    assert page.tab.locator(".composer-foot").evaluate(LINES_OF_TEXT) == 1


@pytest.mark.slow
def test_the_message_field_fits_its_text_after_a_resize(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, viewport={"width": 1440, "height": 900})
    field = page.tab.get_by_test_id("composer")
    field.fill("word " * 30)
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.tab.wait_for_function(FITS, arg=field.element_handle())
    assert field.evaluate(FITS)  # and stays so


def test_on_a_phone_the_side_panes_are_sheets(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, **PHONE)
    page.say("Hello")
    conversations = page.tab.get_by_role("navigation", name="Conversations")
    history = page.tab.get_by_role("complementary", name="History")
    expect(conversations).not_to_be_in_viewport()
    expect(history).not_to_be_in_viewport()
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 390

    page.tab.get_by_role("button", name="History", exact=True).click()
    expect(history).to_be_in_viewport()
    page.save("On the way")
    page.tab.keyboard.press("Escape")
    expect(history).not_to_be_in_viewport()

    page.tab.get_by_role("button", name="Conversations", exact=True).click()
    expect(conversations).to_be_in_viewport()
    page.tab.get_by_role("button", name="Close conversations").click()
    expect(conversations).not_to_be_in_viewport()

    page.tab.get_by_role("button", name="Search everything").click()
    expect(page.tab.get_by_role("combobox")).to_be_focused()
    page.tab.keyboard.press("Escape")

    page.tab.get_by_role("button", name="Conversations", exact=True).click()
    page.tab.get_by_role("button", name="New conversation", exact=True).click()
    expect(conversations).not_to_be_in_viewport()
    page.expect_messages(0)


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the control with that name has the focus."""
    here = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent'
    for _ in range(150):  # the list of conversations stands in between, and other tests have made many
        page.tab.keyboard.press("Tab")
        if page.tab.evaluate(here).strip() == name:
            return
    raise AssertionError(f"Tab never came to {name!r}")


def test_everything_can_be_done_with_the_keyboard_alone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    keyboard = page.tab.keyboard
    expect(page.composer).to_be_focused()
    keyboard.type("What is 6 * 7?")
    keyboard.press("Enter")
    page.expect_messages(4)
    page.wait_for_answer()
    keyboard.press("Control+s")
    keyboard.type("The sum")
    keyboard.press("Enter")
    page.expect_checkpoints(("The sum", 4))
    expect(page.save_button).to_be_focused()

    _tab_to(page, "Message")
    keyboard.type("one line")
    keyboard.press("Shift+Enter")
    keyboard.type("and another")
    keyboard.press("Enter")
    page.expect_messages(6)
    page.wait_for_answer()

    _tab_to(page, "You are here")
    keyboard.press("ArrowUp")
    keyboard.press("r")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    _tab_to(page, "Restore")
    keyboard.press("Enter")
    page.expect_messages(4)
    expect(page.composer).to_have_value("one line\nand another")
    _tab_to(page, "Undo")
    keyboard.press("Enter")
    page.expect_messages(6)


@pytest.mark.slow
def test_the_icons_of_the_bar_are_at_one_height_on_a_phone(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, **PHONE)
    icons = page.tab.locator(".topbar > * svg").all()
    boxes = [box for icon in icons if (box := icon.bounding_box())]
    assert len(boxes) > 2
    assert len({box["y"] + box["height"] / 2 for box in boxes}) == 1
