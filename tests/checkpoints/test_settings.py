"""A conversation's settings: undoable, safe from another tab's change, kept by a fork, and never taken from a file."""

import pytest

from checkpoints import ConflictError, OperationDetail, OperationKind, Store
from checkpoints.interchange import transfer
from checkpoints.interchange.reading import read_document
from tests.checkpoints.conversations import talked

CHOSEN = {"model": "demo", "instructions": "Answer in French.", "time_travel": "allow"}


def chosen(store: Store) -> str:
    """A conversation in which something was chosen."""
    thread_id = talked(store, "hello")
    store.change_settings(thread_id, CHOSEN)
    return thread_id


def test_a_change_is_one_operation_that_undo_takes_back(store: Store) -> None:
    thread_id = chosen(store)
    done = store.change_settings(thread_id, {"model": "other"}).operation
    assert (done.kind, done.detail) == (OperationKind.SETTINGS, OperationDetail(settings={"model": "other"}))
    assert store.get_thread(thread_id).settings == {**CHOSEN, "model": "other"}
    store.undo(thread_id)
    assert store.get_thread(thread_id).settings == CHOSEN


def test_two_tabs_cannot_lose_each_others_instructions(store: Store) -> None:
    thread_id = chosen(store)
    seen = {"instructions": "Answer in French."}
    store.change_settings(thread_id, {"instructions": "Be brief."}, expected=seen)
    with pytest.raises(ConflictError):
        store.change_settings(thread_id, {"instructions": "Be kind."}, expected=seen)
    store.change_settings(thread_id, {"model": "other"}, expected={"model": "demo"})
    assert store.get_thread(thread_id).settings == {**CHOSEN, "instructions": "Be brief.", "model": "other"}


def test_a_fork_keeps_all_but_the_leave_to_go_back_without_asking(store: Store) -> None:
    thread_id = chosen(store)
    head = store.list_messages(thread_id)[-1].id
    forked = store.fork_thread(thread_id, head).operation.thread_id
    assert store.get_thread(forked).settings == {"model": "demo", "instructions": "Answer in French."}
    store.change_settings(thread_id, {"time_travel": "off"})
    assert store.get_thread(store.fork_thread(thread_id, head).operation.thread_id).settings["time_travel"] == "off"


def test_instructions_from_a_file_never_become_instructions_here(store: Store) -> None:
    thread_id = chosen(store)
    doc = read_document(transfer.export(store, thread_id))
    made = transfer.import_thread(store, doc).operation.thread_id
    assert store.get_thread(made).settings == {}
    other = store.create_thread().id
    transfer.merge_document(store, other, doc)
    assert store.get_thread(other).settings == {}
