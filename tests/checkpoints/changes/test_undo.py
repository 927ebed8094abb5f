"""Undo puts back exactly what was, for every kind of operation, and redo what had become of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints import (
    UNTITLED,
    Caller,
    Database,
    NothingToUndoError,
    OperationDetail,
    OperationKind,
    RunActiveError,
    Runs,
    RunState,
    Store,
)
from checkpoints.interchange import reading, transfer
from tests.checkpoints.conversations import names, new, picture, talked, texts

Operation = Callable[[Store, str], object]


def _edit(store: Store, thread_id: str) -> None:
    store.append(thread_id, new("edited"), after=store.list_messages(thread_id)[1].id)


def _edit_first(store: Store, thread_id: str) -> None:
    store.append(thread_id, new("edited"), after=None)


def _switch(store: Store, thread_id: str) -> None:
    away = next(b for b, _ in store.list_branches(thread_id) if b.id != store.get_thread(thread_id).branch_id)
    store.switch(thread_id, away.id)


def _import_into(store: Store, thread_id: str) -> None:
    elsewhere = transfer.export(store, talked(store, "x", "y"))
    store.import_into(thread_id, transfer.make_replacement(reading.read_document(elsewhere)))


def _import_again(store: Store, thread_id: str) -> None:
    old = reading.read_document(transfer.export(store, thread_id))
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id)
    store.import_into(thread_id, transfer.make_replacement(old))


OPERATIONS: dict[str, Operation] = {
    "append": lambda s, t: s.append(t, new("e", "f"), title="Named"),
    "edit": _edit,
    "edit of the first message": _edit_first,
    "save": lambda s, t: s.save(t, name="here", extra={"step": 1}),
    "save of a state that goes on": lambda s, t: s.save(t, keep=4, new=new("e")),
    "save of a compacted state": lambda s, t: s.save(t, keep=0, new=new("summary")),
    "save of a shorter state": lambda s, t: s.save(t, keep=2),
    "restore": lambda s, t: s.restore(t, s.list_checkpoints(t)[0].id),
    "restore keeping the future": lambda s, t: s.restore(t, s.list_checkpoints(t)[0].id, keep_future=True),
    "switch": _switch,
    "delete of a checkpoint": lambda s, t: s.delete_checkpoint(t, s.list_checkpoints(t)[0].id),
    "clear of the checkpoints": lambda s, t: s.clear_checkpoints(t),
    "clear": lambda s, t: s.clear(t),
    "rename": lambda s, t: s.rename_thread(t, "Other"),
    "delete of the thread": lambda s, t: s.delete_thread(t),
    "import into": _import_into,
}


def prepared(store: Store) -> str:
    """A thread with a compacted past, two branches and checkpoints on both."""
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    store.append(thread_id, new("e", "f"))
    store.save(thread_id, name="left behind")
    store.save(thread_id, keep=2, new=new("g", "h"), name="compacted")
    return thread_id


@pytest.mark.parametrize("name", OPERATIONS)
def test_undo_puts_back_what_was_and_redo_what_became(store: Store, name: str) -> None:
    thread_id = prepared(store)
    before = picture(store, thread_id)
    OPERATIONS[name](store, thread_id)
    after = picture(store, thread_id)
    assert after != before
    for _ in range(2):
        store.undo(thread_id)
        assert _own(store, thread_id) == _of(before, thread_id)
        store.redo(thread_id)
        assert _own(store, thread_id) == _of(after, thread_id)


def _own(store: Store, thread_id: str) -> dict[str, object]:
    return _of(picture(store, thread_id), thread_id)


def _of(found: dict[str, object], thread_id: str) -> dict[str, object]:
    """Without other threads, which an import makes to have something to import."""
    return {k: [r for r in rows if thread_id in r] for k, rows in found.items()}  # type: ignore[attr-defined]


def test_every_operation_can_be_undone_back_to_the_beginning(store: Store) -> None:
    thread_id = prepared(store)
    pictures = [picture(store, thread_id)]
    for name, operation in OPERATIONS.items():
        if name not in {"delete of the thread", "import into"}:
            if "checkpoint" in name and not store.list_checkpoints(thread_id):
                store.save(thread_id)
                pictures.append(picture(store, thread_id))
            if "restore" in name and not store.list_checkpoints(thread_id):
                continue
            if name == "edit" and len(store.list_messages(thread_id)) < 2:
                continue
            operation(store, thread_id)
            pictures.append(picture(store, thread_id))
    while len(pictures) > 1:
        assert picture(store, thread_id) == pictures.pop()
        store.undo(thread_id)
    assert picture(store, thread_id) == pictures[0]


def test_undoing_an_import_takes_the_new_thread_out_of_the_list(store: Store) -> None:
    text = transfer.export(store, talked(store, "a", "b"))
    made = transfer.import_thread(store, reading.read_document(text)).result
    store.undo(made)
    assert made not in [thread.id for thread in store.list_threads()]
    store.redo(made)
    assert texts(store, made) == ["a", "b"]


def test_a_whole_run_is_undone_in_one_step(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    before = picture(store, thread_id)
    _run(store, thread_id)
    after = picture(store, thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert picture(store, thread_id) == after


def _run(store: Store, thread_id: str, between: Operation = lambda store, thread_id: None) -> None:
    runs = Runs(store)
    run = runs.begin_run(thread_id, new("c")[0])
    runs.commit_message(run, new("", "d")[1])
    store.save(thread_id, name="by the agent", caller=Caller(actor="agent", undo_group=run.id))
    between(store, thread_id)
    runs.end_run(run, RunState.DONE, last_messages=new("", "e")[1:])


@pytest.mark.parametrize(
    ("name", "stays"),
    [("rename", True), ("save", False), ("delete of a checkpoint", False), ("clear of the checkpoints", False)],
)
def test_a_run_is_undone_whatever_the_user_did_meanwhile(store: Store, name: str, stays: bool) -> None:
    thread_id = talked(store, "a", "b")
    _run(store, thread_id, OPERATIONS[name])
    after = picture(store, thread_id)
    store.undo(thread_id)
    assert texts(store, thread_id) == ["a", "b"]
    assert (store.get_thread(thread_id).title == "Other") is stays
    store.redo(thread_id)
    assert picture(store, thread_id) == after
    for _ in range(len([o for o in store.list_operations(thread_id) if o.kind not in {"undo", "redo"}])):
        if store.find_undoable(thread_id):
            store.undo(thread_id)
    assert (texts(store, thread_id), names(store, thread_id)) == ([], [])


def test_what_the_agent_made_and_the_user_deleted_is_undone_with_the_run(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    before = picture(store, thread_id)
    _run(store, thread_id, lambda s, t: s.delete_checkpoint(t, s.list_checkpoints(t)[-1].id))
    after = picture(store, thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert picture(store, thread_id) == after


def test_an_undo_is_not_part_of_the_group_that_it_undoes(store: Store) -> None:
    thread_id = store.create_thread().id
    together = Caller(undo_group="g")
    store.append(thread_id, new("a"), caller=Caller(undo_group="f"))
    store.append(thread_id, new("b"), caller=together)
    store.undo(thread_id, caller=together)
    store.append(thread_id, new("c"), caller=together)
    store.undo(thread_id, caller=together)
    assert texts(store, thread_id) == ["a"]


def test_redo_is_gone_after_another_operation(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.undo(thread_id)
    assert store.find_redoable(thread_id) is not None
    store.rename_thread(thread_id, "Other")
    assert store.find_redoable(thread_id) is None
    with pytest.raises(NothingToUndoError, match="nothing to redo"):
        store.redo(thread_id)


def test_there_is_nothing_to_undo_in_a_new_thread(store: Store) -> None:
    thread_id = store.create_thread().id
    with pytest.raises(NothingToUndoError, match="nothing to undo"):
        store.undo(thread_id)
    assert store.list_operations(thread_id) == []


def test_undo_and_redo_go_on_after_a_restart(file: Path) -> None:
    database = Database.open_file(file)
    store = Store(database)
    thread_id = talked(store, "a", "b", "c", "d")
    before = picture(store, thread_id)
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    after = picture(store, thread_id)
    database.close()
    for turn, expected in (("undo", before), ("redo", after)):
        reopened = Database.open_file(file)
        getattr(Store(reopened), turn)(thread_id)
        assert picture(Store(reopened), thread_id) == expected
        reopened.close()


def test_no_one_undoes_while_an_answer_is_being_written(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    run = Runs(store).begin_run(thread_id, new("c")[0])
    with pytest.raises(RunActiveError):
        store.undo(thread_id)
    store.undo(thread_id, caller=Caller(actor="agent", undo_group=run.id))
    assert texts(store, thread_id) == ["a", "b"]


def test_a_deleted_thread_is_found_by_undo_alone(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.delete_thread(thread_id)
    assert store.list_threads() == []
    assert store.find_undoable(thread_id).detail == OperationDetail(subject="thread", name="Talk")
    store.undo(thread_id)
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b"], ["after b"])


def test_importing_into_again_undoes_step_by_step(store: Store) -> None:
    thread_id = prepared(store)
    before = picture(store, thread_id)
    _import_again(store, thread_id)
    store.undo(thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_deleted_conversations_are_listed_until_undo_brings_them_back(store: Store) -> None:
    first, second, third = (talked(store, text) for text in ("a", "b", "c"))
    store.delete_thread(first)
    store.delete_thread(second)
    assert {thread.id for thread in store.list_deleted_threads()} == {first, second}
    assert len(store.list_deleted_threads(limit=1)) == 1
    store.undo(second)
    assert [thread.id for thread in store.list_deleted_threads()] == [first]
    assert {thread.id for thread in store.list_threads()} >= {second, third}


def test_reverting_the_last_change_undoes_it_and_reverting_that_undo_redoes_it(store: Store) -> None:
    thread_id = prepared(store)
    _import_again(store, thread_id)
    after = picture(store, thread_id)
    assert store.revert_last(thread_id).operation.kind is OperationKind.UNDO
    assert store.revert_last(thread_id).operation.kind is OperationKind.REDO
    assert picture(store, thread_id) == after
    assert store.revert_last(thread_id).operation.kind is OperationKind.UNDO


def test_a_milestone_that_the_judge_saves_after_an_undo_does_not_hide_it(store: Store) -> None:
    thread_id = talked(store, "a")
    run = Runs(store).begin_run(thread_id, new("b")[0])
    message, _ = Runs(store).commit_message(run, new("", "c")[1])
    Runs(store).end_run(run, RunState.DONE)
    store.rename_thread(thread_id, "Other")
    store.undo(thread_id)
    assert Runs(store).save_milestone(run, message.id, "Verdict", "") is not None
    store.revert_last(thread_id)
    assert store.get_thread(thread_id).title == "Other"


def test_an_undo_sent_before_the_title_came_takes_back_what_the_person_saw(store: Store) -> None:
    runs = Runs(store)
    run = runs.begin_run(None, new("a")[0], title="a")
    runs.commit_message(run, new("", "b")[1])
    runs.end_run(run, RunState.DONE)
    seen = Caller(expected_version=store.get_thread(run.thread_id).version)
    runs.give_title(run, "Given", model="m", usage={})
    store.undo(run.thread_id, caller=seen)
    assert (texts(store, run.thread_id), store.get_thread(run.thread_id).title) == ([], UNTITLED)
    store.redo(run.thread_id)
    assert (texts(store, run.thread_id), store.get_thread(run.thread_id).title) == (["a", "b"], "Given")
    store.undo(run.thread_id)  # of somebody who has seen the title
    assert (texts(store, run.thread_id), store.get_thread(run.thread_id).title) == ([], UNTITLED)


def test_a_title_of_the_model_is_undone_with_the_first_turn_and_is_no_step_of_its_own(store: Store) -> None:
    runs, thread_id = Runs(store), store.create_thread().id
    pictures = [picture(store, thread_id)]
    for text in ("a", "c"):
        run = runs.begin_run(thread_id, new(text)[0], title=text)
        runs.commit_message(run, new("", f"answer to {text}")[1])
        runs.end_run(run, RunState.DONE)
        if text == "a":
            runs.give_title(run, "Given", model="m", usage={})
        pictures.append(picture(store, thread_id))
    assert store.get_thread(thread_id).title == "Given"
    for before in pictures[-2::-1]:
        store.undo(thread_id)
        assert picture(store, thread_id) == before
    for after in pictures[1:]:
        store.redo(thread_id)
        assert picture(store, thread_id) == after


def test_a_title_that_comes_after_an_undo_leaves_the_redo(store: Store) -> None:
    runs = Runs(store)
    first = runs.begin_run(None, new("a")[0], title="a")
    runs.end_run(first, RunState.DONE)
    second = runs.begin_run(first.thread_id, new("b")[0])
    runs.end_run(second, RunState.DONE)
    store.undo(first.thread_id)
    assert runs.give_title(first, "Given", model="m", usage={}) is not None
    store.revert_last(first.thread_id)
    assert (texts(store, first.thread_id), store.get_thread(first.thread_id).title) == (["a", "b"], "Given")
