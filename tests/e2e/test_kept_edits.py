"""The text of an open "Edit message" form is not lost: over a reload, Escape, and changes of other tabs."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
TEXT = "ten minutes of careful rewriting"


@pytest.fixture
def talked(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    page = visit(shared_openai_server)
    for word in ("Red", "Green"):
        fake_openai.script(Say(f"{word} it is."))
        page.say(word)
    return page


@pytest.fixture
def beside(talked: Page, visit: Visit) -> Page:
    """The same conversation in a second tab."""
    return visit(talked.server, talked.tab.url.removeprefix(talked.server.origin), beside=talked)


def field(page: Page) -> Locator:
    return page.editor.get_by_role("textbox")


def open_form(page: Page) -> None:
    page.press_at("Green", "Edit message")
    expect(field(page)).to_be_focused()


def write(page: Page) -> None:
    open_form(page)
    field(page).fill(TEXT)


def test_a_form_says_which_keys_send_and_break_the_line(talked: Page, fake_openai: FakeOpenAI) -> None:
    write(talked)
    expect(talked.editor).to_contain_text("Ctrl + Enter sends, Enter breaks the line")
    talked.tab.keyboard.press("Enter")
    expect(field(talked)).to_have_value(f"{TEXT}\n")
    fake_openai.script(Say("Done."))
    talked.tab.keyboard.press("Control+Enter")
    expect(talked.editor).to_have_count(0)


def test_a_form_is_open_again_after_a_reload_and_its_text_is_forgotten_once_sent(
    talked: Page, fake_openai: FakeOpenAI
) -> None:
    write(talked)
    talked.reload()
    expect(field(talked)).to_have_value(TEXT)
    fake_openai.script(Say("Done."))
    talked.editor.get_by_role("button", name="Send").click()
    expect(talked.message(TEXT)).to_be_visible()
    talked.wait_for_answer()
    talked.reload()
    expect(talked.message(TEXT)).to_be_visible()
    expect(talked.editor).to_have_count(0)
    assert not talked.tab.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('waymark-edit'))")


def test_escape_closes_a_form_and_keeps_its_text_and_cancel_forgets_it(talked: Page) -> None:
    write(talked)
    field(talked).press("Escape")
    expect(talked.editor).to_have_count(0)
    talked.reload()
    expect(talked.message("Green").first).to_be_visible()
    expect(talked.editor).to_have_count(0)
    open_form(talked)
    expect(field(talked)).to_have_value(TEXT)
    talked.editor.get_by_role("button", name="Cancel").click()
    open_form(talked)
    expect(field(talked)).to_have_value("Green")


def test_a_form_stays_open_at_the_version_that_another_tab_has_made(
    talked: Page, beside: Page, fake_openai: FakeOpenAI
) -> None:
    write(talked)
    beside.edit("Green", "Black", button="Only change the text")
    expect(talked.editor.get_by_role("alert")).to_contain_text("This message was changed meanwhile.")
    expect(field(talked)).to_have_value(TEXT)
    expect(field(talked)).to_be_focused()
    fake_openai.script(Say("Done."))
    talked.editor.get_by_role("button", name="Send").click()
    expect(talked.message(TEXT)).to_be_visible()
    expect(talked.alternatives("3 of 3")).to_be_visible()


def test_a_text_whose_message_another_tab_has_removed_is_in_the_field(
    talked: Page, beside: Page, fake_openai: FakeOpenAI
) -> None:
    write(talked)
    talked.composer.fill("A draft")
    fake_openai.script(Say("Pink it is."))
    beside.edit("Red", "Pink")
    expect(talked.toast).to_contain_text("The message that you were editing is no longer here. Your text is in the field.")
    expect(talked.composer).to_have_value(f"{TEXT}\n\nA draft")
    expect(talked.editor).to_have_count(0)


@pytest.mark.slow
def test_a_form_comes_back_with_its_message_after_moves_of_its_own_page(talked: Page) -> None:
    write(talked)
    field(talked).press("Escape")
    talked.ask_to_branch("Red it is.").get_by_label("Name").fill("Other")
    talked.confirm("Branch")
    talked.expect_messages(2)
    talked.switch("main")
    write(talked)
    talked.switch("Other")
    talked.expect_messages(2)
    expect(talked.composer).to_have_value("")
    talked.switch("main")
    expect(field(talked)).to_have_value(TEXT)
