"""What the judge saves stands in nobody's way: not in that of an undo, and not in that of what is done at the same time."""

import pytest

from checkpoints import (
    Caller,
    CheckpointNotFoundError,
    ConflictError,
    Message,
    Run,
    Runs,
    RunState,
    Store,
    ThreadNotFoundError,
)
from tests.checkpoints.conversations import names, new, picture, texts


def answered(store: Store, thread_id: str | None = None, text: str = "b") -> tuple[Run, Message]:
    """A run that is done, and its answer."""
    runs = Runs(store)
    run = runs.begin_run(thread_id, new("a")[0])
    answer, _ = runs.commit_message(run, new("", text)[1])
    runs.end_run(run, RunState.DONE)
    return run, answer


def test_undo_after_a_restore_undoes_the_restore_and_not_what_the_judge_saved_since(store: Store) -> None:
    run, answer = answered(store)
    store.append(run.thread_id, new("c"))
    place = store.save(run.thread_id, name="Mine").result
    store.append(run.thread_id, new("d"))
    seen = store.restore(run.thread_id, place).version
    assert Runs(store).save_milestone(run, answer.id, "Verdict", "") is not None
    store.undo(run.thread_id, caller=Caller(expected_version=seen))  # pressed while the verdict was written
    assert texts(store, run.thread_id) == ["a", "b", "c", "d"]
    assert names(store, run.thread_id) == ["Mine", "Verdict"]


def test_a_restore_that_was_pressed_at_the_same_time_is_no_conflict(store: Store) -> None:
    run, answer = answered(store)
    place = store.save(run.thread_id, name="Mine").result
    later, last = answered(store, run.thread_id, "d")
    seen = store.get_thread(run.thread_id).version
    assert Runs(store).save_milestone(later, last.id, "Verdict", "") is not None
    store.restore(run.thread_id, place, caller=Caller(expected_version=seen))
    assert (texts(store, run.thread_id), names(store, run.thread_id)) == (["a", "b"], ["Mine"])
    assert store.get_thread(run.thread_id).head_id == answer.id


def test_a_redo_is_still_possible_and_no_conflict(store: Store) -> None:
    run, answer = answered(store)
    answered(store, run.thread_id, "d")
    after = texts(store, run.thread_id)
    seen = store.undo(run.thread_id).version
    assert Runs(store).save_milestone(run, answer.id, "Verdict", "") is not None
    store.redo(run.thread_id, caller=Caller(expected_version=seen))
    assert texts(store, run.thread_id) == after


def test_an_undo_of_something_else_than_what_was_seen_is_a_conflict_as_ever(store: Store) -> None:
    run, answer = answered(store)
    seen = store.get_thread(run.thread_id).version
    store.rename_thread(run.thread_id, "Other")
    Runs(store).save_milestone(run, answer.id, "Verdict", "")
    with pytest.raises(ConflictError):
        store.undo(run.thread_id, caller=Caller(expected_version=seen))


def test_a_milestone_goes_and_comes_with_its_run(store: Store) -> None:
    first, _ = answered(store)
    before = picture(store, first.thread_id)
    run, answer = answered(store, first.thread_id, "d")
    Runs(store).save_milestone(run, answer.id, "Verdict", "")
    after = picture(store, run.thread_id)
    store.undo(run.thread_id)
    assert picture(store, run.thread_id) == before
    store.redo(run.thread_id)
    assert picture(store, run.thread_id) == after


def test_a_milestone_that_was_deleted_and_everything_before_it_are_undone_in_order(store: Store) -> None:
    run, answer = answered(store)
    Runs(store).save_milestone(run, answer.id, "Verdict", "")
    (milestone,) = store.list_checkpoints(run.thread_id)
    store.change_checkpoint(run.thread_id, milestone.id, pinned=True)
    store.delete_checkpoint(run.thread_id, milestone.id)
    store.undo(run.thread_id)
    assert names(store, run.thread_id) == ["Verdict"]
    store.undo(run.thread_id)
    store.undo(run.thread_id)
    assert texts(store, run.thread_id) == names(store, run.thread_id) == []


def test_what_left_the_path_gets_no_milestone(store: Store) -> None:
    run, answer = answered(store)
    store.undo(run.thread_id)
    version = store.get_thread(run.thread_id).version
    assert Runs(store).save_milestone(run, answer.id, "Verdict", "") is None
    assert store.get_thread(run.thread_id).version == version
    store.delete_thread(run.thread_id)
    with pytest.raises(ThreadNotFoundError):
        Runs(store).save_milestone(run, answer.id, "Verdict", "")


def test_a_name_that_is_taken_goes_on_meaning_what_it_meant(store: Store) -> None:
    run, _ = answered(store)
    mine = store.save(run.thread_id, name="Here").result
    later, last = answered(store, run.thread_id, "d")
    Runs(store).save_milestone(later, last.id, "Here", "")
    assert names(store, run.thread_id) == ["Here", "Here · 4"]
    assert store.map_checkpoint_depths(run.thread_id)["Here"] == store.get_checkpoint(run.thread_id, mine).message_count - 1


def test_of_two_checkpoints_of_one_name_the_one_that_a_person_saved_counts(store: Store) -> None:
    run, _ = answered(store)
    store.save(run.thread_id, name="Here")
    later = Runs(store).begin_run(run.thread_id, new("c")[0])
    Runs(store).save_checkpoint(later, "Here", "")
    assert store.map_checkpoint_depths(run.thread_id) == {"Here": 1}


def test_a_milestone_can_be_restored_and_is_in_the_next_start(store: Store) -> None:
    run, answer = answered(store)
    receipt = Runs(store).save_milestone(run, answer.id, "Verdict", "It is settled.")
    assert receipt is not None
    store.append(run.thread_id, new("c"))
    again = Store(store.database, now=store.now)
    assert again.get_checkpoint(run.thread_id, receipt.result).created_by == "judge"
    again.restore(run.thread_id, receipt.result)
    assert texts(again, run.thread_id) == ["a", "b"]
    again.delete_checkpoint(run.thread_id, receipt.result)
    with pytest.raises(CheckpointNotFoundError):
        again.get_checkpoint(run.thread_id, receipt.result)
