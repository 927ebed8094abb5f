"""Conversations as things: titles, pins, the archive, several at once, thousands of them, and addresses of places."""

import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect

from checkpoints import Database, Store
from checkpoints.rows import thread_rows
from tests.checkpoints.conversations import new, talked
from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.e2e.waymark import Page

pytestmark = pytest.mark.e2e
TALKS = 10_000


@pytest.fixture(scope="module")
def full_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with ten thousand conversations, a minute apart; every hundredth is about bread."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "data").mkdir(mode=0o700)
    database = Database.open_file(folder / "data" / "waymark.db")
    store, now = Store(database), datetime.now(UTC)
    with database.begin_write() as connection:
        for number in range(TALKS):
            title = f"Talk {number}{' about bread' if number % 100 == 0 else ''}"
            thread_rows.insert_thread(connection, store.prepare_thread(title), now - timedelta(minutes=TALKS - number))
    database.close()
    server = Server(folder)
    server.start()
    yield server
    server.stop()


def scroll_to_end(page: Page) -> None:
    page.tab.locator(".threads-scroll").evaluate("element => { element.scrollTop = element.scrollHeight }")


def row(page: Page, title: str) -> Locator:
    return page.tab.locator(".thread-row").filter(has=page.tab.get_by_text(title, exact=True))


def choose(page: Page, title: str, action: str) -> None:
    """Choose from the menu of a conversation."""
    row(page, title).hover()
    page.tab.get_by_role("button", name=f"More for {title}", exact=True).click()
    page.tab.get_by_role("menuitem", name=action, exact=True).click()


@pytest.mark.slow
def test_a_new_conversation_opens_while_the_one_before_is_still_read(start: Start, visit: Visit) -> None:
    page = visit(start(demo_seconds_per_token="0.2"))

    def hold_reading(route: Route) -> None:
        if not str(json.loads(route.request.post_data or "{}")["pathname"]).startswith("/t/"):
            route.continue_()

    page.tab.route("**/api/panels", hold_reading)
    page.send("a long answer, please")
    expect(page.live).to_be_visible()
    page.new_conversation()
    expect(page.live).to_have_count(0)
    page.tab.unroute("**/api/panels")  # what is held goes on
    page.say("And the weather?")
    expect(page.threads).to_have_count(2)


@pytest.mark.slow
def test_a_message_begins_a_new_conversation_before_that_is_read(start: Start, visit: Visit) -> None:
    page = visit(start(demo_seconds_per_token="0.2"))
    page.tab.route("**/api/panels", lambda _: None)
    page.send("a long answer, please")
    expect(page.live).to_be_visible()
    page.new_conversation()
    page.composer.fill("And the weather?")
    page.composer.press("Enter")
    expect(page.queued).to_have_count(0)
    expect(page.composer).to_have_value("")
    page.tab.unroute("**/api/panels")  # what is held goes on
    page.wait_for_answer()
    expect(page.threads).to_have_count(2)


WATCH_ADDRESSES = """() => {
  window.addresses = [];
  const push = history.pushState;
  history.pushState = function (...all) { addresses.push(String(all[2])); push.apply(this, all); };
}"""


@pytest.mark.slow
def test_a_person_who_goes_elsewhere_before_the_reply_to_a_message_stays_there(start: Start, visit: Visit) -> None:
    page = visit(start())
    replies: list[tuple[Route, APIResponse]] = []

    def send_and_leave(text: str, leave: Callable[[], None]) -> None:
        page.tab.route("**/api/actions/*", lambda route: replies.append((route, route.fetch())))
        page.send(text)
        leave()
        while not replies:
            page.tab.wait_for_timeout(10)
        route, reply = replies.pop()
        with page.tab.expect_response("**/api/actions/*"):
            route.fulfill(response=reply)
        page.tab.unroute("**/api/actions/*")

    def leave_for_another() -> None:
        page.new_conversation()
        page.tab.evaluate(WATCH_ADDRESSES)  # a slow machine has gone to that of the first question before

    send_and_leave("First question", leave_for_another)
    page.say("Second question")
    page.expect_messages(2)
    open_thread(page, "First question")
    send_and_leave("Third question", lambda: open_thread(page, "Second question"))
    page.say("Fourth question")
    page.expect_messages(4)
    visited = [address for address in page.tab.evaluate("addresses") if address != "/"]
    assert visited == [visited[0], visited[1], visited[0]]
    assert visited[0] != visited[1]


def open_thread(page: Page, title: str) -> None:
    page.threads.filter(has_text=title).click()
    expect(page.message(title).first).to_be_visible()


def test_the_first_answer_gives_a_title_that_is_no_step_of_undo(start: Start, visit: Visit) -> None:
    page = visit(start(titles="on"))
    page.say("Tell me about the **stocks** of 2024")
    expect(page.threads).to_contain_text(["Stocks of 2024"])
    expect(page.tab.locator("#thread-title")).to_have_text("Stocks of 2024")
    page.tab.get_by_role("button", name="Undo last change").click()
    page.expect_messages(0)
    expect(page.tab.locator("#thread-title")).to_have_text("New conversation")
    page.tab.get_by_role("button", name="Redo").click()
    page.expect_messages(2)
    expect(page.tab.locator("#thread-title")).to_have_text("Stocks of 2024")


@pytest.mark.slow
def test_conversations_are_renamed_pinned_and_archived_in_the_list(server: Server, visit: Visit) -> None:
    page = visit(server)
    for text in ("One", "Two", "Three"):
        page.new_conversation()
        page.say(text)
    choose(page, "One", "Pin")
    expect(page.tab.get_by_role("region", name="Pinned").get_by_test_id("thread")).to_contain_text(["One"])
    assert page.thread_titles() == ["One", "Three", "Two"]
    page.threads.filter(has_text="Two").dblclick()
    page.tab.get_by_label("Title of the conversation").fill("Deux")
    page.tab.keyboard.press("Enter")
    expect(page.threads.filter(has_text="Deux")).to_be_focused()
    expect(page.threads).to_contain_text(["One", "Deux", "Three"])
    expect_accessible(page, "a list with a pin")
    choose(page, "Deux", "Archive")
    expect(page.threads).to_contain_text(["One", "Three"])
    page.tab.get_by_role("button", name="Archived", exact=True).click()
    expect(page.threads).to_contain_text(["Deux"])
    choose(page, "Deux", "Unarchive")
    expect(page.threads).to_have_count(0)
    page.toast.get_by_role("button", name="Undo").click()
    expect(page.threads).to_contain_text(["Deux"])
    page.tab.get_by_role("button", name="Archived", exact=True).click()
    field = page.tab.get_by_role("searchbox", name="Search conversations and messages")
    field.fill("deux")
    expect(page.threads).to_contain_text(["Deuxarchived"])


@pytest.mark.slow
def test_several_are_selected_exported_and_deleted_with_one_undo(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(server)
    for text in ("One", "Two", "Three", "Four"):
        page.new_conversation()
        page.say(text)
    page.tab.get_by_role("button", name="Select", exact=True).click()
    page.tab.keyboard.press("Control+a")
    expect(page.tab.get_by_role("toolbar", name="Selected conversations")).to_contain_text("4 selected")
    page.tab.keyboard.press("Escape")
    expect(page.tab.get_by_role("region", name="List of conversations")).to_be_focused()
    page.tab.get_by_role("button", name="Select", exact=True).click()
    page.threads.filter(has_text="Four").click()
    page.threads.filter(has_text="Two").click(modifiers=["Shift"])
    bar = page.tab.get_by_role("toolbar", name="Selected conversations")
    expect(bar).to_contain_text("3 selected")
    expect_accessible(page, "selected conversations")
    with page.tab.expect_download() as started:
        bar.get_by_role("button", name="Export").click()
    started.value.save_as(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        titles = {json.loads(archive.read(name))["thread"]["title"] for name in archive.namelist()}
    assert titles == {"Two", "Three", "Four"}
    page.tab.keyboard.press("Control+a")
    expect(bar).to_contain_text("4 selected")
    page.threads.filter(has_text="One").click()
    bar.get_by_role("button", name="Delete").click()
    expect(page.dialog).to_contain_text("3 conversations")
    page.confirm("Delete")
    expect(page.threads).to_contain_text(["One"])
    page.toast.get_by_role("button", name="Undo").click()
    expect(page.threads).to_have_count(4)
    expect(bar).to_contain_text("0 selected")
    page.tab.get_by_role("button", name="Done").click()
    expect(bar).to_have_count(0)


@pytest.mark.slow
def test_ten_thousand_are_scrolled_through_found_and_changed_one_by_one(full_server: Server, visit: Visit) -> None:
    page = visit(full_server)
    sent: list[int] = []
    page.tab.on("response", lambda reply: sent.append(len(reply.body())) if "/api/actions/" in reply.url else None)
    expect(page.threads.first).to_contain_text("Talk 9999")
    assert page.threads.count() < 100
    for _ in range(3):
        last = page.threads.last.text_content()
        scroll_to_end(page)
        expect(page.threads.last).not_to_have_text(last or "")
    assert page.threads.count() < 100
    for foot in ("Archived", "Deleted"):
        expect(page.tab.get_by_role("button", name=foot, exact=True)).to_be_in_viewport(ratio=1)
    title = (page.tab.locator(".thread-title").last.text_content() or "").strip()
    choose(page, title, "Rename")
    page.tab.get_by_label("Title of the conversation").fill("A needle")
    with page.tab.expect_response(lambda reply: reply.url.endswith("/api/actions/threads")):
        page.tab.keyboard.press("Enter")
    expect(row(page, title)).to_have_count(0)
    page.tab.locator(".threads-scroll").evaluate("element => { element.scrollTop = 0 }")
    expect(page.threads.first).to_contain_text("A needle")
    assert max(sent) < 3_000  # not a hundred rows
    page.tab.get_by_role("searchbox", name="Search conversations and messages").fill("BREAD 42")
    expect(page.threads).to_contain_text(["Talk 4200 about bread"])
    page.tab.keyboard.press("Control+k")
    page.tab.get_by_role("combobox").fill("4300 bread")
    expect(page.tab.get_by_role("option", name="Talk 4300 about bread")).to_be_visible()


@pytest.mark.slow
def test_a_copied_link_opens_at_its_message_also_of_a_branch_and_a_checkpoint(
    tmp_path: Path, start: Start, visit: Visit
) -> None:
    (tmp_path / "server-0" / "data").mkdir(parents=True, mode=0o700)
    database = Database.open_file(tmp_path / "server-0" / "data" / "waymark.db")
    store = Store(database)
    thread_id = talked(store, *(f"line {number}" for number in range(100)))
    store.append(thread_id, new("**last**", "end"))
    early = store.list_checkpoints(thread_id)[4]
    store.restore(thread_id, store.list_checkpoints(thread_id)[45].id, keep_future=True)
    future = store.list_branches(thread_id)[1][0]
    database.close()
    page = visit(start(), f"/t/{thread_id}?checkpoint={early.id}")
    expect(page.tab.locator("article[data-place]")).to_contain_text("line 9")
    expect(page.tab.locator("article[data-place]")).to_be_in_viewport()
    assert page.tab.url == f"{page.server.origin}/t/{thread_id}"
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.tab.locator("article[data-place]").get_by_role("button", name="More", exact=True).click()
    page.tab.get_by_role("menuitem", name="Copy link").click()
    expect(page.toast).to_contain_text("Link copied")
    address = page.tab.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{page.server.origin}/t/{thread_id}?message=")
    other = visit(page.server, address.removeprefix(page.server.origin), beside=page)
    expect(other.tab.locator("article[data-place]")).to_contain_text("line 9")
    other.open(f"/t/{thread_id}?branch={future.id}")
    place, chip = other.tab.locator("article[data-place]"), other.tab.locator(".branch-chip")
    expect(place).to_contain_text("end")
    expect(other.toast).to_contain_text("Switched to the branch “Before restoring after line 91”")
    other.tab.go_back()
    expect(place).to_contain_text("line 9")
    other.tab.get_by_role("button", name="Undo last change").click()
    expect(chip).to_contain_text("main")
    other.tab.go_forward()
    expect(place).to_contain_text("end")
    expect(place).to_be_in_viewport()
    other.tab.get_by_role("button", name="Undo last change").click()
    expect(chip).to_contain_text("main")
    other.reload()  # keeps to the current branch
    expect(chip).to_contain_text("main")
    other.new_conversation()
    other.tab.go_back()  # within one document
    expect(place).to_contain_text("end")
    other.expected.append("404")
    other.open(f"/t/{thread_id}?message=none")
    expect(other.toast).to_contain_text("This message is no longer there.")


@pytest.mark.slow
@pytest.mark.parametrize("thread_id", ["team/7 a?b#c%2F&d", ".", "..", "..~", "a\nb\r", "/a//../events"])
def test_a_conversation_of_any_id_has_a_page(thread_id: str, start: Start, tmp_path: Path, visit: Visit) -> None:
    """Graphs of one's own may call theirs as they like."""
    database = Database.open_file(tmp_path / "server-0" / "data" / "waymark.db")
    store, now = Store(database), datetime.now(UTC)
    with database.begin_write() as connection:
        thread_rows.insert_thread(connection, store.prepare_thread("Theirs", thread_id=thread_id), now)
    database.close()
    page = visit(start())
    page.threads.filter(has_text="Theirs").click()
    expect(page.tab.locator("#thread-title")).to_have_text("Theirs")
    page.say("Hello")
    page.save("Begin")
    page.reload()
    page.expect_checkpoints(("Begin", 2))
    page.say("Hello again")
    page.restore("Begin")
    page.undo()
    page.select(page.checkpoint("Begin")).get_by_test_id("compare").click()
    expect(page.dialog).to_contain_text("2 messages in common")
    page.tab.keyboard.press("Escape")
    assert "Hello again" in page.export(tmp_path).read_text()
    expect(page.tab.get_by_text("Reconnecting…")).to_have_count(0)
