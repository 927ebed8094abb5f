"""The library of prompts: saved, inserted with their variables, edited and deleted; always text."""

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say
from tests.hostile_texts import TAGS

pytestmark = pytest.mark.e2e


def prompts(page: Page) -> Locator:
    return page.tab.get_by_test_id("prompt")


def open_library(page: Page) -> None:
    page.composer.fill("/prompts")
    page.composer.press("Enter")
    expect(page.dialog).to_be_visible()


def save_prompt(page: Page, name: str, text: str = "") -> None:
    form = page.dialog
    form.get_by_label("Name").fill(name)
    if text:
        form.get_by_label("Text").fill(text)
    page.dialog.get_by_role("button", name="Save").click()
    expect(prompts(page).filter(has_text=name)).to_be_visible()
    expect(page.dialog.locator(":focus")).to_have_count(1)


@pytest.mark.slow
def test_a_message_becomes_a_prompt_and_its_variables_are_asked_for(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("Oui."))
    page.say("Translate {{text}} into {{language}}, only {{text}}")
    page.button_of("Translate", "More").click()
    page.tab.get_by_role("menuitem", name="Save as a prompt").click()
    save_prompt(page, "Translation")
    page.dialog.get_by_role("button", name="Close").click()
    page.composer.press_sequentially("/prompt tra")
    expect(page.tab.get_by_role("option", name="Translation")).to_be_visible()
    page.composer.press("Enter")
    expect(page.tab.get_by_label("text", exact=True)).to_be_focused()
    page.tab.get_by_label("text", exact=True).fill("$& {{language}}")
    page.tab.get_by_label("language", exact=True).fill("French")
    page.tab.keyboard.press("Enter")
    expect(page.composer).to_have_value("Translate $& {{language}} into French, only $& {{language}}")
    expect(page.composer).to_be_focused()
    expect_gone_after_a_late_reply(page, "Translation")


def expect_gone_after_a_late_reply(page: Page, name: str) -> None:
    """Delete a prompt in a dialog that is closed before the reply. The commands no longer offer it."""
    open_library(page)
    expect(prompts(page)).to_have_count(1)
    held: list[Route] = []
    page.tab.route("**/_dash-update-component*", lambda route: held.append(route))  # noqa: PLW0108  a bound method of a list has no attributes
    with page.tab.expect_request("**/_dash-update-component*"):
        prompts(page).filter(has_text=name).get_by_role("button", name="Delete").click()
    page.dialog.get_by_role("button", name="Close").click()
    expect(page.tab.locator(".modal")).to_have_count(0)
    with page.tab.expect_response("**/api/prompts"):
        held[0].continue_()
    page.composer.fill("/")
    expect(page.tab.get_by_role("option", name="Insert a prompt")).to_be_disabled()


@pytest.mark.slow
@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, NARROW])
def test_prompts_are_kept_edited_and_deleted_with_undo(size: dict[str, int], server: Server, visit: Visit) -> None:
    page = visit(server, viewport=size)
    open_library(page)
    expect(page.dialog).to_contain_text("No prompts yet.")
    expect(page.dialog.get_by_role("button", name="New prompt")).to_be_focused()
    page.tab.evaluate("addEventListener('invalid', () => console.error('an empty form was submitted'), true)")
    for name in TAGS:
        page.dialog.get_by_role("button", name="New prompt").click()
        save_prompt(page, name, f"{name} {{{{{name}}}}} {{{{<b>}}}} {{{{ok}}}}")
    expect_accessible(page, "prompts")
    expect(page.dialog.locator("li").locator("img, svg, script, iframe, b")).to_have_count(0)
    line = prompts(page).filter(has_text=TAGS[0]).first
    line.get_by_role("button", name="Delete").click()
    expect(prompts(page)).to_have_count(len(TAGS) - 1)
    page.dialog.get_by_role("button", name="Undo").click()
    expect(prompts(page)).to_have_count(len(TAGS))
    line.get_by_role("button", name="Edit").click()
    save_prompt(page, "A name", f"{TAGS[1]} {{{{ok}}}}")
    page.reload()
    open_library(page)
    page.dialog.get_by_role("button", name="Insert A name").click()
    page.tab.get_by_label("ok", exact=True).fill(TAGS[2])
    expect_accessible(page, "variables")
    page.dialog.get_by_role("button", name="Insert").click()
    expect(page.composer).to_have_value(f"{TAGS[1]} {TAGS[2]}")
