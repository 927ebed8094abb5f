"""Changes of places, conversations and files by keyboard alone. The focus is never lost, and comes back from dialogs."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.keyboard import Keyboard
from tests.e2e.server import Server
from tests.e2e.test_accessibility import ANY_IMPACT, expect_accessible_in_all_schemes
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_connecting import KEY
from tests.e2e.test_keyboard_alone import button
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
LONG = "It rained, and nobody went out. " * 40


def menu(page: Page) -> Locator:
    return page.tab.get_by_role("button", name="Conversation menu")


def go_to_place(page: Page, place: Locator) -> Locator:
    """Go to History by F6 and to a place by an arrow, choose it, and return its card."""
    keys, jump = Keyboard(page), place.locator(".place-jump")
    keys.key("Shift+Escape", "F6")
    keys.go(page.tab.locator(".place-jump[tabindex='0']"))
    first = page.tab.locator(".place-jump").first
    keys.walk(first, "ArrowUp")
    keys.walk(jump, "ArrowDown")
    keys.key("Enter")
    return page.tab.locator(".place-card")


def expect_focus_in_dialog(page: Page) -> None:
    """A dialog itself may have the focus, or a part of it."""
    expect(page.tab.locator(":is(.modal.show, .modal.show *):focus")).to_have_count(1)


def save(page: Page, name: str) -> None:
    keys = Keyboard(page)
    keys.key("Control+s")
    keys.type(name)
    keys.key("Enter")
    expect(page.checkpoint(name)).to_have_count(1)


def write(page: Page, text: str) -> None:
    Keyboard(page).write(text)
    page.wait_for_answer()


def test_checkpoints_and_branches_are_renamed_pinned_and_deleted_and_each_undone(server: Server, visit: Visit) -> None:
    page = visit(server)
    keys = Keyboard(page)
    write(page, "Hello")
    save(page, "One")
    write(page, "Hello again")

    card = go_to_place(page, page.checkpoint("One"))
    more = card.get_by_role("button", name="More for")
    keys.choose(more, "Rename")
    form = page.tab.get_by_role("form", name="Rename checkpoint")
    expect(form.get_by_label("Name")).to_be_focused()
    keys.key("Escape")
    expect(more).to_be_focused()
    keys.choose(more, "Rename")
    keys.replace(form.get_by_label("Name"), "First")
    keys.key("Enter")
    expect(page.checkpoint("First")).to_have_count(1)
    expect(more).to_be_focused()
    keys.choose(more, "Pin")
    expect(page.checkpoint("First")).to_contain_text("Pinned")
    expect(more).to_be_focused()

    delete = button(card, "Delete First")
    keys.press(delete)
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    keys.close_dialog(delete)
    keys.key("Enter")
    keys.press(button(page.dialog, "Delete"))
    expect(page.tab.get_by_test_id("checkpoint")).to_have_count(0)
    expect(page.dialog).to_have_count(0)
    keys.expect_focus()
    keys.key("Control+Alt+z")
    expect(page.checkpoint("First")).to_have_count(1)
    keys.expect_focus()

    go_to_place(page, page.checkpoint("First"))
    keys.press(button(card, "Branch from First"))
    expect_focus_in_dialog(page)
    keys.replace(page.dialog.get_by_label("Name"), "Other")
    keys.key("Enter")
    expect(page.branch("Other")).to_contain_text("you are here")
    page.expect_messages(2)
    keys.expect_focus()
    go_to_place(page, page.branch("main"))
    keys.choose(card.get_by_role("button", name="More for main"), "Rename")
    expect(page.tab.get_by_label("Name of the branch")).to_be_focused()
    keys.key("Control+a")
    keys.type("Aside")
    keys.key("Enter")
    expect(card.get_by_role("button", name="More for Aside")).to_be_focused()
    delete = button(card, "Delete branch Aside")
    keys.press(delete)
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    keys.close_dialog(delete)
    keys.key("Enter")
    keys.press(button(page.dialog, "Delete"))
    expect(page.branches).to_have_count(0)
    keys.expect_focus()
    keys.press(page.tab.get_by_role("button", name="Undo last change"))
    expect(page.branch("Aside")).to_have_count(1)
    keys.expect_focus()

    keys.choose_in_bar("Clear conversation")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    keys.close_dialog(menu(page))
    keys.choose_in_bar("Clear conversation")
    keys.press(button(page.dialog, "Clear"))
    page.expect_messages(0)
    keys.expect_focus()
    keys.press(button(page.notice, "Undo"))
    page.expect_messages(2)
    keys.expect_focus()


def test_conversations_are_renamed_pinned_deleted_and_brought_back(server: Server, visit: Visit) -> None:
    page = visit(server)
    keys = Keyboard(page)
    for text in ("Bread", "Cake"):
        keys.key("Control+Shift+o")
        write(page, text)
    line = page.tab.locator("a.thread-link")
    bread = line.filter(has_text="Bread")
    keys.go(bread)
    keys.key("F2")
    expect(page.tab.get_by_label("Title of the conversation")).to_be_focused()
    keys.key("Escape")
    expect(bread).to_be_focused()
    more = button(page, "More for Bread")
    keys.press(more)
    expect_accessible_in_all_schemes(page, "the menu of a conversation", ANY_IMPACT)
    keys.key("Escape")
    expect(more).to_be_focused()
    keys.choose(more, "Rename")
    keys.key("Control+a")
    keys.type("Rye bread")
    keys.key("Enter")
    expect(line.filter(has_text="Rye bread")).to_be_focused()
    keys.choose(button(page, "More for Rye bread"), "Pin")
    expect(page.tab.get_by_role("region", name="Pinned").get_by_test_id("thread")).to_contain_text(["Rye bread"])
    keys.expect_focus()
    delete = button(page, "Delete Cake")
    keys.press(delete)
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    keys.close_dialog(delete)
    keys.key("Enter")
    keys.press(button(page.dialog, "Delete"))
    expect(page.threads).to_have_count(1)
    keys.expect_focus()
    look_at(page, "a conversation that was deleted, with Undo")
    deleted = button(page, "Deleted")
    keys.press(deleted)
    look_at(page, "deleted conversations")
    keys.close_dialog(deleted)
    keys.press(deleted)
    keys.press(button(page, "Bring back Cake"))
    expect(page.log).to_contain_text("Cake")
    keys.expect_focus()
    expect(page.threads).to_have_count(2)
    whole = button(page, "Export all")
    with page.tab.expect_download():
        keys.press(whole)
    expect(whole).not_to_have_attribute("aria-disabled", "true")
    expect(whole).to_be_focused()
    keys.press(page.tab.get_by_role("link", name="Rye bread"))
    expect(page.log).to_contain_text("Bread")
    keys.expect_focus()


def test_a_conversation_is_exported_and_imported_beside_itself(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    keys = Keyboard(page)
    write(page, "Hello")
    keys.choose_in_bar("Export")
    expect_focus_in_dialog(page)
    keys.close_dialog(menu(page))
    keys.choose_in_bar("Export")
    with page.tab.expect_download() as started:
        keys.press(button(page.dialog, "Export"))
    started.value.save_as(tmp_path / "talk.json")
    expect(page.dialog).to_have_count(0)
    expect(menu(page)).to_be_focused()
    write(page, "Hello again")
    with page.tab.expect_file_chooser() as chooser:
        keys.choose_in_bar("Import")
    chooser.value.set_files(tmp_path / "talk.json")
    expect_focus_in_dialog(page)
    keys.key("Escape")
    expect(page.dialog).to_have_count(0)
    keys.expect_focus()
    with page.tab.expect_file_chooser() as chooser:
        keys.choose_in_bar("Import")
    chooser.value.set_files(tmp_path / "talk.json")
    keys.press(button(page.dialog, "As a new conversation"))
    page.expect_messages(2)
    expect(page.threads).to_have_count(2)
    keys.expect_focus()
    keys.choose_in_bar("Change log")
    expect(page.dialog.get_by_test_id("change").first).to_be_visible()
    keys.close_dialog(menu(page))
    keys.choose_in_bar("Usage")
    expect(page.dialog.locator("tbody tr").first).to_be_visible()
    keys.close_dialog(menu(page))


@pytest.fixture
def agent_page(start: Start, openai_settings: dict[str, str], visit: Visit) -> Page:
    """A page whose agent asks before it uses the calculator."""
    return visit(start(tools_approval="calculator", **openai_settings))


def test_tools_and_moves_of_the_agent_are_decided_and_its_work_is_read(agent_page: Page, fake_openai: FakeOpenAI) -> None:
    page, card = agent_page, agent_page.approval
    keys, field = Keyboard(page), card.get_by_role("textbox")
    fake_openai.script(Call("calculator", {"expression": "6*7"}, text="Let me see."), Say("Here you are."))
    keys.write("How much?")
    change = button(card, "Change arguments")
    keys.press(change)
    expect(field).to_be_focused()
    look_at(page, "other arguments of a tool")
    keys.press(button(card, "Cancel"))
    expect(change).to_be_focused()
    keys.press(change)
    keys.key("Control+a")
    keys.type('{"expression": "6*6"}')
    keys.press(button(card, "Run with these"))
    page.wait_for_answer()
    expect(page.composer).to_be_focused()
    fold = page.tab.locator("details.tool summary")
    keys.press(fold)
    expect(page.tab.locator("details.tool")).to_contain_text("36")
    expect(fold).to_be_focused()

    ask = Call("ask_agent", {"agent": "critic", "question": "Is it sound?"})
    fake_openai.script(ask, Say("It has a gap."), Say("So it has."))
    keys.write("Check it")
    page.wait_for_answer()
    work = page.tab.get_by_test_id("work")
    keys.press(work.locator("summary"))
    opener = button(work, "Open as a transcript")
    keys.press(opener)
    expect(page.dialog.get_by_test_id("agent-message")).to_have_count(2)
    keys.close_dialog(opener)

    fake_openai.script(Call("goto", {"position": "msg_0", "message": "Tea instead."}, text="Back."), Say("Tea it is."))
    keys.write("And now?")
    note = button(card, "Change the note")
    keys.press(note)
    expect(field).to_be_focused()
    look_at(page, "the note of a move")
    keys.press(button(card, "Cancel"))
    expect(note).to_be_focused()
    keys.press(button(card, "Allow"))
    expect(page.log).to_contain_text("Tea it is.")
    page.wait_for_answer()
    keys.expect_focus()
    look_at(page, "a move of the agent")
    shown = button(page, "Show the full text")
    keys.press(shown)
    expect(page.dialog).to_contain_text("So it has.")
    keys.close_dialog(shown)
    keys.press(button(page.notice, "Undo"))
    expect(page.message("So it has.")).to_have_count(1)
    keys.expect_focus()


def test_messages_are_summarised_and_files_attached_and_left_out(agent_page: Page, fake_openai: FakeOpenAI) -> None:
    page = agent_page
    keys = Keyboard(page)
    fake_openai.script(Say(LONG), Say("It rained."), Say("A plan."))
    write(page, "How was it?")
    keys.write("/compact")
    keys.press(button(page.dialog, "Summarise"))
    expect(page.notice).to_contain_text("2 messages summarised")
    expect(page.composer).to_be_focused()
    fold = page.tab.locator("details.summary summary")
    keys.press(fold)
    shown = button(page, "Show the full text")
    keys.press(shown)
    expect(page.dialog).to_contain_text("How was it?")
    keys.close_dialog(shown)

    with page.tab.expect_file_chooser() as chooser:
        keys.press(button(page, "Attach files"))
    notes = [{"name": name, "mimeType": "text/plain", "buffer": b"the plan"} for name in ("a.txt", "b.txt")]
    chooser.value.set_files(notes)  # type: ignore[arg-type]
    keys.press(button(page, "Remove a.txt"))
    expect(button(page, "Remove a.txt")).to_have_count(0)
    keys.expect_focus()
    look_at(page, "a file in the field")
    keys.write("And this?")
    page.wait_for_answer()
    expect(page.composer).to_be_focused()


def test_a_newcomer_reads_the_tips_and_connects_a_model(start: Start, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(start(model=""), is_newcomer=True)
    keys, tips = Keyboard(page), page.tab.get_by_test_id("tip")
    for left in (0, 1, 0):  # the second comes with the second answer, and the third when that was read
        keys.press(button(page, "Got it"))
        expect(tips).to_have_count(left)
        keys.expect_focus()
        if page.log.get_by_text("Thank you").count() == 0:
            write(page, "Hello")
            write(page, "Thank you")
            expect(tips).to_have_count(1)
    connect = page.tab.get_by_test_id("connect")
    keys.press(connect)
    provider = page.dialog.get_by_label("Provider")
    expect(provider.locator("option")).not_to_have_count(0)
    expect_focus_in_dialog(page)
    keys.close_dialog(connect)
    keys.key("Enter")
    expect(provider.locator("option")).not_to_have_count(0)
    keys.go(provider)
    keys.type("OpenAI-c")
    expect(provider).to_have_value("compatible")
    keys.go(page.dialog.get_by_label("Address"))
    keys.key("Control+a")
    keys.type(fake_openai.base_url)
    keys.go(page.dialog.get_by_label("API key"))
    keys.type(KEY)
    keys.go(page.dialog.get_by_label("Model"))
    keys.type("some-model")
    fake_openai.script(Say("ready"), Say("A mark on the way."))
    keys.key("Enter")
    expect(page.dialog).to_have_count(0)
    keys.expect_focus()
    expect(page.tab.get_by_test_id("model")).to_have_text(re.compile("some-model"))
    expect(page.composer).to_be_focused()
    keys.key("Control+Shift+o")
    write(page, "What is a waymark?")
    assert page.answer() == "A mark on the way."
