"""Rows that are written together are those that one at a time would be, whatever their texts."""

import tracemalloc
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Store
from checkpoints.storage import bulk_insert, schema
from checkpoints.storage.bulk_insert import insert_rows
from checkpoints.values import serde
from tests.checkpoints.conversations import talked

TEXTS = ['"', "\\", "\\u0000", "\\\\u0000", "\n\u2028é😀"]


def test_texts_and_json_are_stored_as_they_are(store: Store) -> None:
    talked(store, "a")
    query = sa.select(schema.checkpoint).order_by(schema.checkpoint.c.position)
    with store.database.begin_write() as connection:
        [first] = connection.execute(query).mappings().all()
        for last, texts in ((len(TEXTS), TEXTS), (len(TEXTS) + 2, ["a", "b"])):
            own = {} if texts is TEXTS else {"extra": {"nul": "\0"}, "description": "\\\n'é😀"}  # the same in all rows
            rows = [
                {**first, "id": f"{last} {n}", "position": last * 10 + n, "name": text, "extra": {"of": [text, None]}, **own}
                for n, text in enumerate(texts)
            ]
            insert_rows(connection, schema.checkpoint, rows)
            assert [dict(row) for row in connection.execute(query).mappings()][-len(rows) :] == rows


def test_no_call_of_the_encoder_writes_several_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    talked(store, "a")
    encoded, encode = list[Any](), serde.to_canonical
    monkeypatch.setattr(serde, "to_canonical", lambda value: encoded.append(value) or encode(value))  # type: ignore[func-returns-value]
    with store.database.begin_write() as connection:
        [first] = connection.execute(sa.select(schema.checkpoint)).mappings().all()
        rows = [{**first, "id": str(n), "position": n} for n in range(10, 20)]
        insert_rows(connection, schema.checkpoint, rows)
    assert all(isinstance(each, dict) for each in encoded)


def test_a_text_of_backslashes_is_searched_without_memory() -> None:
    text = "\\\\" * 500_000 + "\\u0000"
    tracemalloc.start()
    assert bulk_insert._has_nul(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
