"""Uploads are kept for a while and within a budget, and each page uses its own."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import App
from checkpoints.interchange.waymark import Document
from checkpoints.values.limits import MAX_ARCHIVE_FILE_BYTES, MAX_BINARY_FILE_BYTES
from components.transfers import uploads
from components.transfers.uploads import TooManyUploadsError, Uploads
from tests.page_key import read_page_key
from tests.running_app import opened

Story = Callable[[App, httpx.AsyncClient], Awaitable[None]]


async def upload(browser: httpx.AsyncClient, content: str | bytes, purpose: str = "import") -> str:
    """The id of what a page has uploaded."""
    answer = await browser.post(f"/api/uploads/{purpose}", content=content)
    assert answer.status_code == 200, answer.text
    identifier: str = answer.json()["id"]
    return identifier


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield bytes(size)


def run(folder: Path, story: Story, **settings: Any) -> None:
    async def whole() -> None:
        async with opened(folder / "data", **({"auth": "none"} | settings)) as (app, browser):
            await story(app, browser)

    asyncio.run(whole())


@pytest.mark.parametrize(("purpose", "limit"), [("import", MAX_ARCHIVE_FILE_BYTES), ("file", MAX_BINARY_FILE_BYTES)])
def test_an_upload_of_the_limit_is_kept_whole_and_a_larger_one_is_refused(purpose: str, limit: int, tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        kept = await app.services.uploads.find(await upload(browser, bytes(limit), purpose))
        assert kept is not None
        assert len(kept.data) == limit
        assert (await browser.post(f"/api/uploads/{purpose}", content=bytes(limit + 1))).status_code == 413
        endless = await browser.post(f"/api/uploads/{purpose}", content=pieces(*[1_000_000] * (limit // 1_000_000 + 1)))
        assert endless.status_code == 413

    run(tmp_path, story)


def test_an_upload_for_no_known_purpose_is_not_found(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        for path in ("/api/uploads/other", "/api/uploads/", "/api/uploads/import/x"):
            assert (await browser.post(path, content=b"{}")).status_code in (404, 405)

    run(tmp_path, story)


def test_an_upload_is_dropped_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_SECONDS", 0.0)

    async def story() -> None:
        kept = Uploads()
        identifier = await kept.receive(pieces(10))
        while await kept.find(identifier):  # noqa: ASYNC110  (nothing here listens)
            await asyncio.sleep(0.001)
        assert kept._bytes == 0

    asyncio.run(asyncio.wait_for(story(), 60))


def test_the_oldest_uploads_give_way_to_a_new_one_over_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_BYTES", 100)

    async def story() -> None:
        kept = Uploads()
        one, two, three = [await kept.receive(pieces(30, 10)) for _ in range(3)]
        assert [bool(await kept.find(each)) for each in (one, two, three)] == [False, True, True]
        with pytest.raises(TooManyUploadsError):
            await kept.receive(pieces(60, 60))
        four, five = [await kept.receive(pieces(50)) for _ in range(2)]  # nothing of the refused one counts
        assert await kept.find(four)
        assert await kept.find(five)

    asyncio.run(story())


def test_uploads_that_arrive_at_once_count_before_they_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_BYTES", 100)
    is_open = asyncio.Event()

    async def wait_in_the_middle() -> AsyncIterator[bytes]:
        yield bytes(60)
        await is_open.wait()

    async def story() -> None:
        kept = Uploads()
        arriving = asyncio.create_task(kept.receive(wait_in_the_middle()))
        await asyncio.sleep(0)
        with pytest.raises(TooManyUploadsError):
            await kept.receive(pieces(50))
        is_open.set()
        assert await kept.find(await arriving)

    asyncio.run(story())


def test_of_very_many_small_uploads_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_UPLOADS", 3)

    async def story() -> None:
        kept = Uploads()
        made = [await kept.receive(pieces(0)) for _ in range(5)]
        assert [bool(await kept.find(each)) for each in made] == [False, False, True, True, True]

    asyncio.run(story())


def test_an_upload_that_breaks_off_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_BYTES", 100)

    async def break_off() -> AsyncIterator[bytes]:
        yield bytes(90)
        raise ConnectionError

    async def story() -> None:
        kept = Uploads()
        first = await kept.receive(pieces(10))
        with pytest.raises(ConnectionError):
            await kept.receive(break_off())
        await kept.receive(pieces(90))
        assert await kept.find(first)

    asyncio.run(story())


def test_an_upload_in_single_bytes_costs_as_much_as_in_one_piece() -> None:
    async def story() -> int:
        kept = Uploads()
        tracemalloc.start()
        assert await kept.find(await kept.receive(pieces(*[1] * 100_000)))
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return used

    assert asyncio.run(story()) < 300_000


def test_only_the_newest_documents_are_kept() -> None:
    async def story() -> None:
        kept, documents = Uploads(), list[Document]()
        names = [await kept.receive(pieces(1)) for _ in range(2)]
        for name in names:
            kept.keep_documents(name, documents)
        assert [found.documents if (found := await kept.find(name)) else 0 for name in names] == [None, documents]

    asyncio.run(story())


def test_an_upload_needs_the_origin_the_session_and_the_key_of_the_same_session(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        async def knock(**changes: str) -> int:
            headers = {"x-waymark-page-key": keys[0] or ""} | {
                name.replace("_", "-"): text for name, text in changes.items()
            }
            return (await browser.post("/api/uploads/import", content=b"{}", headers=headers)).status_code

        keys, cookies = list[str | None](), list[str]()
        for _ in range(2):  # two browsers sign in
            browser.cookies.clear()
            keys.append(read_page_key((await browser.get(app.create_link())).text))
            cookies.append(browser.cookies["waymark_8050"])
        browser.cookies.clear()
        cookie = f"waymark_8050={cookies[0]}"
        assert await knock(cookie=cookie) == 200
        assert await knock(cookie=cookie, x_waymark_page_key=keys[1] or "") == 401
        assert await knock(cookie=cookie, origin="http://evil.example") == 403
        assert await knock() == 401

    run(tmp_path, story, auth="token")
