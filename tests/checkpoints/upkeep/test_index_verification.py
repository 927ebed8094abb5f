"""The search's index is compared with all that it indexes, and made again where it differs."""

from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Store
from checkpoints.rows import search_index
from checkpoints.storage import schema
from checkpoints.upkeep import reindexing, verification
from checkpoints.upkeep.index_verification import REMEDY
from tests.checkpoints.conversations import new, talked
from tests.checkpoints.rows.test_search_index import naming
from tests.checkpoints.test_search import find
from tests.checkpoints.upkeep.test_verification import lived

ENTRY, CHECKPOINT = schema.search_entry, schema.checkpoint


def execute(store: Store, statement: Any) -> None:
    with store.database.begin_write() as connection:
        assert connection.execute(statement).rowcount


def verify(store: Store) -> tuple[list[str], int]:
    """The defects of the index, and how much the server will index."""
    report = verification.verify(store.database)
    return [
        str(each).removeprefix("the search's index: ").removesuffix(f". {REMEDY}") for each in report.damages
    ], report.queued


def expect_repair(store: Store) -> None:
    reindexing.rebuild_index(store.database)
    assert verify(store) == ([], 0)


def test_an_index_is_whole_after_everything_that_happens(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_ENTRIES", 3)
    thread_id = lived(store)
    store.append(thread_id, [naming("words of a file")])
    assert verify(store) == ([], 0)
    expect_repair(store)


def test_messages_and_checkpoints_that_cannot_be_found_are_counted(store: Store) -> None:
    talked(store, "a", "walrus", "c", "d")
    execute(store, sa.delete(ENTRY).where(ENTRY.c.depth == 1))
    execute(store, sa.delete(ENTRY).where(ENTRY.c.checkpoint_id.is_not(None)))
    assert verify(store) == (["3 messages or checkpoints cannot be found"], 0)
    expect_repair(store)
    assert find(store, "walrus role:assistant") == ["walrus"]


def test_entries_of_nothing_and_with_other_words_are_counted(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    execute(store, sa.update(ENTRY).where(ENTRY.c.depth == 0).values(words="x"))
    execute(store, sa.update(CHECKPOINT).values(deleted_at=1))
    execute(store, sa.update(ENTRY).where(ENTRY.c.depth == 1).values(depth=9))
    assert verify(store)[0] == [
        "1 message or checkpoint cannot be found",
        "1 entry has other words",
        "2 entries belong to nothing",
    ]
    assert store.get_thread(thread_id).version
    expect_repair(store)


def test_what_is_queued_is_no_defect(store: Store) -> None:
    talked(store, "a", "b")
    with store.database.begin_write() as connection:
        search_index.queue_everything(connection)
    assert verify(store) == ([], 3)
    assert str(verification.verify(store.database)).endswith(
        "all whole. The server will index 3 messages or checkpoints for the search."
    )


def test_words_that_the_table_of_sqlite_lost_are_noticed(memory_store: Store) -> None:
    talked(memory_store, "a", "b")
    with memory_store.database.begin_write() as connection:
        connection.exec_driver_sql("INSERT INTO search_words (search_words) VALUES ('delete-all')")
    assert verify(memory_store) == (["its words are not those of its entries"], 0)
    expect_repair(memory_store)


def test_the_index_of_damaged_messages_is_not_compared(store: Store) -> None:
    talked(store, *"ab")
    store.append(talked(store, "c"), new("d"))
    execute(store, sa.update(schema.message).values(body="{}"))
    report = verification.verify(store.database)
    assert (len(report.damages), report.has_compared_index) == (4, False)
    assert str(report).endswith("4 damages. The search's index was not compared with them.")
