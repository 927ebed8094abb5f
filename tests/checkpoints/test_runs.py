"""A run locks its thread, keeps what it writes, and leaves something to find after a crash."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkpoints import (
    Caller,
    ConflictError,
    Database,
    Draft,
    Message,
    MessageNotFoundError,
    MessageStatus,
    OperationDetail,
    RequestReusedError,
    Rerun,
    Run,
    RunActiveError,
    Runs,
    RunState,
    Store,
    make_partial_messages,
)
from checkpoints.changes.branches import copy_message
from checkpoints.storage import schema
from checkpoints.tree_reader import BranchRank, find_branches_after
from checkpoints.values.reasoning import Reasoning
from checkpoints.values.sentence import encode_sentence, sentence
from tests.checkpoints.conversations import count, dump, names, new, picture, talked, texts
from tests.conftest import Clock


@pytest.fixture
def runs(store: Store) -> Runs:
    return Runs(store)


@pytest.fixture
def thread_id(store: Store) -> str:
    return store.create_thread().id


def test_beginning_writes_the_question_and_locks_the_thread(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0], title="About a")
    assert (texts(store, thread_id), store.get_thread(thread_id).title) == (["a"], "About a")
    assert (run.state, runs.list_running_threads(), runs.get_latest_run(thread_id)) == (RunState.RUNNING, {thread_id}, run)
    with pytest.raises(RunActiveError) as caught:
        runs.begin_run(thread_id, new("b")[0])
    assert caught.value.run_id == run.id


def test_the_same_request_begins_one_run(runs: Runs, store: Store, thread_id: str) -> None:
    first = runs.begin_run(thread_id, new("a")[0], caller=Caller(request_id="r1"))
    before = dump(store)
    assert runs.begin_run(thread_id, new("a")[0], caller=Caller(request_id="r1")) == first
    runs.end_run(first, RunState.DONE)
    assert runs.begin_run(thread_id, new("a")[0], caller=Caller(request_id="r1")).state is RunState.DONE
    assert (texts(store, thread_id), len(dump(store)["run"])) == (["a"], len(before["run"]))


def test_a_run_under_the_id_of_another_change_is_a_conflict(store: Store) -> None:
    thread_id, by = talked(store, "a", "b"), Caller(request_id="r1")
    store.rename_thread(thread_id, "Named", caller=by)
    runs, version = Runs(store), store.get_thread(thread_id).version
    question = store.list_messages(thread_id)[0].id
    rerun = Rerun(store.new_id(), thread_id, "", {}, (question,))
    beginnings: list[Callable[[], Run]] = [
        lambda: runs.begin_run(thread_id, new("c")[0], caller=by),
        lambda: runs.begin_run(thread_id, None, after=question, caller=by),
        lambda: runs.begin_run(thread_id, None, caller=by),
        lambda: runs.begin_rerun(rerun, new("a")[0], after=None, name="Again", caller=by),
    ]
    for begin in beginnings:
        with pytest.raises(RequestReusedError):
            begin()
    assert (store.get_thread(thread_id).version, runs.list_running_threads()) == (version, set())


def test_another_change_under_the_id_of_one_is_a_conflict(store: Store) -> None:
    thread_id, by = talked(store, "a", "b"), Caller(request_id="r1")
    store.rename_thread(thread_id, "Named", caller=by)
    before = dump(store)
    changes: list[Callable[[], object]] = [
        lambda: store.clear(thread_id, caller=by),
        lambda: store.save(thread_id, caller=by),
        lambda: store.undo(thread_id, caller=by),
        lambda: store.append(thread_id, new("c"), caller=by),
    ]
    for change in changes:
        with pytest.raises(RequestReusedError):
            change()
    assert store.rename_thread(thread_id, "Named", caller=by).repeated
    assert dump(store) == before


def test_a_double_click_on_undo_is_one_request(store: Store) -> None:
    thread_id, by = talked(store, "a", "b"), Caller(request_id="r1")
    undone = store.revert_last(thread_id, caller=by)
    again = store.revert_last(thread_id, caller=by)
    assert (again.repeated, again.operation) == (True, undone.operation)


@pytest.mark.parametrize("is_new", [False, True])
def test_the_same_request_with_another_text_is_refused(runs: Runs, store: Store, thread_id: str, is_new: bool) -> None:
    target, by = (None if is_new else thread_id), Caller(request_id="r1")
    run = runs.begin_run(target, new("a")[0], caller=by)
    before = dump(store)
    with pytest.raises(RequestReusedError, match="please send it again"):
        runs.begin_run(target, new("b")[0], caller=by)
    assert runs.begin_run(target, new("a")[0], caller=by) == run
    assert dump(store) == before


def test_a_run_without_a_thread_makes_one_and_the_same_request_finds_it(runs: Runs, store: Store) -> None:
    run = runs.begin_run(None, new("a")[0], caller=Caller(request_id="r1"), title="About a")
    assert runs.begin_run(None, new("a")[0], caller=Caller(request_id="r1")) == run
    assert [(t.id, t.title) for t in store.list_threads()] == [(run.thread_id, "About a")]


def test_a_request_of_another_conversation_is_not_this_ones(runs: Runs, store: Store, thread_id: str) -> None:
    runs.begin_run(thread_id, new("a")[0], caller=Caller(request_id="r1"))
    other = store.create_thread().id
    with pytest.raises(ConflictError):
        runs.begin_run(other, new("b")[0], caller=Caller(request_id="r1"))
    assert texts(store, other) == []


def test_a_run_that_cannot_begin_leaves_nothing(runs: Runs, store: Store, thread_id: str) -> None:
    store.append(thread_id, new("a"))
    before = dump(store)
    with pytest.raises(ConflictError):
        runs.begin_run(thread_id, new("b")[0], caller=Caller(expected_version=0))
    with pytest.raises(MessageNotFoundError):
        runs.begin_run(thread_id, new("b")[0], after="nothing")
    assert dump(store) == before


def test_a_retry_begins_before_the_old_answer(runs: Runs, store: Store, thread_id: str) -> None:
    store.append(thread_id, new("a", "b"))
    question = store.list_messages(thread_id)[0]
    run = runs.begin_run(thread_id, None, after=question.id)
    runs.commit_message(run, new("a", "c")[1])
    runs.end_run(run, RunState.DONE)
    assert texts(store, thread_id) == ["a", "c"]
    store.undo(thread_id)
    assert texts(store, thread_id) == ["a", "b"]


def test_a_committed_message_is_marked_with_its_run_and_ends_its_draft(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.save_drafts({run.id: Draft("b")})
    stored, version = runs.commit_message(run, new("", "b")[1])
    assert (store.list_messages(thread_id)[-1], store.get_thread(thread_id).version) == (stored, version)
    assert (stored.run_id, runs.get_latest_run(thread_id).draft) == (run.id, Draft())


def test_a_draft_becomes_one_partial_message_after_a_crash(file: Path, clock: Clock) -> None:
    database = Database.open_file(file)
    store = Store(database, now=clock)
    thread_id = store.create_thread().id
    runs = Runs(store)
    run = runs.begin_run(thread_id, new("a")[0])
    runs.save_drafts({run.id: Draft("b is", "Why b?")})
    database.close()
    again = Store(Database.open_file(file), now=clock)
    assert [r.id for r in Runs(again).interrupt_orphans()] == [run.id]
    assert Runs(again).interrupt_orphans() == []
    assert texts(again, thread_id) == ["a", "b is"]
    last = again.list_messages(thread_id)[-1]
    reasoning = Reasoning.of(last.langchain)
    assert reasoning is not None
    assert (last.status, reasoning.text) == (MessageStatus.PARTIAL, "Why b?")
    found = Runs(again).get_latest_run(thread_id)
    assert (found.state, found.draft) == (RunState.INTERRUPTED, Draft())
    again.database.close()


def test_nothing_partial_is_left_of_a_committed_answer(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.save_drafts({run.id: Draft("b")})
    runs.commit_message(run, new("", "b")[1])
    runs.interrupt_orphans()
    assert texts(store, thread_id) == ["a", "b"]


def test_ending_writes_the_last_messages_and_unlocks(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(run, RunState.STOPPED, last_messages=make_partial_messages("b"))
    assert (texts(store, thread_id), runs.list_running_threads()) == (["a", "b"], set())
    assert runs.get_latest_run(thread_id).state is RunState.STOPPED
    runs.begin_run(thread_id, new("c")[0])


def test_ending_twice_does_nothing(runs: Runs, store: Store, thread_id: str) -> None:
    store.append(thread_id, new("a"))
    checkpoint = store.save(thread_id).result
    run = runs.begin_run(thread_id, new("b")[0])
    runs.end_run(run, RunState.FAILED, error="no connection", last_messages=make_partial_messages("c"))
    store.restore(thread_id, checkpoint)
    before = dump(store)
    runs.end_run(run, RunState.DONE, last_messages=make_partial_messages("d"))
    assert dump(store) == before


def test_a_waiting_run_keeps_the_use_of_its_budgets(runs: Runs, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(run, RunState.WAITING, usage="numbers")
    assert runs.get_latest_run(thread_id).usage == "numbers"


def test_a_thread_waits_while_its_newest_run_at_the_head_does(runs: Runs, store: Store, thread_id: str) -> None:
    runs.end_run(runs.begin_run(thread_id, new("a")[0]), RunState.WAITING)
    assert runs.list_waiting_threads() == {thread_id}
    run = runs.begin_run(thread_id, new("b")[0])
    assert runs.list_waiting_threads() == set()
    runs.end_run(run, RunState.DONE)
    assert runs.list_waiting_threads() == set()
    store.undo(thread_id)
    assert runs.get_latest_run(thread_id).state is RunState.WAITING
    assert runs.list_waiting_threads() == {thread_id}


def test_a_run_that_has_ended_writes_nothing_more(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(run, RunState.STOPPED)
    runs.begin_run(thread_id, new("b")[0])
    before = dump(store)
    with pytest.raises(ConflictError):
        runs.commit_message(run, new("", "late")[1])
    runs.save_drafts({run.id: Draft("late", "Why?")})
    assert dump(store) == before


def test_how_a_run_ended_is_said_only_where_it_ended(runs: Runs, store: Store, thread_id: str) -> None:
    store.append(thread_id, new("a"))
    checkpoint = store.save(thread_id).result
    runs.end_run(runs.begin_run(thread_id, new("b")[0]), RunState.FAILED, error="no connection")
    assert runs.get_latest_run(thread_id).error == "no connection"
    store.restore(thread_id, checkpoint)
    assert runs.get_latest_run(thread_id) is None
    store.undo(thread_id)
    assert runs.get_latest_run(thread_id).error == "no connection"


def test_the_error_of_a_run_keeps_its_template_and_its_values(runs: Runs, thread_id: str) -> None:
    error = sentence("{reason} Go on?", reason=sentence("{count:,} seconds", count=1000))
    runs.end_run(runs.begin_run(thread_id, new("a")[0]), RunState.FAILED, error=error)
    found = runs.get_latest_run(thread_id).error
    assert found == "1,000 seconds Go on?"
    assert encode_sentence(found) == encode_sentence(error)


def test_a_dismissed_run_says_no_more(runs: Runs, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(run, RunState.FAILED, error="no connection")
    runs.dismiss_latest(thread_id)
    assert runs.get_latest_run(thread_id).dismissed is True


def test_the_newest_run_is_the_last_one_begun_whatever_the_clock_says(runs: Runs, thread_id: str, clock: Clock) -> None:
    runs.end_run(runs.begin_run(thread_id, new("a")[0]), RunState.DONE)
    clock.turn(-timedelta(days=365))
    second = runs.begin_run(thread_id, new("b")[0])
    assert runs.get_latest_run(thread_id) == second
    runs.end_run(second, RunState.FAILED)
    assert runs.get_latest_run(thread_id).id == second.id


def test_two_threads_run_at_the_same_time(runs: Runs, store: Store, thread_id: str) -> None:
    other = store.create_thread().id
    runs.begin_run(thread_id, new("a")[0])
    runs.begin_run(other, new("b")[0])
    assert runs.list_running_threads() == {thread_id, other}
    assert count(store, schema.run) == 2


def test_a_stream_cut_within_a_character_still_ends(runs: Runs, store: Store, thread_id: str) -> None:
    run = runs.begin_run(thread_id, new("a")[0])
    runs.save_drafts({run.id: Draft("b \ud83d", "c \ud83d")})
    runs.end_run(run, RunState.STOPPED, last_messages=make_partial_messages("b \ud83d\ude00 c \ud83d"))
    assert texts(store, thread_id) == ["a", "b \N{GRINNING FACE} c \N{REPLACEMENT CHARACTER}"]


def test_no_text_makes_no_partial_message() -> None:
    assert make_partial_messages("") == []


def test_a_summary_takes_the_place_of_what_stood_there_and_ends_its_run(runs: Runs, store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    path, before = store.list_messages(thread_id), picture(store, thread_id)
    run = runs.begin_run(thread_id, None, compacts=True)
    receipt = runs.replace_with_summary(run, new("a and b", "c", "d")[0:2], after=None, detail=OperationDetail(messages=4))
    assert (texts(store, thread_id), names(store, thread_id)) == (["a and b", "c"], ["after b", "after d"])
    assert [message.id for message in store.list_messages_to(thread_id, path[3].id, last=2)] == [path[2].id, path[3].id]
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert (latest.state, latest.compacts, runs.list_running_threads()) == (RunState.DONE, True, set())
    assert store.undo(thread_id).operation.target == receipt.version
    assert picture(store, thread_id) == before


def test_what_is_written_once_more_is_still_its_runs_and_another_conversations_copy_is_nobodys(
    runs: Runs, store: Store, thread_id: str
) -> None:
    store.append(thread_id, new("brought", "in"))
    first = runs.begin_run(thread_id, new("a")[0])
    runs.commit_message(first, new("", "b")[1])
    runs.end_run(first, RunState.DONE)
    of = [None, first.id, first.id]
    second = runs.begin_run(thread_id, None, compacts=True)
    runs.replace_with_summary(
        second, [*new("short"), *map(copy_message, store.list_messages(thread_id)[1:])], after=None, detail=OperationDetail()
    )
    assert [message.run_id for message in store.list_messages(thread_id)] == [second.id, *of]
    store.replace(thread_id, store.list_messages(thread_id)[0].id, new("brief")[0])
    assert [message.run_id for message in store.list_messages(thread_id)] == [None, *of]
    other = store.fork_thread(thread_id, store.list_messages(thread_id)[-1].id).result
    assert {message.run_id for message in store.list_messages(other)} == {None}


def test_a_summary_that_a_crash_cut_off_changed_nothing(runs: Runs, store: Store) -> None:
    thread_id = talked(store, "a", "b")
    run = runs.begin_run(thread_id, None, compacts=True)
    assert [left.id for left in runs.interrupt_orphans()] == [run.id]
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert (texts(store, thread_id), latest.state, latest.compacts) == (["a", "b"], RunState.INTERRUPTED, True)
    with pytest.raises(ConflictError):
        runs.replace_with_summary(run, new("short"), after=None, detail=OperationDetail(messages=2))
    assert texts(store, thread_id) == ["a", "b"]


def test_a_summary_that_failed_hides_the_cut_answer_before_it_only_until_it_is_dismissed(
    runs: Runs, store: Store, thread_id: str
) -> None:
    cut = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(cut, RunState.STOPPED, last_messages=make_partial_messages("half"))
    runs.end_run(runs.begin_run(thread_id, None, compacts=True), RunState.FAILED, error="No.")
    runs.dismiss_latest(thread_id)
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert (latest.id, latest.dismissed) == (cut.id, False)


def test_a_run_writes_on_branches_that_the_conversation_does_not_stand_on(runs: Runs, store: Store) -> None:
    thread_id = talked(store, "a", "b")
    before, path = picture(store, thread_id), store.list_messages(thread_id)
    run = runs.begin_run(thread_id, new("c")[0])
    made, _ = runs.branch_off(run, [("One", new("x")[0]), ("Two", new("y")[0])], after=path[1].id)
    runs.commit_message(run, new("", "x is done")[1], branch_id=made[0][0])
    runs.commit_message(run, new("", "d")[1])
    assert texts(store, thread_id) == ["a", "b", "c", "d"]

    def rank(first: Message) -> BranchRank | None:
        text = first.body["data"]["content"]
        return None if text == "y" else BranchRank(text, 1)

    gone = find_branches_after(store, thread_id, {path[1].id}, rank)
    ends = {text: [(branch.name, last.body["data"]["content"]) for branch, last in each] for text, each in gone.items()}
    assert ends == {"c": [("main", "d")], "x": [("One", "x is done")]}
    runs.end_run(run, RunState.DONE)
    after = picture(store, thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert picture(store, thread_id) == after


def test_whoever_writes_a_run_holds_its_thread_before_the_row_of_the_run(postgres_store: Store) -> None:
    runs, store = Runs(postgres_store), postgres_store
    thread_id = talked(store, "a", "b")
    after = store.list_messages(thread_id)[-1].id

    def compact() -> None:
        runs.replace_with_summary(
            runs.begin_run(thread_id, new("d")[0]), new("", "short"), after=after, detail=OperationDetail()
        )

    def talk() -> None:
        run = runs.begin_run(thread_id, new("c")[0])
        runs.commit_message(run, new("", "said")[1])
        runs.end_run(run, RunState.DONE, last_messages=make_partial_messages("half"))

    def leave() -> None:
        runs.begin_run(thread_id, None)
        runs.interrupt_orphans(thread_id)

    for work in (talk, leave, compact):
        taken = _locks(store, work)
        assert "run" in taken
        assert all(before == "thread" for before, row in zip(["", *taken], taken, strict=False) if row == "run"), taken


def test_an_error_may_have_lines_of_its_own(store: Store) -> None:
    runs = Runs(store)
    run = runs.begin_run(store.create_thread().id, new("a")[0])
    runs.end_run(run, RunState.FAILED, error="first\nsecond", details="words")
    found = runs.get_latest_run(run.thread_id)
    assert found is not None
    assert (found.error, found.error_details) == ("first\nsecond", "words")


def _locks(store: Store, work: Callable[[], None]) -> list[str]:
    """The rows that work takes hold of in each transaction, in order: of threads and of runs, each once in a row."""
    found: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        row = "thread" if statement.endswith("FOR UPDATE") else "run" if statement.startswith("UPDATE run") else ""
        found.extend([row] if row and found[-1:] != [row] else [])

    sa.event.listen(store.database.engine, "before_cursor_execute", note)
    sa.event.listen(store.database.engine, "begin", lambda _: found.append("begin"))
    work()
    sa.event.remove(store.database.engine, "before_cursor_execute", note)
    return found
