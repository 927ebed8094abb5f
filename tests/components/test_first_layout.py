"""The reading of a page's layout begins with its navigation, and its result is for that page alone."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components import first_layout, page
from components.first_layout import EarlyReads
from tests.running_app import ORIGIN, opened, props_of

NAVIGATION = {"sec-fetch-dest": "document"}


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The threads whose panels are read."""
    read: list[str | None] = []
    read_panels = page.read_panels

    def note(services: Any, location: Any) -> Any:
        read.append(location.thread_id)
        return read_panels(services, location)

    monkeypatch.setattr(page, "read_panels", note)
    return read


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  (what happens is not ours to signal)
            await asyncio.sleep(0.01)


def test_the_panels_are_read_with_the_navigation_and_the_layout_reads_nothing(
    tmp_path: Path, addresses: list[str | None]
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = app.services.store.create_thread(title="Stocks and bonds").id
            path, came_from = f"/t/{thread_id}", {"referer": f"{ORIGIN}/t/{thread_id}"}
            await browser.get(path, headers=NAVIGATION)
            await wait_for(lambda: addresses == [thread_id])
            layout = await browser.get("/_dash-layout", headers=came_from)
            assert props_of(layout.json(), "thread-title")["children"] == "Stocks and bonds"
            assert addresses == [thread_id]
            app.services.store.rename_thread(thread_id, "Gold")
            again = await browser.get("/_dash-layout", headers=came_from)  # without a navigation
            assert (props_of(again.json(), "thread-title")["children"], len(addresses)) == ("Gold", 2)

    asyncio.run(story())


def test_a_page_gets_no_layout_from_before_its_navigation_and_none_of_another_address_or_language(
    tmp_path: Path, addresses: list[str | None]
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = app.services.store.create_thread(title="Stocks").id
            path, came_from = f"/t/{thread_id}", {"referer": f"{ORIGIN}/t/{thread_id}"}
            await browser.get(path, headers=NAVIGATION)
            await wait_for(lambda: len(addresses) == 1)
            start = await browser.get("/_dash-layout", headers={"referer": f"{ORIGIN}/"})
            german = await browser.get("/_dash-layout", headers={**came_from, "waymark-language": "de"})
            assert props_of(start.json(), "transcript")["data"]["thread"] is None
            assert "Rückgängig" in german.text
            assert addresses == [thread_id, None, thread_id]
            app.services.store.rename_thread(thread_id, "Gold")
            await browser.get(path, headers=NAVIGATION)
            layout = await browser.get("/_dash-layout", headers=came_from)
            assert props_of(layout.json(), "thread-title")["children"] == "Gold"

    asyncio.run(story())


def test_a_program_or_a_part_of_a_page_begins_no_reading(tmp_path: Path, addresses: list[str | None]) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            for headers in ({}, {"sec-fetch-dest": "empty"}, {"sec-fetch-dest": "iframe"}):
                await browser.get("/", headers=headers)
            await browser.head("/", headers=NAVIGATION)
            await browser.get("/healthz", headers=NAVIGATION)
            await asyncio.sleep(0)

    asyncio.run(story())
    assert addresses == []


def test_navigations_that_come_often_cost_one_reading_at_a_time() -> None:
    async def story() -> None:
        reads, go_on = EarlyReads[int](), asyncio.Event()
        begun: list[None] = []

        async def read() -> int:
            begun.append(None)
            await go_on.wait()
            return len(begun)

        for _ in range(100):
            reads.begin("a", read)
            await asyncio.sleep(0)
        assert (len(begun), reads.take("a")) == (1, None)  # the first is older than the last navigation
        go_on.set()
        await wait_for(lambda: not reads._running)
        reads.begin("a", read)
        taken = reads.take("a")
        assert taken
        assert await taken == 2

    asyncio.run(story())


def test_a_result_that_nobody_takes_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        reads = EarlyReads[int]()
        monkeypatch.setattr(first_layout, "MAX_EARLY_SECONDS", 0)
        reads.begin("a", lambda: asyncio.sleep(0, 1))
        assert list(reads._tasks) == ["a"]
        await wait_for(lambda: not reads._tasks)
        assert reads.take("a") is None

    asyncio.run(story())
