"""What a person does on a slow network, and on one that is away for a while: nothing is done twice, lost or unsaid."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import networks
from tests.e2e.dialogs import run_command
from tests.e2e.networks import UNSAID, Network
from tests.e2e.test_conversations import choose, row
from tests.e2e.test_prompts import open_library, prompts
from tests.e2e.test_rerun import banner
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

name, page = networks.name, networks.page


def try_again(page: Page) -> Locator:
    return page.toast.get_by_role("button", name="Try again")


def expect_changes(page: Page, *expected: str) -> None:
    """The changes that were made, the last one first."""
    lines = page.log_lines()
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=False)] == list(expected), lines


def test_a_checkpoint_is_saved_and_restored_and_the_restore_undone_once(page: Page, name: str) -> None:
    network = Network(page, name)
    page.save_button.click()
    form = page.tab.get_by_role("form", name="Save checkpoint")
    form.get_by_label("Name").fill("Once")
    network.press(form.get_by_role("button", name="Save"), page.tab.get_by_role("button", name="Try again"))
    page.expect_checkpoints(("Once", 2))
    page.say("Green?")
    dialog = page.ask_to_restore("Once")
    network.press(dialog.get_by_role("button", name="Restore", exact=True))
    page.expect_messages(2)
    expect(page.notice).to_contain_text("Restored to Once")
    network.press(page.notice.get_by_role("button", name="Undo"))
    page.expect_messages(4)
    expect(page.notice).to_have_count(0)
    page.expect_checkpoints(("Once", 2))
    expect_changes(page, "Undid", "Restored")


def saving(page: Page, name: str) -> Locator:
    """The row of a checkpoint that is not saved yet."""
    return page.tab.locator(".saving").filter(has_text=name)


def save_by_keys(page: Page, name: str) -> None:
    page.tab.keyboard.press("Control+s")
    page.tab.get_by_role("form", name="Save checkpoint").get_by_label("Name").fill(name)
    page.tab.keyboard.press("Enter")


def test_a_checkpoint_that_was_not_saved_stays_until_it_is(page: Page) -> None:
    network = Network(page, networks.AWAY)
    network.leave()
    save_by_keys(page, "First")
    expect(saving(page, "First")).to_contain_text("Not saved yet")
    expect(page.toast).to_be_empty()  # one notice for one event
    network.come_back()
    page.say("Green?")
    network.leave()
    save_by_keys(page, "Second")
    expect(saving(page, "Second")).to_contain_text("Not saved yet")
    network.come_back()
    save_by_keys(page, "Third")
    page.expect_checkpoints(("Third", 4))
    saving(page, "First").get_by_role("button", name="Try again").click()
    saving(page, "Second").get_by_role("button", name="Dismiss").click()
    page.expect_checkpoints(("First", 2), ("Third", 4))  # where it was asked for
    expect(page.tab.locator(".saving")).to_have_count(0)


def test_a_key_that_is_pressed_again_saves_one_checkpoint(page: Page) -> None:
    save_by_keys(page, "Once")
    expect(page.save_button).to_be_focused()
    for _ in range(3):
        page.tab.keyboard.press("Enter")
    page.tab.keyboard.down("Enter")
    page.tab.wait_for_timeout(700)
    page.tab.keyboard.down("Enter")  # it is still pressed
    page.tab.keyboard.up("Enter")
    page.expect_checkpoints(("Once", 2))
    expect(page.tab.get_by_role("form", name="Save checkpoint")).to_have_count(0)
    page.tab.wait_for_timeout(700)
    page.tab.keyboard.press("Enter")
    expect(page.tab.get_by_role("form", name="Save checkpoint")).to_be_visible()


def test_a_notice_of_a_lost_request_goes_when_it_is_answered(page: Page) -> None:
    page.save("Here")
    page.say("Green?")
    network = Network(page, networks.AWAY)
    card = page.select(page.checkpoint("Here"))
    network.leave()
    card.get_by_role("button", name="Restore").click()
    expect(page.toast).to_contain_text(UNSAID)
    network.come_back()
    card.get_by_role("button", name="Restore").click()
    confirm = page.dialog.get_by_role("button", name="Restore", exact=True)
    confirm.wait_for()
    expect(page.toast).to_be_empty()
    network.leave()
    confirm.click()
    expect(page.dialog.get_by_role("alert")).to_contain_text(UNSAID)
    network.come_back()
    page.tab.keyboard.press("Escape")
    card.get_by_role("button", name="Restore").click()
    confirm.wait_for()
    expect(page.dialog.get_by_role("alert")).to_have_count(0)  # it was about the dialog before
    confirm.click()
    page.expect_messages(2)


def test_questions_are_run_again_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    page.say("Green?")
    fake_openai.script(Say("Rot."), Say("Gruen."))
    page.press_in_menu("Run again…")
    expect(page.dialog).to_contain_text("2 questions are asked once more")
    Network(page, name).press(page.dialog.get_by_role("button", name="Start", exact=True))
    expect(banner(page)).to_contain_text("All 2 questions were asked again")
    expect(page.dialog).to_have_count(0)
    expect(page.branches).to_have_count(2)
    assert [each.text for each in page.messages()] == ["Red?", "Rot.", "Green?", "Gruen."]
    assert len(fake_openai.requests) == 4


def test_a_tag_is_added_and_removed_and_brought_back_once(page: Page, name: str) -> None:
    choose(page, "Red?", "Tags")
    page.dialog.get_by_role("combobox", name="Find or add a tag").fill("Colours")
    network, tagged = Network(page, name), row(page, "Red?").locator(".thread-tag")
    network.press(page.dialog.get_by_role("button", name="Add", exact=True))
    expect(tagged).to_have_text("Colours")
    page.confirm("Close")
    expect_changes(page, "Added the tag")
    run_command(page, "/tags")
    network.press(page.dialog.get_by_role("button", name="Remove Colours"))
    expect(tagged).to_have_count(0)
    network.press(page.dialog.get_by_role("button", name="Undo", exact=True))
    expect(tagged).to_have_text("Colours")
    expect(page.dialog.get_by_role("alert")).to_have_count(0)


def test_a_conversation_is_renamed_in_the_list_once(page: Page, name: str) -> None:
    network = Network(page, name)
    page.threads.filter(has_text="Red?").dblclick()
    field = page.tab.get_by_label("Title of the conversation")
    field.fill("Colours")
    if network.is_away:
        page.tab.context.set_offline(True)
        field.press("Enter")
        expect(page.toast).to_contain_text(UNSAID)
        page.tab.context.set_offline(False)
        try_again(page).click()
    else:
        field.press("Enter")
    expect(page.threads).to_contain_text(["Colours"])
    expect(page.tab.locator("#thread-title")).to_have_text("Colours")
    expect_changes(page, "Renamed")


def test_a_prompt_is_saved_and_deleted_once(page: Page, name: str) -> None:
    open_library(page)
    page.dialog.get_by_role("button", name="New prompt").click()
    network = Network(page, name)
    form = page.dialog
    form.get_by_label("Name").fill("Greeting")
    form.get_by_label("Text").fill("Good day")
    network.press(page.dialog.get_by_role("button", name="Save", exact=True))
    expect(prompts(page)).to_have_count(1)
    network.press(prompts(page).get_by_role("button", name="Delete"))
    expect(prompts(page)).to_have_count(0)
    page.dialog.get_by_role("button", name="Undo").click()
    expect(prompts(page)).to_have_count(1)


def test_a_conclusion_is_drafted_once_and_added_once(page: Page, name: str, fake_openai: FakeOpenAI) -> None:
    page.save("Begin")
    fake_openai.script(Say("Green it is."), Say("A draft."))
    page.say("Green?")
    page.restore("Begin", keep=True)
    page.choose_at(page.branch("Before restoring Begin"), "Quote in this branch")
    network, field = Network(page, name), page.dialog.get_by_label("Conclusion")
    network.press(page.dialog.get_by_role("button", name="Draft with the model"))
    expect(field).to_have_value("A draft.")
    assert len(fake_openai.requests) == 3
    field.fill("Green is better.")
    network.press(page.dialog.get_by_role("button", name="Add note"))
    expect(page.dialog).to_have_count(0)
    page.expect_messages(3)
    expect(page.tab.locator('[data-testid="message"][data-role="note"]')).to_contain_text("Green is better.")
    expect_changes(page, "Brought a note from branch", "Restored")


def test_an_export_is_downloaded_once(page: Page, name: str, tmp_path: Path) -> None:
    network = Network(page, name)
    page.ask_to_export().get_by_label("Format").select_option(label="HTML, to read anywhere")
    if network.is_away:
        page.tab.context.set_offline(True)
        page.confirm("Export")
        expect(page.toast).to_contain_text("The server did not answer. Nothing was exported.")
        page.tab.context.set_offline(False)
        page.ask_to_export()  # as it was
    downloads: list[str] = []
    page.tab.on("download", lambda download: downloads.append(download.suggested_filename))
    with page.tab.expect_download() as started:
        page.dialog.get_by_role("button", name="Export", exact=True).dblclick()
    started.value.save_as(tmp_path / "export.html")
    assert "Red it is." in (tmp_path / "export.html").read_text()
    expect(page.tab.locator(".modal")).to_have_count(0)
    assert len(downloads) == 1


def test_what_is_searched_for_is_found_and_marked(page: Page, name: str) -> None:
    network = Network(page, name)
    if network.is_away:
        page.tab.context.set_offline(True)
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("red")
    found = page.tab.get_by_role("region", name="In messages")
    if network.is_away:
        expect(found).to_contain_text("The search did not answer. Please try again.")
        page.tab.context.set_offline(False)
        page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("red it")
    expect(found).to_contain_text("Red it is.")
    found.get_by_role("button").filter(has_text="Red it is.").click()
    expect(page.tab.locator("article[data-place]")).to_contain_text("Red it is.")
