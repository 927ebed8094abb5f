"""kill -9 under an open page: what the page showed as sent is there afterwards, once, without a reload."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import PATIENCE_MS, open_browser
from tests.servers import Server

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROUNDS = 3
ASKED = 'article[data-message-id][data-role="user"]'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0.01") as server:
        yield server


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    with open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(server.link)
        page.get_by_test_id("composer").wait_for()
        yield page


def say(page: Page, text: str) -> None:
    composer = page.get_by_test_id("composer")
    composer.fill(text)
    composer.press("Enter")


def shown(page: Page) -> list[str]:
    """The user's messages, as the page shows them."""
    return [text.strip() for text in page.locator(f"{ASKED} > .prose").all_text_contents()]


def answer(page: Page) -> Locator:
    """The text of the last answer. The whole card would do for a number: it has the time of day."""
    return page.locator('article[data-message-id][data-role="assistant"] > .prose').last


def test_what_the_page_showed_as_sent_is_there_after_the_server_was_killed(server: Server, page: Page) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 10**6))
    print(f"KILL_SEED={seed}")  # noqa: T201  (pytest shows it beside a failure)
    chance = random.Random(seed)
    sent: list[str] = []
    for number in range(ROUNDS):
        sent.append(f"{number} a long answer, please")
        say(page, sent[-1])
        expect(page.locator(ASKED)).to_have_count(len(sent))  # from here on it counts as sent
        page.wait_for_timeout(chance.uniform(0, 1800))  # the moment of the kill is the one thing that may be left to time
        server.kill()
        server.restart()
        outcome = page.get_by_role("group", name="Status of the answer")  # the page finds back by itself
        expect(outcome).to_be_visible()
        expect(outcome).to_contain_text("cut off")
        assert shown(page) == sent
        outcome.get_by_role("button", name="Dismiss").click()
        expect(outcome).to_have_count(0)
        sent.append(f"{number} what is 7*8?")
        say(page, sent[-1])
        expect(answer(page)).to_contain_text("56")
        page.reload()
        expect(page.locator(ASKED)).to_have_count(len(sent))
        assert shown(page) == sent


def test_a_message_sent_to_a_dead_server_stays_in_the_field_and_is_sent_once_when_it_is_back(
    server: Server, page: Page
) -> None:
    say(page, "what is 2+2?")
    expect(answer(page)).to_contain_text("4")
    expect(page.get_by_test_id("stop")).to_have_count(0)
    expect(page.locator("#undo")).to_be_enabled()  # the panels know of the answer: nothing waits for its end any more
    server.kill()
    say(page, "are you there?")
    problem = page.get_by_role("alert").filter(has_text="Not sent yet")
    expect(problem).to_be_visible()
    expect(page.get_by_test_id("composer")).to_have_value("are you there?")
    server.restart()
    problem.get_by_role("button", name="Try again").click()
    expect(page.locator(ASKED)).to_have_count(2)
    expect(page.get_by_test_id("composer")).to_have_value("")
    page.reload()
    expect(page.locator(ASKED)).to_have_count(2)
    assert shown(page) == ["what is 2+2?", "are you there?"]
