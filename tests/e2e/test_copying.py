"""Copying where the page is served over plain http away from localhost: browsers give such a page no clipboard."""

import pytest
from playwright.sync_api import Dialog, Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
TAKE_CLIPBOARD = """{
  window.board = navigator.clipboard;
  Object.defineProperty(navigator, "clipboard", { value: undefined });
}"""
ALLOW_NOTHING = "document.execCommand = () => false"
SELECTED = "The text is selected"
CODE = "print('red')"


@pytest.fixture
def page(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    fake_openai.script(Say(f"It is red.\n\n```python\n{CODE}\n```"))
    page = visit(shared_openai_server)
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.tab.add_init_script(TAKE_CLIPBOARD)
    page.reload()
    page.say("Red?")
    return page


def press_copy_link(page: Page) -> None:
    page.button_of("It is red.", "More").click()
    page.tab.get_by_role("menuitem", name="Copy link").click()


def make_link(page: Page) -> Locator:
    """Make a link to be shared, which is shown once, and return its field."""
    page.press_in_menu("Share…")
    page.dialog.get_by_role("button", name="Make a link").click()
    field = page.dialog.get_by_label("The link is shown only now.")
    field.wait_for()
    return field


def read_clipboard(page: Page) -> str:
    return str(page.tab.evaluate("board.readText()"))


def test_everything_is_copied_over_plain_http(page: Page) -> None:
    page.button_of("It is red.", "Copy message").click()
    expect(page.spoken).to_have_text("Message copied")
    assert read_clipboard(page).startswith("It is red.")
    page.tab.get_by_role("button", name="Copy code").click()
    expect(page.spoken).to_have_text("Code copied")
    assert read_clipboard(page) == CODE
    press_copy_link(page)
    expect(page.toast).to_contain_text("Link copied")
    assert read_clipboard(page).startswith(f"{page.tab.url}?message=")
    field = make_link(page)
    page.dialog.get_by_role("button", name="Copy", exact=True).click()
    expect(page.dialog.get_by_role("button", name="Copied")).to_be_visible()
    assert read_clipboard(page) == field.input_value()


def test_what_cannot_be_copied_is_selected_and_said(page: Page) -> None:
    page.tab.evaluate(ALLOW_NOTHING)
    for name, shown in (("Copy message", f"It is red.\n\n{CODE}"), ("Copy code", CODE)):
        page.button_of("It is red.", name).click()
        expect(page.toast).to_contain_text(SELECTED)
        assert page.tab.evaluate("getSelection().toString().trim()") == shown
        page.tab.locator("#toast-close").click()
        expect(page.toast.locator(".toast.show")).to_have_count(0)
    asked: list[tuple[str, str]] = []

    def answer(dialog: Dialog) -> None:
        asked.append((dialog.type, dialog.default_value))
        dialog.dismiss()

    page.tab.once("dialog", answer)
    press_copy_link(page)
    while not asked:
        page.tab.wait_for_timeout(10)
    assert [(kind, link.startswith(f"{page.tab.url}?message=")) for kind, link in asked] == [("prompt", True)]
    field = make_link(page)
    page.dialog.get_by_role("button", name="Copy", exact=True).click()
    expect(page.dialog.get_by_role("status")).to_contain_text(SELECTED)
    assert page.tab.evaluate("document.activeElement.value") == field.input_value()
    assert field.evaluate("field => field.selectionEnd - field.selectionStart") == len(field.input_value())
