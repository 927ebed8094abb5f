"""Files are attached, sent, shown, taken along and brought elsewhere, through the page."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Route, expect

from tests.attachments import png
from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PICTURE: FilePayload = {"name": "chart.png", "mimeType": "image/png", "buffer": png()}
NOTES: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"the plan"}
ARCHIVE: FilePayload = {"name": "all.zip", "mimeType": "application/zip", "buffer": b"PK\x03\x04\x00\x00"}
DROPPED = """(pane, data) => {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
  const event = { dataTransfer, bubbles: true, cancelable: true };
  for (const type of ["dragover", "drop"]) pane.dispatchEvent(new DragEvent(type, event));
}"""


def attach(page: Page, *chosen: FilePayload) -> None:
    with page.tab.expect_file_chooser() as chooser:
        page.tab.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(list(chosen))


def chips(page: Page) -> Locator:
    """What is to be sent with the next message."""
    return (
        page.tab.get_by_role("region", name="Write a message")
        .get_by_role("list", name="Attached files")
        .get_by_role("listitem")
    )


def expect_drawn(picture: Locator) -> None:
    expect(picture).to_have_js_property("naturalWidth", 40)


def test_files_are_sent_shown_and_brought_elsewhere(
    shared_openai_server: Server, server: Server, fake_openai: FakeOpenAI, visit: Visit, tmp_path: Path
) -> None:
    fake_openai.script(Say("A chart."))
    page = visit(shared_openai_server)
    attach(page, PICTURE, NOTES, ARCHIVE)
    expect(chips(page)).to_have_count(2)
    expect(page.tab.get_by_role("alert")).to_contain_text("all.zip is neither an image")
    page.tab.locator(".pane-chat").evaluate(DROPPED, base64.b64encode(png(41)).decode())
    page.tab.get_by_role("button", name="Remove dropped.png").click()
    page.say("What is this?")
    expect(chips(page)).to_have_count(0)
    [_, image, notes] = fake_openai.requests[0]["messages"][-1]["content"]
    assert base64.b64decode(image["image_url"]["url"].partition(",")[2]) == png()
    assert "\nthe plan\n" in notes["text"]

    page.reload()
    expect_drawn(page.tab.get_by_role("img", name="chart.png"))
    page.tab.get_by_role("button", name="Open chart.png").click()
    expect_drawn(page.tab.get_by_role("dialog").get_by_role("img"))
    page.tab.keyboard.press("Escape")
    with page.tab.expect_download() as kept:
        page.tab.get_by_role("link", name="notes.txt").click()
    assert Path(kept.value.path()).read_bytes() == b"the plan"

    there = visit(server)
    there.choose_import(page.export(tmp_path))
    expect(there.dialog).to_contain_text("2 attached files")
    there.confirm("As a new conversation")
    expect_drawn(there.tab.get_by_role("img", name="chart.png"))


def test_the_first_file_of_all_is_a_chip_above_the_field(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)  # which shows no message with a file
    attach(page, NOTES)
    expect(chips(page)).to_have_css("list-style-type", "none")
    expect(chips(page)).to_have_css("display", "flex")


def test_each_refused_file_is_named_with_its_reason(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    attach(page, ARCHIVE, {**NOTES, "name": "empty.txt", "buffer": b""}, NOTES)
    expect(chips(page)).to_have_count(1)
    alert = page.tab.get_by_role("alert")
    expect(alert).to_contain_text("all.zip is neither an image")
    expect(alert).to_contain_text("empty.txt is empty.")
    attach(page, *(NOTES for _ in range(4)), PICTURE, {**NOTES, "name": "last.txt"})
    expect(chips(page)).to_have_count(5)
    expect(alert).to_contain_text("Not attached: chart.png, last.txt. A message takes at most 5 files.")


def test_a_message_that_waits_with_a_file_is_not_sent_without_it_after_a_reload(
    shared_openai_server: Server, fake_openai: FakeOpenAI, visit: Visit
) -> None:
    fake_openai.script(Say("one"))
    fake_openai.hold()
    page = visit(shared_openai_server)
    page.send("Hello")
    attach(page, PICTURE)
    expect(chips(page)).to_have_count(1)
    page.composer.fill("What is this?")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("1 file")
    page.reload()
    expect(page.toast).to_contain_text("its files were not kept")
    expect(page.composer).to_have_value("What is this?")
    expect(page.queued).to_have_count(0)


def test_files_wait_with_their_text_and_stay_with_an_edited_message(
    shared_openai_server: Server, fake_openai: FakeOpenAI, visit: Visit
) -> None:
    fake_openai.script(Say("one"), Say("two"), Say("three"))
    fake_openai.hold()
    page = visit(shared_openai_server)
    page.send("Hello")
    attach(page, PICTURE)
    expect(chips(page)).to_have_count(1)
    page.composer.press("Enter")  # a message may be nothing but a file
    expect(page.queued).to_contain_text("1 file")
    fake_openai.release()
    expect(page.message("two")).to_have_count(1)
    expect_drawn(page.tab.get_by_role("img", name="chart.png"))
    page.tab.get_by_role("button", name="Edit message").last.click()
    page.editor.get_by_role("textbox").fill("What is this?")
    page.editor.get_by_role("button", name="Send").click()
    expect(page.message("three")).to_have_count(1)
    expect_drawn(page.tab.get_by_role("img", name="chart.png"))
    assert [part["type"] for part in fake_openai.requests[-1]["messages"][-1]["content"]] == ["text", "image_url"]


def hold_uploads(page: Page) -> list[Route]:
    """The uploads of the page, which wait until the test ends them."""

    def hold(route: Route) -> None:
        held.append(route)

    held: list[Route] = []
    page.expected.append("ERR_FAILED|Failed to fetch|400")
    page.tab.route("**/api/uploads/*", hold)
    return held


def send_with_files(page: Page, held: list[Route]) -> None:
    """Send a message with two files, and wait for their uploads to be held."""
    attach(page, PICTURE, NOTES)
    expect(chips(page)).to_have_count(2)
    page.composer.fill("What is this?")
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")
    expect(page.tab.locator(".send-button .spinner")).to_be_visible()
    while len(held) < 2:
        page.tab.wait_for_timeout(10)


def expect_sent_once(page: Page, *before: str) -> None:
    expect_drawn(page.tab.get_by_role("img", name="chart.png"))
    expect(page.tab.get_by_role("link", name="notes.txt")).to_have_count(1)
    page.wait_for_answer()
    assert [message.text for message in page.messages() if message.role == "user"] == [*before, "What is this?"]


def test_a_message_whose_upload_is_lost_comes_back_with_its_files_and_is_sent_once(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    send_with_files(page, held := hold_uploads(page))
    held[0].abort()
    page.tab.unroute("**/api/uploads/*")  # and the other one goes on
    expect(page.tab.get_by_role("alert")).to_contain_text("Not sent yet")
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(2)
    page.tab.get_by_role("button", name="Try again").click()
    expect_sent_once(page)


def test_a_message_whose_upload_is_refused_comes_back_with_the_reason(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    send_with_files(page, held := hold_uploads(page))
    for route in held:
        route.fulfill(status=400, content_type="text/plain", body="Too many files are being uploaded at once. Try again.")
    expect(page.tab.get_by_role("alert")).to_contain_text("Not sent. Too many files are being uploaded at once.")
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(2)
    page.tab.unroute("**/api/uploads/*")
    page.composer.press("Enter")
    expect_sent_once(page)


def test_a_message_whose_conversation_is_left_during_the_upload_is_not_sent_to_another(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Tell me of tunnels")
    send_with_files(page, hold_uploads(page))
    page.new_conversation()
    page.composer.fill("Something else")
    page.tab.unroute("**/api/uploads/*")  # and what was held goes on
    expect(page.tab.get_by_role("alert")).to_contain_text("Not sent: you left the conversation")
    expect(page.composer).to_have_value("Something else")
    page.tab.get_by_role("link", name="Tell me of tunnels").click()
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(2)
    page.composer.press("Enter")
    expect_drawn(page.tab.get_by_role("img", name="chart.png"))


def test_a_message_with_files_whose_reply_was_lost_is_not_sent_a_second_time(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.expected.append("ERR_FAILED|Failed to fetch|Callback failed")

    def lose_reply(route: Route) -> None:
        if '"send"' in (route.request.post_data or ""):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.say("Tell me of tunnels")
    page.tab.route("**/api/actions/*", lose_reply)
    attach(page, PICTURE, NOTES)
    expect(chips(page)).to_have_count(2)
    page.composer.fill("What is this?")
    page.composer.press("Enter")
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(2)
    page.tab.unroute("**/api/actions/*")
    page.tab.get_by_role("button", name="Try again").click()
    expect(page.composer).to_have_value("")
    expect(chips(page)).to_have_count(0)
    expect_sent_once(page, "Tell me of tunnels")
