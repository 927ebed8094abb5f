"""Thumbs and the way to the trace, on answers that are traced and on no others."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Start, Visit
from tests.e2e.server import Server
from tests.e2e.test_accessibility import expect_accessible
from tests.fakes.langfuse import FakeLangfuse

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def fake_langfuse() -> Iterator[FakeLangfuse]:
    with FakeLangfuse() as fake:
        yield fake
        assert fake.violations == []


def _values(fake: FakeLangfuse) -> list[float]:
    return [score["value"] for score in fake.scores.values()]


def test_a_thumb_says_what_the_user_thinks_and_can_be_turned_and_taken_back(
    start: Start, visit: Visit, fake_langfuse: FakeLangfuse
) -> None:
    keys = {"langfuse_public_key": "pk-lf-1", "langfuse_secret_key": "sk-lf-1", "langfuse_host": fake_langfuse.origin}
    page = visit(start(**keys))
    page.say("hello")
    answer = page.log.get_by_test_id("message").last
    good, bad = (answer.get_by_role("button", name=name) for name in ("Good answer", "Bad answer"))
    good.click()
    fake_langfuse.wait_for(lambda: _values(fake_langfuse) == [1])
    expect(good).to_have_attribute("aria-pressed", "true")
    expect_accessible(page, "an answer that was rated")
    bad.click()
    fake_langfuse.wait_for(lambda: _values(fake_langfuse) == [0])
    expect(good).to_have_attribute("aria-pressed", "false")
    bad.click()
    fake_langfuse.wait_for(lambda: not fake_langfuse.scores)
    fake_langfuse.wait_for(lambda: bool(fake_langfuse.traces()))
    trace = fake_langfuse.traces()[0].trace
    link = f"{fake_langfuse.origin}/project/project-1/traces/{trace}"
    expect(answer.get_by_role("link", name="Open trace")).to_have_attribute("href", link)
    expect(page.log.get_by_role("button", name="Good answer")).to_have_count(1)  # none on the question


def test_without_tracing_there_is_nothing_to_press(shared_server: Server, visit: Visit) -> None:
    page = visit(shared_server)
    page.say("hello")
    expect(page.log.get_by_role("button", name="Branch from here").last).to_be_attached()
    expect(page.log.get_by_role("button", name="Good answer")).to_have_count(0)
    expect(page.log.get_by_role("link", name="Open trace")).to_have_count(0)
