"""Enter while attached files are still being read: the message waits for them, and is sent once or comes back."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_attachments import ARCHIVE, NOTES, PICTURE, attach, chips, expect_sent_once
from tests.e2e.waymark import SHOWN, Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
HOLD_READING = """() => {
  const { arrayBuffer } = Blob.prototype;
  const held = new Promise((resolve) => (window.readOn = resolve));
  Blob.prototype.arrayBuffer = async function () {
    await held;
    return arrayBuffer.call(this);
  };
}"""
GONE = """() => {
  const { slice } = Blob.prototype;
  Blob.prototype.slice = function (...range) {
    if (this.name === "gone.txt") throw new DOMException("It was deleted since it was chosen.", "NotFoundError");
    return slice.apply(this, range);
  };
}"""
WAITS = "Sent as soon as its files are read: What is this?"


@pytest.fixture
def page(shared_server: Server, visit: Visit) -> Page:
    return visit(shared_server)


@contextmanager
def reading_held_back(page: Page) -> Iterator[None]:
    """No file of the page is read before the end."""
    page.tab.evaluate(HOLD_READING)
    yield
    page.tab.evaluate("window.readOn?.()")


def write_and_send(page: Page, text: str = "What is this?") -> None:
    page.composer.fill(text)
    page.composer.press("Enter")
    expect(page.composer).to_have_value("")


def questions(page: Page) -> Locator:
    return page.tab.locator(f'{SHOWN}[data-role="user"]')


def expect_in_field(page: Page, *, files: int) -> None:
    """The message is back, and was not sent."""
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(files)
    expect(page.queued).to_have_count(0)
    expect(questions(page)).to_have_count(0)


def test_a_message_waits_until_its_files_are_read_and_is_sent_once(page: Page) -> None:
    with reading_held_back(page):
        attach(page, PICTURE, NOTES)
        write_and_send(page)
        page.composer.press("Enter")
        expect(page.queued).to_contain_text(f"{WAITS} · 2 files")
        page.composer.press_sequentially("A draft")
    expect_sent_once(page)
    expect(page.composer).to_have_value("A draft")
    expect(page.queued).to_have_count(0)
    expect(chips(page)).to_have_count(0)


def test_a_message_of_nothing_but_a_file_is_sent_by_a_click(page: Page) -> None:
    with reading_held_back(page):
        attach(page, {**NOTES, "name": "alone.txt"})
        send = page.tab.get_by_test_id("send")
        expect(send).to_have_attribute("aria-disabled", "false")
        send.click()
        expect(page.queued).to_contain_text("1 file")
    expect(page.log.get_by_role("link", name="alone.txt")).to_have_count(1)
    expect(questions(page)).to_have_count(1)


def test_the_next_message_does_not_overtake_the_one_that_waits_for_its_files(page: Page) -> None:
    with reading_held_back(page):
        attach(page, NOTES)
        write_and_send(page)
        write_and_send(page, "And why?")
        expect(page.queued).to_contain_text("And why?")
    expect(questions(page)).to_have_count(1)
    expect(questions(page)).to_contain_text("And why?")
    expect(page.tab.get_by_role("link", name="notes.txt")).to_have_count(1)


def test_a_message_with_a_refused_file_comes_back_with_the_reason(page: Page) -> None:
    with reading_held_back(page):
        attach(page, PICTURE, ARCHIVE, NOTES)
        write_and_send(page)
        expect(page.queued).to_contain_text(WAITS)
    expect(page.tab.get_by_role("alert")).to_contain_text("all.zip is neither an image")
    expect_in_field(page, files=2)
    page.composer.press("Enter")
    expect_sent_once(page)


def test_a_message_with_a_file_that_is_gone_comes_back_with_the_others(page: Page) -> None:
    page.tab.evaluate(GONE)
    with reading_held_back(page):
        attach(page, {**NOTES, "name": "gone.txt"}, NOTES)
        write_and_send(page)
        expect(page.queued).to_contain_text(f"{WAITS} · 2 files")
    expect(page.tab.get_by_role("alert")).to_contain_text("gone.txt could not be read.")
    expect_in_field(page, files=1)


def test_files_that_are_chosen_while_others_are_read_count_with_those(page: Page) -> None:
    first, second = ([{**NOTES, "name": f"{batch}{number}.txt"} for number in range(3)] for batch in "ab")
    with reading_held_back(page):
        attach(page, *first)
        attach(page, *second)
    expect(page.tab.get_by_role("alert")).to_contain_text("A message takes at most 5 files.")
    expect(chips(page)).to_contain_text(["a0.txt", "a1.txt", "a2.txt", "b0.txt", "b1.txt"])
    page.composer.press("Enter")
    expect(page.log.get_by_role("link", name=re.compile(r"^[ab]\d\.txt"))).to_have_count(5)


def test_escape_calls_a_waiting_message_off(page: Page) -> None:
    with reading_held_back(page):
        attach(page, NOTES)
        write_and_send(page)
        expect(page.queued).to_contain_text(WAITS)
        page.composer.press("Escape")
        expect_in_field(page, files=0)
    expect_in_field(page, files=1)


def test_leaving_the_conversation_calls_a_waiting_message_off(page: Page) -> None:
    page.say("Tell me of viaducts")
    with reading_held_back(page):
        attach(page, NOTES)
        write_and_send(page)
        page.new_conversation()
        page.composer.fill("Something else")
    expect(chips(page)).to_have_count(0)
    page.say("Something else")  # the files of the other one do not hold it
    page.tab.get_by_role("link", name="Tell me of viaducts").click()
    expect(page.composer).to_have_value("What is this?")
    expect(chips(page)).to_have_count(1)
    expect(questions(page)).to_have_count(1)


def test_a_waiting_message_comes_back_after_a_reload(page: Page) -> None:
    with reading_held_back(page):
        attach(page, NOTES)
        write_and_send(page)
        expect(page.queued).to_contain_text(WAITS)
        page.reload()
    expect(page.toast).to_contain_text("its files were not kept")
    expect_in_field(page, files=0)


def test_a_message_waits_for_its_files_and_the_answer(
    shared_openai_server: Server, fake_openai: FakeOpenAI, visit: Visit
) -> None:
    fake_openai.script(Say("one"), Say("two"))
    fake_openai.hold()
    page = visit(shared_openai_server)
    page.send("Hello")
    with reading_held_back(page):
        attach(page, NOTES)
        write_and_send(page)
        expect(page.queued).to_contain_text("Sent after this answer: What is this? · 1 file")
        fake_openai.release()
        page.wait_for_answer()
        expect(page.queued).to_contain_text(WAITS)
    expect(page.message("two")).to_have_count(1)
    assert "the plan" in str(fake_openai.requests[-1]["messages"][-1]["content"])
