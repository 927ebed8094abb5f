"""The key goes in on the page: a person with the demo connects a model, and it answers."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.fakes.openai import FakeOpenAI, Fault, Say

pytestmark = pytest.mark.e2e
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server(start: Start) -> Server:
    """A server without a model in its environment."""
    return start(model="")


def test_a_person_connects_a_model_on_the_page(server: Server, visit: Visit, fake_openai: FakeOpenAI) -> None:
    page = visit(server)
    field = page.tab.get_by_test_id("composer")
    field.fill("What is a waymark?")
    page.tab.get_by_test_id("connect").click()
    expect(page.dialog.get_by_label("Provider")).to_be_focused()
    page.dialog.get_by_label("Provider").select_option("compatible")
    page.dialog.get_by_label("Address").fill(fake_openai.base_url)
    page.dialog.get_by_label("API key").fill(KEY)
    page.dialog.get_by_label("Model").fill("some-model")
    expect_accessible(page, "connecting a model")
    fake_openai.reply(Fault("status", status=401))
    page.dialog.get_by_role("button", name="Connect", exact=True).click()
    expect(page.dialog.get_by_role("alert")).to_contain_text("refused the API key")
    fake_openai.reply(Say("ready"), Say("A mark on the way."))
    page.confirm("Connect")
    expect(page.tab.locator(".composer-model")).to_have_text("some-model")
    expect(field).to_have_value("What is a waymark?")  # connecting loads the page again, with its draft
    field.press("Enter")
    page.expect_messages(2)
    page.wait_for_answer()
    assert page.answer() == "A mark on the way."
    page.tab.get_by_test_id("model").click()
    page.tab.get_by_role("button", name="Connect a model…").click()
    page.dialog.get_by_label("Provider").select_option("compatible")
    expect(page.dialog.get_by_label("API key")).to_have_value("")
    assert KEY not in server.log()
