"""A document is added to a conversation that is there: nothing twice, the head where it was, and undone in one step."""

import json
from datetime import timedelta

import pytest

from checkpoints import Caller, OperationDetail, RunActiveError, Runs, Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.interchange.waymark import Document
from checkpoints.storage import schema
from checkpoints.values import serde
from checkpoints.values.limits import MAX_BRANCHES_AND_CHECKPOINTS
from tests.checkpoints.conversations import count, dump, names, new, picture, talked, texts
from tests.checkpoints.interchange.test_transfer import conversation, elsewhere, imported
from tests.conftest import Clock


def doc_of(store: Store, thread_id: str) -> Document:
    return reading.read_document(transfer.export(store, thread_id))


def branches(store: Store, thread_id: str) -> list[tuple[str, int]]:
    return [(branch.name, length) for branch, length in store.list_branches(thread_id)]


def test_a_merge_adds_what_is_new_and_leaves_the_head(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    other = elsewhere()
    copy = imported(other, transfer.export(store, thread_id))
    other.append(copy, new("c", "d"))
    other.save(copy, name="there", extra={"plan": [1]})
    before = count(store, schema.message)
    done = transfer.merge_document(store, thread_id, doc_of(other, copy))
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b"], ["after b"])
    assert (count(store, schema.message), branches(store, thread_id)) == (before + 2, [("main", 2), ("main (2)", 4)])
    assert done.operation.detail == OperationDetail(name="Talk", messages=2, branches=1, checkpoints=1)
    store.switch(thread_id, store.list_branches(thread_id)[1][0].id)
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b", "c", "d"], ["after b", "there"])
    assert store.list_checkpoints(thread_id)[1].state["plan"] == [1]


def test_a_cleared_conversation_shows_what_is_merged_into_it(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    doc, before = doc_of(store, thread_id), picture(store, thread_id)
    store.clear(thread_id)
    cleared = picture(store, thread_id)
    preview = transfer.preview_import(store, doc, thread_id)
    assert (preview.known_messages, preview.is_target_empty) == (2, True)
    written = count(store, schema.message)
    transfer.merge_document(store, thread_id, doc)
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b"], ["after b"])
    assert (branches(store, thread_id), count(store, schema.message)) == ([("main", 2)], written)
    assert transfer.merge_document(store, thread_id, doc).repeated
    store.undo(thread_id)
    assert picture(store, thread_id) == cleared
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_an_empty_branch_shows_what_is_merged_although_another_branch_has_it(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    doc = doc_of(store, thread_id)
    store.fork(thread_id, None, name="Fresh")
    transfer.merge_document(store, thread_id, doc)
    assert (texts(store, thread_id), branches(store, thread_id)) == (["a", "b"], [("main", 2), ("Fresh", 2)])


def test_an_empty_conversation_shows_what_is_merged_into_it(store: Store) -> None:
    other = elsewhere()
    doc = doc_of(other, conversation(other))
    thread_id = store.create_thread().id
    transfer.merge_document(store, thread_id, doc)
    assert texts(store, thread_id) == [str(serde.to_message(part.message).text) for part in doc.current_messages()]


def test_a_merge_into_something_else_brings_the_whole_tree(store: Store) -> None:
    other = elsewhere()
    source = conversation(other)
    thread_id = talked(store, "x", "y")
    transfer.merge_document(store, thread_id, doc_of(other, source))
    here = {message.hash for message in store.list_all_messages(thread_id)}
    there = {message["hash"] for message in json.loads(transfer.export(other, source))["messages"]}
    assert here > there
    shown = [c.name for c in store.list_all_checkpoints(thread_id)]
    assert shown == ["after y", *(c.name for c in other.list_all_checkpoints(source))]


@pytest.mark.parametrize("times", [1, 2])
def test_the_same_merge_again_changes_nothing_and_says_so(store: Store, times: int) -> None:
    other = elsewhere()
    doc = doc_of(other, conversation(other))
    imported(store, transfer.export(other, other.list_threads()[0].id))  # its ids are in use: the merge gets new ones
    thread_id = talked(store, "x", "y")
    first = transfer.merge_document(store, thread_id, doc)
    before = dump(store)
    again = [transfer.merge_document(store, thread_id, doc) for _ in range(times)]
    assert (first.repeated, {receipt.repeated for receipt in again}) == (False, {True})
    assert dump(store) == before


def test_merging_a_conversation_into_itself_changes_nothing(store: Store) -> None:
    thread_id = conversation(store)
    before = dump(store)
    done = transfer.merge_document(store, thread_id, doc_of(store, thread_id))
    assert (done.repeated, done.version, dump(store)) == (True, store.get_thread(thread_id).version, before)


def test_a_branch_that_went_on_since_is_the_one_in_the_file(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    doc = doc_of(store, thread_id)
    store.append(thread_id, new("c", "d"))
    assert transfer.merge_document(store, thread_id, doc).repeated
    assert branches(store, thread_id) == [("main", 4)]


def test_a_merge_is_undone_in_one_step(store: Store, clock: Clock) -> None:
    other = elsewhere()
    doc = doc_of(other, conversation(other))
    thread_id = talked(store, "x", "y")
    before = picture(store, thread_id)
    transfer.merge_document(store, thread_id, doc)
    after = picture(store, thread_id)
    clock.turn(timedelta(hours=-1))
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert picture(store, thread_id) == after


def test_a_checkpoint_that_was_deleted_here_comes_back(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    doc = doc_of(store, thread_id)
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id)
    assert not transfer.merge_document(store, thread_id, doc).repeated
    assert names(store, thread_id) == ["after b", "after d"]


def test_no_merge_while_an_answer_is_being_written(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    Runs(store).begin_run(thread_id, new("c")[0], caller=Caller())
    before = dump(store)
    other = elsewhere()
    with pytest.raises(RunActiveError):
        transfer.merge_document(store, thread_id, doc_of(other, conversation(other)))
    assert dump(store) == before


def test_the_same_request_twice_is_one_merge(store: Store) -> None:
    other = elsewhere()
    doc = doc_of(other, conversation(other))
    thread_id = talked(store, "x", "y")
    first, second = (transfer.merge_document(store, thread_id, doc, caller=Caller(request_id="r")) for _ in range(2))
    assert (second.repeated, second.version) == (True, first.version)


def test_a_detached_checkpoint_that_nothing_shows_any_more_comes_back(store: Store) -> None:
    thread_id = conversation(store)
    doc = doc_of(store, thread_id)
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    transfer.merge_document(store, thread_id, doc)
    assert {checkpoint.id for checkpoint in store.list_all_checkpoints(thread_id)} == {part.id for part in doc.checkpoints}


def test_a_detached_checkpoint_comes_back_with_its_deleted_branch(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    main, side = store.get_thread(thread_id).branch_id, store.fork(thread_id, None, name="side").result
    detached = store.save(thread_id, keep=0, new=new("c"), name="detached").result
    store.save(thread_id, keep=0, new=new("d"), name="tip")
    doc = doc_of(store, thread_id)
    store.delete_checkpoint(thread_id, detached)
    store.switch(thread_id, main)
    store.delete_branch(thread_id, side)
    detail = transfer.merge_document(store, thread_id, doc).operation.detail
    store.switch(thread_id, store.list_branches(thread_id)[1][0].id)
    assert (names(store, thread_id), detail) == (
        ["detached", "tip"],
        OperationDetail(name="Talk", branches=1, checkpoints=1),
    )


def test_two_branches_at_one_place_of_which_one_went_on_since_are_both_found_again(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    main = store.get_thread(thread_id).branch_id
    store.fork(thread_id, store.list_messages(thread_id)[-1].id, name="Other")
    doc = doc_of(store, thread_id)
    store.switch(thread_id, main)
    store.append(thread_id, new("c"))
    store.delete_branch(thread_id, store.list_branches(thread_id)[1][0].id)
    assert not transfer.merge_document(store, thread_id, doc).repeated
    assert transfer.merge_document(store, thread_id, doc).repeated
    assert branches(store, thread_id) == [("main", 3), ("Other", 2)]


def test_a_file_with_more_branches_and_checkpoints_than_can_be_kept_names_the_field(store: Store) -> None:
    made = transfer.export_document(store, talked(store, "a", "b"))
    bookmark = made["checkpoints"][0]
    made["checkpoints"] = [{**bookmark, "id": f"c{number}"} for number in range(MAX_BRANCHES_AND_CHECKPOINTS)]
    with pytest.raises(waymark.InvalidDocumentError, match=r"^checkpoints are too many: at most 10,000 branches") as caught:
        reading.read_document(waymark.write_document(made).text)
    assert caught.value.field == "checkpoints"
