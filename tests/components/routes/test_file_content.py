"""An attached file is given out with the message that names it, as what its bytes are, and nothing in it can act."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from app import App
from checkpoints.storage import schema
from checkpoints.values import files
from components.views import file_links
from server.headers import INERT_POLICY
from tests.attachments import asking, png
from tests.checkpoints.conversations import new
from tests.running_app import opened

PICTURE = files.parse_file("a.png", png())
PAGE = files.parse_file("päge.html", b"<script>alert(1)</script>")


def asked(folder: Path, *paths: str, spoilt: bool = False, **settings: Any) -> list[httpx.Response]:
    """What a browser gets. {0} and {1} are the addresses of a picture and of a page, {2} and {3} wrong ones of the first."""

    async def story() -> list[httpx.Response]:
        async with opened(folder, **settings) as (app, browser):
            addresses = _conversations(app, spoilt)
            return [await browser.get(path.format(*addresses)) for path in paths]

    return asyncio.run(story())


def _conversations(app: App, spoilt: bool) -> list[str]:
    store = app.services.store
    here, elsewhere = store.create_thread().id, store.create_thread().id
    store.append(here, [asking("look", PICTURE, PAGE), *new("", "nice")[1:]])
    store.append(elsewhere, new("nothing here"))
    named, unnamed = store.list_messages(here)
    if spoilt:
        with store.database.begin_write() as connection:
            connection.execute(sa.update(schema.file).values(bytes=b"other"))
    digest = PICTURE.hash.partition(":")[2]
    others = [f"/files/{here}/{unnamed.id}/{digest}", f"/files/{elsewhere}/{named.id}/{digest}"]
    return [file["address"] for file in file_links.describe_files(named)] + others


def test_an_image_is_shown_and_kept_by_no_browser(tmp_path: Path) -> None:
    [answer] = asked(tmp_path / "data", "{0}", auth="none")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, PICTURE.data, "image/png")
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''a.png"
    assert (answer.headers["cache-control"], answer.headers["content-security-policy"]) == ("no-store", INERT_POLICY)
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_page_is_a_text_to_be_kept_and_never_a_page(tmp_path: Path) -> None:
    [answer] = asked(tmp_path / "data", "{1}", auth="none")
    assert (answer.headers["content-type"], answer.content) == ("text/plain; charset=utf-8", PAGE.data)
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''p%C3%A4ge.html"


@pytest.mark.parametrize("path", ["{2}", "{3}", "{0}0", "/files/x/y/z", "/files/", "/files/..%2f..%2fsessions-8050.json"])
def test_a_file_has_no_other_address_than_that_of_its_message(tmp_path: Path, path: str) -> None:
    [answer] = asked(tmp_path / "data", path, auth="none")
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


def test_nobody_reads_a_file_without_a_cookie(tmp_path: Path) -> None:
    assert [answer.status_code for answer in asked(tmp_path / "data", "{0}", "{1}")] == [401, 401]


def test_a_damaged_file_is_said_to_be_one_and_not_given_out(tmp_path: Path) -> None:
    [answer] = asked(tmp_path / "data", "{0}", spoilt=True, auth="none")
    assert (answer.status_code, answer.headers["cache-control"]) == (410, "no-store")
    assert answer.text.startswith("The attached file a.png is damaged")
