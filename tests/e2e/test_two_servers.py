"""Two servers of one PostgreSQL, each with a page: what one writes, both show."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.postgres import Postgres, name_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
QUESTION = "a long answer, please"


def test_a_page_of_another_server_shows_what_is_written_also_after_it_is_loaded_again(
    start: Start, visit: Visit, postgres_url: str
) -> None:
    first, second = (start(database_url=postgres_url, demo_seconds_per_token="0.01") for _ in range(2))
    page = visit(first)
    page.composer.fill(QUESTION)
    page.composer.press("Enter")
    expect(page.live).to_be_visible()
    expect(page.tab).to_have_url(re.compile("/t/"))
    other = visit(second, page.tab.url.removeprefix(first.origin))
    expect(other.live).to_contain_text(page.live.inner_text()[:40])
    other.reload()
    expect(other.live).to_contain_text(page.live.inner_text()[:40])
    expect(page.stop_button).to_have_count(0)
    expect(other.stop_button).to_have_count(0)
    assert other.messages() == page.messages()


def test_a_cut_wire_is_healed_and_a_change_elsewhere_is_shown(
    start: Start, visit: Visit, postgres: Postgres, postgres_url: str
) -> None:
    first, second = (start(database_url=postgres_url) for _ in range(2))
    page = visit(first)
    page.say("hello")
    other = visit(second, page.tab.url.removeprefix(first.origin))
    postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name_of(postgres_url)}' AND query LIKE 'LISTEN%'"
    )
    page.say("what is 2+2?")
    expect(other.log).to_contain_text("2+2 = 4")
    other.wait_for_answer()
    expect(other.tab.get_by_text("Updates from other servers are delayed…")).to_have_count(0)
    assert other.messages() == page.messages()
