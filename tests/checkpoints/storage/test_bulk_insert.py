"""Rows that are written together are those that one at a time would be, whatever their texts."""

import sqlalchemy as sa

from checkpoints import Store
from checkpoints.storage import schema
from checkpoints.storage.bulk_insert import insert_rows
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
