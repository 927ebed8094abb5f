"""A small file costs little, whatever its shape: counted in statements and bytes, never in seconds."""

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import InvalidDocumentError, NewMessage, Runs, RunState, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import checkpoint_rows
from checkpoints.tree_reader import BranchRank, find_branches_after
from checkpoints.values import limits
from components.views.change_log import build_log
from tests.checkpoints import shapes
from tests.checkpoints.conversations import names, new
from tests.statements import record_statements

pytestmark = pytest.mark.slow

ACCEPTED: dict[str, tuple[Callable[[], str], Callable[[], str]]] = {  # the same shape small, and about ten times as large
    "comb": (lambda: shapes.comb(40, 20), lambda: shapes.comb(400, 200)),
    "calls": (lambda: shapes.calling(12, 10), lambda: shapes.calling(limits.MAX_CALLS, 100)),
    "checkpoints": (lambda: shapes.marked([""] * 90), lambda: shapes.marked([""] * 900)),
    "names": (lambda: shapes.marked(numbered(90)), lambda: shapes.marked(numbered(900))),
    "alternatives": (lambda: shapes.split(20), lambda: shapes.split(limits.MAX_ALTERNATIVES)),
}
Work = Callable[[Store, str], None]
ALLOWED = 40  # statements more for ten times as much: portions


def numbered(number: int) -> list[str]:
    """The default names of the checkpoints that would be saved next."""
    return [f"Checkpoint {number + 1 + place}" for place in range(number)]


def look(store: Store, thread_id: str) -> None:
    """All that a view of the page reads of a conversation's tree."""
    with store.database.begin_read():
        held = store.list_messages(thread_id, last=110)
        store.find_alternatives(thread_id, held)
        find_branches_after(store, thread_id, {message.parent_id for message in held}, lambda _: BranchRank("", 0))
        store.list_checkpoints(thread_id)
        store.list_branches(thread_id)
        store.count_shared_messages(thread_id)


def take_turn(store: Store, thread_id: str) -> None:
    runs = Runs(store)
    run = runs.begin_run(thread_id, new("on")[0])
    runs.commit_message(run, new("", "done")[1])
    runs.end_run(run, RunState.DONE)


def edit(store: Store, thread_id: str) -> None:
    store.append(thread_id, new("other"), after=store.list_messages(thread_id, last=1)[0].parent_id)


def restore(store: Store, thread_id: str) -> None:
    store.restore(thread_id, store.save(thread_id).result)


def restore_beginning(store: Store, thread_id: str) -> None:
    first = store.list_messages(thread_id, last=1, before=1)[0]
    assert store.preview_message_removal(thread_id, first.id).messages
    store.restore_message(thread_id, first.id)


def forget_and_undo(store: Store, thread_id: str) -> None:
    store.clear_checkpoints(thread_id)
    store.undo(thread_id)
    store.prune_branches(thread_id)
    store.undo(thread_id)


def copy(store: Store, thread_id: str) -> None:
    store.fork_thread(thread_id, store.list_messages(thread_id, last=1)[0].id)
    transfer.merge_document(store, thread_id, reading.read_document(transfer.export(store, thread_id)))


@pytest.mark.parametrize("shape", ACCEPTED)
@pytest.mark.parametrize("work", [look, take_turn, edit, restore, restore_beginning, forget_and_undo, copy])
def test_ten_times_as_much_takes_hardly_more_statements(
    store: Store, shape: str, work: Callable[[Store, str], None]
) -> None:
    taken = []
    for write in ACCEPTED[shape]:
        thread_id = transfer.import_thread(store, reading.read_document(write())).result
        with record_statements(store.database) as statements:
            work(store, thread_id)
        taken.append(len(statements))
    assert taken[1] <= taken[0] + ALLOWED


@pytest.mark.parametrize("shape", ["comb", "alternatives"])
def test_no_statement_of_postgresql_grows_with_the_tree(postgres_store: Store, shape: str) -> None:
    """Its server plans each condition of a statement: thousands of them took seconds."""
    taken = []
    for write in ACCEPTED[shape]:
        thread_id = transfer.import_thread(postgres_store, reading.read_document(write())).result
        with record_statements(postgres_store.database) as statements:
            look(postgres_store, thread_id)
            restore_beginning(postgres_store, thread_id)
        taken.append((len(statements), max(map(len, statements))))
    assert taken[0] == taken[1]


def test_a_removal_over_hundreds_of_segments_is_counted(store: Store) -> None:
    marks = [(f"m{number}", str(number)) for number in range(0, 300, 3)]
    thread_id = transfer.import_thread(store, reading.read_document(shapes.comb(300, 2, marks))).result
    store.append(thread_id, [NewMessage({"type": "ai", "data": {"content": "x"}}, agent="researcher")])
    fourth = store.list_messages(thread_id, last=1, before=4)[0]
    removal = store.preview_message_removal(thread_id, fourth.id)
    assert (removal.messages, removal.checkpoints, removal.agents) == (297, 98, ("researcher",))


def test_a_view_of_many_branches_takes_no_more_statements(store: Store) -> None:
    taken = []
    for branches in (150, 600):
        chain = [(f"m{n}", f"m{n - 1}" if n else None, HumanMessage("x")) for n in range(branches)]
        heads = [f"m{n}" for n in reversed(range(branches))]
        thread_id = transfer.import_thread(store, reading.read_document(shapes.written(chain, heads))).result
        with record_statements(store.database) as statements:
            look(store, thread_id)
        taken.append(len(statements))
    assert taken[0] == taken[1]


def test_a_view_reads_the_checkpoints_that_it_shows(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = memory_store, list[object]()
    parse = checkpoint_rows._row_to_checkpoint
    monkeypatch.setattr(checkpoint_rows, "_row_to_checkpoint", lambda *row: read.append(row) or parse(*row))
    thread_id = store.create_thread().id
    store.append(thread_id, new("question"))
    question = store.list_messages(thread_id)[0].id
    for number in range(30):
        store.fork(thread_id, question)
        store.append(thread_id, new("", f"answer {number}")[1:])
        store.save(thread_id)
    assert names(store, thread_id) == ["Checkpoint 30"]
    assert len(read) <= 2  # the first answer continues the segment of its question


def test_a_list_of_operations_leaves_the_rows_out_that_each_has_changed(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("question"))
    for _ in range(3):
        store.fork(thread_id, None)
    store.prune_branches(thread_id)
    store.undo(thread_id)
    whole = store.list_operations(thread_id)
    assert [len(each.changes) for each in whole[:2]] == [3, 3]
    abridged = store.list_operations(thread_id, abridged=True)
    assert abridged == [replace(each, changes=(), abridged=True) for each in whole]
    assert not store.find_redoable(thread_id).changes  # type: ignore[union-attr]
    assert build_log(abridged, {}) == build_log(whole, {})


def test_checkpoints_of_a_file_are_written_together(store: Store) -> None:
    doc = reading.read_document(shapes.marked([""] * 1_000))
    with record_statements(store.database) as statements:
        made = transfer.import_thread(store, doc).result
    assert len(statements) < 60
    assert names(store, made) == [f"Checkpoint {number}" for number in range(1, 1_001)]


def test_a_view_of_a_comb_needs_memory_for_its_segments_and_not_for_each_branch_again(memory_store: Store) -> None:
    peaks = []
    for branches in (100, 300):
        made = transfer.import_thread(memory_store, reading.read_document(shapes.comb(branches, branches))).result
        tracemalloc.start()
        look(memory_store, made)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]  # a path for each branch would take nine times as much


def test_the_newest_of_too_many_alternatives_are_offered_with_the_one_that_is_shown(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("question"))
    question = store.list_messages(thread_id)[0].id
    for number in range(limits.MAX_ALTERNATIVES + 3):
        store.append(thread_id, [NewMessage({"type": "ai", "data": {"content": str(number)}})], after=question)
    newest = store.list_messages(thread_id)[-1]
    found = store.find_alternatives(thread_id, [newest])[newest.id]
    assert (len(found), found[-1]) == (limits.MAX_ALTERNATIVES, newest.id)
    store.choose(thread_id, found[0])
    for _ in range(2):
        store.undo(thread_id)
        store.redo(thread_id)
    shown = store.list_messages(thread_id)[-1]
    assert shown.id in store.find_alternatives(thread_id, [shown])[shown.id]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            shapes.calling(limits.MAX_CALLS + 1, 1),
            "messages[1].message makes more than 128 tool calls, which is too many",
        ),
        *(
            (shapes.following(messages), "messages[0].message has a name or an id of more than 500 characters")
            for messages in (
                [AIMessage("", tool_calls=[{"name": "x" * 501, "args": {}, "id": "a"}])],
                [AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "a" * 501}])],
                [ToolMessage("", tool_call_id="a" * 501)],
                [ToolMessage("", tool_call_id="a", name="x" * 501)],
            )
        ),
        (shapes.split(201), "messages[1] is one of 201 alternatives, and there may be 200"),
    ],
)
def test_a_shape_that_no_page_could_show_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        reading.read_document(text)
    assert str(caught.value) == sentence


def test_a_file_holds_no_more_conversations_than_can_be_looked_through(store: Store) -> None:
    chat = {"chat": {"title": "x", "history": {"currentId": None, "messages": {}}}}
    with pytest.raises(InvalidDocumentError, match="The file holds 201 conversations, and at most 200 are imported at once"):
        reading.read_documents(json.dumps([chat] * 201))
