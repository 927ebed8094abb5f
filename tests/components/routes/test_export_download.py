"""A download says in a header which limit of an import it exceeds."""

import asyncio
import io
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest
import sqlalchemy as sa

from checkpoints import Database, Store
from checkpoints.interchange import import_limits, transfer
from checkpoints.interchange.archive import Archive
from checkpoints.rows import thread_rows
from components import shapes
from components.routes import export_download
from components.routes.export_download import EXPORT_FORMATS, WARNING_HEADER
from tests.checkpoints.conversations import talked
from tests.running_app import opened


def read_warnings(folder: Path) -> dict[str, str | None]:
    """Return the warning of each format's download."""

    async def download() -> dict[str, str | None]:
        async with opened(folder / "data", auth="none") as (app, browser):
            address = f"/api/threads/{talked(app.services.store, 'a', 'b')}/export"
            answers = {kind: await browser.get(address, params={"format": kind}) for kind in EXPORT_FORMATS}
            assert {answer.status_code for answer in answers.values()} == {200}
            return {kind: answer.headers.get(WARNING_HEADER) for kind, answer in answers.items()}

    return asyncio.run(download())


def test_only_a_download_that_no_import_takes_has_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(read_warnings(tmp_path / "small").values()) == {None}
    monkeypatch.setattr(import_limits, "MAX_BRANCHES_AND_CHECKPOINTS", 1)
    warnings = read_warnings(tmp_path / "large")
    assert warnings["markdown"] is warnings["jsonl"] is None
    assert unquote(str(warnings["waymark"])) == (
        "checkpoints are too many: at most 1 branches and checkpoints can be imported."
    )


def test_a_conversation_that_would_need_gigabytes_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_download, "MAX_EXPORTED_CHARS", 1_000_000)
    monkeypatch.setattr(Store, "load_tree", None)

    async def download() -> list[httpx.Response]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = talked(app.services.store, "x" * 1_000_000)
            queries = [{"format": kind, "redact": word} for kind in EXPORT_FORMATS for word in ("", "Jane")]
            answers = [await browser.get(f"/api/threads/{thread_id}/export", params=query) for query in queries]
            form = {"headers": {"content-type": "text/plain"}, "content": f"thread={thread_id}"}
            return [*answers, await browser.post("/api/threads/export", **form)]

    for answer in asyncio.run(download()):
        assert answer.status_code == 400
        assert answer.text.startswith("This conversation has over 1 million characters")


def test_all_conversations_are_in_one_archive_and_what_is_missing_is_named(tmp_path: Path) -> None:
    async def download() -> tuple[list[str], str, str, str | None]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            store.archive_thread(talked(store, "archived", "b"), archived=True)
            talked(store, "kept", "b")
            broken = talked(store, "lost", "b")
            with store.database.begin_write() as connection:
                connection.execute(sa.text("UPDATE message SET body = '{}' WHERE thread_id = :id"), {"id": broken})
            answer = await browser.post("/api/threads/export", content="all=1", headers={"content-type": "text/plain"})
            with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
                note = archive.read("NOT EXPORTED.txt").decode()
            docs = Archive(io.BytesIO(answer.content)).iterate_documents()
            texts = [str(doc.messages[0].message["data"]["content"]) for doc in docs]
            return texts, note, broken, answer.headers.get(WARNING_HEADER)

    texts, note, broken, warning = asyncio.run(download())
    assert sorted(texts) == ["archived", "kept"]
    assert note.startswith(f"{broken}: ")
    assert unquote(str(warning)) == "1 conversation could not be exported whole: see NOT EXPORTED.txt."


def test_an_id_that_a_program_chose_leads_out_of_no_folder(tmp_path: Path) -> None:
    async def download() -> list[str]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            with store.database.begin_write() as connection:
                for each in ("../../../EVIL", "/etc/passwd", "C:\\evil", "users/42"):
                    thread_rows.insert_thread(connection, store.prepare_thread("Talk", thread_id=each), store.now())
            answer = await browser.post("/api/threads/export", content="all=1", headers={"content-type": "text/plain"})
            return zipfile.ZipFile(io.BytesIO(answer.content)).namelist()

    names = asyncio.run(download())
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"Talk-[\w-]+\.waymark\.json", each) for each in names), names


def test_an_export_takes_as_many_conversations_as_the_page_selects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MAX_SELECTED_THREADS", 2)

    async def download() -> list[httpx.Response]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            made = [f"thread={talked(app.services.store, text, 'b')}" for text in ("one", "two", "three")]
            form = {"headers": {"content-type": "text/plain"}}
            return [await browser.post("/api/threads/export", content="&".join(made[:count]), **form) for count in (2, 3)]

    taken, refused = asyncio.run(download())
    documents = list(Archive(io.BytesIO(taken.content)).iterate_documents())
    store = Store(Database.in_memory())
    assert [store.get_thread(transfer.import_thread(store, each).result).title for each in documents] == ["Talk", "Talk"]
    assert (refused.status_code, refused.text) == (400, "At most 2 conversations can be named at once.")
