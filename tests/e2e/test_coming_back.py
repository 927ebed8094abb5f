"""What is gone for the moment: a deleted conversation, a conversation deleted elsewhere, a server that does not answer."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.panel_requests import panels_lost, sends_unanswered
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def _delete(page: Page, title: str) -> None:
    page.tab.get_by_role("button", name=f"Delete {title}").click()
    page.dialog.wait_for()
    page.confirm("Delete")
    page.tab.wait_for_url(f"{page.server.origin}/")


def test_a_deleted_conversation_is_brought_back_after_a_reload(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("Tell me of herons")
    before = page.messages()
    _delete(page, "Tell me of herons")
    page.reload()
    page.tab.get_by_role("button", name="Deleted").click()
    back = page.tab.get_by_role("button", name="Bring back Tell me of herons")
    back.click()
    page.expect_messages(len(before))
    assert page.messages() == before
    expect(back).to_have_count(0)
    _delete(page, "Tell me of herons")
    expect(page.toast).to_contain_text("Deleted the conversation")
    page.tab.get_by_role("button", name="Deleted", exact=True).click()
    back.click()
    page.expect_messages(len(before))
    expect(page.toast).to_be_empty()  # there is nothing to undo any more


def test_a_message_to_a_conversation_deleted_elsewhere_says_that_it_begins_a_new_one(
    shared_server: Server, visit: Visit
) -> None:
    page = visit(shared_server)
    page.say("Tell me of cranes")
    gone = page.tab.url
    _delete(page, "Tell me of cranes")
    page.open(gone.removeprefix(shared_server.origin))
    page.say("And of storks?")
    expect(page.toast).to_contain_text("That conversation no longer exists, so your message started a new one.")
    assert page.tab.url != gone


def test_a_silent_server_is_told_and_what_is_sent_meanwhile_stays_in_the_field(start: Start, visit: Visit) -> None:
    server = start(demo_seconds_per_token="0.5")
    page = visit(server)
    page.expect_lost_server()
    page.send("Tell me of terns")
    server.kill()
    banner = page.tab.get_by_test_id("trouble")
    expect(banner).to_have_text("The server does not answer. Your text is kept.")
    page.composer.fill("And of gulls?")
    page.composer.press("Enter")
    expect(page.composer).to_have_value("And of gulls?")
    expect(page.queued).to_have_count(0)
    server.start()
    expect(banner).to_be_hidden()


def _expect_text_kept(page: Page, text: str) -> None:
    """Press Enter in the outage, and expect the text in the field and nowhere else."""
    expect(page.tab.get_by_test_id("trouble")).to_be_visible()
    page.composer.fill(text)
    page.composer.press("Enter")
    expect(page.composer).to_have_value(text)
    expect(page.queued).to_have_count(0)


def test_a_text_in_an_outage_stays_in_the_field_while_only_the_stream_knows_of_the_answer(
    start: Start, visit: Visit, openai_settings: dict[str, str], fake_openai: FakeOpenAI
) -> None:
    page = visit(start(**openai_settings))
    page.expect_lost_server()
    fake_openai.script(Say("First it is."))
    page.say("First")
    fake_openai.hold(after_tokens=2)
    fake_openai.script(Say("Second it is, and more."))
    with panels_lost(page):
        page.send("Second")
        expect(page.live).to_contain_text("Second it")
        page.server.kill()
        _expect_text_kept(page, "Third")


LATE_NEVER = """() => {
  const wait = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => wait(work, ms === 6_000 ? 600_000 : ms, ...rest);
}"""  # else a busy machine makes the send late, and its text comes back into the field


def test_a_text_in_an_outage_stays_in_the_field_while_another_one_is_being_sent(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.expect_lost_server()
    page.say("First")
    page.tab.evaluate(LATE_NEVER)
    server.kill()
    expect(page.tab.get_by_test_id("trouble")).to_be_visible()
    with sends_unanswered(page):
        page.composer.fill("Second")
        page.composer.press("Enter")
        expect(page.composer).to_have_value("")
        _expect_text_kept(page, "Third")
