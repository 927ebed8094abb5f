"""Two imports at the same time of documents that share ids: PostgreSQL refuses the second one, which tries again."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from checkpoints import Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.interchange.waymark import Document
from checkpoints.values.model import Json
from tests.checkpoints.conversations import talked
from tests.checkpoints.interchange.test_transfer import conversation, elsewhere


@contextmanager
def interrupted_before_messages(store: Store, act: Callable[[], object]) -> Iterator[None]:
    """Do this once, on another connection, between reading what is there and writing the first message."""
    waiting = [act]

    def watch(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO message") and waiting:
            waiting.pop()()

    sa.event.listen(store.database.engine, "before_cursor_execute", watch)
    yield
    sa.event.remove(store.database.engine, "before_cursor_execute", watch)
    assert not waiting


def twins(*, shared: str) -> tuple[Document, Document]:
    """Two documents of the same contents under two titles, which share the ids of their messages or of their checkpoints."""
    other = elsewhere()
    made = transfer.export_document(other, conversation(other))
    text = json.dumps({**made, "thread": {**made["thread"], "title": "Twin"}})
    for part in made["messages" if shared == "checkpoints" else "checkpoints"]:
        text = text.replace(part["id"], f"t{part['id']}")
    twin = json.loads(text)
    other.database.close()
    return read(made), read(twin)


def read(made: Json) -> Document:
    return reading.read_document(waymark.write_document(made).text)


IMPORTS: dict[str, Callable[[Store, str, Document], str]] = {
    "new": lambda store, _, doc: transfer.import_thread(store, doc).result,
    "merge": lambda store, thread_id, doc: transfer.merge_document(store, thread_id, doc).result,
    "replace": lambda store, thread_id, doc: store.import_into(thread_id, transfer.make_replacement(doc)).result,
}


@pytest.mark.slow
@pytest.mark.parametrize("shared", ["messages", "checkpoints"])
@pytest.mark.parametrize("way", IMPORTS)
def test_an_import_that_another_one_overtakes_gets_ids_of_its_own(postgres_store: Store, way: str, shared: str) -> None:
    doc, twin = twins(shared=shared)
    thread_id, made = talked(postgres_store, "x", "y"), list[str]()
    overtake = lambda: made.append(transfer.import_thread(postgres_store, twin).result)  # noqa: E731
    with interrupted_before_messages(postgres_store, overtake):
        imported = IMPORTS[way](postgres_store, thread_id, doc)
    parts = {"messages": postgres_store.list_all_messages, "checkpoints": postgres_store.list_all_checkpoints}[shared]
    assert {part.id for part in parts(imported)}.isdisjoint(part.id for part in parts(made[0]))
    hashes = {message.hash for message in postgres_store.list_all_messages(imported)}
    assert hashes >= {message.hash for message in doc.messages}
