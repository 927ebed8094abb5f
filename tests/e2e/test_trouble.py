"""A database that takes no part: a banner at the top, the text stays in the field, and all is well again by itself."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.waymark import Page
from tests.postgres import Postgres

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@contextmanager
def locked(server: Server) -> Iterator[None]:
    """Another program writes to the file and takes its time."""
    other = sqlite3.connect(server.folder / "data" / "waymark.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def away(postgres: Postgres) -> Iterator[None]:
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


def expect_trouble(page: Page, sentence: str) -> None:
    banner = page.tab.get_by_test_id("trouble")
    expect(banner).to_be_visible()
    expect(banner).to_have_attribute("role", "alert")
    expect(banner).to_have_text(f"{sentence} Your text is kept.")
    assert banner.bounding_box()["y"] == 0  # type: ignore[index]


def expect_recovery(page: Page, marked: Callable[[], bool]) -> None:
    expect(page.tab.get_by_test_id("trouble")).to_be_hidden()
    assert marked(), "the page was loaded anew"


def open_page(visit: Visit, server: Server) -> tuple[Page, Callable[[], bool]]:
    """A page with a conversation, and whether it is still the same one."""
    page = visit(server)
    page.expected.append("503")  # the browser's own words about /healthz
    page.say("what is 2+2?")
    page.tab.evaluate("window.stillHere = true")
    return page, lambda: bool(page.tab.evaluate("window.stillHere === true"))


def test_a_locked_database_is_told_at_the_top_and_the_text_can_be_sent_when_it_is_free(start: Start, visit: Visit) -> None:
    server = start()
    page, same = open_page(visit, server)
    with locked(server):
        page.composer.fill("are you there?")
        page.composer.press("Enter")
        expect_trouble(page, "The database is locked by another program.")
        expect(page.composer).to_have_value("are you there?")
    expect_recovery(page, same)
    page.say("are you there?")


def test_a_database_file_is_moved_away_and_put_back_under_an_open_page(start: Start, visit: Visit) -> None:
    server = start()
    page, same = open_page(visit, server)
    file, away = server.folder / "data" / "waymark.db", server.folder / "away.db"
    file.rename(away)
    page.composer.fill("are you there?")
    page.composer.press("Enter")
    banner = page.tab.get_by_test_id("trouble")
    expect(banner).to_contain_text("waymark.db was deleted or moved while Waymark runs.")
    with page.tab.expect_response(lambda answer: answer.status == 503):
        pass
    away.rename(file)
    with page.tab.expect_response(re.compile("/healthz$")) as answered:
        pass
    assert answered.value.status == 200  # the next check
    expect_recovery(page, same)
    expect(page.composer).to_have_value("are you there?")
    page.say("are you there?")


def test_a_database_file_that_is_moved_away_while_an_answer_streams_is_told_at_once(start: Start, visit: Visit) -> None:
    server = start(demo_seconds_per_token="0.2")
    page = visit(server)
    page.expected.append("503")
    page.send("Tell me something long")
    expect(page.live).to_contain_text("I am the demo")
    file, away = server.folder / "data" / "waymark.db", server.folder / "away.db"
    file.rename(away)
    expect(page.tab.get_by_test_id("trouble")).to_contain_text("waymark.db was deleted or moved while Waymark runs.")
    expect(page.stop_button).to_be_visible()  # nobody pressed anything, and the answer goes on
    away.rename(file)
    expect(page.tab.get_by_test_id("trouble")).to_be_hidden()
    page.stop_button.click()
    expect(page.tab.get_by_role("group", name="Status of the answer").get_by_role("button", name="Continue")).to_be_visible()


KEEP_OUTCOMES = """() => {
  window.outcomes = [];
  new MutationObserver(() => {
    const shown = document.querySelector(".outcome")?.textContent;
    if (shown && shown !== window.outcomes.at(-1)) window.outcomes.push(shown);
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def test_a_stop_while_the_database_is_locked_is_shown_at_once_and_offered_to_go_on_when_it_is_saved(
    start: Start, visit: Visit
) -> None:
    server = start(demo_seconds_per_token="0.2")
    page = visit(server)
    page.expected.append("503")
    page.send("Tell me something long")
    expect(page.live).to_contain_text("I am the demo")
    page.tab.evaluate(KEEP_OUTCOMES)
    outcome = page.tab.get_by_role("group", name="Status of the answer")
    with locked(server):
        page.stop_button.click()
        expect(outcome).to_contain_text("The end of this answer is not saved yet")
        expect(page.log).to_contain_text("I am the demo")
        expect(outcome.get_by_role("button")).to_have_count(0)
    expect(outcome.get_by_role("button", name="Continue")).to_be_visible()
    outcomes = page.tab.evaluate("window.outcomes")
    assert outcomes[-1] == "You stopped this answer.ContinueDismiss"
    assert not any("before it began" in text for text in outcomes)  # not in the moment before the panels are read either


def test_postgresql_is_restarted_under_an_open_page(
    start: Start, visit: Visit, postgres: Postgres, postgres_url: str
) -> None:
    page, same = open_page(visit, start(database_url=postgres_url))
    with away(postgres):
        page.composer.fill("are you there?")
        page.composer.press("Enter")
        expect_trouble(page, "The database server does not answer.")
        expect(page.composer).to_have_value("are you there?")
    expect_recovery(page, same)
    page.say("are you there?")


def test_a_page_that_is_opened_while_the_database_is_away_fills_when_it_is_back(
    start: Start, visit: Visit, postgres: Postgres, postgres_url: str
) -> None:
    page, _ = open_page(visit, start(database_url=postgres_url))
    before = len(page.messages())
    with away(postgres):
        page.tab.reload()
        expect_trouble(page, "The database server does not answer.")
    page.expect_messages(before)
    expect(page.tab.get_by_test_id("trouble")).to_be_hidden()
