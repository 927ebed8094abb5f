"""Capabilities by keyboard alone. The focus is never lost, and after a dialog it is where it came from."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.server import Server
from tests.e2e.test_candidates import candidate
from tests.e2e.test_conversations import row
from tests.e2e.test_prompts import prompts
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def page(start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A conversation of one question."""
    page = visit(start(**openai_settings))
    fake_openai.script(Say("Red it is."))
    Keyboard(page).write("Red?")
    page.wait_for_answer()
    expect(page.composer).to_be_focused()
    return page


def button(part: Page | Locator, name: str) -> Locator:
    return (part.tab if isinstance(part, Page) else part).get_by_role("button", name=name, exact=True)


def test_several_models_answer_and_one_goes_on_from_one_of_them(page: Page, fake_openai: FakeOpenAI) -> None:
    keys, models = Keyboard(page), page.tab.get_by_test_id("model")
    field = page.tab.get_by_role("combobox", name="Find a model")
    keys.press(models)
    expect(field).to_be_focused()
    keys.press(page.tab.get_by_role("button", name="Ask several at once"))
    keys.go(field)
    keys.type("other")
    keys.key("Enter")
    expect(page.tab.locator(".model-list")).to_contain_text("2 models answer the next question")
    keys.press(button(page, "Done"))
    expect(models).to_be_focused()
    fake_openai.script(Say("Forty-two."), Say("Forty-three."))
    keys.write("How much?")
    expect(page.stop_button).to_have_count(0)
    expect(page.composer).to_be_focused()
    second = candidate(page, 2)
    keys.press(button(second, "Continue from this answer"))
    chosen = button(second, "Continuing from this answer")
    expect(chosen).to_be_focused()
    keys.press(models)
    keys.press(page.tab.get_by_role("button", name="Ask one only"))
    expect(models).to_be_focused()
    chosen_text = second.locator(".prose").inner_text()
    fake_openai.script(Say("That is all."))
    keys.write("And then?")
    page.wait_for_answer()
    expect(page.composer).to_be_focused()
    assert [each.text for each in page.messages()][-3:] == [chosen_text, "And then?", "That is all."]
    keys.key("Control+Alt+z")
    expect(second).to_be_visible()
    keys.expect_focus()


def test_questions_are_run_again_compared_and_a_conclusion_brought_home(page: Page, fake_openai: FakeOpenAI) -> None:
    keys, banner = Keyboard(page), page.tab.get_by_test_id("rerun")
    fake_openai.script(Say("Rot."))
    keys.write("/again")
    keys.press(button(page.dialog, "Start"))
    expect(banner).to_contain_text("asked again")
    expect(page.composer).to_be_focused()
    compare = button(banner, "Compare")
    keys.press(compare)
    expect(page.dialog.locator(".compare-length")).to_have_count(2)
    keys.close_dialog(compare)
    keys.press(button(banner, "Dismiss"))
    expect(banner).to_have_count(0)
    expect(page.composer).to_be_focused()
    keys.key("F6")
    keys.go(page.tab.locator(".place-jump[tabindex='0']"))
    main = page.branch("main").get_by_role("button")
    keys.walk(main, "ArrowRight")
    keys.key("Enter")
    more = page.tab.locator(".place-card").get_by_role("button", name="More for main")
    keys.choose(more, "Quote in this branch")
    keys.close_dialog(more)
    keys.choose(more, "Quote in this branch")
    keys.go(page.dialog.get_by_label("Conclusion"))
    keys.type("Red is better.")
    keys.press(page.dialog.get_by_label("You: Red?"), "Space")
    keys.press(button(page.dialog, "Add note"))
    note = page.tab.locator('[data-testid="message"][data-role="note"]')
    expect(note).to_contain_text("Red is better.")
    expect(page.dialog).to_have_count(0)
    expect(more).to_be_focused()
    keys.press(button(page.notice, "Undo"))
    expect(note).to_have_count(0)
    keys.expect_focus()


def test_prompts_are_made_inserted_with_their_variables_edited_and_deleted(page: Page) -> None:
    keys = Keyboard(page)
    keys.write("/prompts")
    expect(button(page.dialog, "New prompt")).to_be_focused()
    keys.key("Enter")
    name = page.dialog.get_by_label("Name")
    expect(name).to_be_focused()
    keys.type("Translation")
    keys.go(page.dialog.get_by_label("Text"))
    keys.type("Translate {{text}} into {{language}}")
    keys.press(button(page.dialog, "Save"))
    expect(prompts(page)).to_have_count(1)
    edit = button(page.dialog, "Edit Translation")
    keys.press(edit)
    expect(name).to_be_focused()
    keys.key("Escape")  # back to the list
    expect(edit).to_be_focused()
    keys.key("Enter")
    keys.replace(name, "Languages")
    keys.key("Enter")
    expect(prompts(page)).to_contain_text("Languages")
    expect(button(page.dialog, "Edit Languages")).to_be_focused()
    keys.press(button(page.dialog, "Delete Languages"))
    expect(prompts(page)).to_have_count(0)
    keys.press(button(page.dialog, "Undo"))
    expect(prompts(page)).to_have_count(1)
    keys.press(button(page.dialog, "Insert Languages"))
    expect(page.tab.get_by_label("text", exact=True)).to_be_focused()
    keys.type("Ja")
    keys.key("Tab")
    keys.type("French")
    keys.key("Enter")
    expect(page.composer).to_have_value("Translate Ja into French")
    expect(page.composer).to_be_focused()


def test_a_link_is_made_and_revoked_and_settings_and_tokens_are_seen(page: Page) -> None:
    keys, menu = Keyboard(page), page.tab.get_by_role("button", name="Conversation menu")
    keys.choose_in_bar("Share…")
    keys.press(button(page.dialog, "Make a link"))
    expect(page.dialog.get_by_label("The link is shown only now.")).to_be_focused()
    links = page.dialog.get_by_test_id("share-link")
    keys.press(links.get_by_role("button", name="Revoke"))
    expect(links).to_have_count(0)
    expect(page.dialog.locator(":focus")).to_have_count(1)
    keys.close_dialog(menu)
    keys.choose_in_bar("Conversation settings")
    keys.go(page.dialog.get_by_label("Instructions"))
    keys.type("Be brief.")
    keys.press(button(page.dialog, "Save"))
    expect(page.dialog).to_have_count(0)
    expect(menu).to_be_focused()
    keys.choose_in_bar("Audit log")
    page.dialog.get_by_test_id("audit-entry").first.wait_for()
    keys.close_dialog(menu)
    keys.choose_in_bar("Sessions")
    page.dialog.get_by_test_id("session").first.wait_for()
    keys.close_dialog(menu)
    meter = page.tab.get_by_test_id("meter")
    keys.press(meter)
    expect(page.tab.locator(".meter-panel")).to_be_visible()
    keys.key("Escape")
    expect(page.tab.locator(".meter-panel")).to_have_count(0)
    expect(meter).to_be_focused()


def test_conversations_are_tagged_archived_and_deleted_together_and_each_undone(server: Server, visit: Visit) -> None:
    page = visit(server)
    keys = Keyboard(page)
    for text in ("Bread", "Cake"):
        keys.key("Control+Shift+o")
        keys.write(text)
        page.wait_for_answer()
    more = button(page, "More for Bread")
    keys.choose(more, "Tags")
    expect(page.dialog.get_by_role("combobox")).to_be_focused()
    keys.type("Kitchen")
    keys.key("Enter")
    expect(row(page, "Bread")).to_contain_text("Kitchen")
    keys.close_dialog(more)
    expect(more).to_be_focused()
    keys.press(button(page.toast, "Undo"))
    expect(row(page, "Bread").locator(".thread-tag")).to_have_count(0)
    keys.choose(more, "Archive")
    expect(row(page, "Bread")).to_have_count(0)
    keys.expect_focus()
    keys.press(button(page.toast, "Undo"))
    expect(row(page, "Bread")).to_have_count(1)
    select = button(page, "Select")
    keys.press(select)
    bar = page.tab.get_by_role("toolbar", name="Selected conversations")
    keys.key("Control+a")
    expect(bar).to_contain_text("2 selected")
    delete = button(bar, "Delete")
    keys.press(delete)
    keys.close_dialog(delete)
    keys.press(delete)
    keys.press(button(page.dialog, "Delete"))
    expect(page.threads).to_have_count(0)
    keys.expect_focus()
    keys.press(button(page.toast, "Undo"))
    expect(page.threads).to_have_count(2)
    keys.press(button(bar, "Done"))
    expect(bar).to_have_count(0)
    expect(page.tab.get_by_role("region", name="List of conversations")).to_be_focused()
