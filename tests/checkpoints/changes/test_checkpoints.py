"""Saving a checkpoint at an earlier message: undoable, and no head moves."""

from checkpoints import Store
from tests.checkpoints.conversations import picture, talked


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
