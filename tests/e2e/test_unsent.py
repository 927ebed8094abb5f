"""No message is lost unseen: who leaves its conversation is told where it is, and who leaves the page is asked."""

import pytest
from playwright.sync_api import Dialog, expect

from tests.e2e.conftest import Visit
from tests.e2e.server import Server
from tests.e2e.test_sending import Network
from tests.e2e.waymark import Page
from tests.fakes.openai import FakeOpenAI, Say

pytestmark = pytest.mark.e2e
NOT_SENT = "Not sent: “And of bridges” is a draft in “Tell me of viaducts”."


@pytest.fixture
def waiting(shared_openai_server: Server, visit: Visit, fake_openai: FakeOpenAI) -> Page:
    """A page with a message that follows the answer in progress."""
    page = visit(shared_openai_server)
    fake_openai.script(Say("one two three four five six"), Say("seven"))
    fake_openai.hold(after_tokens=3)
    page.send("Tell me of viaducts")
    expect(page.live).to_contain_text("two")
    expect(page.tab.locator("[data-testid=thread][aria-current=page]")).to_contain_text("Tell me of viaducts")
    queue(page)
    return page


def queue(page: Page) -> None:
    page.composer.fill("And of bridges")
    page.composer.press("Enter")
    expect(page.queued).to_contain_text("And of bridges")


def asks_before_leaving(page: Page) -> bool:
    """Whether the browser would ask a person who closes or leaves the page."""
    return bool(page.tab.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))"))


def test_leaving_the_conversation_says_where_its_queued_message_is(waiting: Page) -> None:
    waiting.new_conversation()
    expect(waiting.toast).to_contain_text(NOT_SENT)
    waiting.toast.get_by_role("button", name="Go back").click()
    expect(waiting.composer).to_have_value("And of bridges")
    expect(waiting.message("Tell me of viaducts")).to_be_visible()


def test_the_browser_asks_before_a_queued_message_is_lost(waiting: Page, fake_openai: FakeOpenAI) -> None:
    with waiting.tab.expect_event("dialog") as asked:
        waiting.tab.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    assert asks_before_leaving(waiting)
    fake_openai.release()
    expect(waiting.message("seven")).to_be_visible()
    waiting.wait_for_answer()
    assert not asks_before_leaving(waiting)


def test_a_session_that_ends_leaves_the_page_without_a_question(waiting: Page) -> None:
    asked: list[Dialog] = []
    waiting.tab.on("dialog", lambda dialog: asked.append(dialog))  # noqa: PLW0108  (Playwright marks its handlers)
    waiting.tab.route("**/api/search*", lambda route: route.fulfill(status=401))
    waiting.expected.append("401|404")
    waiting.tab.keyboard.press("Control+K")
    waiting.tab.keyboard.type("viaducts")
    waiting.tab.wait_for_url("**/sign-in")
    assert asked == []


def test_the_browser_asks_while_a_message_is_on_its_way_and_never_for_a_draft(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.composer.fill("Tell me of bridges")
    assert not asks_before_leaving(page)
    network = Network(page)
    network.hold()
    page.composer.press("Enter")
    network.wait_for_send()
    assert asks_before_leaving(page)
    network.lose()
    expect(page.composer).to_have_value("Tell me of bridges")
    assert not asks_before_leaving(page)
