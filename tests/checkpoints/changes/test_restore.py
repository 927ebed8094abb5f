"""Restoring an earlier message, and keeping what a restore removed: undoable, and on this path alone."""

import pytest

from checkpoints import MessageNotFoundError, Store
from checkpoints.values.errors import NothingRemovedError
from tests.checkpoints.conversations import names, new, picture, talked, texts


@pytest.mark.parametrize("keep", [False, True])
def test_a_restore_to_a_message_is_that_of_a_checkpoint_there(store: Store, keep: bool) -> None:
    thread_id = talked(store, *"abcdef")
    before, second = picture(store, thread_id), store.list_messages(thread_id)[1].id
    expected = store.preview_message_removal(thread_id, second)
    assert (expected.messages, expected.checkpoints, expected.first_prompt) == (4, 2, "c")
    done = store.restore_message(thread_id, second, keep_future=keep)
    assert (done.operation.detail.messages, done.operation.detail.checkpoints) == (4, 2)
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b"], ["after b"])
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["main", *["Before restoring message 2"] * keep]
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_a_message_of_another_path_is_refused(store: Store) -> None:
    thread_id = talked(store, *"abcd")
    last = store.list_messages(thread_id)[3].id
    store.restore_message(thread_id, None)
    assert texts(store, thread_id) == []
    for change in (store.restore_message, store.save_message):
        with pytest.raises(MessageNotFoundError):
            change(thread_id, last)


def test_what_a_restore_removed_is_kept_as_a_branch_as_if_it_had_been_asked_for(store: Store) -> None:
    thread_id = talked(store, *"abcd")
    store.save(thread_id, keep=1, new=new("", "summary")[1:], name="compacted")  # "after b" and "after d" are detached
    first = store.list_checkpoints(thread_id)[0].id
    shown = names(store, thread_id)
    store.restore(thread_id, first)
    before = picture(store, thread_id)
    branch = str(store.keep_removed_messages(thread_id).result)
    assert texts(store, thread_id) == ["a", "b"]
    with pytest.raises(NothingRemovedError):
        store.keep_removed_messages(thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    store.switch(thread_id, branch)
    assert texts(store, thread_id) == ["a", "summary"]
    assert set(names(store, thread_id)) == set(shown) - {"after b"}
