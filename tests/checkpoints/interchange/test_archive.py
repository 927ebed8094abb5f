"""An archive of documents is read one file at a time, whatever it says about itself."""

import io
import json
import zipfile
from unittest.mock import patch

import pytest

from checkpoints import Database, Store
from checkpoints.interchange import archive, reading, transfer
from checkpoints.interchange.archive import Archive, is_archive
from checkpoints.interchange.reading import read_documents
from checkpoints.values.errors import InvalidDocumentError
from checkpoints.values.limits import MAX_ARCHIVE_BYTES, MAX_CONVERSATIONS, MAX_DOCUMENT_BYTES
from tests.checkpoints.conversations import talked


def write_archive(files: dict[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return content.getvalue()


def read_titles(raw: bytes, **options: int) -> list[str]:
    return [doc.thread.title for doc in Archive(io.BytesIO(raw), **options).iterate_documents()]


def test_each_file_is_a_document(memory_store: Store) -> None:
    text = transfer.export(memory_store, talked(memory_store, "a", "b"))
    raw = write_archive({"one.waymark.json": text, "NOT EXPORTED.txt": "x", "../../etc/two.json": text})
    assert (is_archive(raw), is_archive(text.encode()), len(Archive(io.BytesIO(raw)))) == (True, False, 2)
    assert read_titles(raw) == ["Talk", "Talk"]


def test_an_archive_is_never_unpacked_beyond_the_limits(memory_store: Store) -> None:
    text = transfer.export(memory_store, talked(memory_store, "a", "b"))
    with pytest.raises(InvalidDocumentError, match=r"bomb\.json: The file is larger than 10 MB"):
        read_titles(write_archive({"bomb.json": b"0" * 30_000_000}))
    with pytest.raises(InvalidDocumentError, match="The archive holds over 0 MB"):
        read_titles(write_archive({"one.json": text, "two.json": text}), max_bytes=len(text) + 1)
    with patch.object(archive, "MAX_ARCHIVE_CONVERSATIONS", 1), pytest.raises(InvalidDocumentError, match="over 1 files"):
        read_titles(write_archive({"one.json": text, "two.json": text}))


def test_an_archive_has_a_size_that_holds_at_its_edge(memory_store: Store) -> None:
    text = transfer.export(memory_store, talked(memory_store, "a", "b"))
    size = len(text.encode())
    raw = write_archive({"one.json": text, "two.json": text})
    assert len(read_titles(raw, max_bytes=2 * size)) == 2
    with pytest.raises(InvalidDocumentError, match="The archive holds over 0 MB"):
        read_titles(raw, max_bytes=2 * size - 1)


@pytest.mark.slow
def test_an_archive_of_the_largest_size_is_read_and_a_larger_one_refused(memory_store: Store) -> None:
    text = transfer.export(memory_store, talked(memory_store, "a", "b")).ljust(MAX_DOCUMENT_BYTES)
    count, rest = divmod(MAX_ARCHIVE_BYTES, MAX_DOCUMENT_BYTES)
    assert rest == 0
    files: dict[str, str | bytes] = {f"{number}.json": text for number in range(count)}
    assert len(read_titles(write_archive(files))) == count
    with pytest.raises(InvalidDocumentError, match="The archive holds over 200 MB"):
        read_titles(write_archive({**files, "more.json": text}))


def test_a_file_holds_as_many_conversations_as_its_limit_says() -> None:
    chats = [{"history": {"messages": {}}}] * MAX_CONVERSATIONS
    documents = read_documents(json.dumps(chats).encode())
    store = Store(Database.in_memory())
    for document in (documents[0], documents[-1]):
        again = transfer.export(store, transfer.import_thread(store, document).result)
        assert transfer.import_thread(Store(Database.in_memory()), reading.read_document(again)).result
    assert len(documents) == MAX_CONVERSATIONS
    with pytest.raises(InvalidDocumentError, match=f"holds 201 conversations, and at most {MAX_CONVERSATIONS}"):
        read_documents(json.dumps([*chats, chats[0]]).encode())


def test_the_conversations_of_an_archive_are_counted_and_not_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    chats = json.dumps([{"history": {"messages": {}}}] * 3)
    raw = write_archive({"one.json": chats, "two.json": chats})
    monkeypatch.setattr(archive, "MAX_ARCHIVE_CONVERSATIONS", 6)
    assert len(read_titles(raw)) == 6
    monkeypatch.setattr(archive, "MAX_ARCHIVE_CONVERSATIONS", 5)
    with pytest.raises(InvalidDocumentError, match="The archive holds over 5 conversations"):
        read_titles(raw)


@pytest.mark.parametrize("piece_bytes", [1, 3, 1_000])
def test_an_archive_of_too_many_files_is_refused_before_it_is_opened(
    monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    raw = write_archive({f"{number}.txt": "x" for number in range(3)})
    monkeypatch.setattr(archive, "_PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(archive, "MAX_ARCHIVE_CONVERSATIONS", 1)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(InvalidDocumentError, match="The archive holds over 1 files"):
        Archive(io.BytesIO(raw))


def test_a_damaged_archive_is_refused_with_a_sentence(memory_store: Store) -> None:
    raw = write_archive({"one.json": transfer.export(memory_store, talked(memory_store, "a", "b"))})
    encrypted, torn = bytearray(raw), bytearray(raw)
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(header) + offset] |= 1
    torn[100:140] = b"\xff" * 40
    others = (write_archive({"a.txt": "x"}), write_archive({"x.json": "{"}))
    for broken in (raw[:100], b"PK\x03\x04", bytes(encrypted), bytes(torn), *others):
        with pytest.raises(InvalidDocumentError):
            read_titles(broken)
