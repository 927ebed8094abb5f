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
