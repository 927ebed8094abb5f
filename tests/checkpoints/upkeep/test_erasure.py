"""Erasing takes what it says, nothing else, and leaves nothing of it in the files."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkpoints import (
    Caller,
    CheckpointManager,
    ConflictError,
    Database,
    Draft,
    NothingToUndoError,
    Rerun,
    RunActiveError,
    Runs,
    RunState,
    Store,
    ThreadNotFoundError,
)
from checkpoints.interchange import reading, transfer
from checkpoints.interchange.waymark import Document
from checkpoints.langgraph import WaymarkSaver
from checkpoints.rows import search_index, tag_rows
from checkpoints.rows.run_rows import RunEnd
from checkpoints.runs import CandidateEnd
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, state_erasure, verification
from checkpoints.upkeep.person_erasure import erase_person
from tests.checkpoints import shapes
from tests.checkpoints.conversations import count, dump, names, new, picture, state, talked, texts
from tests.checkpoints.interchange.test_transfer import with_stray
from tests.checkpoints.langgraph.graphs import ask, make_graph, read_channels
from tests.checkpoints.upkeep.test_verification import lived
from tests.checkpoints.values.test_files import PICTURE, asking
from tests.extensions.people.test_erasure_races import PATIENCE, pause_at

SECRET = "the word that nobody may ever find again"


def holding(file: Path, text: str) -> list[str]:
    """The files beside and of the database in which the text stands."""
    return [path.name for path in file.parent.iterdir() if text.encode() in path.read_bytes()]


def whole(store: Store) -> bool:
    return verification.verify(store.database).damages == ()


def test_an_erased_conversation_is_gone_from_every_file_and_the_others_are_as_they_were(
    file_store: Store, file: Path
) -> None:
    kept = talked(file_store, "kept", "yes")
    before = picture(file_store, kept)
    gone = talked(file_store, SECRET, "x" * 50_000, SECRET * 100)
    assert holding(file, SECRET)
    assert str(erasure.erase(file_store.database, gone)) == "the conversation 'Talk', 3 messages, 2 checkpoints"
    assert holding(file, SECRET) == []
    assert picture(file_store, kept) == before
    assert whole(file_store)
    with pytest.raises(ThreadNotFoundError):
        file_store.undo(gone)


@pytest.mark.parametrize("keep_undo", [True, False])
def test_what_older_imports_stored_and_nothing_shows_is_erased(
    store: Store, monkeypatch: pytest.MonkeyPatch, keep_undo: bool
) -> None:
    text = transfer.export(store, talked(store, "a", "b", "c", "d"))
    monkeypatch.setattr(Document, "drop_unreachable", lambda document: document)  # as it was once
    imported = transfer.import_thread(store, reading.read_document(with_stray(text, checkpoint=not keep_undo))).result
    seen = texts(store, imported), names(store, imported)
    plan = erasure.plan_erasure(store.database, keep_undo=keep_undo)
    assert (plan.messages, plan.checkpoints, plan.files) == (3, 0 if keep_undo else 1, 1)
    assert erasure.erase(store.database, keep_undo=keep_undo) == plan
    assert (texts(store, imported), names(store, imported)) == seen
    assert not erasure.plan_erasure(store.database)
    assert whole(store)


def test_what_a_draft_had_left_in_the_file_is_gone_as_well(file_store: Store, file: Path) -> None:
    runs = Runs(file_store)
    runs.begin_run(None, new("another's question")[0])  # its row keeps the page, so that only writing the file anew helps
    run = runs.begin_run(None, new("question")[0])
    runs.save_drafts({run.id: Draft(SECRET * 20, SECRET * 20)})
    runs.end_run(run, RunState.DONE, last_messages=new("answer"))
    assert holding(file, SECRET)
    erasure.erase(file_store.database, run.thread_id)
    assert holding(file, SECRET) == []


def test_a_deleted_conversation_can_be_erased_and_one_that_is_not_there_is_named(store: Store) -> None:
    thread_id = talked(store, "a")
    store.delete_thread(thread_id)
    assert erasure.erase(store.database, thread_id).messages == 1
    with pytest.raises(ThreadNotFoundError):
        erasure.plan_erasure(store.database, thread_id)
    assert [name for name, rows in dump(store).items() if rows] == ["audit_entry"]


def test_what_undo_and_redo_can_bring_back_is_not_unreached(store: Store) -> None:
    thread_id = lived(store)
    store.undo(thread_id)
    before = erasure.plan_erasure(store.database)
    erasure.erase(store.database)
    assert (before.threads, before.changes) == ((), 0)
    while store.find_undoable(thread_id):
        store.undo(thread_id)
    assert texts(store, thread_id) == []
    while store.find_redoable(thread_id):
        store.redo(thread_id)
    assert texts(store, thread_id)[0] == "A"
    assert whole(store)


def test_what_was_undone_and_followed_by_something_else_is_unreached_and_erased(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    file_store.append(thread_id, new(SECRET, "answer"))
    file_store.save(thread_id, name="lost")
    file_store.undo(thread_id)
    file_store.undo(thread_id)
    assert not erasure.plan_erasure(file_store.database)
    file_store.append(thread_id, new("c"))
    before = picture(file_store, thread_id)
    assert str(erasure.erase(file_store.database)) == "2 messages, 1 checkpoint"
    assert holding(file, SECRET) == []
    assert picture(file_store, thread_id) == before
    assert not erasure.plan_erasure(file_store.database)
    assert whole(file_store)
    file_store.undo(thread_id)
    assert texts(file_store, thread_id) == ["a", "b"]


def test_what_a_branch_or_a_checkpoint_stands_on_is_never_unreached(store: Store) -> None:
    thread_id = talked(store, *"abcdef")
    first = store.list_checkpoints(thread_id)[0]
    store.restore(thread_id, first.id, keep_future=True)
    store.clear(thread_id)
    gone = erasure.erase(store.database, keep_undo=False)
    assert (gone.messages, gone.checkpoints) == (0, 0)
    [future] = [branch for branch, _ in store.list_branches(thread_id) if branch.name != "main"]
    store.switch(thread_id, future.id)
    assert texts(store, thread_id) == list("abcdef")
    assert names(store, thread_id) == ["after b", "after d", "after f"]


def test_without_its_undo_a_change_goes_with_what_only_it_could_bring_back(store: Store) -> None:
    thread_id = talked(store, *"abcd")
    branch_id = store.fork(thread_id, None, name="side").result
    store.append(thread_id, new("only here"))
    store.switch(thread_id, store.list_branches(thread_id)[0][0].id)
    store.delete_branch(thread_id, branch_id)
    before = picture(store, thread_id)
    assert not erasure.plan_erasure(store.database)
    gone = erasure.erase(store.database, keep_undo=False)
    assert (gone.messages, gone.branches, gone.changes) == (1, 1, len(store.list_operations(thread_id)) - 1)
    assert picture(store, thread_id) == before
    assert store.find_undoable(thread_id) is None
    with pytest.raises(NothingToUndoError):
        store.undo(thread_id)
    assert not erasure.plan_erasure(store.database, keep_undo=False)
    assert whole(store)


def test_after_an_erasure_new_changes_are_undone_and_redone_down_to_it(store: Store) -> None:
    thread_id = talked(store, *"ab")
    erasure.erase(store.database, keep_undo=False)
    store.append(thread_id, new("c"))
    store.undo(thread_id)
    assert texts(store, thread_id) == ["a", "b"]
    assert store.find_undoable(thread_id) is None
    store.redo(thread_id)
    assert texts(store, thread_id) == ["a", "b", "c"]


def test_a_redo_does_not_reach_across_an_erasure(store: Store) -> None:
    thread_id = talked(store, *"ab")
    store.append(thread_id, new("c"))
    store.undo(thread_id)
    assert erasure.erase(store.database, keep_undo=False).messages == 1
    assert store.find_redoable(thread_id) is None
    assert whole(store)


def test_a_deleted_conversation_is_unreached_once_its_undo_is_given_up(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.delete_thread(thread_id)
    assert not erasure.plan_erasure(store.database)
    assert erasure.erase(store.database, keep_undo=False).threads == ("Talk",)
    assert count(store, schema.message) == 0


def test_a_conversation_that_is_being_answered_is_not_erased(store: Store) -> None:
    run = Runs(store).begin_run(None, new("question")[0])
    for thread_id in (run.thread_id, None):
        with pytest.raises(RunActiveError):
            erasure.erase(store.database, thread_id)
    assert count(store, schema.message) == 1


def test_planning_and_refusing_change_nothing(file_store: Store) -> None:
    lived(file_store)
    before = dump(file_store)
    erasure.plan_erasure(file_store.database, keep_undo=False)
    with pytest.raises(ThreadNotFoundError):
        erasure.erase(file_store.database, "nothing")
    assert dump(file_store) == before


def test_after_an_erasure_the_file_opens_and_goes_on(file_store: Store, file: Path) -> None:
    kept, gone = talked(file_store, "kept"), talked(file_store, *"abcdef")
    erasure.erase(file_store.database, gone)
    file_store.append(kept, new("more"))
    file_store.database.close()
    database = Database.open_file(file)
    assert texts(Store(database), kept) == ["kept", "more"]
    assert whole(Store(database))
    database.close()


def test_a_conversation_whose_alternatives_went_with_its_undo_can_be_read(store: Store) -> None:
    thread_id = talked(store, "a")
    store.append(thread_id, new("b"), after=None)
    store.append(thread_id, new("c"), after=None)
    store.fork(thread_id, None)
    store.append(thread_id, new("d"))
    assert len(store.find_alternatives(thread_id, store.list_messages(thread_id))) == 1
    erasure.erase(store.database, keep_undo=False)
    [found] = store.find_alternatives(thread_id, store.list_messages(thread_id)).values()
    assert [store.get_message(thread_id, each).body["data"]["content"] for each in found][-2:] == ["c", "d"]


def test_the_names_of_what_was_erased_are_in_no_operation(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    made = file_store.save(thread_id, name=SECRET).result
    file_store.change_checkpoint(thread_id, made, description=f"{SECRET}, described")
    file_store.delete_checkpoint(thread_id, made)
    assert holding(file, SECRET)
    erasure.erase(file_store.database, keep_undo=False)
    assert holding(file, SECRET) == []
    assert whole(file_store)


def fail(store: Store, thread_id: str) -> None:
    """Let everything that a run can leave behind quote the secret: its error, its candidates, its job and its rerun."""
    runs, failed = Runs(store), RunState.FAILED
    quoting = {"error": f"The model said {SECRET}.", "details": SECRET}
    run = runs.begin_run(thread_id, new("a")[0], models=["one", "other"])
    ended = [CandidateEnd(each, RunEnd(failed, **quoting)) for each in runs.list_candidates(run.id)]
    runs.end_run(run, failed, candidates=ended)
    rerun = Rerun("again", thread_id, "branch:x", {"prompt": SECRET}, (SECRET,))
    runs.end_run(runs.begin_rerun(rerun, new("b")[0], after=None, name="Again"), failed, **quoting)
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.run).values(job=f'{{"answers": "{SECRET}"}}'))


def test_words_of_a_provider_about_erased_messages_are_in_no_table(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store)
    fail(file_store, thread_id)
    assert not erasure.plan_erasure(file_store.database)
    file_store.clear(thread_id)
    for branch, _ in file_store.list_branches(thread_id)[:-1]:
        file_store.delete_branch(thread_id, branch.id)
    assert holding(file, SECRET)
    assert "the details of 2 runs" in str(erasure.erase(file_store.database, keep_undo=False))
    assert holding(file, SECRET) == []
    assert count(file_store, schema.rerun) == 0
    assert not erasure.plan_erasure(file_store.database, keep_undo=False)
    assert whole(file_store)


def test_an_error_stays_until_another_run_ends_at_its_place(file_store: Store, file: Path) -> None:
    thread_id, runs = talked(file_store, "a"), Runs(file_store)
    runs.end_run(runs.begin_run(thread_id, None), RunState.FAILED, error="first", details=SECRET)
    assert not erasure.plan_erasure(file_store.database, keep_undo=True)
    runs.end_run(runs.begin_run(thread_id, None), RunState.FAILED, error="second")
    assert str(erasure.erase(file_store.database)) == "the details of 1 run"
    assert holding(file, SECRET) == []
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert latest.error == "second"


def test_whoever_looked_before_an_erasure_cannot_tell_what_moved_since(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    seen = store.get_thread(thread_id).version
    store.clear(thread_id)
    erasure.erase(store.database, keep_undo=False)
    with pytest.raises(ConflictError):
        store.append(thread_id, new("c"), caller=Caller(expected_version=seen))


def test_a_checkpoint_that_no_branch_lists_keeps_nothing_once_undo_is_forgotten(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b", SECRET, "d")
    first = file_store.list_checkpoints(thread_id)[0]
    file_store.restore(thread_id, first.id)  # the later one leaves the list with the head, and not by being deleted
    assert not erasure.plan_erasure(file_store.database)
    gone = erasure.erase(file_store.database, keep_undo=False)
    assert (gone.messages, gone.checkpoints) == (2, 1)
    assert holding(file, SECRET) == []
    assert (texts(file_store, thread_id), names(file_store, thread_id)) == (["a", "b"], ["after b"])
    assert whole(file_store)


def test_a_detached_checkpoint_keeps_what_it_stands_on(store: Store) -> None:
    manager = CheckpointManager(store, store.create_thread().id)
    first = manager.save_checkpoint(state("a", "b"))
    manager.save_checkpoint(state("summary"))
    assert erasure.erase(store.database, keep_undo=False).messages == 0
    assert [message.content for message in manager.restore_checkpoint(first.id)["messages"]] == ["a", "b"]


def test_a_message_that_damage_has_put_among_those_of_another_conversation_goes_with_its_own(store: Store) -> None:
    gone, other = talked(store, "gone", "b"), talked(store, "stray", "d")
    stray = store.list_messages(other)[0].id
    message, entry = schema.message.c, schema.search_entry.c
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(message.id == stray).values(thread_id=gone))
    assert erasure.erase(store.database, gone).messages == 3
    with store.database.begin_read() as connection:
        assert connection.scalars(sa.select(message.id).where(message.id == stray)).all() == []
        indexed = sa.select(entry.segment, entry.depth).outerjoin(
            schema.message, sa.and_(message.segment == entry.segment, message.depth == entry.depth)
        )
        assert connection.execute(indexed.where(message.id.is_(None), entry.segment.is_not(None))).all() == []


def test_nobody_else_waits_for_an_erasure(postgres_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store, runs = postgres_store, Runs(postgres_store)
    store.append(store.create_thread(owner="bob").id, new("gone", "b"))
    kept = talked(store, "a", "b", "c", "d")
    text = transfer.export(store, kept)
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, search_index, "merge_words") as (arrived, released):
        erased = pool.submit(erase_person, store.database, "bob")
        assert arrived.wait(PATIENCE)
        store.save(kept)
        store.restore(kept, store.list_checkpoints(kept)[0].id, keep_future=True)
        run = runs.begin_run(kept, new("and then?")[0])
        runs.end_run(run, RunState.DONE, last_messages=new("so it went"))
        store.fork_thread(kept, store.list_messages(kept)[1].id)
        store.undo(kept)
        store.delete_checkpoint(kept, store.list_checkpoints(kept)[0].id)
        transfer.import_thread(store, reading.read_document(text))
        assert not erased.done()
        released.set()
        assert erased.result().threads.messages == 2
    assert whole(store)


def test_a_file_that_somebody_attaches_during_an_erasure_stays(
    postgres_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, kept = postgres_store, talked(postgres_store, "a", "b")
    store.append(store.create_thread(owner="bob").id, [asking("look", PICTURE)])
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, search_index, "remove_messages") as (arrived, released):
        erased = pool.submit(erase_person, store.database, "bob")
        assert arrived.wait(PATIENCE)
        store.append(kept, [asking("look", PICTURE)])
        released.set()
        assert (erased.result().threads.messages, erased.result().threads.files) == (1, 0)
    assert store.read_files([PICTURE.hash]) == {PICTURE.hash: PICTURE.data}
    assert whole(store)


def test_states_that_somebody_writes_during_an_erasure_keep_their_values(
    postgres_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgres_store
    documents = [reading.read_document(shapes.stateful(count, values=2)) for count in (3, 4, 5)]
    gone = transfer.import_thread(store, documents[0]).result
    transfer.import_thread(store, documents[1])
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.thread).where(schema.thread.c.id == gone).values(owner="bob"))
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, state_erasure, "list_all_numbers") as (arrived, released):
        erased = pool.submit(erase_person, store.database, "bob")
        assert arrived.wait(PATIENCE)
        transfer.import_thread(store, documents[2])
        released.set()
        assert erased.result().threads.states == 3
    assert whole(store)


def test_a_state_that_somebody_writes_during_an_erasure_keeps_its_shape(
    postgres_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though all earlier states of that shape are erased."""
    store = postgres_store
    graph = make_graph(WaymarkSaver(store))
    ask(graph, "gone", "Hello")
    with store.database.begin_write() as connection:
        connection.execute(sa.update(schema.thread).where(schema.thread.c.id == "gone").values(owner="bob"))
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, tag_rows, "delete_unreferenced") as (arrived, released):
        erased = pool.submit(erase_person, store.database, "bob")
        assert arrived.wait(PATIENCE)
        answered = ask(graph, "kept", "Hello")
        released.set()
        assert erased.result().threads.states > 0
    assert read_channels(graph, "kept").keys() == answered.keys()
    assert whole(store)
