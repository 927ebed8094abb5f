"""Slash commands in the field: completed, run by Enter, and never sent by mistake."""

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI
from tests.hostile_texts import RUN, TAGS

pytestmark = pytest.mark.e2e


def lines(page: Page) -> Locator:
    return page.tab.get_by_role("listbox", name="Commands").get_by_role("option")


def selected(page: Page) -> Locator:
    return page.tab.locator('.slash-list [aria-selected="true"]')


@pytest.mark.slow
def test_a_command_is_completed_and_run_instead_of_sent(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.say("Red please")
    page.composer.press_sequentially("/save Be")
    expect(lines(page)).to_have_text(["/save BeSave checkpoint"])
    page.composer.press_sequentially("gin")
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")
    page.expect_checkpoints(("Begin", 2))
    page.say("Green please")
    page.composer.press_sequentially("/re")
    page.composer.press("End")
    expect(selected(page)).to_contain_text("/redo")
    page.composer.press("ArrowDown")
    expect(selected(page)).to_contain_text("/restore")
    expect_accessible(page, "slash commands")
    page.composer.press("Tab")
    expect(page.composer).to_have_value("/restore ")
    expect(selected(page)).to_contain_text("Begin")
    page.composer.press("Enter")
    expect(page.dialog).to_contain_text("2 messages")
    page.confirm("Restore")
    page.expect_messages(2)


@pytest.mark.slow
def test_a_text_that_is_no_command_is_sent(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server)
    for text in ("/etc/hosts is a file", "// and a comment"):
        page.say(text)
    page.composer.press_sequentially("/restore nothing of this name")
    page.composer.press("Enter")
    expect(page.tab.get_by_role("alert")).to_contain_text("There is no checkpoint to go back to.")
    page.composer.fill("/new")
    expect(lines(page)).to_have_count(1)
    page.composer.press("Escape")
    expect(lines(page)).to_have_count(0)
    page.composer.press("Enter")  # Escape made it a text
    page.expect_messages(6)
    page.wait_for_answer()
    said = [message.text for message in page.messages() if message.role == "user"]
    assert said == ["/etc/hosts is a file", "// and a comment", "/new"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("/foo", "No command /foo."),
        ("/undo please", "/undo takes no text after it."),
        ("/foo-bar\nnow", "No command /foo-bar."),
        ("/save: now", "No command /save:."),
        ("/tag_x2", "No command /tag_x2."),
    ],
)
def test_a_text_that_looks_like_a_command_is_sent_after_a_question(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI, text: str, asked: str
) -> None:
    page = visit(shared_openai_server)
    question = page.tab.get_by_role("alert").filter(has_text="Send it as text?")
    page.composer.fill("/model none")
    page.composer.press("Enter")
    refusal = page.tab.get_by_text("There is no such name.")
    expect(refusal).to_be_visible()
    page.composer.fill(text)
    page.composer.press("Enter")
    expect(question).to_contain_text(asked)
    expect(refusal).to_have_count(0)
    expect_accessible(page, "a question about a command")
    page.composer.press("Escape")
    expect(question).to_have_count(0)
    page.composer.press("Enter")
    page.composer.press("!")
    expect(question).to_have_count(0)  # another text, another question
    page.composer.press("Backspace")
    page.composer.press("Enter")
    expect(page.composer).to_have_value(text)
    page.expect_messages(0)
    page.composer.press("Shift+Tab")
    page.tab.keyboard.press("Enter")
    page.expect_messages(2)
    assert page.messages()[0].text == text.replace("\n", "")
    expect(page.composer).to_have_value("")
    expect(page.composer).to_be_focused()


def test_a_mistyped_command_before_the_conversation_is_shown_is_asked_about_too(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.say("Red please")
    page.open("/")
    page.tab.get_by_role("link", name="Red please").first.click()
    page.composer.fill("/foo")
    page.composer.press("Enter")
    expect(page.tab.get_by_role("alert")).to_contain_text("No command /foo.")
    expect(page.composer).to_have_value("/foo")
    page.expect_messages(2)


def test_the_reason_why_a_command_did_not_run_is_not_covered_by_its_list(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.say("Red please")
    page.composer.fill("/compact")
    page.composer.press("Enter")
    expect(page.tab.get_by_role("alert").filter(has_text="too little here to summarise")).to_be_visible()
    expect(lines(page)).to_have_count(0)
    page.composer.press("Backspace")
    expect(lines(page)).to_have_count(1)


def test_a_tag_is_added_by_a_command(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server)
    page.say("Red please")
    page.composer.press_sequentially("/tag deep work")
    expect(lines(page)).to_have_text(["/tag deep workTag this conversation"])
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")
    expect(page.tab.locator("#toast")).to_contain_text("deep work")
    page.expect_messages(2)


@pytest.mark.slow
def test_a_finger_chooses_a_command_and_names_stay_text(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server, viewport=NARROW, has_touch=True, color_scheme="dark")
    page.say("Red please")
    for name in TAGS:
        page.composer.fill(f"/save {name}")
        lines(page).tap()
        expect(page.checkpoint(name)).to_be_attached()
        expect(page.tab.locator(".show-history")).to_have_count(0)  # the sheet closes after a save
    page.say("Green please")
    page.composer.fill("/restore alert")
    expect(lines(page).locator(".slash-name")).to_have_text([name for name in reversed(TAGS) if RUN in name])
    expect(lines(page).locator("img, svg, script, iframe")).to_have_count(0)
    expect_accessible(page, "slash commands on a phone")
    lines(page).last.tap()
    expect(page.dialog).to_contain_text(TAGS[0])


def test_a_list_that_goes_on_has_a_shade_at_its_edge(shared_openai_server: Server, visit: Visit) -> None:
    page = visit(shared_openai_server)
    page.composer.fill("/")
    commands = page.tab.get_by_role("listbox", name="Commands")
    assert commands.evaluate("e => e.scrollHeight > e.clientHeight")
    expect(commands).to_have_css("background-attachment", "local, scroll")  # its end covers the shade


@pytest.mark.slow
def test_the_palette_has_the_same_commands(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(shared_openai_server)
    page.composer.press("Control+k")
    page.tab.keyboard.type("choose the model")
    page.tab.keyboard.press("Enter")
    expect(page.tab.get_by_role("combobox", name="Choose the model")).to_be_focused()
    page.tab.keyboard.type("other")
    page.tab.keyboard.press("Enter")
    expect(page.tab.get_by_test_id("model")).to_have_text("Model: other-model")


@pytest.mark.slow
def test_two_presses_on_a_slow_network_are_one_command(
    shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI
) -> None:
    page = visit(shared_openai_server)
    page.say("Red please")
    network = page.tab.context.new_cdp_session(page.tab)
    slow = {"offline": False, "latency": 400, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    page.composer.fill("/save Once")
    page.composer.press("Enter")
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")
    page.expect_checkpoints(("Once", 2))
    page.expect_messages(2)
