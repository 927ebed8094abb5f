"""What is stored and does not fit its hash any more is never taken for true; everything else stays usable."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage

from agent.context.request import build_request
from checkpoints import CheckpointManager, DamagedMessageError, Database, Message, Store, StoreUnavailableError
from checkpoints.interchange import reading, text_exports, transfer
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from checkpoints.values import serde
from checkpoints.values.errors import DamagedOperationError
from components.views import message_view
from tests.checkpoints.conversations import dump, new, picture, said, talked, texts


def spoil(store: Store, message: Message, **columns: Any) -> None:
    """Change a stored message behind the store's back."""
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.id == message.id).values(**columns))


def damaged(store: Store, thread_id: str) -> list[int]:
    return [message.depth for message in store.list_messages(thread_id) if message.damaged]


@pytest.mark.parametrize(
    "columns",
    [
        {"body": serde.to_canonical(serde.to_body(AIMessage("two?")))},
        {"body": '{"data":{"content":"two"'},
        {"body": ""},
        {"agent": "other"},
        {"status": "partial"},
        {"status": "dome"},
        {"hash": "sha256:0"},
    ],
)
def test_a_message_that_does_not_fit_its_hash_is_damaged_and_no_earlier_one_is(store: Store, columns: Any) -> None:
    thread_id = talked(store, "one", "two", "three", "four")
    spoil(store, store.list_messages(thread_id)[1], **columns)
    assert damaged(store, thread_id) == ([1, 2] if "hash" in columns else [1])  # the next one's hash covers this one's
    assert [m.body["data"]["content"] for m in store.list_messages(thread_id) if not m.damaged][:1] == ["one"]


def test_a_damaged_message_is_empty_keeps_its_type_and_gives_no_langchain_message(store: Store) -> None:
    thread_id = talked(store, "one", "two")
    question = store.list_messages(thread_id)[0]
    spoil(store, question, body=serde.to_canonical(question.body).replace("one", "0ne"))
    found = store.list_messages(thread_id)[0]
    assert (found.type, found.body["data"]) == ("human", {"content": ""})
    with pytest.raises(DamagedMessageError, match=r"^Message 1 of this conversation is damaged") as caught:
        _ = found.langchain
    assert (caught.value.thread_id, caught.value.message_id) == (thread_id, question.id)


def test_a_body_that_is_no_text_any_more_is_one_damaged_note(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "one", "two", "three")
    middle = file_store.list_messages(thread_id)[1]
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE message SET body = CAST(x'ff00fe7b' AS TEXT) WHERE id = ?", [middle.id])
    raw.close()
    assert damaged(file_store, thread_id) == [1]
    assert [message.type for message in file_store.list_messages(thread_id)] == ["human", "system", "human"]


def test_every_way_of_reading_a_message_finds_the_damage(store: Store) -> None:
    thread_id = talked(store, *"abcdefgh")
    store.append(thread_id, new("other"), after=store.list_messages(thread_id)[2].id)
    for message in store.list_all_messages(thread_id):
        if message.depth in (0, 3, 4):
            spoil(store, message, agent="?")
    expected = {m.id for m in store.list_all_messages(thread_id) if m.depth in (0, 3, 4)}
    assert {m.id for m in store.list_all_messages(thread_id) if m.damaged} == expected
    assert {m.id for m in store.list_all_messages(thread_id) if store.get_message(thread_id, m.id).damaged} == expected
    assert [m.damaged for m in store.list_messages(thread_id, last=1)] == [True]
    assert [m.damaged for m in store.list_messages(thread_id, last=2, before=3)] == [False, False]


@pytest.mark.parametrize("columns", [{"body": '{"data":{"content":"2"},"type":"ai"}'}, {"agent": "?"}, {"hash": "sha256:0"}])
def test_the_copy_of_a_damaged_message_is_damaged_as_well(store: Store, columns: Any) -> None:
    thread_id = talked(store, "one", "two", "three", "four")
    head = store.get_thread(thread_id).head_id
    spoil(store, store.list_messages(thread_id)[1], **columns)
    copy = store.fork_thread(thread_id, head).result
    assert damaged(store, copy) == damaged(store, thread_id)
    assert texts(store, copy) == texts(store, thread_id)
    found = [damage.message_id for damage in verification.verify(store.database).damages]
    assert found.count(store.list_messages(copy)[1].id) == 1
    with pytest.raises(DamagedMessageError):
        _ = store.list_checkpoints(copy)[1].state


@pytest.mark.parametrize("depth", [0, 1])
def test_a_path_that_has_lost_a_message_is_not_copied(store: Store, depth: int) -> None:
    thread_id = talked(store, "one", "two", "three", "four")
    lost = store.list_messages(thread_id)[depth]
    head = store.get_thread(thread_id).head_id
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.checkpoint))
        connection.execute(sa.delete(schema.message).where(schema.message.c.id == lost.id))
    before = dump(store)
    with pytest.raises(DamagedMessageError, match=f"^Message {depth + 2} "):
        store.fork_thread(thread_id, head)
    assert dump(store) == before


def test_the_conversation_goes_on_after_a_damaged_message(store: Store) -> None:
    thread_id = talked(store, "one", "two")
    spoil(store, store.list_messages(thread_id)[1], body="{}")
    store.append(thread_id, new("three"))
    assert damaged(store, thread_id) == [1]
    assert texts(store, thread_id) == ["one", "", "three"]


def test_a_model_is_never_asked_with_a_damaged_message_and_is_again_once_it_is_replaced(store: Store) -> None:
    thread_id = talked(store, "one", "two")
    question = store.list_messages(thread_id)[0]
    spoil(store, question, body="{}")
    with pytest.raises(DamagedMessageError, match=r"does not fit its hash\. Go back to before it, or edit it\.$"):
        build_request("", store.list_messages(thread_id))
    store.append(thread_id, new("uno"), after=question.parent_id)
    assert len(build_request("", store.list_messages(thread_id))) == 2


def test_the_page_shows_a_note_in_the_place_of_a_damaged_message(store: Store) -> None:
    thread_id = talked(store, "one", "<b>two</b>", "three")
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    shown = message_view.describe_messages(store.list_messages(thread_id))
    assert [view["text"] for view in shown] == ["one", "", "three"]
    assert (shown[1]["state"], shown[1]["role"]) == ("error", "assistant")
    assert "is damaged and is not shown" in shown[1]["html"]


def test_an_export_refuses_a_damaged_message_and_names_it(store: Store) -> None:
    thread_id = talked(store, "one", "two")
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    with pytest.raises(DamagedMessageError, match="Message 2 "):
        transfer.export(store, thread_id)


def test_the_library_gives_no_state_that_holds_a_damaged_message(store: Store) -> None:
    manager = CheckpointManager(store, thread_id := store.create_thread().id)
    first = manager.save_checkpoint({"messages": said("one")})
    second = manager.save_checkpoint({"messages": said("one", "two")})
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    with pytest.raises(DamagedMessageError):
        _ = manager._get_checkpoint(second.id).state
    with pytest.raises(DamagedMessageError):
        manager.restore_checkpoint(second.id)
    assert manager.restore_checkpoint(first.id)["messages"] == [HumanMessage("one")]


def test_a_reader_beside_the_writer_sees_what_it_wrote_and_can_change_nothing(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "one")
    reader = Database.open_read_only(f"sqlite:///{file}")
    assert texts(Store(reader), thread_id) == ["one"]
    with pytest.raises(StoreUnavailableError, match="read-only"):
        Store(reader).rename_thread(thread_id, "x")
    reader.close()


def test_damage_elsewhere_keeps_back_no_export_of_the_conversation_as_it_stands(store: Store) -> None:
    thread_id = talked(store, "one", "two", "three")
    left = store.list_messages(thread_id)[2]
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    spoil(store, left, agent="?")
    assert "two" in text_exports.export_markdown(store, thread_id)
    assert "two" in text_exports.export_jsonl(store, thread_id)
    store.append(thread_id, new("four"), after=left.id)
    with pytest.raises(DamagedMessageError):
        text_exports.export_markdown(store, thread_id)


def test_a_state_that_cannot_be_read_is_not_restored(store: Store) -> None:
    manager = CheckpointManager(store, thread_id := store.create_thread().id)
    first = manager.save_checkpoint({"messages": said("one", "two")})
    manager.save_checkpoint({"messages": said("one", "two", "three")})
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    before = dump(store)
    with pytest.raises(DamagedMessageError):
        manager.restore_checkpoint(first.id)
    assert dump(store) == before


def test_a_state_is_saved_anew_from_the_first_damaged_message_on(store: Store) -> None:
    thread_id = talked(store, "one", "two", "three")
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    CheckpointManager(store, thread_id).save_checkpoint({"messages": said("one", "two", "three")})
    assert (damaged(store, thread_id), texts(store, thread_id)) == ([], ["one", "two", "three"])


@pytest.mark.parametrize("columns", [{"agent": "?"}, {"hash": "sha256:0"}])
def test_a_whole_file_imported_over_damage_mends_it_and_can_be_undone(store: Store, columns: Any) -> None:
    thread_id = talked(store, "one", "two", "three")
    manager = CheckpointManager(store, thread_id)
    text = manager.export_checkpoints()
    states = [checkpoint.state for checkpoint in store.list_checkpoints(thread_id)]
    spoil(store, store.list_messages(thread_id)[1], **columns)
    before = picture(store, thread_id)
    manager.import_checkpoints(text)
    assert (damaged(store, thread_id), texts(store, thread_id)) == ([], ["one", "two", "three"])
    assert [checkpoint.state for checkpoint in store.list_checkpoints(thread_id)] == states
    assert transfer.preview_import(store, reading.read_document(text), thread_id).known_messages == 3
    erasure.erase(store.database)  # what the undo needs stays
    manager.undo()
    assert picture(store, thread_id) == before


def test_a_whole_file_merged_over_damage_brings_what_is_damaged(store: Store) -> None:
    thread_id = talked(store, "one", "two", "three")
    doc = reading.read_document(transfer.export(store, thread_id))
    spoil(store, store.list_messages(thread_id)[1], agent="?")
    assert transfer.preview_import(store, doc, thread_id).known_messages == 1
    transfer.merge_document(store, thread_id, doc)
    assert transfer.merge_document(store, thread_id, doc).repeated
    store.switch(thread_id, store.list_branches(thread_id)[1][0].id)
    assert (damaged(store, thread_id), texts(store, thread_id)) == ([], ["one", "two", "three"])


def torn(store: Store, table: str, column: str, value: str) -> None:
    """Write into every row what is no JSON, or not the JSON that belongs there; PostgreSQL would not take it."""
    with store.database.begin_write() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = ?", (value,))


@pytest.mark.parametrize("value", ["", '{"model": "de', "[1]", "null", "7"])
def test_settings_and_states_that_are_no_json_hide_no_conversation_and_are_named(memory_store: Store, value: str) -> None:
    thread_id = talked(memory_store, "one", "two")
    torn(memory_store, "thread", "settings", value)
    torn(memory_store, "checkpoint", "extra", value)
    assert [thread.settings for thread in memory_store.list_threads()] == [{}]
    assert list(memory_store.list_checkpoints(thread_id)[0].state) == ["messages"]
    named = [damage.problem for damage in verification.verify(memory_store.database).damages]
    assert [what.partition(" damaged")[2] for what in named] == [": they are no JSON object", ": it is no JSON object"]


@pytest.mark.parametrize(
    "value", ["[[", "{}", '[["branch"]]', '[["run", "x", {}, {}]]', '[["branch", "x", {"colour": 1}, {"colour": 2}]]']
)
def test_a_change_whose_record_is_damaged_is_named_and_not_undone(memory_store: Store, value: str) -> None:
    thread_id = talked(memory_store, "one", "two")
    memory_store.undo(thread_id)
    torn(memory_store, "operation", "changes", value)
    for take_back in (memory_store.undo, memory_store.redo):
        with pytest.raises(DamagedOperationError, match="cannot be taken back: its record is damaged"):
            take_back(thread_id)
    named = {damage.problem for damage in verification.verify(memory_store.database).damages}
    assert named == {f"operation {number} is damaged: what it changed cannot be read" for number in (1, 2, 3)}


def test_a_change_of_what_is_not_there_is_not_undone(memory_store: Store) -> None:
    thread_id = talked(memory_store, "one", "two")
    torn(memory_store, "operation", "changes", '[["checkpoint", "gone", {"pinned": true}, {"pinned": false}]]')
    with pytest.raises(DamagedOperationError):
        memory_store.undo(thread_id)


@pytest.mark.parametrize("column", ["head_id", "message_id"])
def test_a_change_from_a_message_that_is_not_there_is_not_undone(lasting_store: Store, column: str) -> None:
    thread_id = talked(lasting_store, "one", "two")
    head, made = lasting_store.get_thread(thread_id).head_id, lasting_store.list_checkpoints(thread_id)[0].id
    row = ["branch", lasting_store.get_thread(thread_id).branch_id] if column == "head_id" else ["checkpoint", made]
    with lasting_store.database.begin_write() as connection:
        changed = [[*row, {column: "gone"}, {column: head}]]
        connection.execute(sa.update(schema.operation).values(changes=changed))
    before = dump(lasting_store)
    with pytest.raises(DamagedOperationError):
        lasting_store.undo(thread_id)
    assert dump(lasting_store) == before
