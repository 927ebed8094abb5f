"""Keeping house in time: branches of a conversation, its checkpoints in order, and the log of what was done."""

import re

import pytest
from playwright.sync_api import expect

from checkpoints import Store
from tests.e2e.changing import changed_behind
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import NARROW, expect_accessible
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SUM = "What is 6 * 7?"


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    """A conversation of six messages: a greeting, and a sum with a tool."""
    page = visit(shared_server)
    page.say("Hello")
    page.say(SUM)
    page.expect_messages(6)
    return page


def _branch_off(page: Page, name: str) -> None:
    """A branch that begins before the sum."""
    page.ask_to_branch(SUM).get_by_label("Name").fill(name)
    page.confirm("Branch")
    expect(page.branches).to_have_count(2)
    page.expect_messages(2)


def test_a_question_is_asked_differently_in_a_branch(page: Page) -> None:
    dialog = page.ask_to_branch(SUM)
    expect(dialog).to_contain_text("From message 3:")
    expect(dialog.get_by_label("Without this message (2 messages), to rephrase it")).to_be_checked()
    page.confirm("Branch")
    page.expect_messages(2)
    expect(page.composer).to_have_value(SUM)
    expect(page.branch("Branch 2")).to_contain_text("you are here")
    expect(page.branch("main")).to_contain_text("6 messages")
    expect(page.select(page.branch("main"))).to_contain_text("from message 2 · 6 messages")
    page.undo()
    page.expect_messages(6)
    expect(page.branches).to_have_count(0)
    expect(page.composer).to_have_value("")


def test_a_message_that_a_branch_takes_out_stands_in_the_field_above_what_is_typed(page: Page) -> None:
    page.composer.fill("a draft of mine")
    page.ask_to_branch(SUM)
    page.confirm("Branch")
    page.expect_messages(2)
    expect(page.composer).to_have_value(f"{SUM}\n\na draft of mine")
    expect(page.toast).to_contain_text("Your draft is in the field, below the message.")
    page.reload()
    expect(page.composer).to_have_value(f"{SUM}\n\na draft of mine")


@pytest.mark.parametrize(("added", "left"), [("", "a draft of mine"), ("!", f"{SUM}\n\na draft of mine!")])
def test_an_undo_of_the_branch_takes_its_message_out_of_the_field_unless_it_was_edited(
    added: str, left: str, page: Page
) -> None:
    page.composer.fill("a draft of mine")
    page.ask_to_branch(SUM)
    page.confirm("Branch")
    expect(page.composer).to_have_value(f"{SUM}\n\na draft of mine")
    page.composer.press_sequentially(added)
    page.undo()
    page.expect_messages(6)
    expect(page.composer).to_have_value(left)
    page.reload()
    expect(page.composer).to_have_value(left)


def test_a_branch_can_hold_the_message_it_begins_at(page: Page) -> None:
    page.ask_to_branch(SUM).get_by_label("With this message (3 messages)").check()
    page.confirm("Branch")
    page.expect_messages(3)
    expect(page.composer).to_have_value("")


def test_a_branch_from_an_answer_with_a_tool_holds_what_the_tool_said(page: Page) -> None:
    dialog = page.ask_to_branch("Let me calculate")
    expect(dialog.get_by_label("With this message (5 messages)")).to_be_checked()
    dialog.get_by_label("Name").fill("Short")
    page.tab.keyboard.press("Enter")
    expect(page.branch("Short")).to_have_attribute("data-messages", "5")
    assert [message.role for message in page.messages()][-2:] == ["assistant", "tool"]


def test_a_branch_can_be_a_new_conversation(page: Page) -> None:
    page.save("The sum")
    address, everything = page.tab.url, page.messages()
    dialog = page.ask_to_branch("42")
    dialog.get_by_label("A new conversation").check()
    dialog.get_by_label("Name").fill("Elsewhere")
    page.confirm("Branch")
    expect(page.tab).not_to_have_url(address)
    expect(page.tab.get_by_role("heading", name="Elsewhere")).to_be_visible()
    assert page.messages() == everything
    page.expect_checkpoints(("The sum", 6))
    expect(page.notice).to_contain_text("Branched off from Hello")
    page.tab.go_back()
    page.tab.wait_for_url(address)
    page.expect_messages(6)


def test_branches_are_switched_renamed_and_deleted_and_each_can_be_undone(page: Page) -> None:
    _branch_off(page, "Other")
    page.switch("main")
    page.expect_messages(6)
    expect(page.select(page.branch("Other"))).to_contain_text("at message 2 · 2 messages")

    page.choose_at(page.branch("Other"), "Rename")
    page.tab.get_by_label("Name of the branch").fill("Kept aside")
    page.tab.keyboard.press("Enter")
    expect(page.tab.get_by_role("button", name="More for Kept aside")).to_be_focused()
    page.press("Kept aside", "Delete branch Kept aside")
    expect(page.dialog).to_contain_text("All of its messages are on the current branch")
    expect(page.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.confirm("Delete")
    expect(page.branches).to_have_count(0)

    undo = page.tab.get_by_role("button", name="Undo last change")
    undo.click()
    expect(page.branch("Kept aside")).to_be_visible()
    undo.click()
    expect(page.branch("Other")).to_be_visible()
    undo.click()
    page.expect_messages(2)


def test_all_other_branches_are_deleted_at_once_and_come_back_at_once(page: Page) -> None:
    _branch_off(page, "One")
    page.ask_to_branch("Hello! I am")
    page.confirm("Branch")
    expect(page.branches).to_have_count(3)
    page.choose_at(page.branch("Branch 3"), "Delete all others")
    expect(page.dialog).to_contain_text("2 other branches will be deleted; the current one stays.")
    page.confirm("Delete all others")
    expect(page.branches).to_have_count(0)
    page.undo()
    expect(page.branches).to_have_count(3)


def test_a_branch_from_a_checkpoint_stops_the_answer_that_is_being_written(start: Start, visit: Visit) -> None:
    page = visit(start(demo_seconds_per_token="0.1"))
    page.say("Hello")
    page.save("Before")
    page.send("Tell me about stocks")
    expect(page.live).to_be_visible()
    page.press("Before", "Branch from Before")
    expect(page.dialog).to_contain_text("From checkpoint “Before”, at message 2:")
    expect(page.dialog).to_contain_text("The running answer will be stopped first.")
    page.confirm("Branch")
    expect(page.stop_button).to_have_count(0)
    page.expect_messages(2)


def test_a_checkpoint_is_renamed_and_pinned(page: Page) -> None:
    page.save("One")
    page.say("Hello again")
    page.save("Two")
    page.choose_at(page.checkpoint("Two"), "Pin")
    page.tab.get_by_role("button", name="Pinned", exact=True).click()
    page.expect_checkpoints(("Two", 8))
    page.tab.get_by_role("button", name="All", exact=True).click()
    page.expect_checkpoints(("One", 6), ("Two", 8))

    page.choose_at(page.checkpoint("Two"), "Rename")
    form = page.tab.get_by_role("form", name="Rename checkpoint")
    form.get_by_label("Name").fill("Second")
    form.get_by_label("Description").fill("after\nthe sum")
    expect(form.get_by_label("Description")).to_have_value("after\nthe sum")  # a field of several lines
    page.tab.keyboard.press("Enter")
    page.expect_checkpoints(("One", 6), ("Second", 8))
    expect(page.tab.locator(".place-card")).to_contain_text("after the sum")
    expect(page.tab.get_by_role("button", name="More for Second")).to_be_focused()

    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_checkpoints(("One", 6), ("Two", 8))
    expect(page.checkpoint("Two")).to_contain_text("Pinned")
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.checkpoint("Two")).not_to_contain_text("Pinned")


def test_a_name_that_another_checkpoint_has_is_told_and_may_be_used(page: Page) -> None:
    page.save("Twice")
    page.tab.get_by_test_id("save").click()
    form = page.tab.get_by_role("form", name="Save checkpoint")
    form.get_by_label("Name").fill("Twic")
    expect(form.get_by_role("status")).to_be_empty()
    form.get_by_label("Name").press_sequentially("e")
    expect(form.get_by_role("status")).to_contain_text("Another checkpoint has this name.")
    form.get_by_role("button", name="Save").click()
    expect(page.checkpoint("Twice")).to_have_count(2)


def test_filters_are_offered_for_what_another_branch_has(page: Page) -> None:
    page.save("Kept")
    page.choose_at(page.checkpoint("Kept"), "Pin")
    expect(page.checkpoint("Kept")).to_contain_text("Pinned")
    _branch_off(page, "Other")
    page.save("Mine")
    page.say("Hello again")
    page.tab.get_by_role("group", name="Show").get_by_role("button", name="Pinned").click()
    expect(page.place("Mine")).to_have_count(0)
    expect(page.place("Kept")).to_be_visible()


def test_of_two_checkpoints_on_one_message_the_newest_says_you_are_here(page: Page) -> None:
    page.save("One")
    page.save("Two")
    expect(page.checkpoint("Two").locator(".place-here")).to_have_text("you are here")
    expect(page.checkpoint("One")).not_to_contain_text("you are here")
    card = page.select(page.checkpoint("Two"))
    expect(card.get_by_role("button", name="Branch from Two")).to_be_visible()
    expect(card.get_by_role("button", name="Restore Two")).to_have_count(0)  # nothing would be removed


def test_many_checkpoints_can_be_searched(page: Page) -> None:
    search = page.tab.get_by_role("searchbox", name="Search checkpoints")
    for number in range(1, 10):
        expect(search).to_have_count(0)
        page.save(f"Place {number}", "the seventh" if number == 7 else "")
    search.fill("SEVENTH")
    page.expect_checkpoints(("Place 7", 6))
    search.fill("nowhere")
    expect(page.tab.get_by_text("No matching checkpoints.")).to_be_visible()
    search.fill("")
    expect(page.tab.get_by_test_id("checkpoint")).to_have_count(9)


def test_the_log_reads_like_the_story(page: Page) -> None:
    page.save("The sum")
    page.say("Hello again")
    page.restore("The sum")
    page.undo()
    assert page.log_lines() == [
        "Undid restoring The sum · 2 messages removed",
        "Restored The sum · 2 messages removed",
        "Wrote 1 message",
        "Asked “Hello again”",
        "Saved checkpoint The sum",
        "Wrote 3 messages",
        f"Asked “{SUM}”",
        "Wrote 1 message",
        "Asked “Hello”",
    ]
    expect(page.tab.get_by_role("button", name="Conversation menu")).to_be_focused()
    page.press_in_menu("Change log")
    expect(page.dialog.get_by_test_id("change").nth(1)).to_contain_text("undone")
    page.dialog.get_by_role("button", name="Redo restoring The sum").click()
    expect(page.dialog.get_by_test_id("change").first).to_contain_text("Redid restoring The sum")
    page.expect_messages(6)
    page.dialog.get_by_role("button", name="Undo restoring The sum").click()
    page.expect_messages(8)


DESCRIPTION = "needle " + "d" * 9_000


def test_a_long_history_comes_in_portions(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        for number in range(250):
            store.save(thread_id, name=f"Place {number}", description=DESCRIPTION if number == 2 else "")
    checkpoints = page.tab.get_by_test_id("checkpoint")
    shown = page.tab.locator(".graph-area")
    expect(shown.locator("li").last).to_have_attribute("aria-setsize", "200")
    search = page.tab.get_by_role("searchbox", name="Search checkpoints")
    search.fill("needle")  # in an earlier one, which the page does not hold
    expect(checkpoints).to_have_count(1)
    page.choose_at(page.checkpoint("Place 2"), "Rename")
    expect(page.tab.get_by_label("Description")).to_have_value(DESCRIPTION)
    page.tab.keyboard.press("Escape")
    search.fill("")
    page.tab.get_by_role("button", name="Show earlier (50)").click()
    expect(checkpoints.first).to_have_attribute("aria-setsize", "250")
    page.tab.get_by_role("button", name="You are here").click()  # the selected place is far above
    expect(page.tab.locator(".place.here")).to_be_in_viewport()
    search.fill("Place 240")
    expect(checkpoints).to_have_count(1)
    search.fill("")  # the selected place comes back, and takes nobody away
    expect(shown.locator("li").last).to_have_attribute("aria-setsize", "250")
    expect(page.tab.locator(".place.here")).to_be_in_viewport()
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(checkpoints.first).to_have_attribute("aria-setsize", "249")
    page.tab.get_by_role("button", name="Redo").click()
    expect(checkpoints.first).to_have_attribute("aria-setsize", "250")

    page.press_in_menu("Change log")
    lines = page.dialog.get_by_test_id("change")
    expect(lines).to_have_count(200)
    page.dialog.get_by_role("button", name="Show more").click()
    expect(lines).to_have_count(254)
    expect(lines.last).to_contain_text("Asked “Hello”")


def test_of_many_branches_the_newest_and_the_current_one_are_shown(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        _add_branches(store, thread_id, count=150)
        earliest = store.list_branches(thread_id)[1][0].name
    expect(page.branches.first).to_have_attribute("aria-setsize", "101")
    expect(page.branch("main")).to_contain_text("you are here")
    page.tab.get_by_role("button", name="Show earlier (50)").click()
    expect(page.branches.first).to_have_attribute("aria-setsize", "151")
    search = page.tab.get_by_role("searchbox", name="Search checkpoints")
    search.fill(earliest)
    page.choose_at(page.branch(earliest), "Rename")
    page.tab.get_by_label("Name of the branch").fill("The earliest")
    page.tab.keyboard.press("Enter")
    search.fill("the EARLIEST")
    page.press("The earliest", "Delete branch The earliest")
    page.confirm("Delete")
    search.fill("")
    expect(page.branches.first).to_have_attribute("aria-setsize", "150")


def test_of_many_branches_the_current_one_is_in_view(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    with changed_behind(page) as (store, thread_id):
        _add_branches(store, thread_id, count=150)
        store.switch(thread_id, store.list_branches(thread_id)[120][0].id)
    current = page.branches.and_(page.tab.locator("[aria-current]"))
    expect(current).to_be_in_viewport(ratio=0.9)
    expect(page.composer).to_be_focused()
    assert page.tab.evaluate("document.scrollingElement.scrollTop") == 0


def _add_branches(store: Store, thread_id: str, *, count: int) -> None:
    """Add branches, and stay on the first one."""
    main = store.get_thread(thread_id).branch_id
    for _ in range(count):
        store.fork(thread_id, None)
    store.switch(thread_id, main)


def test_a_dialog_closes_when_the_browser_goes_back(page: Page) -> None:
    page.new_conversation()
    page.say("Something else")
    page.save("Here")
    page.press("Here", "Delete Here")
    page.dialog.wait_for()
    page.tab.go_back()
    expect(page.tab.locator(".modal")).to_have_count(0)


def test_saving_nothing_says_why(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    expect(page.save_button).to_have_attribute("title", re.compile("start a conversation first"))
    page.tab.keyboard.press("Control+s")
    expect(page.toast).to_contain_text("There is nothing to save yet: start a conversation first.")


def test_undo_says_that_the_server_does_not_answer(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.say("Hello")
    page.save("One")
    page.expect_lost_server()
    server.stop()
    page.tab.get_by_role("button", name="Undo last change").click()
    expect(page.toast).to_contain_text("The server does not answer.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_branches_dialog_and_log_are_accessible(theme: str, shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server, color_scheme=theme, viewport=NARROW, reduced_motion="reduce", has_touch=True)
    page.say("Hello")
    page.ask_to_branch("Hello! I am")
    expect_accessible(page, "the dialog of a fork")
    page.confirm("Branch")
    page.tab.get_by_role("button", name="History", exact=True).click()
    expect(page.tab.get_by_role("complementary", name="History")).to_be_in_viewport()
    page.save("One")
    page.tab.get_by_role("button", name="History", exact=True).click()  # a save closes the sheet
    page.choose_at(page.checkpoint("One"), "Pin")
    expect(page.checkpoint("One")).to_contain_text("Pinned")
    expect_accessible(page, "branches and checkpoints")
    page.tab.keyboard.press("Escape")  # closes the card
    page.tab.keyboard.press("Escape")
    menu = page.open_menu()
    expect_accessible(page, "the menu of the conversation")
    menu.get_by_role("button", name="Change log").click()
    expect(page.tab.get_by_role("button", name="Export")).to_be_hidden()
    expect(page.dialog.get_by_test_id("change").first).to_be_visible()
    expect_accessible(page, "the log")
