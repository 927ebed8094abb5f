"""The messages of an export are passed on as they are stored, and what is written is what the encoder would write."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from checkpoints import DamagedMessageError, Database, NewMessage, Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.storage import schema
from checkpoints.values import serde
from tests.hostile_texts import HOSTILE_TEXTS
from tests.rounds import given_examples
from tests.strategies import json_values


def write_thread(store: Store, bodies: list[dict[str, Any]], agent: str = "main") -> str:
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(body, agent=agent) for body in bodies])
    return thread_id


def expect_canonical(store: Store, thread_id: str) -> None:
    written = transfer.export(store, thread_id)
    assert written == waymark.write_document(json.loads(written)).text
    hashes = [message.hash for message in reading.read_document(written).messages]
    assert hashes == [message.hash for message in store.list_messages(thread_id)]


def test_hostile_texts_are_written_as_the_encoder_writes_them(store: Store) -> None:
    bodies = [serde.to_body(HumanMessage(serde.sanitize_text(text))) for text in HOSTILE_TEXTS]
    expect_canonical(store, write_thread(store, bodies, agent='a "quoted" \\ name é🙂'))


@given_examples(20, 500, json_values)
def test_any_value_is_written_as_the_encoder_writes_it(value: Any) -> None:
    body = serde.to_body(AIMessage("yes", additional_kwargs={"row": serde.sanitize_json(value)}))
    store = Store(Database.in_memory())
    expect_canonical(store, write_thread(store, [body]))


def test_no_message_of_a_whole_export_is_encoded_again(store: Store) -> None:
    thread_id = write_thread(store, [serde.to_body(HumanMessage(f"{number}")) for number in range(50)])
    encoded: list[Any] = []
    encode = serde.to_canonical
    with patch.object(serde, "to_canonical", lambda value: encoded.append(value) or encode(value)):  # type: ignore[func-returns-value]
        transfer.export(store, thread_id)
        assert not [value for value in encoded if isinstance(value, dict) and "message" in value]
        transfer.write_export(store, thread_id, ExportOptions(Redaction(patterns=("49",))))
        assert len([value for value in encoded if isinstance(value, dict) and "message" in value]) == 50


def test_nothing_that_was_redacted_is_passed_on_as_it_is_stored(store: Store) -> None:
    thread_id = write_thread(store, [serde.to_body(HumanMessage("a secret")), serde.to_body(HumanMessage("no"))])
    text = transfer.export(store, thread_id, Redaction(patterns=("secret",)))
    assert "secret" not in text
    assert len(reading.read_document(text).messages) == 2


def test_a_damaged_message_is_not_passed_on(store: Store) -> None:
    thread_id = write_thread(store, [serde.to_body(HumanMessage(text)) for text in ("a", "b")])
    with store.database.engine.begin() as connection:
        connection.execute(schema.message.update().where(schema.message.c.depth == 0).values(body='{"data":{}}'))
    with pytest.raises(DamagedMessageError):
        transfer.export(store, thread_id)
