"""A page reads how far its long request is, and may cancel it; the import and the export report in the same way."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import App
from checkpoints import Store
from checkpoints.interchange import transfer
from checkpoints.values.progress import Progress, Report
from components.transfers import uploads
from components.transfers.long_requests import HEADER, get_progress_callback
from tests.checkpoints.conversations import new
from tests.components.transfers.test_uploads import upload
from tests.running_app import opened, post_callback

LINES = [f"line {index}" for index in range(300)]
ADDRESS = "/api/requests/one"
UPLOAD_HEADERS = {HEADER: "one", "content-length": "12000"}


class Gate:
    """Holds an operation at the first report beyond the middle of a phase, until it is opened."""

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.reached, self.opened = threading.Event(), threading.Event()

    def hold(self, report: Report) -> Report:
        def report_and_wait(progress: Progress) -> None:
            report(progress)
            if progress.phase == self.phase and progress.total and progress.done * 2 > progress.total:
                self.reached.set()
                assert self.opened.wait(300)  # longer than a story waits for anything

        return report_and_wait


def hold_at(monkeypatch: pytest.MonkeyPatch, phase: str) -> Gate:
    """Hold every request with an id at this phase."""
    gate = Gate(phase)
    for module in ("components.panels.import_dialog", "components.routes.export_download", "extensions.people.admin"):
        monkeypatch.setattr(f"{module}.get_progress_callback", lambda: gate.hold(get_progress_callback()))
    return gate


def write_long(store: Store) -> str:
    store.append(thread_id := store.create_thread(title="Long").id, new(*LINES))
    return thread_id


@asynccontextmanager
async def held(browser: httpx.AsyncClient, gate: Gate, request: Any) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """A request of the page, while it is held."""
    browser.headers[HEADER] = "one"
    task = asyncio.create_task(request)
    assert await asyncio.to_thread(gate.reached.wait, 60)
    del browser.headers[HEADER]
    try:
        yield task
    finally:
        gate.opened.set()
        await task


def run(folder: Path, story: Callable[[App, httpx.AsyncClient], Any]) -> None:
    async def whole() -> None:
        async with opened(folder / "data", auth="none") as (app, browser):
            await story(app, browser)

    asyncio.run(whole())


def test_the_progress_of_an_export_is_read_while_it_runs_and_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = hold_at(monkeypatch, "Reading")

    async def story(app: App, browser: httpx.AsyncClient) -> None:
        export = browser.get(f"/api/threads/{write_long(app.services.store)}/export")
        async with held(browser, gate, export) as running:
            found = (await browser.get(ADDRESS)).json()
            assert (found["phase"], found["total"], found["noun"]) == ("Reading", 300, "messages")
            assert 150 < found["done"] < 300
        assert running.result().status_code == 200
        assert (await browser.get(ADDRESS)).status_code == 204

    run(tmp_path, story)


@pytest.mark.parametrize(
    ("trigger", "phase", "text"),
    [
        ("import-file.data", "Checking", "a.json was not imported. It was cancelled."),
        ("import-confirm.n_clicks", "Writing", "The import was cancelled. Nothing was imported."),
        ("import-merge.n_clicks", "Writing", "The import was cancelled. Nothing was imported."),
    ],
)
def test_a_cancelled_import_says_so_and_writes_nothing(
    trigger: str, phase: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkpoints.rows.message_inserts._MAX_INSERTED_ROWS", 10)
    gate = hold_at(monkeypatch, phase)

    async def story(app: App, browser: httpx.AsyncClient) -> None:
        store = app.services.store
        identifier = await upload(browser, transfer.export(store, source := write_long(store)))
        store.delete_thread(source)
        here = store.create_thread(title="Here").id
        page = {"import-file.data": {"id": identifier, "name": "a.json"}, "url.pathname": f"/t/{here}"}
        async with held(browser, gate, post_callback(browser, trigger, {**page, trigger: page.get(trigger, 1)})) as running:
            assert (await browser.post(f"{ADDRESS}/cancel")).status_code == 204
        assert text in running.result().text
        assert [thread.id for thread in store.list_threads()] == [here]
        assert store.list_messages(here) == []

    run(tmp_path, story)


def test_a_cancelled_export_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = hold_at(monkeypatch, "Reading")

    async def story(app: App, browser: httpx.AsyncClient) -> None:
        export = browser.get(f"/api/threads/{write_long(app.services.store)}/export")
        async with held(browser, gate, export) as running:
            await browser.post(f"{ADDRESS}/cancel")
        assert (running.result().status_code, running.result().text) == (400, "It was cancelled.")

    run(tmp_path, story)


def test_a_request_without_an_id_and_an_unknown_id_change_nothing(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        thread_id = write_long(app.services.store)
        assert (await browser.post(f"{ADDRESS}/cancel")).status_code == 204
        for name in ("", "a b", "x" * 65):
            answer = await browser.get(f"/api/threads/{thread_id}/export", headers={HEADER: name})
            assert answer.status_code == 200

    run(tmp_path, story)


def test_an_upload_is_counted_while_it_arrives(tmp_path: Path) -> None:
    async def story(app: App, browser: httpx.AsyncClient) -> None:
        async def send_pieces() -> AsyncIterator[bytes]:
            for _ in range(3):
                seen.append(str(await app.services.long_requests.find_progress("one")))
                yield bytes(4000)

        seen = list[str]()
        answer = await browser.post("/api/uploads/import", content=send_pieces(), headers=UPLOAD_HEADERS)
        assert answer.status_code == 200
        assert seen == ["None", "Uploading: 4 of 12 kB", "Uploading: 8 of 12 kB"]
        assert await app.services.long_requests.find_progress("one") is None

    run(tmp_path, story)


def test_an_upload_that_is_cancelled_ends_with_the_next_piece_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_BYTES", 12_000)

    async def story(app: App, browser: httpx.AsyncClient) -> None:
        async def cancel_in_the_middle() -> AsyncIterator[bytes]:
            yield bytes(4000)
            await browser.post(f"{ADDRESS}/cancel")
            yield bytes(4000)
            raise AssertionError("nothing more is read")

        answer = await browser.post("/api/uploads/import", content=cancel_in_the_middle(), headers=UPLOAD_HEADERS)
        assert (answer.status_code, answer.text) == (400, "It was cancelled.")
        whole = await browser.post("/api/uploads/import", content=bytes(12_000))  # there is room for it
        assert whole.status_code == 200

    run(tmp_path, story)


def test_progress_is_for_the_signed_in_browser_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (_, browser):
            assert (await browser.get(ADDRESS)).status_code in (401, 403)
            assert (await browser.post(f"{ADDRESS}/cancel")).status_code in (401, 403)

    asyncio.run(story())
