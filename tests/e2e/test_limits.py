"""Limits of a person and their usage: told before they bite, and when they do the text stays in the field."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import PATIENCE_MS
from tests.e2e.server import TIPS, Server
from tests.e2e.test_accessible_states import look_at
from tests.e2e.test_password import join
from tests.e2e.waymark import Page

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def page(tmp_path: Path, browser: Browser) -> Iterator[Page]:
    server = Server(tmp_path, auth="password", person_runs="3", person_tokens_a_day="40", person_storage_mb="100")
    server.start()
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
        yield Page(context.new_page(), server)
    server.stop()


def test_a_limit_is_told_and_keeps_the_text(page: Page) -> None:
    join(page, page.server.links[0], "Ann")
    notice = page.tab.get_by_test_id("limits")
    expect(notice).to_have_count(0)
    page.say("What can I do here?")  # a message during the answer would wait, and come back unsent if that fails
    expect(notice).to_contain_text("of your tokens for today are used.")
    page.composer.fill("One more heron")
    page.composer.press("Enter")
    expect(page.tab.get_by_text("It goes on at 00:00 UTC").first).to_be_visible()
    expect(page.composer).to_have_value("One more heron")
    look_at(page, "a limit that is reached")
    page.press_in_menu("Usage")
    line = page.dialog.get_by_test_id("person-usage")
    expect(line).to_contain_text("Ann")
    expect(line.locator("td").last).to_have_text(re.compile(r"^[1-9]\d* (B|kB)$"))  # its storage: little is not nothing
    look_at(page, "the usage of people")
    page.dialog.get_by_role("radio", name="Today").check()
    expect(line).to_contain_text("Ann")
    page.confirm("Close")
    page.tab.reload()
    expect(notice).to_contain_text("of your tokens for today are used.")
