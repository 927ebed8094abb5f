"""A large tree goes into a file and comes back hash for hash; the schema in docs/ says what such a file is."""

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from langchain_core.messages import AIMessage, ToolMessage

from checkpoints import Branch, NewMessage, Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.interchange.redaction import Redaction
from checkpoints.values import serde
from tests.checkpoints.conversations import new
from tests.checkpoints.interchange.test_transfer import conversation, elsewhere, imported, seen
from tests.rounds import sample

SCHEMA = Path(__file__).parents[3] / "docs" / "waymark-1.schema.json"
BRANCHES, CHECKPOINTS = 20, 100


def grown(store: Store, seed: int) -> str:
    """A tree of many branches, with tool calls, sub-agents and checkpoints that carry extra state, made by chance."""
    chance = random.Random(seed)
    thread_id = store.create_thread(title=f"Grown {seed}").id
    store.append(thread_id, new("first", "answer"))
    while len(store.list_branches(thread_id)) < BRANCHES:
        every = store.list_all_messages(thread_id)
        store.fork(thread_id, chance.choice([None, *(m.id for m in every)]), name=chance.choice(["again", "é", ""]))
        _talk(store, thread_id, chance)
    while len(store.list_all_checkpoints(thread_id)) < CHECKPOINTS:
        store.switch(thread_id, chance.choice(store.list_branches(thread_id))[0].id)
        if chance.random() < 0.3:
            _talk(store, thread_id, chance)
        store.save(thread_id, name=chance.choice(["", "here", "é"]), extra={"plan": [chance.random(), {"a": None}]})
    return thread_id


def _talk(store: Store, thread_id: str, chance: random.Random) -> None:
    call = AIMessage("", tool_calls=[{"name": "f", "args": {"x": chance.random()}, "id": str(chance.random())}])
    result = ToolMessage("4", tool_call_id=call.tool_calls[0]["id"], status=chance.choice(["success", "error"]))
    agent = chance.choice(["main", "helper"])
    store.append(thread_id, new(*(f"said {chance.random()}" for _ in range(chance.randrange(1, 4)))))
    store.append(thread_id, [NewMessage(serde.to_body(m), agent=agent) for m in (call, result)])


def in_order(store: Store, thread_id: str) -> list[tuple[Branch, int]]:
    """An import lists the branch first that the conversation stands on; branches that are alike may change places."""
    hashes = {message.id: message.hash for message in store.list_all_messages(thread_id)}
    return sorted(store.list_branches(thread_id), key=lambda pair: (pair[0].name, hashes.get(pair[0].head_id or "", "")))


def sorted_branches(store: Store, thread_id: str) -> dict[str, Any]:
    """What is seen of it, with branches by what they are and not by their number."""
    found = seen(store, thread_id)
    branches, messages = found["branches"], found["messages"]
    named = [(name, None if head is None else messages[head][4]) for name, head in branches]
    checkpoints = [(values, place, named[branch]) for values, place, branch in found["checkpoints"]]
    return {**found, "branches": sorted(named, key=str), "checkpoints": checkpoints, "active": named[found["active"]]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", sample(range(3), 1))
def test_a_large_tree_comes_back_hash_for_hash(memory_store: Store, seed: int) -> None:
    thread_id = grown(memory_store, seed)
    text = transfer.export(memory_store, thread_id)
    other = elsewhere()
    made = imported(other, text)
    assert sorted_branches(other, made) == sorted_branches(memory_store, thread_id)
    assert (len(other.list_branches(made)), len(other.list_all_checkpoints(made))) == (BRANCHES, CHECKPOINTS)
    for (one, _), (same, _) in zip(in_order(memory_store, thread_id), in_order(other, made), strict=True):
        memory_store.switch(thread_id, one.id)
        other.switch(made, same.id)
        assert [m.hash for m in other.list_messages(made)] == [m.hash for m in memory_store.list_messages(thread_id)]
        assert [c.state for c in other.list_checkpoints(made)] == [c.state for c in memory_store.list_checkpoints(thread_id)]
    other.database.close()


@pytest.mark.slow
def test_a_large_tree_merges_into_what_it_was_made_from_without_a_change(memory_store: Store) -> None:
    thread_id = grown(memory_store, 7)
    assert transfer.merge_document(
        memory_store, thread_id, reading.read_document(transfer.export(memory_store, thread_id))
    ).repeated


def test_the_schema_in_docs_is_that_of_the_model() -> None:
    assert json.loads(SCHEMA.read_text()) == waymark.build_json_schema()


@pytest.mark.parametrize("redaction", [None, Redaction(True, ("a", "*e*"))])
def test_an_export_is_what_the_schema_says(memory_store: Store, redaction: Redaction | None) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    made: dict[str, Any] = json.loads(transfer.export(memory_store, conversation(memory_store), redaction))
    validator.validate(made)
    assert not validator.is_valid({**made, "format": "waymark/2"})
    assert not validator.is_valid({**made, "run": 1})
