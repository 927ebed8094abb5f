"""The import of a file through the page's callbacks."""

import asyncio
from pathlib import Path

from checkpoints.interchange import transfer
from tests.checkpoints.conversations import talked
from tests.components.test_uploads import parsed, upload
from tests.test_app import opened, post_callback

__all__ = ["parsed"]


def test_the_preview_and_the_import_of_a_file_parse_it_once(tmp_path: Path, parsed: list[int]) -> None:
    async def story() -> int:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            contents = upload(transfer.export(store, talked(store, "a", "b")))
            page = {"upload.contents": contents, "upload.filename": "a.json", "url.pathname": "/"}
            await post_callback(browser, "upload.contents", page)
            await post_callback(browser, "import-confirm.n_clicks", {**page, "import-confirm.n_clicks": 1})
            return len(store.list_threads())

    assert (asyncio.run(story()), len(parsed)) == (2, 1)


def test_the_preview_of_a_file_that_was_cleared_says_that_merging_shows_it_again(tmp_path: Path) -> None:
    async def story() -> str:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            thread_id = talked(store, "a", "b")
            contents = upload(transfer.export(store, thread_id))
            store.clear(thread_id)
            page = {"upload.contents": contents, "upload.filename": "a.json", "url.pathname": f"/t/{thread_id}"}
            return (await post_callback(browser, "upload.contents", page)).text

    said = "2 of its 2 messages are already in this conversation, which shows none now. Merging shows them again."
    assert said in asyncio.run(story())
