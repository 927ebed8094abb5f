"""Verifying finds nothing where nothing is wrong, and names what is."""

from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Message, MessageNotFoundError, Runs, RunState, Store
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from checkpoints.upkeep.verification_report import Damage
from tests.checkpoints.conversations import new, talked


def lived(store: Store) -> str:
    """A thread to which everything happened; its id."""
    thread_id = talked(store, *"abcdefgh")
    first, second, third, _ = store.list_checkpoints(thread_id)
    store.restore(thread_id, second.id, keep_future=True)
    store.append(thread_id, new("i", "j"))
    store.fork(thread_id, store.list_messages(thread_id)[1].id, name="side")
    store.append(thread_id, new("k"))
    store.undo(thread_id)
    store.redo(thread_id)
    store.undo(thread_id)
    store.rename_thread(thread_id, "Lived")
    store.delete_checkpoint(thread_id, first.id)
    store.replace(thread_id, store.list_messages(thread_id)[0].id, new("A")[0])
    store.fork_thread(thread_id, store.list_messages(thread_id)[1].id)
    store.clear(thread_id)
    store.undo(thread_id)
    runs = Runs(store)
    runs.end_run(runs.begin_run(thread_id, new("again")[0]), RunState.DONE, last_messages=new("yes"))
    store.delete_thread(talked(store, "gone"))
    assert third.message_count == 6
    return thread_id


def spoil(store: Store, table: sa.Table, *conditions: Any, **columns: Any) -> None:
    with store.database.begin_write() as connection:
        changed = connection.execute(sa.update(table).where(*conditions).values(**columns))
    assert changed.rowcount


def found(store: Store) -> list[str]:
    return [damage.problem for damage in verification.verify(store.database).damages]


def message_at(store: Store, thread_id: str, depth: int) -> Message:
    return store.list_messages(thread_id)[depth]


def test_nothing_is_wrong_with_a_conversation_to_which_everything_happened(store: Store) -> None:
    lived(store)
    report = verification.verify(store.database)
    assert report.damages == ()
    assert (report.counts.threads, report.counts.messages) == (3, 18)
    assert str(report).endswith(": all whole.")


def test_a_damaged_message_is_named_with_its_conversation_its_number_and_its_id(store: Store) -> None:
    thread_id = lived(store)
    second = message_at(store, thread_id, 1)
    spoil(store, schema.message, schema.message.c.id == second.id, body="{}")
    what = "is damaged: its content does not fit its hash"
    assert verification.verify(store.database).damages == (Damage(what, thread_id, "Lived", second.id, 2),)
    assert str(verification.verify(store.database).damages[0]) == (
        f"conversation 'Lived' ({thread_id}): message 2 ({second.id}) {what}"
    )


def test_a_message_that_is_gone_is_named_and_so_is_what_stands_after_it(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    second = message_at(store, thread_id, 1).id
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.checkpoint).where(schema.checkpoint.c.depth == 1))
        connection.execute(sa.delete(schema.message).where(schema.message.c.id == second))
    gap, branch, checkpoint, undoing = found(store)
    assert gap == "has none before it: those from 2 on are missing"
    assert all(what.endswith("stands on a chain that is not whole") for what in (branch, checkpoint))
    assert undoing == f"undoing its changes needs messages that are not there: {second}"


def test_a_message_that_is_gone_is_missed_where_another_way_forked_off_it(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    fork = store.fork(thread_id, message_at(store, thread_id, 1).id).result
    store.append(thread_id, new("c"))
    store.switch(thread_id, next(b.id for b, _ in store.list_branches(thread_id) if b.id != fork))
    store.append(thread_id, new("d"))
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.checkpoint))
        connection.execute(sa.update(schema.branch).values(head_id=None))
        connection.execute(sa.delete(schema.message).where(schema.message.c.depth == 1))
    gaps = [what for what in found(store) if what.startswith("has none before it")]
    assert gaps == ["has none before it: those from 2 on are missing", "has none before it: those from 3 on are missing"]


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        (schema.message, {"parent_id": "x"}, "stands after another message than the one that it names"),
        (schema.message, {"hash": "sha256:0"}, "is damaged: its content does not fit its hash"),
        (schema.thread, {"version": 9}, "its operations are not those from 1 to 9"),
        (schema.thread, {"branch_id": "x"}, "stands on a branch that is not there"),
        (schema.checkpoint, {"depth": 0}, "counts other messages than there are before it"),
        (schema.checkpoint, {"branch_id": "x"}, "has a place that its conversation does not know"),
        (schema.operation, {"undone_by": 1}, "was taken back by one that does not say so"),
        (schema.operation, {"kind": "redo"}, "took back one that does not say so"),
    ],
)
def test_what_does_not_fit_is_said_in_words(store: Store, table: sa.Table, columns: Any, said: str) -> None:
    talked(store, "a", "b")
    spoil(store, table, **columns)
    assert any(what.endswith(said) for what in found(store)), found(store)


def test_a_head_on_another_conversation_s_message_is_named(store: Store) -> None:
    one, other = talked(store, "a", "b"), talked(store, "c")
    spoil(store, schema.branch, schema.branch.c.thread_id == one, head_id=message_at(store, other, 0).id)
    assert [what.rpartition(") ")[2] for what in found(store)] == ["stands on a chain that is not whole"]
    with pytest.raises(MessageNotFoundError):
        store.list_messages(one)  # not shown as an empty conversation
    assert {thread.id for thread in store.list_threads()} == {other, one}


def test_what_names_a_message_or_a_conversation_that_is_not_there_is_named(postgres_store: Store) -> None:
    """PostgreSQL has no foreign keys for these (decision 105)."""
    one, other = talked(postgres_store, "a", "b"), talked(postgres_store, "c", "d")
    spoil(postgres_store, schema.branch, schema.branch.c.thread_id == one, head_id="gone")
    spoil(postgres_store, schema.checkpoint, schema.checkpoint.c.thread_id == other, message_id="gone")
    lost = message_at(postgres_store, other, 0).id
    spoil(postgres_store, schema.message, schema.message.c.id == lost, thread_id="gone")
    third = talked(postgres_store, "e")
    spoil(postgres_store, schema.segment, schema.segment.c.thread_id == third, parent=9_999)
    named = [(damage.thread_id, damage.problem) for damage in verification.verify(postgres_store.database).damages]
    assert ("gone", "stands in no segment of its conversation") in named
    assert any(thread == third and problem.endswith("forks from one that is not there") for thread, problem in named)
    broken = {(thread, problem.partition(" ")[0]) for thread, problem in named if "a chain that is not whole" in problem}
    assert broken >= {(one, "branch"), (other, "checkpoint")}


def test_an_undo_that_would_need_a_message_that_is_gone_is_named(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    operation = store.list_operations(thread_id)[0]
    here = (schema.operation.c.thread_id == thread_id, schema.operation.c.version == operation.version)
    spoil(store, schema.operation, *here, changes=[["branch", "x", {"head_id": "gone"}, {"head_id": None}]])
    assert found(store) == ["undoing its changes needs messages that are not there: gone"]


def test_pages_that_are_no_pages_are_named_and_do_not_end_the_verifying(file_store: Store, file: Any) -> None:
    for number in range(20):
        talked(file_store, *[f"{number} {'word ' * 200}"] * 20)
    file_store.database.close()
    with open(file, "r+b") as raw:
        raw.seek(file.stat().st_size // 2 // 4096 * 4096)
        raw.write(b"\xff" * 8192)
    reader = verification.Database.open_read_only(f"sqlite:///{file}")
    said = [str(damage) for damage in verification.verify(reader).damages]
    reader.close()
    assert any("malformed" in line for line in said)


def test_an_index_of_tags_that_has_other_tags_is_named(store: Store) -> None:
    thread_id = store.create_thread().id
    store.tag_thread(thread_id, add=["Work", "Home"])
    assert found(store) == []
    index, lost = schema.thread_tag, store.get_thread(thread_id).tags[0]
    with store.database.begin_write() as connection:
        connection.execute(sa.delete(index).where(index.c.tag_id == lost))
    assert found(store) == ["the list finds it by other tags than it has"]


def test_a_row_without_a_number_that_names_a_row_which_is_gone_is_named(memory_store: Store) -> None:
    with memory_store.database.engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        for statement in (
            "PRAGMA foreign_keys = OFF",
            "INSERT INTO identity VALUES ('x', 'nobody')",
            "PRAGMA foreign_keys = ON",
        ):
            raw.execute(statement)
    assert found(memory_store) == ["the file: identity names a person that is not there"]
