"""The keys and buttons of the message field: stop, edit, send now, and the choice of a model."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.keyboard import press_composed
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e


def picker(page: Page) -> Locator:
    return page.tab.get_by_test_id("model")


def find_model(page: Page, text: str) -> Locator:
    picker(page).click()
    field = page.tab.get_by_role("combobox", name="Find a model")
    expect(field).to_be_focused()
    field.fill(text)
    return field


def test_escape_stops_and_the_up_arrow_edits_the_last_question(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("one two three four five six"))
    fake_openai.hold(after_tokens=3)
    page.send("Count, please")
    expect(page.live).to_contain_text("two")
    page.composer.fill("kept")
    page.composer.press("Escape")
    expect(page.stop_button).to_have_count(0)
    expect(page.composer).to_have_value("kept")
    page.composer.press("ArrowUp")
    expect(page.composer).to_be_focused()
    page.composer.fill("")
    page.composer.press("ArrowUp")
    expect(page.tab.get_by_role("textbox", name="Text of the message")).to_have_value("Count, please")


@pytest.mark.slow
def test_a_key_begins_no_animation(shared_openai_server: Server, visit: Visit) -> None:
    page = visit(shared_openai_server, reduced_motion="no-preference")
    page.composer.click()
    page.tab.wait_for_function("document.getAnimations().length === 0")
    page.tab.keyboard.press("a")
    expect(page.tab.get_by_role("button", name="Send", exact=True)).to_have_attribute("aria-disabled", "false")
    assert page.tab.evaluate("document.getAnimations().length") == 0


def test_a_queued_message_can_be_sent_now(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server)
    fake_openai.script(Say("one two three four five six"), Say("Paris."))
    fake_openai.hold(after_tokens=3)
    page.send("Count, please")
    expect(page.live).to_contain_text("two")
    page.composer.fill("The capital of France?")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("The capital of France?")
    page.queued.get_by_role("button", name="Send now").click()
    expect(page.queued).to_have_count(0)
    expect(page.log).to_contain_text("Paris.")
    page.wait_for_answer()
    assert [message.text for message in page.messages() if message.role == "user"] == [
        "Count, please",
        "The capital of France?",
    ]


@pytest.mark.slow
def test_the_model_is_chosen_below_the_field(start: Start, visit: Visit, openai_settings: dict[str, str]) -> None:
    page = visit(start(**openai_settings))
    expect(picker(page)).to_have_text("Model: fake-model")
    field = find_model(page, "OTHER")
    expect_accessible(page, "the list of models")
    expect(page.tab.get_by_role("option")).to_have_text(["other-model"])
    press_composed(field, "Enter")
    expect(field).to_be_focused()
    field.press("Enter")
    expect(picker(page)).to_be_focused()
    expect(picker(page)).to_have_text("Model: other-model")
    page.say("Hello")
    expect(picker(page)).to_have_text("Model: other-model")  # the conversation began with it
    find_model(page, "").press("ArrowUp")
    page.tab.get_by_role("option", name="fake-model").click()
    expect(page.toast).to_contain_text("Set the model to the default")
    expect(picker(page)).to_have_text("Model: fake-model")
    names = page.tab.locator(".message-foot .foot-model")
    expect(names).to_have_text(["Model: other-model"])
    page.say("Hello again")
    expect(names).to_have_text(["Model: other-model", "Model: fake-model"])
    expect(names.first).to_have_attribute("title", "openai:other-model")
    page.toast.get_by_role("button", name="Close").click()
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(names).to_have_text(["Model: other-model"])
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(picker(page)).to_have_text("Model: other-model")


def read_height(page: Page) -> float:
    return float(page.composer.evaluate("field => field.getBoundingClientRect().height"))


def test_the_field_fits_its_text(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.composer.fill("one line")
    one_line = read_height(page)
    page.composer.press_sequentially(" that goes on")
    assert read_height(page) == one_line
    page.composer.press("Shift+Enter")
    two_lines = read_height(page)
    assert two_lines > one_line
    page.composer.press("Shift+Enter")
    assert read_height(page) > two_lines
    page.composer.press("Backspace")
    assert read_height(page) == two_lines
    page.composer.fill("another text, longer than before, on one line")
    assert read_height(page) == one_line
    page.composer.fill("")
    assert read_height(page) == one_line


@pytest.mark.slow
def test_a_key_lays_out_the_page_once(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.composer.fill("some")
    session = page.tab.context.new_cdp_session(page.tab)
    session.send("Performance.enable")

    def count_layouts() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "LayoutCount"))

    before, text = count_layouts(), "twenty letters of it"
    page.composer.press_sequentially(text)
    assert count_layouts() - before < 2 * len(text)  # the height was measured with two more for each key
