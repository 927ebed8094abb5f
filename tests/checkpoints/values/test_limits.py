"""Whatever number comes from outside, a conversation can be read, saved, exported and imported again, on every database."""

import json
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from checkpoints import Database, NewMessage, Store
from checkpoints.interchange import reading, transfer
from checkpoints.storage import schema
from checkpoints.values import limits, serde
from checkpoints.values.errors import InvalidDocumentError
from tests.strategies import hostile_numbers, json_values

USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
HUGE = {"31 bits": 2**31, "53 bits": 2**53, "63 bits": 2**63, "40 digits": 10**40, "4,000 digits": 10**4000, "negative": -1}


def test_a_number_of_hundreds_of_digits_counts_as_many_values() -> None:
    assert limits.count_values([10**99, -1, True], 10**6) == 4
    assert limits.count_values({"a": [10**4000, -(10**4000)], "b": 10**400}, 10**6) == 5 + 2 * 40 + 4
    assert limits.has_more_values([10**4000] * 5, 200)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def stored(store: Store, body: dict[str, Any]) -> str:
    """A conversation that ends with this answer, as an older version would have written it."""
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("hello"))), NewMessage(body)])
    return thread_id


def answer(usage: Any) -> dict[str, Any]:
    return {"type": "ai", "data": {"content": "yes", "usage_metadata": usage}}


@given(hostile_numbers | json_values)
def test_only_whole_numbers_that_fit_pass_the_door(value: Any) -> None:
    tokens, number = limits.to_tokens(value), limits.to_number(value)
    assert tokens is None or (tokens is value and 0 <= tokens <= limits.MAX_TOKENS)
    assert number is None or (number is value and 0 <= number <= limits.MAX_NUMBER)
    assert (tokens is None) or number == tokens


@given(st.integers(0, 120), st.integers(0, 120))
def test_depth_is_counted_in_objects_and_lists(levels: int, most: int) -> None:
    assert limits.is_deeper(nested(levels), most) == (levels > most)


@pytest.mark.parametrize("tokens", HUGE.values(), ids=HUGE)
def test_a_checkpoint_of_any_size_is_saved(store: Store, tokens: int) -> None:
    thread_id = stored(store, answer(USAGE))
    store.save(thread_id, name="here", tokens=tokens)
    assert [(each.name, each.tokens) for each in store.list_checkpoints(thread_id)] == [("here", None)]


@pytest.mark.parametrize("tokens", HUGE.values(), ids=HUGE)
def test_what_an_older_version_stored_is_read_saved_exported_and_imported(store: Store, tokens: int) -> None:
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens, "input_token_details": {"audio": tokens}}
    thread_id = stored(store, serde.to_body(AIMessage("yes", usage_metadata=usage)))  # type: ignore[arg-type]
    store.save(thread_id, name="here", tokens=7)
    text = transfer.export(store, thread_id)
    found = reading.read_document(json.dumps(json.loads(text) | {"exported_at": "2030-01-01T00:00:00Z"}))
    assert found.current_messages()[-1].message["data"]["usage_metadata"]["input_tokens"] == tokens
    store.delete_thread(thread_id)
    made = transfer.import_thread(store, found).result
    assert [message.langchain.text for message in store.list_messages(made)] == ["hello", "yes"]


def test_a_checkpoint_that_sqlite_took_is_read_exported_and_imported(file_store: Store) -> None:
    thread_id = stored(file_store, answer(USAGE))
    file_store.save(thread_id, name="here", tokens=7)
    with file_store.database.engine.begin() as connection:
        connection.execute(sa.update(schema.checkpoint).values(tokens=2**40))
    assert [each.tokens for each in file_store.list_checkpoints(thread_id)] == [None]
    assert reading.read_document(transfer.export(file_store, thread_id)).checkpoints[0].tokens is None


@pytest.mark.parametrize("usage", ["nan", {"input_tokens": "nan"}, {"input_tokens": None}, [10**40], True])
def test_usage_that_is_none_hides_no_answer(store: Store, usage: Any) -> None:
    thread_id = stored(store, answer(usage))
    assert store.list_messages(thread_id)[-1].langchain.text == "yes"
    assert "yes" in transfer.export(store, thread_id)


def write_call(label: str = "look", calls: int = 1) -> dict[str, Any]:
    return serde.to_body(AIMessage("", tool_calls=[{"name": label, "args": {}, "id": f"{n}"} for n in range(calls)]))


def write_row(row: Any) -> dict[str, Any]:
    return serde.to_body(AIMessage("yes", additional_kwargs={"row": row}))


LEVELS_ABOVE, VALUES_BESIDE = 3, 6  # of the row of a message, and the values of the message without its items
GRAPH_MESSAGES = {  # that a graph of one's own writes: at each limit, and one beyond it
    "characters": (limits.MAX_GRAPH_MESSAGE_CHARS, lambda size: serde.to_body(HumanMessage("x" * (size - 5)))),
    "levels": (limits.MAX_MESSAGE_LEVELS, lambda size: write_row(nested(size - LEVELS_ABOVE))),
    "values": (limits.MAX_SAVED_VALUES, lambda size: write_row([0] * (size - VALUES_BESIDE))),
    "calls": (limits.MAX_CALLS, lambda size: write_call(calls=size)),
    "a name": (limits.MAX_LABEL_CHARS, lambda size: write_call("x" * size)),
}


@pytest.mark.parametrize("kind", GRAPH_MESSAGES)
def test_a_message_of_a_graph_at_a_limit_is_taken_back_and_beyond_it_the_limit_is_named(store: Store, kind: str) -> None:
    limit, write = GRAPH_MESSAGES[kind]
    assert f"{limit:,}" in str(limits.describe_excess(write(limit + 1)))
    assert limits.describe_excess(write(limit)) is None
    thread_id = stored(store, write(limit))
    for _ in range(2):
        path = [message.hash for message in store.list_messages(thread_id)]
        document = reading.read_document(transfer.export(store, thread_id))
        store = Store(Database.in_memory())
        thread_id = transfer.import_thread(store, document).result
        assert [message.hash for message in store.list_messages(thread_id)] == path


def test_arguments_of_the_deepest_kind_are_imported_again_and_deeper_ones_are_refused(store: Store) -> None:
    def call(levels: int) -> dict[str, Any]:
        arguments = {"a": nested(levels - 1)}
        return serde.to_body(AIMessage("", tool_calls=[{"name": "tool", "args": arguments, "id": "1"}]))

    kept = stored(store, call(limits.MAX_ARGUMENT_LEVELS))
    assert reading.read_document(transfer.export(store, kept)).current_messages()[-1].message == call(
        limits.MAX_ARGUMENT_LEVELS
    )
    older = stored(store, call(200))
    assert store.list_messages(older)[-1].body == call(200)
    with pytest.raises(InvalidDocumentError, match="deeper than 100 levels"):
        reading.read_document(transfer.export(store, older))
