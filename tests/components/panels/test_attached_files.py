"""A message names its files by their uploads. It is on disk with its files before the page is told that it is sent."""

import asyncio
from pathlib import Path

import httpx
import pytest

from app import App
from checkpoints import Store
from checkpoints.values import files
from components.transfers import uploads
from tests.attachments import png
from tests.components.transfers.test_uploads import run, upload
from tests.running_app import JSON, opened, post_action

REQUEST = "00000000-0000-4000-8000-000000000001"
FILES = {"chart.png": png(), "notes.txt": b"the plan"}


async def send(browser: httpx.AsyncClient, named: object, *, text: str = "Look", thread: str | None = None) -> JSON:
    """The composer's reply to a message with these files."""
    action = {"type": "send", "request_id": REQUEST, "n": 1, "text": text, "files": named}
    answer = await post_action(browser, "composer-panel", action, f"/t/{thread}" if thread else "/")
    reply: JSON = answer.json()["composer-panel"]["reply"]
    return reply


async def upload_files(browser: httpx.AsyncClient) -> list[dict[str, str]]:
    return [{"name": name, "id": await upload(browser, content, "file")} for name, content in FILES.items()]


def read_sent(store: Store) -> list[tuple[str, dict[str, bytes]]]:
    """The text and the files of the first message of each conversation."""
    found = []
    for thread in store.list_threads():
        message = store.list_messages(thread.id)[0].langchain
        parts = files.find_file_parts(message.content)
        contents = store.read_files([part["file"] for part in parts])
        found.append((str(message.text), {part["name"]: contents[part["file"]] for part in parts}))
    return found


def test_a_message_is_sent_with_its_files_which_are_not_kept_any_longer(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        named = await upload_files(browser)
        assert (await send(browser, named))["ok"]
        assert read_sent(app.services.store) == [("Look", FILES)]
        assert [await app.services.uploads.find(each["id"]) for each in named] == [None, None]

    run(tmp_path, story)


@pytest.mark.parametrize("again", ["the same request", "the files uploaded again", "both at once"])
def test_a_message_that_is_sent_again_after_its_uploads_were_used_has_no_second_effect(tmp_path: Path, again: str) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        named = await upload_files(browser)
        if again == "both at once":
            replies = await asyncio.gather(send(browser, named), send(browser, named))
        else:
            renamed = await upload_files(browser) if again == "the files uploaded again" else named
            replies = [await send(browser, named), await send(browser, renamed)]
        assert [reply["ok"] for reply in replies] == [True, True]
        assert read_sent(app.services.store) == [("Look", FILES)]

    run(tmp_path, story)


def test_after_a_restart_the_repeated_message_is_found_on_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            named = await upload_files(browser)
            assert (await send(browser, named))["ok"]
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            assert (await send(browser, named))["ok"]
            assert read_sent(app.services.store) == [("Look", FILES)]

    asyncio.run(story())


def test_another_text_or_other_files_under_a_used_request_are_refused(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        named = await upload_files(browser)
        assert (await send(browser, named))["ok"]
        for changed in (send(browser, named, text="Another"), send(browser, named[:1]), send(browser, [])):
            assert not (await changed)["ok"]
        assert read_sent(app.services.store) == [("Look", FILES)]

    run(tmp_path, story)


def test_a_message_whose_upload_is_gone_is_not_sent_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        named = [*await upload_files(browser), {"name": "more.txt", "id": "unknown"}]
        said = "more.txt was not kept on the server: send the message again."
        assert await send(browser, named) == {"request_id": REQUEST, "ok": False, "text": said}
        assert read_sent(app.services.store) == []
        monkeypatch.setattr(uploads, "MAX_KEPT_SECONDS", 0.0)
        named = await upload_files(browser)
        while await app.services.uploads.find(named[0]["id"]):  # noqa: ASYNC110  (nothing here listens)
            await asyncio.sleep(0.001)
        assert (await send(browser, named))["text"].startswith("chart.png was not kept")

    run(tmp_path, story)


def test_a_file_that_cannot_be_attached_is_refused_and_not_kept(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        identifier = await upload(browser, b"PK\x03\x04\x00\x00", "file")
        reply = await send(browser, [{"name": "all.zip", "id": identifier}])
        assert reply["text"].startswith("all.zip is neither an image")
        assert await app.services.uploads.find(identifier) is None
        assert read_sent(app.services.store) == []

    run(tmp_path, story)


@pytest.mark.parametrize(
    "named", [["a"], [{"id": "a"}], [{"name": "a"}], [{"id": 1, "name": "a"}], [{"id": "a", "name": []}]]
)
def test_files_that_no_page_names_are_a_bad_request(tmp_path: Path, named: object) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        action = {"type": "send", "request_id": REQUEST, "text": "Look", "files": named}
        answer = await post_action(browser, "composer-panel", action)
        assert (answer.status_code, answer.text) == (400, "files")

    run(tmp_path, story)
