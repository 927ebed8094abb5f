"""What is chosen for one conversation: before its first message and later, kept, undone, and safe from another tab."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
ELSEWHERE = "These settings were changed elsewhere in the meantime."


def settings(page: Page) -> Locator:
    """The dialog, opened."""
    page.press_in_menu("Conversation settings")
    page.dialog.wait_for()
    return page.dialog


def answering(page: Page) -> Locator:
    """What the page says of the model that answers."""
    return page.tab.locator(".composer-model")


@pytest.mark.slow
def test_the_first_message_brings_what_was_chosen_before_it(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    dialog = settings(page)
    dialog.get_by_label("Model").select_option("openai:other-model")
    dialog.get_by_label("Instructions").fill("Answer in French.")
    dialog.get_by_role("radio", name=re.compile("^Never")).check()
    page.confirm("Save")
    expect(answering(page)).to_have_text("other-model")
    fake_openai.script(Say("Bonjour."))
    page.say("hello")
    [request] = fake_openai.requests
    assert (request["model"], request["messages"][0]["content"].endswith("Answer in French.")) == ("other-model", True)
    page.new_conversation()
    expect(answering(page)).to_have_text("fake-model")
    page.threads.first.click()
    page.tab.wait_for_url("**/t/*")  # the address follows the messages
    page.expect_messages(2)
    page.reload()
    expect(answering(page)).to_have_text("other-model")
    assert settings(page).get_by_label("Instructions").input_value() == "Answer in French."


@pytest.mark.slow
def test_the_first_field_has_the_focus_where_there_is_a_keyboard(shared_server: Server, visit: Visit) -> None:
    first = {"Conversation settings": "Model", "App settings": "Default instructions"}
    page = visit(shared_server)
    for menu, label in first.items():
        page.press_in_menu(menu)
        expect(page.dialog.get_by_label(label, exact=True)).to_be_focused()
        page.tab.keyboard.press("Escape")
        expect(page.dialog).to_have_count(0)
    page = visit(shared_server, viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True)
    page.press_in_menu("Conversation settings")
    expect(page.dialog.get_by_label("Model", exact=True)).to_be_visible()
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 720}, {"width": 390, "height": 700}], ids=["wide", "phone"])
def test_save_is_in_view_however_long_the_form_is(viewport: Any, shared_openai_server: Server, visit: Visit) -> None:
    page = visit(shared_openai_server, viewport=viewport)
    dialog = settings(page)
    for name in ("Cancel", "Save"):
        expect(dialog.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    last = dialog.get_by_role("radio").last
    last.focus()  # the keyboard scrolls to what it reaches
    expect(last).to_be_in_viewport(ratio=1)
    expect_accessible(page, "a long form")


@pytest.mark.slow
def test_a_change_is_told_with_undo_and_the_demo_says_that_it_is_one(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("Hi."))
    page.say("hello")
    dialog = settings(page)
    expect_accessible(page, "conversation settings")
    dialog.get_by_label("Model").select_option("demo")
    page.confirm("Save")
    expect(page.tab.get_by_text("Demo model: it makes things up.")).to_be_visible()
    expect(page.tab.get_by_role("button", name="Conversation menu")).to_be_focused()
    expect(page.toast).to_contain_text("Set the model to demo")
    page.toast.get_by_role("button", name="Undo").click()
    expect(answering(page)).to_have_text("fake-model")
    assert page.log_lines()[:2] == ["Undid setting the model to demo", "Set the model to demo"]


@pytest.mark.slow
def test_two_tabs_cannot_lose_instructions(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("Hi."))
    page.say("hello")
    other = visit(shared_openai_server, page.tab.url.removeprefix(shared_openai_server.origin), beside=page)
    settings(page).get_by_label("Instructions").fill("Be brief.")
    dialog = settings(other)
    dialog.get_by_label("Instructions").fill("Be kind.")
    page.confirm("Save")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text(ELSEWHERE)
    other.confirm("Save")  # again, and knowingly
    assert settings(page).get_by_label("Instructions").input_value() == "Be kind."


@pytest.mark.slow
def test_a_conversation_has_model_parameters_of_its_own(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    dialog = settings(page)
    dialog.get_by_text("Model parameters").click()
    expect_accessible(page, "model parameters")
    dialog.get_by_label("Temperature").fill("0.2")
    dialog.get_by_label("Reasoning effort").select_option("low")
    dialog.get_by_label("Extra body").fill('{"seed": 7}')
    page.confirm("Save")
    fake_openai.script(Say("Hi."))
    page.say("hello")
    [request] = fake_openai.requests
    assert (request["temperature"], request["reasoning_effort"], request["seed"]) == (0.2, "low", 7)
    dialog = settings(page)
    dialog.get_by_label("Extra body").fill("seven")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The extra body must be a JSON object")


@pytest.mark.slow
def test_the_fold_stays_open_while_its_only_field_is_emptied(shared_openai_server: Server, visit: Visit) -> None:
    dialog = settings(visit(shared_openai_server))
    dialog.get_by_text("Model parameters").click()
    temperature = dialog.get_by_label("Temperature")
    temperature.fill("0.2")
    temperature.fill("")
    expect(temperature).to_be_visible()
    temperature.press_sequentially("1.5")
    expect(temperature).to_have_value("1.5")


@pytest.mark.slow
def test_a_value_for_a_new_conversation_is_checked_when_it_is_saved(shared_openai_server: Server, visit: Visit) -> None:
    page = visit(shared_openai_server)
    dialog = settings(page)
    dialog.get_by_text("Model parameters").click()
    dialog.get_by_label("Extra body").fill("seven")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The extra body must be a JSON object")
    dialog.get_by_label("Extra body").fill("")
    page.confirm("Save")


@pytest.mark.slow
def test_on_a_phone_the_focus_stays_on_the_page_when_the_dialog_is_closed(
    shared_openai_server: Server, visit: Visit
) -> None:
    page = visit(shared_openai_server, viewport={"width": 390, "height": 844})
    settings(page).get_by_role("button", name="Cancel").click()
    expect(page.tab.get_by_role("button", name="Conversation menu")).to_be_focused()


@pytest.mark.slow
def test_default_instructions_are_written_once_for_all_conversations(
    start: Start, openai_settings: dict[str, str], visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))

    def write(text: str) -> None:
        page.press_in_menu("App settings")
        page.dialog.get_by_label("Default instructions").fill(text)
        page.dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.dialog.get_by_text("Saved.")).to_be_visible()
        expect_accessible(page, "the settings of the app")
        page.confirm("Close")

    write("Answer in French.")
    for text in ("hello", "hello again"):
        fake_openai.script(Say("Bonjour."))
        page.new_conversation()
        page.say(text)
        assert fake_openai.requests[-1]["messages"][0]["content"].endswith("Answer in French.")
    page.reload()
    page.press_in_menu("App settings")
    expect(page.dialog.get_by_label("Default instructions")).to_have_value("Answer in French.")
    page.confirm("Close")
    write("")
    fake_openai.script(Say("Hi."))
    page.say("and now?")
    assert "French" not in str(fake_openai.requests[-1]["messages"][0])


def test_default_instructions_are_kept_with_the_demo(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.composer.fill("/app-settings")
    page.composer.press("Enter")
    page.dialog.get_by_label("Default instructions").fill("Be brief.")
    page.dialog.get_by_label("Default instructions").evaluate("(field) => field.form.requestSubmit()")
    expect(page.dialog.get_by_text("Saved.")).to_be_visible()
    page.confirm("Close")
    page.say("Hello")
    page.expect_messages(2)
    page.press_in_menu("App settings")
    page.dialog.get_by_label("Default instructions").fill("")
    page.dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page.dialog.get_by_text("Saved.")).to_be_visible()


def test_typed_default_instructions_are_saved_before_another_language_is_chosen(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.press_in_menu("App settings")
    field, language = page.dialog.get_by_label("Default instructions"), page.dialog.get_by_label("Language")
    field.fill("Be brief.")
    language.select_option("Deutsch")
    expect(page.dialog.get_by_role("alert")).to_contain_text("Save the default instructions first.")
    expect(page.dialog.get_by_role("button", name="Try again")).to_have_count(0)
    expect(language).to_have_value("system")
    expect(field).to_have_value("Be brief.")
    page.dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page.dialog.get_by_text("Saved.")).to_be_visible()
    expect(page.dialog.get_by_role("alert")).to_have_count(0)
    with page.tab.expect_navigation():
        language.select_option("Deutsch")
    expect(page.tab.locator("html")).to_have_attribute("lang", "de")


def test_two_tabs_cannot_lose_default_instructions(server: Server, visit: Visit) -> None:
    first = visit(server)
    second = visit(server, beside=first)
    for page, text in ((first, "Be brief."), (second, "Be kind.")):
        page.press_in_menu("App settings")
        page.dialog.get_by_label("Default instructions").fill(text)
    saved, refusal = second.dialog.get_by_text("Saved."), second.dialog.get_by_role("alert")
    first.dialog.get_by_role("button", name="Save", exact=True).click()
    expect(first.dialog.get_by_text("Saved.")).to_be_visible()
    second.dialog.get_by_role("button", name="Save", exact=True).click()
    expect(refusal).to_contain_text("These instructions were changed elsewhere in the meantime.")
    expect(second.dialog.get_by_label("Default instructions")).to_have_value("Be kind.")
    expect(saved).to_have_count(0)
    second.dialog.get_by_role("button", name="Save", exact=True).click()  # again, and knowingly
    expect(saved).to_be_visible()
    expect(refusal).to_have_count(0)
