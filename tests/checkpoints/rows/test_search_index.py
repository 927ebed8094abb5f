"""A change keeps others waiting for a short time only, however much of it there is to index: the rest is queued."""

import pytest
import sqlalchemy as sa
from langchain_core.messages import HumanMessage

from checkpoints import NewMessage, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import search_index
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from checkpoints.values import files, serde
from tests.checkpoints import shapes
from tests.checkpoints.conversations import new, talked
from tests.checkpoints.test_search import NOW, find

FILE = files.parse_file("report.txt", b"zebra " * 100)


def naming(text: str) -> NewMessage:
    """A message with the same attached file as all others."""
    return NewMessage(serde.to_body(HumanMessage(files.build_content(text, [files.make_file_part(FILE)]))), files=(FILE,))


def count_portions(store: Store) -> list[int]:
    """The numbers of indexed entries after each portion."""
    found = []
    while store.index_portion():
        with store.database.begin_read() as connection:
            found.append(connection.scalar(sa.select(sa.func.count(schema.search_entry.c.words))) or 0)
    return found


def test_messages_that_name_one_long_text_are_queued_and_indexed_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 500)
    thread_id = store.create_thread().id
    store.append(thread_id, [naming("one"), naming("two"), naming("three")])
    assert (len(find(store, "zebra")), store.search("zebra", NOW).is_pending) == (1, True)
    assert count_portions(store) == [2, 3]
    assert (len(find(store, "zebra")), store.search("zebra", NOW).is_pending) == (3, False)


def test_queued_checkpoints_are_indexed_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 2_000)
    thread_id = store.create_thread().id
    store.append(thread_id, new("a"))
    for number in range(5):
        store.save(thread_id, name=f"at {number}", description="d " * 500)
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id)
    with store.database.begin_write() as connection:
        search_index.queue_everything(connection)
    portions = count_portions(store)
    assert (len(portions) > 1, portions[-1], len(find(store, "at"))) == (True, 5, 4)


def test_a_portion_ends_at_its_limits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for max_entries, max_chars, portions in (
        (200, 500_000, [39]),
        (10, 500_000, [10, 20, 30, 39]),
        (200, 1, [*range(1, 40)]),
    ):
        monkeypatch.setattr(search_index, "_MAX_PORTION_ENTRIES", max_entries)
        monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", max_chars)
        made = transfer.import_thread(store, reading.read_document(shapes.comb(20, 20))).result
        assert count_portions(store) == portions
        assert verification.verify(store.database).damages == ()
        erasure.erase(store.database, made)


@pytest.mark.parametrize("is_queued", [True, False])
def test_messages_are_forgotten_in_portions_whether_they_are_queued_or_not(
    store: Store, is_queued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(store, "zebra")
    thread_id = store.create_thread().id
    store.append(thread_id, [naming("one"), naming("two"), naming("three")])
    if is_queued:
        with store.database.begin_write() as connection:
            search_index.queue_everything(connection)
    monkeypatch.setattr(search_index, "_MAX_PORTION_CHARS", 500)
    erasure.erase(store.database, thread_id)
    count_portions(store)
    assert set(find(store, "zebra")) == {"zebra", "after zebra"}
    assert verification.verify(store.database).damages == ()
