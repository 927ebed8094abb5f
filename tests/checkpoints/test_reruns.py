"""Reruns on disk: the branch with its first question, and the step that each run answers."""

import pytest

from checkpoints import Caller, Message, MessageNotFoundError, Rerun, RerunStep, Run, Runs, RunState, Store
from tests.checkpoints.conversations import new, texts


def begin(store: Store, thread_id: str, path: list[Message], request_id: str | None = None) -> Run:
    rerun = Rerun("again", thread_id, f"message:{path[-1].id}", {"model": "openai:other"}, (path[2].id,))
    after = path[1].id
    return Runs(store).begin_rerun(rerun, new("c")[0], after=after, name="Again", caller=Caller(request_id=request_id))


def test_a_rerun_begins_on_a_branch_of_its_own_and_is_undone_with_it(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("a", "b", "c", "d"))
    path = store.list_messages(thread_id)
    runs = Runs(store)
    run = begin(store, thread_id, path)
    runs.commit_message(run, new("", "other")[1])
    runs.end_run(run, RunState.DONE)
    assert texts(store, thread_id) == ["a", "b", "c", "other"]
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["main", "Again"]
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert latest.rerun == RerunStep("again", 1)
    assert runs.get_rerun(latest.rerun) == Rerun(
        "again", thread_id, f"message:{path[-1].id}", {"model": "openai:other"}, (path[2].id,)
    )
    store.undo(thread_id)
    assert texts(store, thread_id) == ["a", "b", "c", "d"]
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["main"]
    store.redo(thread_id)
    assert texts(store, thread_id) == ["a", "b", "c", "other"]


def test_the_same_request_begins_one_rerun(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("a", "b", "c", "d"))
    path = store.list_messages(thread_id)
    first = begin(store, thread_id, path, "request")
    assert begin(store, thread_id, path, "request") == first
    assert len(store.list_branches(thread_id)) == 2


def test_a_rerun_after_a_message_that_is_gone_leaves_nothing(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("a", "b"))
    rerun = Rerun("again", thread_id, "branch:x", {}, ("m",))
    with pytest.raises(MessageNotFoundError):
        Runs(store).begin_rerun(rerun, new("c")[0], after="nothing", name="Again")
    assert texts(store, thread_id) == ["a", "b"]
    assert Runs(store).list_running_threads() == set()
