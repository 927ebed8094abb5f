"""The import of a file through the page's callbacks, which carry the id of its upload only."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import App
from checkpoints.interchange import reading, transfer
from components.transfers import uploads
from tests.checkpoints import shapes
from tests.checkpoints.conversations import talked
from tests.components.transfers.test_uploads import run, upload
from tests.running_app import JSON, post_callback


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files that were parsed."""
    sizes: list[int] = []
    read = reading.read_documents

    def read_and_note(raw: bytes, *report: Any) -> Any:
        sizes.append(len(raw))
        return read(raw, *report)

    monkeypatch.setattr(reading, "read_documents", read_and_note)
    return sizes


class Tab:
    """A page that imports a file into the conversation that it shows."""

    def __init__(self, browser: httpx.AsyncClient, thread_id: str | None = None) -> None:
        self._browser = browser
        self.values: JSON = {"url.pathname": f"/t/{thread_id}" if thread_id else "/"}

    async def choose(self, content: str) -> str:
        """Upload a file; the answer has its preview."""
        self.values["import-file.data"] = {"id": await upload(self._browser, content), "name": "a.json"}
        return await self._call("import-file.data")

    async def preview(self) -> str:
        return await self._call("import-file.data")

    async def confirm(self, *, merge: bool = False) -> str:
        return await self._call("import-merge.n_clicks" if merge else "import-confirm.n_clicks", clicked=True)

    async def close(self) -> None:
        self.values["import-dialog.is_open"] = False
        answer = await post_callback(self._browser, "import-dialog.is_open", self.values, output="import-file.data")
        self.values["import-file.data"] = answer.json()["response"]["import-file"]["data"]

    async def _call(self, trigger: str, *, clicked: bool = False) -> str:
        answer = await post_callback(self._browser, trigger, self.values | ({trigger: 1} if clicked else {}))
        assert answer.status_code == 200
        return answer.text


def test_the_preview_and_the_import_of_a_file_parse_it_once(tmp_path: Path, parsed: list[int]) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store, tab = app.services.store, Tab(browser)
        await tab.choose(transfer.export(store, talked(store, "a", "b")))
        await tab.confirm()
        assert len(store.list_threads()) == 2

    run(tmp_path, story)
    assert len(parsed) == 1


def test_the_preview_of_a_file_that_was_cleared_says_that_merging_shows_it_again(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store = app.services.store
        thread_id = talked(store, "a", "b")
        content = transfer.export(store, thread_id)
        store.clear(thread_id)
        said = "2 of its 2 messages are already in this conversation, which shows none now. Merging shows them again."
        assert said in await Tab(browser, thread_id).choose(content)

    run(tmp_path, story)


def test_the_preview_names_checkpoints_and_shows_answers_without_marks(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store = app.services.store
        thread_id = talked(store, "my **text**", "An **answer**")
        content = transfer.export(store, thread_id)
        store.delete_thread(thread_id)
        preview = await Tab(browser).choose(content)
        assert "my **text**" in preview
        assert "An answer" in preview
        assert "Checkpoints" in preview

    run(tmp_path, story)


def test_dash_gets_no_component_to_encode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its encoder would import NumPy on the event loop."""
    monkeypatch.setattr("dash._callback.to_json", json.dumps)

    async def story(app: App, browser: httpx.AsyncClient) -> None:
        assert "preview-heading" in await Tab(browser).choose(shapes.marked(["Here"]))

    run(tmp_path, story)


def test_two_tabs_import_their_own_files(tmp_path: Path, parsed: list[int]) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store, one, other = app.services.store, Tab(browser), Tab(browser)
        files = []
        for text in ("first", "second"):
            files.append(transfer.export(store, thread_id := talked(store, text)))
            store.delete_thread(thread_id)
        assert "first" in await one.choose(files[0])
        assert "second" in await other.choose(files[1])
        await other.close()
        await one.confirm()
        [made] = store.list_threads()
        assert store.list_messages(made.id)[0].langchain.text == "first"

    run(tmp_path, story)
    assert len(parsed) == 3  # only the newest documents are kept


@pytest.mark.parametrize("merge", [False, True])
def test_a_file_that_is_not_kept_any_more_is_asked_for_again(tmp_path: Path, merge: bool) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store = app.services.store
        tab = Tab(browser, thread_id := talked(store, "a"))
        await tab.choose(transfer.export(store, thread_id))
        file = tab.values["import-file.data"]
        await tab.close()
        assert tab.values["import-file.data"] is None
        tab.values["import-file.data"] = file
        said = "The file was not kept on the server: choose it again."
        assert said in await tab.confirm(merge=merge)
        assert f"a.json was not imported. {said}" in await tab.preview()
        assert len(store.list_threads()) == 1

    run(tmp_path, story)


def test_an_import_whose_reply_was_lost_is_confirmed_again_with_the_same_effect(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store, tab = app.services.store, Tab(browser)
        content = transfer.export(store, thread_id := talked(store, "a"))
        store.delete_thread(thread_id)
        await tab.choose(content)
        await tab.confirm()
        [made] = store.list_threads()
        assert made.id in await tab.confirm()
        assert store.list_threads() == [made]

    run(tmp_path, story)


def test_a_dialog_that_nobody_closes_keeps_its_file_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store, tab = app.services.store, Tab(browser)
        content = transfer.export(store, talked(store, "a"))
        monkeypatch.setattr(uploads, "MAX_KEPT_SECONDS", 0.0)
        await tab.choose(content)
        while await app.services.uploads.find(tab.values["import-file.data"]["id"]):  # noqa: ASYNC110  (nothing here listens)
            await asyncio.sleep(0.001)
        assert "choose it again" in await tab.confirm()

    run(tmp_path, story)


def test_a_file_that_is_refused_is_not_kept(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        tab = Tab(browser)
        said = "a.json was not imported. This is an export of ChatGPT. Waymark reads its own files"
        assert said in await tab.choose('[{"mapping": {}}]')
        assert await app.services.uploads.find(tab.values["import-file.data"]["id"]) is None

    run(tmp_path, story)
