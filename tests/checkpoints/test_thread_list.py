"""The list of conversations: its order and portions, pins and the archive, and that each change can be undone."""

from datetime import timedelta

import pytest

from checkpoints import ListPlace, Runs, Store, Thread
from checkpoints.interchange import reading, transfer
from checkpoints.interchange.redaction import Redaction
from tests.checkpoints.conversations import new, talked
from tests.conftest import Clock


def fill(store: Store, clock: Clock, *titles: str) -> list[str]:
    """Make conversations, a minute apart; their ids."""
    made = []
    for title in titles:
        clock.turn(timedelta(minutes=1))
        made.append(store.create_thread(title=title).id)
    return made


def place(thread: Thread) -> ListPlace:
    return ListPlace(thread.pinned, thread.updated_at, thread.id)


def test_pinning_and_archiving_are_undone_exactly_also_while_a_run_writes(store: Store) -> None:
    thread_id = store.create_thread().id
    Runs(store).begin_run(thread_id, new("a")[0])
    for change in (store.pin_thread, store.archive_thread):
        flag = {"pin_thread": "pinned", "archive_thread": "archived"}[change.__name__]
        change(thread_id, **{flag: True})  # type: ignore[arg-type]
        assert getattr(store.get_thread(thread_id), flag)
    [run] = Runs(store).interrupt_orphans()
    store.undo(thread_id)
    assert (store.get_thread(thread_id).pinned, store.get_thread(thread_id).archived) == (True, False)
    store.undo(thread_id)
    assert not store.get_thread(thread_id).pinned
    store.redo(thread_id)
    assert store.get_thread(thread_id).pinned
    assert run.thread_id == thread_id


@pytest.mark.parametrize("size", [1, 3, 100])
def test_portions_are_the_list_without_a_gap_or_a_double(store: Store, clock: Clock, size: int) -> None:
    made = fill(store, clock, *(f"Number {number}" for number in range(7)))
    tied = [store.create_thread().id for _ in range(3)]  # at the same moment as the last
    for thread_id in (made[1], tied[0]):
        store.pin_thread(thread_id, pinned=True)
    store.archive_thread(made[2], archived=True)
    found: list[Thread] = []
    while portion := store.list_thread_portion(limit=size, after=place(found[-1]) if found else None):
        found += portion
    listed = [thread for thread in store.list_threads() if not thread.archived]
    assert [t.id for t in found] == [t.id for t in sorted(listed, key=lambda thread: not thread.pinned)]
    assert [thread.id for thread in store.list_thread_portion(archived=True)] == [made[2]]


def test_titles_are_found_by_words_in_any_case_also_in_the_archive(store: Store, clock: Clock) -> None:
    bread, street, _ = fill(store, clock, "Bread and ÄPFEL", "Die Straße", "Else")
    store.archive_thread(bread, archived=True)
    assert [thread.id for thread in store.list_thread_portion(archived=None, text="äpfel READ")] == [bread]
    assert [thread.id for thread in store.list_thread_portion(archived=None, text="strasse")] == [street]
    assert store.list_thread_portion(text="bread") == store.list_thread_portion(text="%") == []


def test_what_changed_since_a_moment_has_what_left_the_list(store: Store, clock: Clock) -> None:
    old, archived, deleted = fill(store, clock, "Old", "Archived", "Deleted")
    clock.turn(timedelta(minutes=1))
    since = clock()
    store.archive_thread(archived, archived=True)
    store.delete_thread(deleted)
    assert {t.id for t in store.list_changed_threads(since)} == {archived, deleted}
    store.rename_thread(old, "New")
    assert old in {t.id for t in store.list_changed_threads(since)}
    assert len(store.list_changed_threads(since, limit=2)) == 2


def test_an_export_carries_the_marks_and_a_file_without_them_is_read(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    plain = transfer.export_document(store, thread_id)
    assert plain["thread"].keys() == {"title", "settings"}  # what earlier versions know
    store.pin_thread(thread_id, pinned=True)
    store.archive_thread(thread_id, archived=True)
    for redaction in (None, Redaction(patterns=("Talk",))):
        document = reading.read_document(transfer.export(store, thread_id, redaction))
        made = store.get_thread(transfer.import_thread(store, document).result)
        assert (made.pinned, made.archived) == (True, True)
        store.undo(made.id)
        store.redo(made.id)
        assert store.get_thread(made.id).pinned


def test_a_checkpoint_and_a_branch_have_places_whichever_branch_is_shown(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    [first, second] = store.list_checkpoints(thread_id)
    store.restore(thread_id, first.id, keep_future=True)
    [main, future] = [branch for branch, _ in store.list_branches(thread_id)]
    assert second.node is not None
    shown = store.locate_checkpoint(thread_id, second.id)
    assert (shown.standing, shown.branch) == ("branch", future.name)
    assert store.locate_branch(thread_id, future.id) == shown
    assert store.locate_branch(thread_id, main.id).standing == "current"
