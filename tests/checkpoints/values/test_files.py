"""What users attach is what its bytes are, stands in the store once, and goes when no message names it."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Database, InvalidDocumentError, Store
from checkpoints.interchange import reading, text_exports, transfer
from checkpoints.interchange.redaction import Redaction
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from checkpoints.values import files, limits
from checkpoints.values.errors import DamagedFileError, ExportTooLargeError, InvalidFileError
from checkpoints.values.files import File
from tests.attachments import GIF, JPEG, PDF, WEBP, asking, png
from tests.checkpoints.conversations import count, new, talked
from tests.checkpoints.interchange.test_transfer import resealed

Json = dict[str, Any]
PICTURE = files.parse_file("a.png", png())
NOTES = files.parse_file("notes.txt", b"secret plans\n")


def conversation(store: Store) -> str:
    """Two files, one of them named twice."""
    thread_id = store.create_thread(title="Talk").id
    store.append(thread_id, [asking("look", PICTURE, NOTES), *new("?", "nice")[1:], asking("again", PICTURE)])
    return thread_id


def spoil(store: Store, file: File = PICTURE) -> None:
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.file).where(schema.file.c.hash == file.hash).values(bytes=b"other"))


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(), "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (PDF, "application/pdf"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain"),
        ("a,b\n1,é\x1b[0m\n".encode(), "text/plain"),
    ],
)
def test_a_file_is_what_its_bytes_say_and_not_its_name(data: bytes, media_type: str) -> None:
    assert files.parse_file("whatever", data).media_type == media_type


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("page.png", b"<html><script>alert(1)</script></html>", "page.png is not an image, as its name says"),
        ("a.pdf", b"text", "a.pdf is not a PDF, as its name says"),
        ("a.zip", b"PK\x03\x04\x14\x00\x00", "neither an image"),
        ("latin.txt", b"caf\xe9", "neither an image"),
        ("empty.txt", b"", "empty.txt is empty"),
        ("big.txt", b"x" * 1_000_001, "larger than 1 MB, the most for a text"),
        ("big.png", png() + b"\0" * 5_000_000, "larger than 5 MB, the most for an image"),
        ("bomb.png", png(claims=(60_000, 60_000)), "more than 50 million pixels"),
        ("bomb.gif", b"GIF89a\xff\xff\xff\xff" + GIF[10:], "more than 50 million pixels"),
        ("cut.png", png()[:18], "damaged image"),
        ("cut.jpg", JPEG[:12], "damaged image"),
        ("cut.webp", WEBP[:22], "damaged image"),
    ],
)
def test_what_cannot_be_attached_is_refused_with_its_name_and_the_reason(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(InvalidFileError, match=reason):
        files.parse_file(name, data)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.txt", "a.txt"),
        ("in\r\nvoice\x00.txt", "invoice\ufffd.txt"),
        ("\u202egnp.exe", "gnp.exe"),
        ("..", "file"),
        ("", "file"),
        ("x" * 300 + ".markdown", "x" * 180 + ".markdown"),
    ],
)
def test_a_name_has_no_folder_and_nothing_that_cannot_be_seen(given: str, kept: str) -> None:
    assert files.parse_file(given, b"text").name == kept
    assert files.clean_file_name(kept) == kept


@pytest.mark.parametrize(
    "sent",
    [[("a", b"a")] * 6, [("a.png", png() + bytes(4_000_000))] * 3, [("a", b"a"), ("b.png", b"b")]],
)
def test_files_that_are_too_many_or_too_large_together_or_not_whole_are_refused(sent: list[tuple[str, bytes]]) -> None:
    with pytest.raises(InvalidFileError):
        files.parse_files(sent)


def test_a_file_is_kept_once_however_often_it_is_attached(store: Store) -> None:
    thread_id = conversation(store)
    store.fork_thread(thread_id, store.list_messages(thread_id)[-1].id)
    assert count(store, schema.file) == 2
    assert store.read_files([PICTURE.hash, NOTES.hash]) == {PICTURE.hash: PICTURE.data, NOTES.hash: NOTES.data}
    message = store.list_messages(thread_id)[0]
    assert (str(message.langchain.text), files.find_file_parts(message.langchain.content)) == (
        "look",
        [files.make_file_part(PICTURE), files.make_file_part(NOTES)],
    )


def test_a_file_is_not_kept_without_its_message(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    taken = store.list_messages(thread_id)[0].id
    with pytest.raises(sa.exc.IntegrityError):
        store.append(thread_id, [asking("look", PICTURE), replace(new("x")[0], id=taken)])
    assert count(store, schema.file) == 0


def test_a_damaged_file_is_held_by_nobody_and_whole_again_when_it_is_attached_again(store: Store) -> None:
    thread_id = conversation(store)
    spoil(store)
    assert store.read_files([PICTURE.hash, NOTES.hash]) == {NOTES.hash: NOTES.data}
    with pytest.raises(DamagedFileError, match=r"a\.png is damaged"):
        transfer.export(store, thread_id)
    store.append(thread_id, [asking("again", PICTURE)])
    assert store.read_files([PICTURE.hash]) == {PICTURE.hash: PICTURE.data}


def test_verifying_names_damaged_and_missing_files_and_whose_they_are(store: Store) -> None:
    thread_id = conversation(store)
    assert str(verification.verify(store.database)).endswith(", 2 attached files: all whole.")
    spoil(store)
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.file).where(schema.file.c.hash == NOTES.hash))
    told = [str(damage) for damage in verification.verify(store.database).damages]
    assert [PICTURE.hash in told[0], thread_id in told[1], "message 1" in told[1], "message 3" in told[2]] == [True] * 4


def test_erasing_takes_the_files_that_no_message_names_any_more(store: Store) -> None:
    first, second = conversation(store), store.create_thread(title="Other").id
    store.append(second, [asking("mine too", PICTURE)])
    plan = erasure.erase(store.database, first)
    assert str(plan).endswith("1 attached file")
    assert (store.read_files([NOTES.hash]), set(store.read_files([PICTURE.hash]))) == ({}, {PICTURE.hash})
    assert erasure.erase(store.database, second).files == 1
    assert count(store, schema.file) == 0


def test_an_erased_file_is_gone_with_the_branch_that_was_left(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.append(thread_id, [asking("look", NOTES)])
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    assert erasure.plan_erasure(store.database).files == 0  # undo can bring it back
    assert erasure.erase(store.database, keep_undo=False).files == 1
    assert verification.verify(store.database).damages == ()


def test_an_export_brings_its_files_along_once_each(store: Store) -> None:
    text = transfer.export(store, conversation(store))
    made, elsewhere = json.loads(text), Store(Database.in_memory())
    assert [(each["hash"], each["media_type"]) for each in made["files"]] == [
        (PICTURE.hash, "image/png"),
        (NOTES.hash, "text/plain"),
    ]
    doc = reading.read_document(text)
    assert transfer.preview_import(elsewhere, doc).files == 2
    thread_id = transfer.import_thread(elsewhere, doc).result
    assert elsewhere.read_files([PICTURE.hash, NOTES.hash]) == {PICTURE.hash: PICTURE.data, NOTES.hash: NOTES.data}
    again = json.loads(transfer.export(elsewhere, thread_id))
    assert {key: again[key] for key in ("files", "messages")} == {key: made[key] for key in ("files", "messages")}
    elsewhere.database.close()


def test_merging_brings_the_files_of_what_it_adds(store: Store) -> None:
    elsewhere = Store(Database.in_memory())
    thread_id = talked(store, "a", "b")
    copy = transfer.import_thread(elsewhere, reading.read_document(transfer.export(store, thread_id))).result
    store.append(thread_id, [asking("look", NOTES)])
    transfer.merge_document(elsewhere, copy, reading.read_document(transfer.export(store, thread_id)))
    assert elsewhere.read_files([NOTES.hash]) == {NOTES.hash: NOTES.data}
    elsewhere.database.close()


def _named(made: Json) -> Json:
    part: Json = made["messages"][0]["message"]["data"]["content"][1]
    return part


@pytest.mark.parametrize(
    ("forge", "field"),
    [
        (lambda made: made["files"][0].update(data=base64.b64encode(b"<b>").decode()), r"files\[0\]\.hash"),
        (lambda made: made["files"][0].update(data="no base64!"), r"files\[0\]\.data"),
        (lambda made: made["files"][0].update(data=base64.b64encode(b"PK\x03\x04\0").decode()), r"files\[0\]\.data"),
        (lambda made: made["files"][0].update(media_type="image/svg+xml"), r"files\[0\]\.hash"),
        (lambda made: made["files"].pop(0), r"content\[1\]\.file names a file"),
        (lambda made: made["messages"].pop(0) and made["messages"].clear(), "named by no message"),
        (lambda made: _named(made).update(name="../../x.png"), r"content\[1\]\.name"),
        (lambda made: _named(made).update(mime_type="text/html"), r"content\[1\] does not fit"),
        (lambda made: _named(made).update(size=1), r"content\[1\] does not fit"),
        (lambda made: _named(made).update(type="image_url"), r"content\[1\] does not fit"),
        (lambda made: _named(made).update(url="https://example.com/x.png"), "something other than text"),
    ],
)
def test_a_forged_file_is_refused_by_the_field(memory_store: Store, forge: Callable[[Json], object], field: str) -> None:
    made = json.loads(transfer.export(memory_store, conversation(memory_store)))
    forge(made)
    with pytest.raises(InvalidDocumentError, match=field):
        reading.read_document(resealed(made))


def test_a_message_with_all_the_files_that_it_may_have_is_exported_and_imported_again(memory_store: Store) -> None:
    sizes = [limits.MAX_BINARY_FILE_BYTES, limits.MAX_FILES_BYTES - limits.MAX_BINARY_FILE_BYTES]
    contents = [(f"{n}.pdf", PDF + bytes([n]) * (size - len(PDF))) for n, size in enumerate(sizes)]
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [asking("read", *files.parse_files(contents))])
    copy = transfer.import_thread(memory_store, reading.read_document(transfer.export(memory_store, thread_id))).result
    assert memory_store.list_messages(copy)[0].hash == memory_store.list_messages(thread_id)[0].hash


def test_an_export_that_would_be_too_large_says_to_leave_the_files_out(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = conversation(memory_store)
    monkeypatch.setattr(limits, "MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(ExportTooLargeError, match="Leave the files out"):
        transfer.export(memory_store, thread_id)
    assert "files" not in json.loads(transfer.export(memory_store, thread_id, Redaction(files=True)))


@pytest.mark.parametrize("redaction", [Redaction(files=True), Redaction(patterns=("notes",))])
def test_files_that_are_left_out_or_cannot_be_searched_for_words_leave_their_names(
    memory_store: Store, redaction: Redaction
) -> None:
    made = json.loads(transfer.export(memory_store, conversation(memory_store), redaction))
    assert "files" not in made
    name = "[redacted].txt" if redaction.patterns else "notes.txt"
    assert made["messages"][0]["message"]["data"]["content"][1:] == [
        {"type": "text", "text": "[left out: a.png]"},
        {"type": "text", "text": f"[left out: {name}]"},
    ]
    reading.read_document(json.dumps(made))


def test_exports_for_reading_name_what_was_attached(memory_store: Store) -> None:
    thread_id = conversation(memory_store)
    assert "look\n\n*Attached: a.png*\n\n*Attached: notes.txt*" in text_exports.export_markdown(memory_store, thread_id)
    said = json.loads(text_exports.export_jsonl(memory_store, thread_id))["messages"][0]
    assert said == {"role": "user", "content": "look\n[attached: a.png]\n[attached: notes.txt]"}


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 100, 1_000])
def test_base64_is_decoded_in_pieces_as_strictly_as_in_one(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    sizes, decode = [], base64.b64decode
    monkeypatch.setattr(files, "_PIECE_CHARS", 8)
    monkeypatch.setattr(base64, "b64decode", lambda text, **rules: sizes.append(len(text)) or decode(text, **rules))  # type: ignore[func-returns-value]
    data = bytes(range(256)) * 4
    text = base64.b64encode(data[:size]).decode()
    assert files.decode_base64(text) == data[:size]
    assert max(sizes, default=0) <= 8


@pytest.mark.parametrize("text", ["YQ==YWFh", "AAAAYQ==YWFh", "YWFhYWFhYWE=YWFh", "YWF", "Y!Fh", "AAAAAAAAY", "ä"])
def test_base64_with_anything_else_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(files, "_PIECE_CHARS", 8)
    with pytest.raises(ValueError, match=r".+"):
        files.decode_base64(text)
