"""Answers, branches and cards on a slow network, and on one that is away: nothing is done twice, lost or unsaid."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import networks
from tests.e2e.networks import UNSAID, Network
from tests.e2e.test_candidates import candidate, choose_models
from tests.e2e.test_slow_changes import send
from tests.e2e.test_slow_networks import expect_changes
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

name = networks.name


@pytest.fixture
def openai_settings(openai_settings: dict[str, str]) -> dict[str, str]:
    """With a tool that asks."""
    return {**openai_settings, "tools_approval": "calculator"}


page = networks.page


def open_find_bar(page: Page) -> Locator:
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("find in this")
    page.tab.get_by_role("option", name="Find in this conversation").click()
    bar = page.tab.get_by_role("search")
    bar.wait_for()  # without a network it would never come
    return bar


def test_words_are_found_in_the_conversation(page: Page, name: str) -> None:
    network = Network(page, name)
    bar = open_find_bar(page)
    field, state = bar.get_by_role("textbox"), bar.get_by_role("status")
    if network.is_away:
        page.tab.context.set_offline(True)
        field.fill("it")
        expect(state).to_have_text("The search did not answer.")
        field.press("Enter")
        expect(state).to_have_text("The search did not answer.")
        page.tab.context.set_offline(False)
    else:
        field.press_sequentially("red it")
        field.fill("it")
    expect(state).to_have_text("1 of 1")
    assert page.tab.evaluate("CSS.highlights.get('found-current')?.size") == 1


def test_one_model_of_several_is_tried_again_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    choose_models(page, "demo")
    fake_openai.script(Fault("status", status=401), Say("Forty-two."))
    page.send("How much?")
    expect(candidate(page, 1)).to_have_attribute("data-state", "failed")
    expect(page.stop_button).to_have_count(0)
    Network(page, name).press(candidate(page, 1).get_by_role("button", name="Try again"))
    expect(candidate(page, 1)).to_contain_text("Forty-two.")
    expect(page.stop_button).to_have_count(0)
    candidate(page, 1).get_by_role("button", name="Continue from this answer").click()
    expect(candidate(page, 1).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    assert len(fake_openai.requests) == 3


def test_several_models_are_asked_once_and_one_of_them_is_chosen_once(
    page: Page, name: str, fake_openai: FakeOpenAI
) -> None:
    choose_models(page, "demo")
    network = Network(page, name)
    send(page, network, "How much?")
    expect(page.tab.get_by_test_id("candidate")).to_have_count(2)
    expect(page.stop_button).to_have_count(0)
    assert len(fake_openai.requests) == 2
    other = page.tab.locator('[data-testid="candidate"]:not(.candidate-current)')
    number = int(other.get_attribute("data-number") or 0)
    network.press(other.get_by_role("button", name="Continue from this answer"))
    expect(candidate(page, number).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    page.reload()
    expect(candidate(page, number).get_by_role("button", name="Continuing from this answer")).to_be_visible()
    expect_changes(page, "Switched to branch", "Wrote 2 messages", "Asked")


def test_a_branch_is_begun_once_and_compared(page: Page, name: str) -> None:
    page.say("Green?")
    network = Network(page, name)
    dialog = page.ask_to_branch("Red it is.")
    network.press(dialog.get_by_role("button", name="Branch", exact=True))
    page.expect_messages(2)
    expect(page.branches).to_have_count(2)
    page.select(page.branch("main"))
    if network.is_away:
        page.tab.context.set_offline(True)
    page.tab.get_by_test_id("compare").click()
    if network.is_away:
        expect(page.dialog).to_contain_text(UNSAID)
        page.tab.context.set_offline(False)
    expect(page.dialog).to_contain_text("2 messages in common")


def test_a_comparison_is_read_when_the_network_is_back(page: Page, name: str) -> None:
    page.save("Begin")
    page.say("Green?")
    network = Network(page, name)
    compare = page.select(page.checkpoint("Begin")).get_by_test_id("compare")
    if network.is_away:
        compare.click()
        expect(page.dialog).to_contain_text("2 messages in common")
        page.tab.context.set_offline(True)
        page.dialog.get_by_role("combobox").first.select_option("current")
        expect(page.dialog).to_contain_text("The server does not answer.")
        page.tab.context.set_offline(False)
    else:
        compare.dblclick()
        page.dialog.get_by_role("combobox").first.select_option("current")
    expect(page.dialog).to_contain_text("4 messages")


def test_an_answer_is_asked_for_again_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    network = Network(page, name)
    again = page.button_of("Red it is.", "Answer again")
    again.scroll_into_view_if_needed()
    network.press(again)
    expect(page.log).to_contain_text("Green it is.")
    page.wait_for_answer()
    expect(page.alternatives("2 of 2")).to_have_count(1)
    assert len(fake_openai.requests) == 2


def test_a_question_is_edited_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    page.press_at("Red?", "Edit message")
    page.editor.get_by_role("textbox").fill("Green?")
    editor = page.editor
    Network(page, name).press(editor.get_by_role("button", name="Send"), editor.get_by_role("button", name="Try again"))
    expect(page.log).to_contain_text("Green it is.")
    page.wait_for_answer()
    expect(page.alternatives("2 of 2")).to_have_count(1)
    assert len(fake_openai.requests) == 2


def test_a_tool_that_asks_runs_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Call("calculator", {"expression": "6*7"}), Say("Here you are."))
    page.send("How much?")
    expect(page.approval).to_be_visible()
    Network(page, name).press(page.approval.get_by_role("button", name="Allow", exact=True))
    expect(page.log).to_contain_text("Here you are.")
    page.wait_for_answer()
    assert len(fake_openai.requests) == 3


def test_messages_are_summarised_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    fake_openai.script(Say("Green it is, at great length. " * 40), Say("Two colours."))
    page.say("Green?")
    page.composer.fill("/compact")
    page.composer.press("Enter")
    Network(page, name).press(page.dialog.get_by_role("button", name="Summarise", exact=True))
    expect(page.notice).to_contain_text("4 messages summarised")
    assert len(fake_openai.requests) == 3


def test_settings_are_saved_once(page: Page, name: str) -> None:
    page.press_in_menu("Conversation settings")
    page.dialog.get_by_label("Instructions").fill("Be brief.")
    Network(page, name).press(page.dialog.get_by_role("button", name="Save", exact=True))
    expect(page.tab.locator(".modal")).to_have_count(0)
    expect_changes(page, "Set the instructions")


def test_a_conversation_is_archived_and_comes_back_once(page: Page, name: str) -> None:
    network = Network(page, name)
    page.threads.filter(has_text="Red?").hover()
    page.tab.get_by_role("button", name="More for Red?", exact=True).click()
    if network.is_away:
        page.tab.context.set_offline(True)
    page.tab.get_by_role("menuitem", name="Archive", exact=True).click()
    if network.is_away:
        expect(page.toast).to_contain_text(UNSAID)
        page.tab.context.set_offline(False)
        expect(page.threads.filter(has_text="Red?")).to_have_count(1)
        page.threads.filter(has_text="Red?").hover()
        page.tab.get_by_role("button", name="More for Red?", exact=True).click()
        page.tab.get_by_role("menuitem", name="Archive", exact=True).click()
    expect(page.threads).to_have_count(0)
    page.toast.get_by_role("button", name="Undo").dblclick()
    expect(page.threads.filter(has_text="Red?")).to_have_count(1)
