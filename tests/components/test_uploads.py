"""An uploaded file is parsed once for its preview and its import."""

import base64
from typing import Any

import pytest

from checkpoints import InvalidDocumentError, Store
from checkpoints.interchange import reading, transfer
from components.uploads import ParsedUpload, hash_upload
from tests.checkpoints.conversations import talked


def upload(text: str) -> str:
    return f"data:application/json;base64,{base64.b64encode(text.encode()).decode()}"


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


def export(store: Store, *texts: str) -> str:
    return upload(transfer.export(store, talked(store, *texts)))


def test_a_file_is_parsed_once_until_it_is_forgotten(memory_store: Store, parsed: list[int]) -> None:
    uploads, contents = ParsedUpload(), export(memory_store, "a", "b")
    assert uploads.read_documents(contents) is uploads.read_documents(contents)
    assert len(parsed) == 1
    uploads.forget(hash_upload(contents))
    uploads.read_documents(contents)
    assert len(parsed) == 2


def test_an_import_takes_the_documents_of_its_preview(memory_store: Store, parsed: list[int]) -> None:
    uploads, contents = ParsedUpload(), export(memory_store, "a", "b")
    assert uploads.read_documents(contents) is uploads.take_documents(contents)
    assert len(parsed) == 1
    uploads.read_documents(contents)
    assert len(parsed) == 2


def test_only_the_newest_file_is_kept(memory_store: Store, parsed: list[int]) -> None:
    uploads, one, other = ParsedUpload(), export(memory_store, "a"), export(memory_store, "b")
    for contents in (one, other, one):
        assert uploads.read_documents(contents)[0].messages[0].message["data"]["content"] in ("a", "b")
    assert len(parsed) == 3


def test_a_dialog_that_closes_late_leaves_the_file_of_another(memory_store: Store, parsed: list[int]) -> None:
    uploads, one, other = ParsedUpload(), export(memory_store, "a"), export(memory_store, "b")
    uploads.read_documents(one)
    uploads.read_documents(other)
    uploads.forget(hash_upload(one))
    uploads.read_documents(other)
    assert len(parsed) == 2


def test_a_file_that_cannot_be_read_is_not_kept() -> None:
    uploads = ParsedUpload()
    for contents in ("data:,not base64!", upload("{}"), upload("{}")):
        with pytest.raises(InvalidDocumentError):
            uploads.read_documents(contents)
