"""Checkpoints are saved at earlier messages, and changed and deleted wherever a branch lists them. Each can be undone."""

from collections.abc import Callable
from typing import Any

import pytest

from checkpoints import CheckpointNotFoundError, Store
from tests.checkpoints.conversations import dump, names, picture, talked

Change = Callable[[Store, str, str], Any]
CHANGES: dict[str, Change] = {
    "rename": lambda store, thread, checkpoint: store.change_checkpoint(thread, checkpoint, name="Mine", description="why"),
    "pin": lambda store, thread, checkpoint: store.change_checkpoint(thread, checkpoint, pinned=True),
    "delete": lambda store, thread, checkpoint: store.delete_checkpoint(thread, checkpoint),
}


def test_a_checkpoint_is_saved_at_an_earlier_message_and_no_head_moves(store: Store) -> None:
    thread_id = talked(store, *"abcd")
    before, head = picture(store, thread_id), store.get_thread(thread_id).head_id
    made = store.save_message(thread_id, store.list_messages(thread_id)[0].id, name="the question", tokens=3).result
    assert store.get_thread(thread_id).head_id == head
    checkpoint = store.get_checkpoint(thread_id, str(made))
    assert (checkpoint.name, checkpoint.message_count, checkpoint.tokens) == ("the question", 1, 3)
    assert [message.text for message in checkpoint.state["messages"]] == ["a"]
    store.undo(thread_id)
    assert picture(store, thread_id) == before


@pytest.fixture
def branched(store: Store) -> str:
    """A conversation that stands on a branch at its first message. The branch main has two checkpoints further on."""
    thread_id = talked(store, *"abcd")
    store.fork(thread_id, store.list_messages(thread_id)[0].id)
    return thread_id


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_of_another_branch_is_changed_and_each_change_is_undone(
    store: Store, branched: str, change: str
) -> None:
    first, last = store.list_all_checkpoints(branched)
    assert names(store, branched) == []
    before = picture(store, branched)
    CHANGES[change](store, branched, last.id)
    found = {each.id: (each.name, each.description, each.pinned) for each in store.list_all_checkpoints(branched)}
    changed = {"rename": {last.id: ("Mine", "why", False)}, "pin": {last.id: ("after d", "", True)}, "delete": {}}
    assert found == {first.id: ("after b", "", False), **changed[change]}
    after = picture(store, branched)
    store.undo(branched)
    assert picture(store, branched) == before
    store.redo(branched)
    assert picture(store, branched) == after


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_no_branch_lists_is_not_found_until_an_undo_lists_it(
    store: Store, branched: str, change: str
) -> None:
    main, last = store.list_branches(branched)[0][0].id, store.list_all_checkpoints(branched)[-1].id
    store.delete_branch(branched, main)
    unlisted = dump(store)
    with pytest.raises(CheckpointNotFoundError):
        CHANGES[change](store, branched, last)
    assert dump(store) == unlisted
    store.undo(branched)
    CHANGES[change](store, branched, last)


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_a_restore_removed_is_not_found(store: Store, change: str) -> None:
    thread_id = talked(store, *"abcd")
    first, last = store.list_checkpoints(thread_id)
    store.restore(thread_id, first.id)
    with pytest.raises(CheckpointNotFoundError):
        CHANGES[change](store, thread_id, last.id)
