"""An import writes in bulk, and prepares its rows before the lock: statements are counted, not the time."""

import json
from collections.abc import Callable
from unittest.mock import patch

import pytest
import sqlalchemy as sa

from checkpoints import Store
from checkpoints.interchange import import_contents, import_planning, reading, transfer
from checkpoints.interchange.waymark import Document
from checkpoints.rows import state_inserts, value_rows
from checkpoints.values import serde
from tests.checkpoints import shapes
from tests.checkpoints.conversations import talked
from tests.statements import record_statements

IMPORTS: list[Callable[[Store, str, Document], object]] = [
    lambda store, _, doc: transfer.import_thread(store, doc),
    transfer.merge_document,
    lambda store, thread_id, doc: store.import_into(thread_id, transfer.make_replacement(doc)),
]


@pytest.mark.parametrize("write", [shapes.split, lambda branches: shapes.comb(branches, branches)], ids=["split", "comb"])
@pytest.mark.parametrize("act", IMPORTS, ids=["new", "merge", "replace"])
def test_two_hundred_branches_take_as_many_statements_as_twenty(
    store: Store, act: Callable[[Store, str, Document], object], write: Callable[[int], str]
) -> None:
    counts = []
    for branches in (20, 200):
        thread_id, doc = talked(store, "x", "y"), reading.read_document(write(branches))
        with record_statements(store.database) as statements:
            act(store, thread_id, doc)
        counts.append(len(statements))
    assert counts[1] <= counts[0] + 1  # ids are looked up in portions of 200


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_ten_times_as_many_states_take_as_many_statements(store: Store, is_known: bool) -> None:
    counts = []
    for states in (20, 200):
        thread_id, doc = talked(store, "x", "y"), reading.read_document(shapes.stateful(states))
        if is_known:
            transfer.merge_document(store, thread_id, doc)
            doc = reading.read_document(shapes.stateful(2 * states, turns=2))
        with record_statements(store.database) as statements:
            transfer.merge_document(store, thread_id, doc)
            copy_id = store.fork_thread(thread_id, store.list_branches(thread_id)[-1][0].head_id).result
        counts.append(len(statements))
    assert counts[1] <= counts[0] + 2  # ids are looked up in portions of 200
    assert len(json.loads(transfer.export(store, copy_id))["states"]) == len(doc.states)
    assert len(json.loads(transfer.export(store, thread_id))["states"]) == len(doc.states)


def test_no_body_is_serialized_while_the_lock_is_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = reading.read_document(shapes.split(3))
    body, serialized = transfer.make_replacement(doc), list[object]()
    to_canonical = serde.to_canonical
    monkeypatch.setattr(serde, "to_canonical", lambda value: serialized.append(value) or to_canonical(value))
    store.import_into(store.create_thread().id, body)
    assert not [value for value in serialized if isinstance(value, dict) and value.keys() == {"type", "data"}]


def test_no_chain_is_cut_while_the_lock_is_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = reading.read_document(shapes.comb(3, 3))
    body, cut, cut_chains = transfer.make_replacement(doc), list[object](), import_planning._plan_chains
    monkeypatch.setattr(import_planning, "_plan_chains", lambda *each: (cut.append(each), cut_chains(*each))[1])
    store.import_into(store.create_thread().id, body)
    assert cut == []


def test_no_state_is_split_and_no_value_hashed_while_the_lock_is_held(store: Store) -> None:
    thread_id, text = talked(store, "x"), shapes.stateful(3, values=3)
    body = transfer.make_replacement(reading.read_document(text))
    refuse = AssertionError("work under the lock")
    with (
        patch.object(import_contents, "split_body", side_effect=refuse),
        patch.object(state_inserts, "split_body", side_effect=refuse),
        patch.object(value_rows, "hash_value", side_effect=refuse),
    ):
        store.import_into(thread_id, body)
    for name in ("states", "state_values"):
        kept, given = (json.loads(each)[name] for each in (transfer.export(store, thread_id), text))
        assert [each | {"message": None} for each in kept] == [each | {"message": None} for each in given]


def test_many_ids_are_one_value_on_postgresql(store: Store) -> None:
    doc = reading.read_document(shapes.comb(600, 600))
    with record_statements(store.database) as statements:
        transfer.import_thread(store, doc)
    batches = 1 if store.database.kind == "postgresql" else 6
    assert sum("hash" in each and each.startswith("SELECT message.id") for each in statements) == batches + 1


def test_a_value_that_all_rows_share_is_sent_once(postgres_store: Store) -> None:
    doc, sent = reading.read_document(shapes.comb(100, 100)), list[str]()

    def watch(_connection: object, _cursor: object, _statement: str, values: object, *_: object) -> None:
        sent.append(str(values))

    sa.event.listen(postgres_store.database.engine, "before_cursor_execute", watch)
    thread_id = transfer.import_thread(postgres_store, doc).result
    assert sum(each.count(thread_id) for each in sent) < 100
    assert transfer.export(postgres_store, thread_id).count('"parent_id":null') == 1
