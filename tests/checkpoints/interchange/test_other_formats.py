"""Files of other formats have the same limits as a document of Waymark."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from checkpoints.interchange import tree_builder
from checkpoints.interchange.reading import read_document, read_documents
from checkpoints.values import serde
from checkpoints.values.errors import InvalidDocumentError
from checkpoints.values.limits import MAX_DOCUMENT_BYTES, MAX_PART_VALUES

pytestmark = pytest.mark.slow

Json = dict[str, Any]
TIME = "2030-01-01T00:00:00+00:00"


def write_states(*states: list[Json], **further: Any) -> Json:
    """An export of the older form, with a checkpoint for each state."""
    entries = {
        f"c{number}": {"name": "", "timestamp": TIME, "state": {"messages": state, **further}}
        for number, state in enumerate(states)
    }
    return {"checkpoints": entries}


def write_chat(said: list[Json], **further: Any) -> list[Json]:
    """An export of Open WebUI, with the messages one after the other."""
    linked = {str(n): {"parentId": str(n - 1) if n else None, "role": "user", **each} for n, each in enumerate(said)}
    return [{"chat": {"history": {"messages": linked}, **further}}]


def write_states_of(contents: list[Any], **further: Any) -> Json:
    return write_states([{"type": "human", "content": content} for content in contents], **further)


def write_chat_of(contents: list[Any], **further: Any) -> list[Json]:
    return write_chat([{"content": content} for content in contents], **further)


FORMATS: dict[str, Callable[..., Any]] = {"older form": write_states_of, "Open WebUI": write_chat_of}
EACH_FORMAT = pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)


@EACH_FORMAT
def test_a_text_of_another_format_is_kept(write: Callable[..., Any]) -> None:
    long = "x" * 1_000 + '\U0001f600\n"'
    found = read_document(json.dumps(write(["short", long]))).current_messages()
    assert [each.message["data"]["content"] for each in found] == ["short", long]
    assert found[1].hash == serde.hash_message(found[1].message, "main", "done", found[0].hash)


def test_long_texts_of_a_chat_are_cut_and_joined_as_short_ones_are() -> None:
    long = "x" * 1_000 + "\U0001f600"
    parts = [{"type": "text", "text": long}, {"type": "image_url"}, {"type": "text", "text": "end\n"}]
    document = read_document(json.dumps(write_chat_of([parts], title=long)))
    assert document.thread.title == "x" * 500
    assert document.messages[0].message["data"]["content"] == f"{long}\n\nend\n\n\n[1 image left out]"


def test_long_texts_in_a_state_of_the_older_form_are_kept() -> None:
    long = "x" * 1_000 + "\U0001f600"
    document = read_document(json.dumps(write_states_of(["a"], memory={long: [long]})))
    assert document.checkpoints[0].extra == {"memory": {long: [long]}}


@EACH_FORMAT
def test_small_messages_that_would_grow_beyond_any_export_are_refused(
    monkeypatch: pytest.MonkeyPatch, write: Callable[..., Any]
) -> None:
    monkeypatch.setattr(tree_builder, "MAX_DOCUMENT_BYTES", 50_000)
    raw = json.dumps(write([f"{number}" for number in range(300)])).encode()
    assert len(raw) < 30_000
    with pytest.raises(InvalidDocumentError, match="As conversations of Waymark, the file is larger than"):
        read_documents(raw)
    assert read_documents(json.dumps(write([f"{number}" for number in range(100)])))


def test_too_many_messages_of_chats_are_refused_before_they_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = json.dumps(write_chat_of(["x"] * (MAX_DOCUMENT_BYTES // 250 + 1))).encode()
    monkeypatch.setattr(tree_builder.TreeBuilder, "add_message", lambda *_: pytest.fail("it is converted"))
    with pytest.raises(InvalidDocumentError, match="As conversations of Waymark, the file is larger than 10 MB"):
        read_documents(raw)


def test_the_documents_of_one_file_have_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_builder, "MAX_DOCUMENT_BYTES", 50_000)
    chats = [write_chat_of([f"{chat}-{number}" for number in range(50)])[0] for chat in range(4)]
    assert len(read_documents(json.dumps(chats[:2]))) == 2
    with pytest.raises(InvalidDocumentError, match="As conversations of Waymark, the file is larger than"):
        read_documents(json.dumps(chats))


@EACH_FORMAT
def test_the_bytes_of_long_texts_count(monkeypatch: pytest.MonkeyPatch, write: Callable[..., Any]) -> None:
    monkeypatch.setattr(tree_builder, "MAX_DOCUMENT_BYTES", 150_000)
    assert read_document(json.dumps(write(["x" * 149_000])))
    with pytest.raises(InvalidDocumentError, match="As conversations of Waymark, the file is larger than"):
        read_document(json.dumps(write(["x" * 150_000])))


def test_states_that_repeat_messages_convert_each_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    converted, to_message = [], serde.to_message
    monkeypatch.setattr(serde, "to_message", lambda body: converted.append(body) or to_message(body))  # type: ignore[func-returns-value]
    said = [{"type": "human", "content": f"{number}"} for number in range(30)]
    document = read_document(json.dumps(write_states(*(said[: number + 1] for number in range(30)))))
    assert (len(document.messages), len(document.checkpoints)) == (30, 30)
    assert len(converted) == 2 * 30  # as it is converted, and as every document is checked


def test_more_checkpoints_than_the_limit_are_refused_before_they_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serde, "to_message", lambda _: pytest.fail("a message was built"))
    many = write_states(*([{"type": "human", "content": ""}] for _ in range(10_001)))
    with pytest.raises(InvalidDocumentError, match="are too many: at most 10,000 branches and checkpoints"):
        read_document(json.dumps(many))


def test_a_chat_may_have_any_number_of_values_that_nothing_reads() -> None:
    further = [{"role": "user", "content": "x", "sources": [{"a": 1}] * 10}] * (MAX_PART_VALUES // 10)
    messages = [{"content": "hello", "sources": further}]
    document = read_document(json.dumps(write_chat(messages, messages=further)))
    assert [each.message["data"] for each in document.current_messages()] == [{"content": "hello"}]


CROWD = [{"a": 0}] * (MAX_PART_VALUES // 2)
CROWDED_PARTS = {
    "checkpoints.c0.state.messages[0]": write_states([{"type": "human", "content": CROWD}]),
    "checkpoints.c0": write_states([{"type": "human", "content": ""}], extra=CROWD),
}


@pytest.mark.parametrize("field", CROWDED_PARTS)
def test_a_part_of_too_many_values_is_refused_before_anything_converts_it(field: str) -> None:
    with pytest.raises(InvalidDocumentError, match=re.escape(f"{field} holds more than 20,000 values")):
        read_document(json.dumps(CROWDED_PARTS[field]))
