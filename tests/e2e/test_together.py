"""Two people in one conversation, each in a browser of their own: what one does, the other sees, until they are let out."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, WebSocketRoute, expect

from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.test_first_reading import holding, read_path
from tests.e2e.test_people import open_pages
from tests.e2e.test_search import palette
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SUM = Call("calculator", {"expression": "6*7"}, text="Let me see.")
READ_ONLY = "You can read this conversation, not write in it."
LONG = " ".join(f"egret{number}" for number in range(60))


@pytest.fixture
def pages(tmp_path: Path, browser: Browser, openai_settings: dict[str, str]) -> Iterator[list[Page]]:
    """The pages of Ann, with a conversation, and of Bob."""
    settings = {**openai_settings, "tools_approval": "calculator"}
    with open_pages(tmp_path, browser, ("ann", "bob"), **settings) as pages:
        yield pages


def let_in(ann: Page, name: str, role: str) -> None:
    ann.press_in_menu("Share…")
    ann.dialog.get_by_label("Name", exact=True).fill(name)
    ann.dialog.get_by_label("What they may do", exact=True).select_option(label=role)
    ann.dialog.get_by_role("button", name="Let in").click()
    expect(ann.dialog.get_by_test_id("member")).to_have_count(1)
    expect_accessible(ann, "the people of a conversation")
    ann.confirm("Close")


def start_together(ann: Page, bob: Page, fake_openai: FakeOpenAI, role: str = "may change it") -> None:
    """Let Ann ask, and Bob open the conversation from his list."""
    fake_openai.script(Say("At the lake."))
    ann.say("Where do the herons nest?")
    let_in(ann, "bob", role)
    row = bob.tab.get_by_test_id("thread")
    expect(row).to_contain_text("ann")
    row.click()
    expect(bob.log).to_contain_text("At the lake.")


def begin_branch(page: Page, fake_openai: FakeOpenAI) -> None:
    """Ask for storks, and begin another branch before that."""
    fake_openai.script(Say("On the roof."))
    page.say("Where do the storks nest?")
    page.ask_to_branch("At the lake.")
    page.confirm("Branch")
    page.expect_messages(2)


def test_each_sees_the_answers_stream_and_decides_for_the_other(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    expect(bob.message("Where do the herons nest?").locator(".note-label")).to_have_text("ann")
    expect(bob.message("Where do the herons nest?")).to_have_attribute("aria-label", "ann said")
    expect(ann.message("Where do the herons nest?")).to_have_attribute("aria-label", "You said")
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(LONG))
    bob.send("And the egrets?")
    expect(ann.live).to_contain_text("egret1")  # while it is being written
    expect(ann.stop_button).to_be_visible()
    expect(ann.message("And the egrets?").locator(".note-label")).to_have_text("bob")
    expect(ann.message("And the egrets?")).to_have_attribute("aria-label", "bob said")
    fake_openai.release()
    ann.wait_for_answer()
    expect(ann.log).to_contain_text("egret59")
    fake_openai.script(SUM, Say("Here you are."))
    bob.send("What is six times seven?")
    expect(ann.approval).to_be_visible()
    ann.approval.get_by_role("button", name="Allow", exact=True).click()
    expect(bob.log).to_contain_text("Here you are.")
    bob.wait_for_answer()
    undo = ann.tab.locator("#undo")
    expect(undo).to_have_attribute("title", re.compile("^Undo .*, by bob$|^Undo the last"))
    ann.press_in_menu("Change log")
    expect(ann.dialog.get_by_test_id("change").filter(has_text="bob").first).to_be_visible()


def test_the_list_of_whoever_is_let_in_or_out_changes_by_itself(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    fake_openai.script(Say("In the reeds."), Say("At the lake."))
    bob.say("Where do the bitterns nest?")
    ann.say("Where do the herons nest?")
    let_in(ann, "bob", "may read it")
    rows = bob.tab.get_by_test_id("thread")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="ann")).to_contain_text("Where do the herons nest?")
    ann.press_in_menu("Share…")
    ann.dialog.get_by_role("button", name="Remove bob").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Where do the bitterns nest?")


@pytest.mark.parametrize("is_started", [False, True], ids=["start page", "conversation"])
def test_a_page_whose_socket_was_lost_hears_of_an_invitation(
    pages: list[Page], fake_openai: FakeOpenAI, is_started: bool
) -> None:
    ann, bob = pages
    if is_started:
        fake_openai.script(Say("In the reeds."))
        bob.say("Where do the bitterns nest?")
    bob.expect_lost_server()
    sockets: list[WebSocketRoute] = []
    is_lost = False

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if is_lost:
            socket.close(code=1001)
        else:
            socket.connect_to_server()

    bob.tab.route_web_socket(re.compile("/events$"), connect)
    bob.reload()
    while not sockets:
        bob.tab.wait_for_timeout(10)
    is_lost = True
    sockets[0].close(code=1001)
    fake_openai.script(Say("At the lake."))
    ann.say("Where do the herons nest?")
    let_in(ann, "bob", "may read it")
    invited = bob.tab.get_by_test_id("thread").filter(has_text="Where do the herons nest?")
    expect(invited).to_have_count(0)
    is_lost = False
    expect(invited).to_have_count(1)


def test_history_names_who_saved_a_checkpoint_and_lets_the_owner_alone_share_it(
    pages: list[Page], fake_openai: FakeOpenAI
) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    bob.save("Bobs")
    expect(ann.checkpoint("Bobs")).to_have_count(1)
    ann.save("Anns")
    for page, own, other, name in ((ann, "Anns", "Bobs", "bob"), (bob, "Bobs", "Anns", "ann")):
        expect(page.select(page.checkpoint(own))).to_contain_text("by you")
        expect(page.select(page.checkpoint(other))).to_contain_text(f"by {name}")
        page.tab.get_by_role("button", name="Close this place").click()
        page.open_card_menu(page.checkpoint(own))
        expect(page.tab.get_by_role("menuitem", name="Share")).to_have_count(1 if page is ann else 0)
        page.tab.keyboard.press("Escape")


def test_a_conflict_names_the_other(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    fake_openai.script(Say("In the reeds."))
    ann.say("And the bitterns?")
    bob.wait_for_answer()
    ann.tab.route_web_socket(re.compile("/events$"), lambda socket: socket.close(code=1013))
    ann.reload()
    bob.edit("And the bitterns?", "And the storks?", button="Only change the text")
    bob.alternatives("2 of 2").wait_for()
    ann.edit("Where do the herons nest?", "Where do the cranes nest?")
    expect(ann.editor.get_by_role("alert")).to_contain_text("bob changed this conversation in the meantime")
    expect(ann.editor.get_by_role("textbox")).to_have_value("Where do the cranes nest?")


def test_what_is_found_and_offered_for_a_note_says_who_asked(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    begin_branch(ann, fake_openai)
    expect(bob.log).not_to_contain_text("On the roof.")
    palette(bob).fill("storks")
    hit = bob.tab.get_by_role("group", name="Messages found").get_by_role("option")
    expect(hit.locator(".hit-title")).to_have_text("ann")
    expect(hit.locator(".hit-facts")).to_have_text(re.compile("^this conversation · on branch"))
    bob.tab.keyboard.press("Escape")
    bob.choose_at(bob.branch("main"), "Quote in this branch")
    expect(bob.dialog.get_by_label("ann: Where do the storks nest?")).to_be_visible()
    expect(bob.dialog.get_by_label("Agent: On the roof.")).to_be_visible()


def test_a_reader_follows_and_changes_nothing_until_they_are_let_out(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai, "may read it")
    fake_openai.script(Say("In the reeds."))
    ann.say("And the bitterns?")
    expect(bob.log).to_contain_text("In the reeds.")
    expect_read_only(bob)
    address = urlsplit(bob.tab.url).path
    bob.press_in_menu("Share…")
    expect(bob.dialog).to_contain_text("ann has let you into this conversation.")
    expect(bob.dialog.get_by_role("button", name="Make a link")).to_have_count(0)
    expect_accessible(bob, "the people, for a member")
    bob.confirm("Close")
    ann.press_in_menu("Share…")
    ann.dialog.get_by_role("button", name="Remove bob").click()
    expect(ann.dialog.get_by_test_id("member")).to_have_count(0)
    expect(bob.tab.locator("body")).not_to_contain_text("bitterns")  # its socket was closed
    expect(bob.tab.get_by_test_id("thread")).to_have_count(0)
    bob.open(address)
    bob.expect_messages(0)


def expect_read_only(page: Page) -> None:
    """The page says that one can only read, and offers nothing that would be refused."""
    expect(page.composer).to_have_attribute("placeholder", READ_ONLY)
    expect(page.composer).not_to_be_editable()
    expect(page.tab.get_by_test_id("send")).to_have_attribute("aria-disabled", "true")
    expect(page.tab.get_by_test_id("save")).to_have_attribute("title", READ_ONLY)
    expect(page.tab.locator("#undo")).to_be_disabled()
    for name in ("Edit message", "Answer again", "Branch from here", "Attach files"):
        expect(page.tab.get_by_role("button", name=name)).to_have_count(0)
    page.message("In the reeds.").get_by_role("button", name="More", exact=True).click()
    expect(page.tab.get_by_role("menuitem")).to_have_text(["Copy link", "Save as a prompt"])
    page.tab.keyboard.press("Escape")
    expect_accessible(page, "a conversation that one only reads")


@pytest.fixture
def reading(pages: list[Page], fake_openai: FakeOpenAI) -> list[Page]:
    """The pages of Ann, whose conversation has two branches and a checkpoint, and of Bob, who reads it."""
    ann, bob = pages
    start_together(ann, bob, fake_openai, "may read it")
    begin_branch(ann, fake_openai)
    ann.save("Nest")
    fake_openai.script(Say("In the reeds."))
    ann.say("And the bitterns?")
    expect(bob.log).to_contain_text("In the reeds.")
    expect(bob.checkpoint("Nest")).to_have_count(1)
    return pages


def test_history_offers_a_reader_what_changes_nothing(reading: list[Page]) -> None:
    bob = reading[1]
    items = bob.tab.get_by_role("menuitem")
    bob.open_card_menu(bob.checkpoint("Nest"))
    expect(items).to_have_text(["Copy link"])
    bob.tab.keyboard.press("Escape")
    card = bob.tab.locator(".place-card")
    expect(card.locator(".card-buttons .btn")).to_have_text(["Compare", "Show"])
    expect(card.get_by_test_id("delete")).to_have_count(0)
    bob.checkpoint("Nest").get_by_role("button").press("r")
    expect(bob.toast).to_contain_text(READ_ONLY)
    bob.checkpoint("Nest").get_by_role("button").press("b")
    bob.open_card_menu(bob.branches.first)
    expect(items).to_have_text(["Copy link"])
    bob.tab.keyboard.press("Escape")
    expect(card.locator(".card-buttons .btn")).to_have_text(["Compare", "Show"])
    expect(bob.tab.locator(".modal")).to_have_count(0)
    card.get_by_test_id("compare").click()
    expect(bob.dialog).to_contain_text("At the lake.")
    for name in ("Restore", "Switch to it", "Quote in this branch…"):
        expect(bob.dialog.get_by_role("button", name=name)).to_have_count(0)
    expect_accessible(bob, "a comparison that one only reads")
    bob.confirm("Close")
    palette(bob).fill("Go back")
    expect(bob.tab.get_by_role("option")).to_have_count(0)


def test_the_menus_of_a_conversation_offer_a_reader_what_changes_nothing(reading: list[Page]) -> None:
    ann, bob = reading
    row = bob.tab.locator(".thread-row")
    row.hover()
    row.get_by_role("button", name="More for").click()
    expect(bob.tab.get_by_role("menuitem")).to_have_text(["Copy link"])
    bob.tab.keyboard.press("Escape")
    bob.tab.get_by_test_id("thread").press("F2")
    expect(row.get_by_role("textbox")).to_have_count(0)
    menu = bob.open_menu()
    for name in ("Summarise…", "Run again…", "Clear conversation"):
        expect(menu.get_by_role("button", name=name)).to_be_disabled()
    menu.get_by_role("button", name="Change log").click()
    expect(bob.dialog.get_by_test_id("change").first).to_be_visible()
    expect(bob.dialog.get_by_role("button", name=re.compile("Undo|Redo|Nothing"))).to_have_count(0)
    bob.confirm("Close")
    bob.press_in_menu("Conversation settings")
    expect(bob.dialog.get_by_label("Model")).to_be_disabled()
    expect(bob.dialog).to_contain_text(READ_ONLY)
    expect(bob.dialog.get_by_role("button", name="Save")).to_have_count(0)
    expect_accessible(bob, "settings that one only reads")
    bob.confirm("Cancel")
    ann.press_in_menu("Share…")
    ann.dialog.get_by_label("What bob may do").select_option(label="may change it")
    row.hover()
    row.get_by_role("button", name="More for").click()
    expect(bob.tab.get_by_role("menuitem")).to_have_text(["Rename", "Copy link"])


def test_whoever_becomes_a_reader_or_is_let_out_while_they_type_keeps_their_text(
    pages: list[Page], fake_openai: FakeOpenAI
) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    bob.composer.fill("A long text")
    ann.press_in_menu("Share…")
    role = ann.dialog.get_by_label("What bob may do")
    role.select_option(label="may read it")
    expect(bob.composer).not_to_be_editable()
    expect(bob.tab.get_by_text(READ_ONLY).first).to_be_visible()
    expect(bob.composer).to_have_value("A long text")
    role.select_option(label="may change it")
    expect(bob.composer).to_be_editable()
    ann.dialog.get_by_role("button", name="Remove bob").click()
    expect(bob.tab.get_by_role("heading", name="This conversation is not here.")).to_be_visible()
    expect(bob.composer).to_have_value("A long text")
    bob.open("/")
    expect(bob.composer).to_have_value("A long text")


def test_messages_of_a_page_that_still_reads_come_back_where_one_may_only_read(
    pages: list[Page], fake_openai: FakeOpenAI
) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    ann.press_in_menu("Share…")
    with holding(bob, read_path(bob)):
        ann.dialog.get_by_label("What bob may do").select_option(label="may read it")
        for text in ("May I?", "Please."):
            bob.tab.keyboard.type(text)
            bob.tab.keyboard.press("Enter")
    expect(bob.tab.get_by_text(READ_ONLY).first).to_be_visible()
    expect(bob.queued).to_have_count(0)
    expect(bob.composer).to_have_value("May I?\n\nPlease.")


def test_a_member_leaves(pages: list[Page], fake_openai: FakeOpenAI) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    bob.press_in_menu("Share…")
    bob.dialog.get_by_role("button", name="Leave").click()
    expect(bob.tab.locator(".modal")).to_have_count(0)
    expect(bob.tab.locator("#chat")).not_to_contain_text("herons")
    expect(bob.tab.get_by_test_id("thread")).to_have_count(0)
    expect(ann.log).to_contain_text("At the lake.")


@pytest.mark.parametrize("is_removed", [False, True], ids=["reader", "let out"])
def test_a_message_that_waits_comes_back_to_who_may_not_write_any_more(
    pages: list[Page], fake_openai: FakeOpenAI, is_removed: bool
) -> None:
    ann, bob = pages
    start_together(ann, bob, fake_openai)
    fake_openai.hold(after_tokens=6)
    fake_openai.script(Say(LONG))
    ann.send("And the egrets?")
    expect(bob.live).to_contain_text("egret1")
    bob.composer.fill("A long text")
    bob.composer.press("Enter")
    expect(bob.queued).to_have_count(1)
    ann.press_in_menu("Share…")
    if is_removed:
        ann.dialog.get_by_role("button", name="Remove bob").click()
        expect(bob.tab.get_by_role("heading", name="This conversation is not here.")).to_be_visible()
    else:
        ann.dialog.get_by_label("What bob may do").select_option(label="may read it")
        expect(bob.composer).not_to_be_editable()
    fake_openai.release()
    ann.wait_for_answer()
    expect(bob.queued).to_have_count(0)
    expect(bob.composer).to_have_value("A long text")
    ann.expect_messages(4)
