"""A change keeps others waiting for a short time only, however much of it there is to index: the rest is queued."""

from collections.abc import Callable

import pytest
from langchain_core.messages import HumanMessage

from checkpoints import NewMessage, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import search_index
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from checkpoints.values import files, serde
from tests.checkpoints import shapes
from tests.checkpoints.conversations import count, new, talked
from tests.checkpoints.test_search import NOW, find
from tests.statements import record_statements

FILE = files.parse_file("report.txt", b"zebra " * 100)


def naming(text: str) -> NewMessage:
    """A message with the same attached file as all others."""
    return NewMessage(serde.to_body(HumanMessage(files.build_content(text, [files.make_file_part(FILE)]))), files=(FILE,))


def count_portions(store: Store) -> list[int]:
    """The numbers of entries after each portion."""
    found = []
    while store.index_portion():
        found.append(count(store, schema.search_entry))
    return found


def test_messages_that_name_one_long_text_are_queued_and_indexed_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_MAX_CHARS_AT_ONCE", 1_500)
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 500)
    thread_id = store.create_thread().id
    store.append(thread_id, [naming("one")])
    assert len(find(store, "zebra")) == 1
    store.append(thread_id, [naming("two"), naming("three")])
    assert (len(find(store, "zebra")), store.search("zebra", NOW).is_pending) == (1, True)
    assert sorted(set(count_portions(store))) == [2, 3]
    assert len(find(store, "zebra")) == 3


def test_queued_checkpoints_of_one_message_are_indexed_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 1_500)
    thread_id = store.create_thread().id
    store.append(thread_id, new("a"))
    for number in range(5):
        store.save(thread_id, name=f"at {number}", description="d" * 1_000)
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id)
    with store.database.begin_write() as connection:
        search_index.queue_everything(connection)
    assert sorted(set(count_portions(store))) == [3, 5]
    assert len(find(store, "at")) == 4
    assert count(store, schema.search_pending) == 0


def test_a_portion_spans_segments_and_ends_within_one_at_its_limits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for max_messages, max_chars, portions in (
        (200, 500_000, [39]),
        (10, 500_000, [10, 20, 30, 39]),
        (200, 1, [*range(1, 40)]),
    ):
        monkeypatch.setattr(search_index, "_MAX_PORTION_MESSAGES", max_messages)
        monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", max_chars)
        made = transfer.import_thread(store, reading.read_document(shapes.comb(20, 20))).result
        assert count_portions(store) == portions
        assert verification.verify(store.database).damages == ()
        erasure.erase(store.database, made)


def test_messages_are_forgotten_in_portions_of_their_size(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 500)
    sizes = list[int]()
    make_words = search_index.make_words
    talked(memory_store, "zebra")
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [naming("one"), naming("two"), naming("three")])
    monkeypatch.setattr(search_index, "make_words", lambda *given: sizes.append(len(given[1])) or make_words(*given))
    erasure.erase(memory_store.database, thread_id)
    assert sizes == [1, 1, 1]
    assert set(find(memory_store, "zebra")) == {"zebra", "after zebra"}
    assert verification.verify(memory_store.database).damages == ()


def test_a_new_checkpoint_looks_for_no_entry_and_a_deleted_one_is_not_read_again(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, new("a"))

    def count_reads(change: Callable[[], object]) -> tuple[int, int]:
        with record_statements(memory_store.database) as statements:
            change()
        beginnings = ("SELECT search_entry.number", "SELECT checkpoint.id, checkpoint.thread_id, checkpoint.name")
        of_entries, of_checkpoints = (sum(each.startswith(begin) for each in statements) for begin in beginnings)
        return of_entries, of_checkpoints

    assert count_reads(lambda: memory_store.save(thread_id, name="heron")) == (0, 1)
    [checkpoint] = memory_store.list_checkpoints(thread_id)
    assert count_reads(lambda: memory_store.change_checkpoint(thread_id, checkpoint.id, name="crane")) == (1, 1)
    assert (len(find(memory_store, "heron")), len(find(memory_store, "crane"))) == (0, 1)
    assert count_reads(lambda: memory_store.delete_checkpoint(thread_id, checkpoint.id)) == (1, 0)
    assert not find(memory_store, "crane")
    assert count_reads(lambda: memory_store.undo(thread_id)) == (0, 1)
    assert len(find(memory_store, "crane")) == 1
