"""A conversation goes into a file and comes back; a file that is not one is refused and touches nothing."""

import base64
import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import UNTITLED, Database, InvalidDocumentError, MessageStatus, NewMessage, Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.storage import schema
from checkpoints.values import files, serde
from tests.checkpoints.conversations import count, dump, names, new, picture, talked, texts
from tests.rounds import given_examples
from tests.strategies import json_values

Json = dict[str, Any]
TIMES = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]


def elsewhere() -> Store:
    return Store(Database.in_memory())


def conversation(store: Store) -> str:
    """Tool calls, a fork, a kept future, a compacted past and a checkpoint that nothing shows any more."""
    thread_id = talked(store, "a", "b", "c", "d")
    call = AIMessage("", tool_calls=[{"name": "f", "args": {"x": [1.5, None]}, "id": "1"}])
    result = ToolMessage("4", tool_call_id="1", status="error")
    store.append(thread_id, [NewMessage(serde.to_body(m), agent="helper") for m in (call, result)])
    store.save(thread_id, name="tools", description="words", tokens=7, extra={"plan": {"é": [1]}})
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    store.append(thread_id, new("e", "f"))
    store.save(thread_id, name="left behind")
    store.save(thread_id, keep=2, new=new("g"), name="compacted")
    return thread_id


def exported(store: Store) -> str:
    return transfer.export(store, conversation(store))


def imported(store: Store, text: str) -> str:
    return transfer.import_thread(store, reading.read_document(text)).result


def seen(store: Store, thread_id: str) -> Json:
    """All that a document carries, without ids that a copy may have anew."""
    made = json.loads(transfer.export(store, thread_id))
    places = {m["id"]: index for index, m in enumerate(made["messages"])}
    branches = {b["id"]: index for index, b in enumerate(made["branches"])}
    return {
        "title": made["thread"]["title"],
        "messages": [(m["agent"], m["status"], m["created_at"], m["message"], m["hash"]) for m in made["messages"]],
        "branches": [(b["name"], places.get(b["head"])) for b in made["branches"]],
        "checkpoints": [
            (
                {k: v for k, v in c.items() if k not in {"id", "message_id", "branch"}},
                places[c["message_id"]],
                branches[c["branch"]],
            )
            for c in made["checkpoints"]
        ],
        "active": branches[made["active"]],
    }


def test_an_export_is_the_same_conversation_elsewhere(store: Store) -> None:
    thread_id = conversation(store)
    other = elsewhere()
    made = imported(other, transfer.export(store, thread_id))
    assert seen(other, made) == seen(store, thread_id)
    assert other.list_messages(made)[-1].hash == store.list_messages(thread_id)[-1].hash
    assert [c.id for c in other.list_checkpoints(made)] == [c.id for c in store.list_checkpoints(thread_id)]
    assert [c.state for c in other.list_checkpoints(made)] == [c.state for c in store.list_checkpoints(thread_id)]


def test_a_kept_future_is_a_branch_elsewhere_too(store: Store) -> None:
    other = elsewhere()
    made = imported(other, exported(store))
    other.switch(made, other.list_branches(made)[1][0].id)
    assert names(other, made) == ["after b", "after d", "tools"]
    assert other.list_messages(made)[-2].langchain.tool_calls[0]["args"] == {"x": [1.5, None]}


def test_a_restored_conversation_shows_elsewhere_what_it_shows_here(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    other = elsewhere()
    made = imported(other, transfer.export(store, thread_id))
    assert names(other, made) == names(store, thread_id) == ["after b"]


def test_what_has_left_the_conversation_is_not_in_its_export(store: Store) -> None:
    thread_id = talked(store, "a", "b", "secret", "answer")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    assert "secret" not in transfer.export(store, thread_id)


def with_stray(text: str, *, size: int = 3, checkpoint: bool = False) -> str:
    """The document, with messages beside it that no branch leads to: the first has a file. The checkpoint is on the last."""
    made: Json = json.loads(text)
    file = files.parse_file("stray.txt", b"stray")
    parent = made["messages"][0]
    for number in range(size):
        content = files.build_content("left", [files.make_file_part(file)] if number == 0 else [])
        body = serde.to_body(HumanMessage(content))
        hash_ = serde.hash_message(body, "main", MessageStatus.DONE, parent["hash"])
        parent = {**parent, "id": f"stray-{number}", "parent_id": parent["id"], "message": body, "hash": hash_}
        made["messages"].append(parent)
    data = base64.b64encode(b"stray").decode()
    made["files"] = [{"hash": file.hash, "media_type": file.media_type, "data": data}]
    if checkpoint:
        stray = {"id": "stray", "message_id": parent["id"], "message_count": 1 + size, "detached": False}
        made["checkpoints"].append(made["checkpoints"][0] | stray)
    return waymark.write_document(made).text


@pytest.mark.parametrize("merging", [False, True])
def test_what_nothing_of_a_file_shows_is_left_out_and_counted(store: Store, merging: bool) -> None:
    text = transfer.export(store, conversation(store))
    doc = reading.read_document(with_stray(text, checkpoint=True))
    preview, expected = transfer.preview_import(store, doc), reading.read_document(text)
    assert (preview.messages, preview.checkpoints, preview.files) == (len(expected.messages), len(expected.checkpoints), 0)
    assert preview.warnings == ("It holds 3 messages and 1 checkpoint that nothing shows: they are left out.",)
    other = elsewhere()
    if merging:
        made = other.create_thread().id
        transfer.merge_document(other, made, doc)
    else:
        made = transfer.import_thread(other, doc).result
    rows = [count(other, table) for table in (schema.message, schema.checkpoint, schema.file)]
    assert rows == [len(expected.messages), len(expected.checkpoints), 0]
    assert {part["id"] for part in json.loads(transfer.export(other, made))["messages"]} == {m.id for m in expected.messages}


def test_a_message_that_only_a_detached_checkpoint_shows_comes_along(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.append(thread_id, new("c"))
    made = json.loads(transfer.export(store, thread_id))
    made["branches"][0]["head"] = made["messages"][0]["id"]
    made["checkpoints"][0]["detached"] = True
    text = waymark.write_document(made).text
    assert transfer.preview_import(store, reading.read_document(text)).warnings == (
        "It holds 1 message that nothing shows: it is left out.",
    )
    other = elsewhere()
    again = json.loads(transfer.export(other, imported(other, text)))
    assert [m["hash"] for m in again["messages"]] == [m["hash"] for m in made["messages"][:2]]


def test_the_same_document_twice_is_one_conversation(store: Store) -> None:
    text = exported(store)
    other = elsewhere()
    first = transfer.import_thread(other, reading.read_document(text))
    before = dump(other)
    again = transfer.import_thread(other, reading.read_document(text))
    assert (first.repeated, again.repeated, again.result) == (False, True, first.result)
    assert dump(other) == before


def test_an_import_where_it_came_from_is_a_copy(store: Store) -> None:
    thread_id = conversation(store)
    before = seen(store, thread_id)
    made = imported(store, transfer.export(store, thread_id))
    assert (seen(store, thread_id), seen(store, made)) == (before, before)
    assert not {m.id for m in store.list_all_messages(made)} & {m.id for m in store.list_all_messages(thread_id)}
    store.clear_checkpoints(made)
    assert seen(store, thread_id) == before


def test_importing_into_the_conversation_itself_writes_no_message_twice(store: Store) -> None:
    thread_id = conversation(store)
    before, rows = seen(store, thread_id), count(store, schema.message)
    text = transfer.export(store, thread_id)
    store.append(thread_id, new("x"))
    store.save(thread_id, name="not in the file")
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(text)))
    assert (seen(store, thread_id), count(store, schema.message)) == (before, rows + 1)
    assert "not in the file" not in names(store, thread_id)


def test_importing_into_the_conversation_itself_finds_each_of_two_branches_that_are_alike(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    for _ in range(2):
        store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    before = store.list_branches(thread_id)
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(transfer.export(store, thread_id))))
    assert store.list_branches(thread_id) == before


def test_importing_shows_only_checkpoints_of_the_file(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    text = transfer.export(store, thread_id)
    store.save(thread_id, name="later, at the same place")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(text)))
    assert names(store, thread_id) == ["after b", "after d"]


def test_a_deleted_import_can_be_imported_again(store: Store) -> None:
    text = exported(elsewhere())
    first = imported(store, text)
    store.delete_thread(first)
    second = imported(store, text)
    assert second != first
    assert texts(store, second) == ["a", "b", "g"]


def test_an_empty_conversation_can_be_exported(store: Store) -> None:
    other = elsewhere()
    made = imported(other, transfer.export(store, store.create_thread(title="Empty").id))
    assert (texts(other, made), other.get_thread(made).title) == ([], "Empty")


def test_a_preview_counts_and_warns_before_anything_is_done(store: Store) -> None:
    made = plain(elsewhere())
    made["thread"]["settings"] = {"x": 1}
    made["messages"][0]["message"]["type"] = "system"
    made["messages"][3]["status"] = "partial"
    doc = reading.read_document(resealed(made))
    thread_id = talked(store, "x")
    before = dump(store)
    found = transfer.preview_import(store, doc, thread_id)
    assert dump(store) == before
    assert (found.title, found.messages, found.branches, found.checkpoints, found.known_messages) == ("Talk", 4, 1, 2, 0)
    assert found.warnings == (
        "It holds 1 system message: kept as notes, they never become instructions.",
        "1 message in it was cut off, and will be marked so.",
        "The settings in it are not taken over.",
    )
    made_here = transfer.import_thread(store, doc).result
    again = transfer.preview_import(store, doc, made_here)
    assert (again.known_messages, again.existing_thread) == (4, store.get_thread(made_here))


def older(**changes: Any) -> Json:
    said = [{"type": "HumanMessage", "content": "a"}, {"type": "AIMessage", "content": "b"}]
    entry = {"id": "c1", "name": "one", "timestamp": "2024-05-01T10:00:00", "message_count": 2, "description": "words"}
    first = {**entry, "state": {"messages": said, "step": 1}}
    second = {**entry, "id": "c2", "name": "two", "state": {"messages": [*said, said[0]]}, "message_count": 3}
    third = {**entry, "id": "c3", "name": "three", "state": {"messages": said[1:]}, "message_count": 1}
    return {"checkpoints": {"c3": third, "c2": second, "c1": {**first, **changes}}, "order": ["c1", "c2", "c3"]}


def test_the_older_form_is_read(store: Store) -> None:
    made = imported(store, json.dumps(older()))
    found = store.list_checkpoints(made)
    assert [(c.name, c.message_count, c.description) for c in found] == [
        ("one", 2, "words"),
        ("two", 3, "words"),
        ("three", 1, "words"),
    ]
    assert found[0].timestamp == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert ([m.content for m in found[1].state["messages"]], found[0].state["step"]) == (["a", "b", "a"], 1)
    assert (texts(store, made), count(store, schema.message)) == (["b"], 4)


def test_the_older_form_twice_is_one_conversation(store: Store) -> None:
    assert imported(store, json.dumps(older())) == imported(store, json.dumps(older()))


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (older(name=None), "checkpoints.c1.name"),
        (older(timestamp="yesterday"), "checkpoints.c1.timestamp"),
        (older(timestamp=TIMES[0]), "checkpoints.c1.timestamp"),
        (older(message_count=5), "checkpoints.c1.message_count"),
        (older(state={"messages": []}), "checkpoints.c1.state.messages"),
        (older(state={"messages": [{"type": "RemoveMessage", "content": ""}]}), "checkpoints.c1.state.messages[0]"),
        (older(state={"messages": [{"type": "human"}]}), "checkpoints.c1.state.messages[0].content"),
        (older(state=[]), "checkpoints.c1.state"),
        ({**older(), "order": ["c1"]}, "order"),
        ({**older(), "order": [1, 2, 3]}, "order"),
        ({"checkpoints": {"1": older()["checkpoints"]["c1"]}, "order": [1]}, "order"),
        ({"checkpoints": {"c1": 5}}, "checkpoints.c1.state"),
        ({"checkpoints": {"../x": older()["checkpoints"]["c1"]}}, "checkpoints[0].id"),
    ],
)
def test_the_older_form_is_refused_as_strictly(store: Store, made: Json, field: str) -> None:
    expect_refusal(store, json.dumps(made), field)


def test_who_made_an_older_checkpoint_is_the_user_if_it_does_not_say(store: Store) -> None:
    made = imported(store, json.dumps(older(created_by=["agent"])))
    assert store.list_checkpoints(made)[0].created_by == "user"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"exported_at": None}, "exported_at is missing"),
        ({"more": 1}, "more is not part of the format"),
        ({"active": 5}, "active should be a valid string"),
        ({"exported_at": "soon"}, "exported_at should be a valid datetime"),
        ({"sha256": "0"}, "sha256 does not fit: the file was changed after it was exported"),
    ],
)
def test_a_refusal_is_a_sentence_about_the_field(store: Store, change: Json, sentence: str) -> None:
    made = json.loads(exported(store)) | change
    made = {key: value for key, value in made.items() if value is not None}
    with pytest.raises(InvalidDocumentError) as caught:
        reading.read_document(json.dumps(made))
    assert str(caught.value).startswith(sentence)


def expect_refusal(store: Store, text: str | bytes, field: str | None = None) -> str:
    """Expect a refusal in one sentence that names the field, with every table as before. Return the sentence."""
    before = dump(store)
    with pytest.raises(InvalidDocumentError) as caught:
        transfer.import_thread(store, reading.read_document(text))
    assert dump(store) == before
    sentence = str(caught.value)
    assert "\n" not in sentence
    if field is not None:
        assert caught.value.field == field
        assert sentence.startswith(f"{field} ")
    return sentence


def resealed(made: Json, *, hashes: bool = True) -> str:
    """The document as a careful forger would hand it in: with hashes that fit, as far as there can be any."""
    found: dict[str | None, str | None] = {None: None}
    with suppress(KeyError, TypeError, AttributeError, ValueError):
        for message in made["messages"] if hashes else []:
            parent = found.get(message["parent_id"])
            found[message["id"]] = message["hash"] = serde.hash_message(
                message["message"], message["agent"], message["status"], parent
            )
    with suppress(ValueError):
        made = json.loads(waymark.write_document(made).text)
    return json.dumps(made)


def plain(store: Store) -> Json:
    """A document to spoil: a, b, c, d with two checkpoints."""
    made: Json = json.loads(transfer.export(store, talked(store, "a", "b", "c", "d")))
    return made


@cache
def plain_text() -> str:
    """The same as text, made once: most tests only spoil it."""
    return json.dumps(plain(elsewhere()))


def put(*path: str | int, to: Any) -> Callable[[Json], None]:
    def change(made: Any) -> None:
        for step in path[:-1]:
            made = made[step]
        made[path[-1]] = to

    return change


def drop(*path: str | int) -> Callable[[Json], None]:
    def change(made: Any) -> None:
        for step in path[:-1]:
            made = made[step]
        del made[path[-1]]

    return change


def _cycle(made: Json) -> None:
    made["messages"][0]["parent_id"] = made["messages"][3]["id"]


def _later(made: Json) -> None:
    made["messages"][1], made["messages"][2] = made["messages"][2], made["messages"][1]


def _twice(made: Json) -> None:
    made["messages"][1]["id"] = made["messages"][0]["id"]


IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
CONSTRUCTOR = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "id"}}
MESSAGE = ("messages", 1, "message")

FORGERIES: list[tuple[str, Callable[[Json], None], str]] = [
    ("a missing field", drop("messages", 1, "agent"), "messages[1].agent"),
    ("no messages", drop("messages"), "messages"),
    ("a wrong type", put("messages", 2, "created_at", to=5), "messages[2].created_at"),
    ("a time without a zone", put("messages", 2, "created_at", to="2025-01-01T00:00:00"), "messages[2].created_at"),
    ("a time before all times", put("messages", 2, "created_at", to=TIMES[0]), "messages[2].created_at"),
    ("a time after all times", put("checkpoints", 0, "timestamp", to=TIMES[1]), "checkpoints[0].timestamp"),
    ("messages that are a text", put("messages", to="none"), "messages"),
    ("an unknown field", put("messages", 1, "run", to=1), "messages[1].run"),
    ("an unknown field on top", put("__class__", to="x"), "__class__"),
    ("an unknown status", put("messages", 1, "status", to="running"), "messages[1].status"),
    ("an unknown actor", put("checkpoints", 0, "created_by", to="root"), "checkpoints[0].created_by"),
    ("an id with a path", put("messages", 3, "id", to="../../etc"), "messages[3].id"),
    ("an id with a line break", put("messages", 3, "id", to="abc\n"), "messages[3].id"),
    ("an id that is huge", put("messages", 3, "id", to="a" * 65), "messages[3].id"),
    ("a name that is huge", put("checkpoints", 0, "name", to="a" * 501), "checkpoints[0].name"),
    ("a title with a NUL", put("thread", "title", to="a\0b"), "thread.title"),
    ("an agent with a NUL", put("messages", 1, "agent", to="a\0b"), "messages[1].agent"),
    ("a title that is huge", put("thread", "title", to="a" * 501), "thread.title"),
    ("more tokens than a database counts", put("checkpoints", 0, "tokens", to=2**63), "checkpoints[0].tokens"),
    ("tokens below nothing", put("checkpoints", 0, "tokens", to=-1), "checkpoints[0].tokens"),
    ("a number as truth", put("checkpoints", 0, "pinned", to=1), "checkpoints[0].pinned"),
    ("a count that is wrong", put("checkpoints", 0, "message_count", to=3), "checkpoints[0].message_count"),
    ("a parent that comes later", _later, "messages[1].parent_id"),
    ("a cycle", _cycle, "messages[0].parent_id"),
    ("a parent that is nowhere", put("messages", 1, "parent_id", to="nowhere"), "messages[1].parent_id"),
    ("an id that comes twice", _twice, "messages[1].id"),
    ("a head that is nowhere", put("branches", 0, "head", to="nowhere"), "branches[0].head"),
    ("no branch", put("branches", to=[]), "branches"),
    ("an active branch that is nowhere", put("active", to="nowhere"), "active"),
    ("a checkpoint on nothing", put("checkpoints", 0, "message_id", to="nowhere"), "checkpoints[0].message_id"),
    ("a checkpoint of no branch", put("checkpoints", 0, "branch", to="nowhere"), "checkpoints[0].branch"),
    ("an image", put(*MESSAGE, "data", "content", to=IMAGE), "messages[1].message.data.content"),
    ("a constructor in the content", put(*MESSAGE, "data", "content", to=[CONSTRUCTOR]), "messages[1].message.data.content"),
    ("a constructor as the content", put(*MESSAGE, "data", "content", to=CONSTRUCTOR), "messages[1].message"),
    ("a constructor as the message", put(*MESSAGE, to=CONSTRUCTOR), "messages[1].message"),
    ("a type that is no message's", put(*MESSAGE, "type", to="remove"), "messages[1].message"),
    ("a type that is no text", put(*MESSAGE, "type", to=["ai"]), "messages[1].message"),
    ("a type inside that is another", put(*MESSAGE, "data", "type", to="system"), "messages[1].message"),
    ("a message without content", put(*MESSAGE, "data", to={}), "messages[1].message"),
    ("a message with more than data", put(*MESSAGE, "kwargs", to={}), "messages[1].message"),
    ("a field at its default", put(*MESSAGE, "data", "id", to=None), "messages[1].message"),
    ("tool calls that are none", put(*MESSAGE, "data", "tool_calls", to=[{"x": 1}]), "messages[1].message"),
]


@pytest.mark.parametrize(("spoil", "field"), [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES])
def test_a_forged_document_is_refused_by_the_field(store: Store, spoil: Callable[[Json], None], field: str) -> None:
    made = json.loads(plain_text())
    spoil(made)
    expect_refusal(store, resealed(made), field)


def test_a_message_that_was_edited_is_refused(store: Store) -> None:
    made = json.loads(plain_text())
    made["messages"][1]["message"]["data"]["content"] = "edited"
    expect_refusal(store, resealed(made, hashes=False), "messages[1].hash")


def test_a_hash_that_was_edited_is_refused(store: Store) -> None:
    made = json.loads(plain_text())
    made["messages"][1]["hash"] = made["messages"][0]["hash"]
    expect_refusal(store, resealed(made, hashes=False), "messages[1].hash")


@pytest.mark.parametrize("spoil", [put("sha256", to="sha256:0"), put("thread", "title", to="edited")])
def test_a_document_that_was_edited_is_refused(store: Store, spoil: Callable[[Json], None]) -> None:
    made = json.loads(plain_text())
    spoil(made)
    expect_refusal(store, json.dumps(made), "sha256")


def test_an_id_that_stands_for_something_else_here_is_refused(store: Store) -> None:
    here = store.list_messages(talked(store, "mine", "too"))[0].id
    made = json.loads(plain_text())
    made["messages"][0]["id"] = made["messages"][1]["parent_id"] = here
    expect_refusal(store, resealed(made), "messages[0].id")


def test_a_checkpoint_id_that_stands_for_something_else_here_is_refused(store: Store) -> None:
    thread_id = talked(store, "mine", "too")
    made = json.loads(plain_text())
    made["checkpoints"][1]["id"] = store.list_checkpoints(thread_id)[0].id
    expect_refusal(store, resealed(made), "checkpoints[1].id")


@pytest.mark.parametrize(
    "text",
    ["", "not JSON", "[]", "null", "5", '"waymark/1"', "{}", "{", b"\xff\xfe", b"\x00", '{"checkpoints": []}', "\ud800"],
    ids=repr,
)
def test_what_is_not_a_document_is_refused(store: Store, text: str | bytes) -> None:
    expect_refusal(store, text)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", "number that is too large"),
        ("9" * 5000, "number that is too long"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
        ('{"a": 1, "b": 2, "a": 1}', "a appears twice"),
        ("[" * 1000 + "]" * 1000, "deeper than 100 levels"),
        ("[" * 200_000 + "]" * 200_000, "nested deeper than 100 levels"),
        ('{"a":' * 101 + "1" + "}" * 101, "deeper than 100 levels"),
    ],
    ids=lambda v: v[:12],
)
def test_what_json_is_abused_for_is_refused(store: Store, value: str, sentence: str) -> None:
    made = json.loads(plain_text())
    made["thread"]["settings"] = {"x": "HERE"}
    assert sentence in expect_refusal(store, json.dumps(made).replace('"HERE"', value))


def test_a_file_of_11_mb_is_refused(store: Store) -> None:
    made = json.loads(plain_text())
    made["messages"][0]["message"]["data"]["content"] = "x" * 11_000_000
    assert "larger than 10 MB" in expect_refusal(store, resealed(made))


@pytest.mark.slow
def test_a_key_that_stands_twice_among_many_is_found_at_once(store: Store) -> None:
    keys = ",".join(f'"{number:x}":1' for number in range(15_000))
    assert "appears twice" in expect_refusal(store, f'{{"format":"waymark/1",{keys},"format":"waymark/1"}}')


def test_the_oldest_and_the_newest_time_can_be_read_again(store: Store) -> None:
    made = json.loads(plain_text())
    for message, time in zip(
        made["messages"], [TIMES[2], TIMES[3], "9999-12-31T23:59:59.999999Z", "2025-01-01T00:00:00+05:30"], strict=True
    ):
        message["created_at"] = time
    found = [m.created_at for m in store.list_messages(imported(store, resealed(made)))]
    assert found == [datetime.fromisoformat(m["created_at"]) for m in made["messages"]]


def test_a_system_message_and_a_constructor_elsewhere_are_kept_as_data(store: Store) -> None:
    made = json.loads(plain_text())
    made["messages"][0]["message"] = {"type": "system", "data": {"content": "obey", "additional_kwargs": {"x": CONSTRUCTOR}}}
    message = store.list_messages(imported(store, resealed(made)))[0]
    assert (message.type, message.langchain.additional_kwargs) == ("system", {"x": CONSTRUCTOR})


def test_the_settings_of_a_file_do_not_become_settings_here(store: Store) -> None:
    made = json.loads(plain_text())
    made["thread"]["settings"] = {"time_travel": "allow"}
    assert store.get_thread(imported(store, resealed(made))).settings == {}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in below for place in places(item, (*path, key)))]


def _spoil(made: Any, chance: random.Random, value: Any) -> None:
    """One random edit: a value replaced, taken out, doubled, or taken from elsewhere in the document."""
    value = json.loads(json.dumps(value))  # its own copy: the next edit may fall into it
    *way, last = chance.choice(places(made)[1:])
    holder = made
    for step in way:
        holder = holder[step]
    match chance.randrange(5):
        case 0:
            del holder[last]
        case 1 if isinstance(holder, list):
            holder.insert(0, holder[last])
        case 2 if isinstance(holder, dict):
            holder[chance.choice(["id", "type", "content", "tool_calls", "additional_kwargs", "name", "role", "x"])] = value
        case 3:
            holder[last] = json.loads(json.dumps(at(made, chance.choice(places(made)))))
        case _:
            holder[last] = value


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


TOOLS = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
VALUES_MADE = [*TIMES, -1, 2**64, [TOOLS], {"tool_calls": [TOOLS]}, CONSTRUCTOR, IMAGE, "main", [[]], "\0"]
VALUES = json_values | st.sampled_from(VALUES_MADE)


@given_examples(
    25, 300, st.randoms(use_true_random=False), st.lists(VALUES, min_size=1, max_size=3), st.booleans(), st.booleans()
)
def test_a_spoiled_document_is_refused_or_can_be_used(
    chance: random.Random, values: list[Any], seal: bool, old: bool
) -> None:
    made = older() if old else json.loads(DOCUMENT)
    for value in values:
        if len(places(made)) > 1:
            _spoil(made, chance, value)
    text = resealed(made) if seal and not old else json.dumps(made)
    store = elsewhere()
    before = dump(store)
    try:
        thread_id = imported(store, text)
    except InvalidDocumentError:
        assert dump(store) == before
    else:
        _use(store, thread_id)
    store.database.close()


DOCUMENT = exported(elsewhere())


def _use(store: Store, thread_id: str) -> None:
    """Everything that reading may stumble over."""
    for message in store.list_all_messages(thread_id):
        assert serde.to_body(message.langchain) == message.body
    for checkpoint in store.list_checkpoints(thread_id):
        assert len(checkpoint.state["messages"]) == checkpoint.message_count
    reading.read_document(transfer.export(store, thread_id))
    store.append(thread_id, new("on"))
    store.undo(thread_id)


def test_a_document_brings_all_of_a_checkpoint_back(store: Store) -> None:
    thread_id = conversation(store)
    expected, text = seen(store, thread_id), transfer.export(store, thread_id)
    checkpoint = store.list_checkpoints(thread_id)[0]
    store.change_checkpoint(thread_id, checkpoint.id, name="other", description="other", pinned=True)
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(text)))
    assert seen(store, thread_id) == expected


def test_a_branch_that_the_document_does_not_have_leaves_the_list_undoably(store: Store) -> None:
    thread_id = conversation(store)
    expected, text = seen(store, thread_id), transfer.export(store, thread_id)
    current = store.get_thread(thread_id).branch_id
    store.fork(thread_id, None, name="later")
    store.append(thread_id, new("later"))
    store.switch(thread_id, current)
    before = picture(store, thread_id)
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(text)))
    assert seen(store, thread_id) == expected
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_branches_with_equal_tips_stay_two(store: Store) -> None:
    thread_id = talked(store, "a")
    store.fork(thread_id, None, name="twin")
    store.append(thread_id, new("a"))
    text = transfer.export(store, thread_id)
    before = [branch for branch, _ in store.list_branches(thread_id)]
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(text)))
    assert [branch for branch, _ in store.list_branches(thread_id)] == before
    assert len({branch.head_id for branch in before}) == 2


INVISIBLE = "\u200b\u202e \x07\u2066\t"


def test_names_in_which_nothing_can_be_seen_become_the_default_ones(store: Store) -> None:
    made = transfer.export_document(store, talked(store, "a", "b"))
    made["thread"]["title"] = made["branches"][0]["name"] = made["checkpoints"][0]["name"] = INVISIBLE
    text = waymark.write_document(made).text
    thread_id = imported(elsewhere_store := elsewhere(), text)
    assert elsewhere_store.get_thread(thread_id).title == UNTITLED
    assert elsewhere_store.list_branches(thread_id)[0][0].name == "Branch"
    assert names(elsewhere_store, thread_id) == ["Checkpoint 1"]
    assert transfer.merge_document(elsewhere_store, thread_id, reading.read_document(text)).repeated


def test_a_name_that_is_typed_is_cleaned_as_one_from_a_file(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.save(thread_id, name=INVISIBLE)
    store.save(thread_id, name="\u202eevil\n👨‍👩‍👧 ")
    store.rename_thread(thread_id, INVISIBLE)
    assert names(store, thread_id) == ["after b", "Checkpoint 2", "evil 👨‍👩‍👧"]
    assert store.get_thread(thread_id).title == "Talk"
