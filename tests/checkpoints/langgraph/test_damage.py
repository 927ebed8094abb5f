"""Damaged and planted rows of states: nothing of them is shown or run. What is erased, and what stays."""

import json
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
import sqlalchemy as sa
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from checkpoints import Store
from checkpoints.langgraph import DamagedStateError, WaymarkSaver
from checkpoints.rows import value_rows
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from tests.checkpoints.langgraph.graphs import ask, make_config, make_graph, read_channels, read_texts

COUNTED = ("state", "state_shape", "channel_value", "state_write")
LONG = "a word that is long enough for a value of its own " * 3


@pytest.fixture
def saver(store: Store) -> WaymarkSaver:
    return WaymarkSaver(store)


def count_rows(store: Store) -> dict[str, int]:
    with store.database.begin_read() as connection:
        tables = (schema.metadata.tables[name] for name in COUNTED)
        counts = {table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables}
    return counts


def find_damages(store: Store) -> list[str]:
    return [damage.problem for damage in verification.verify(store.database).damages]


def change(store: Store, statement: Any) -> None:
    with store.database.begin_write() as connection:
        connection.execute(statement)


def pack_call(kind: str, path: Path) -> bytes:
    """Return a value that runs a command when LangGraph's permissive serializer rebuilds it."""
    if kind == "json":
        call = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {path}"]}
        return json.dumps([call]).encode()
    return ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "system", f"touch {path}"))))


def plant(store: Store, path: Path, *, with_hash: bool, kind: str = "msgpack") -> bytes:
    """Replace all values by a dangerous one."""
    data = pack_call(kind, path)
    hashes = {"hash": value_rows.hash_value(kind, data)} if with_hash else {}
    change(store, sa.update(schema.channel_value).values(bytes=data, type=kind, **hashes))
    writes = {"bytes": data, "type": kind}
    change(store, sa.update(schema.state_write).values(**writes))
    return data


@pytest.mark.parametrize("kind", ["msgpack", "json"])
def test_a_planted_value_runs_nothing(saver: WaymarkSaver, tmp_path: Path, kind: str) -> None:
    graph, planted = make_graph(saver), tmp_path / "planted"
    ask(graph, "t", LONG)
    ask(graph, "t", "approve")
    assert count_rows(saver.store)["state_write"]
    data = plant(saver.store, planted, with_hash=True, kind=kind)
    found = saver.get_tuple(make_config("t"))
    assert found is not None
    assert "files" in found.checkpoint["channel_values"]
    assert found.pending_writes
    assert not planted.exists()
    permissive = JsonPlusSerializer(allowed_msgpack_modules=True, allowed_json_modules=True)
    permissive.loads_typed((kind, data))  # as LangGraph's own savers do with msgpack
    assert planted.exists()


@pytest.mark.parametrize(
    "body",
    [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "chat_models", "openai", "ChatOpenAI"],
            "kwargs": {"api_key": "k"},
        },
        {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
        {"lc": 1, "type": "secret", "id": ["PLANTED"]},
    ],
)
def test_a_planted_object_of_langchain_is_not_made_and_reads_no_secret(
    saver: WaymarkSaver, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", "a secret")
    try:
        found = saver.serde.loads_typed(("json", json.dumps(body).encode()))
    except ValueError as refused:
        found = str(refused)
    assert "a secret" not in str(found)
    assert found is None or type(found) in (dict, str)


def test_a_value_that_does_not_fit_its_hash_is_refused_and_named(saver: WaymarkSaver, tmp_path: Path) -> None:
    graph = make_graph(saver)
    ask(graph, "t", LONG)
    plant(saver.store, tmp_path / "planted", with_hash=False)
    with pytest.raises(DamagedStateError):
        read_channels(graph, "t")
    assert any("of a graph's channel is damaged" in damage for damage in find_damages(saver.store))


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (sa.update(schema.state).values(leaves=b" "), "is damaged: it does not fit its hash"),
        (sa.update(schema.state_shape).values(body="{}"), "is damaged: it does not fit its hash"),
        (sa.delete(schema.channel_value), "names values that are not there"),
        (sa.delete(schema.state).where(schema.state.c.parent.is_(None)), "follows one that is not there"),
        (sa.update(schema.branch).values(state_id=99), "stands on a state that is not there"),
        (sa.update(schema.checkpoint).values(state_id=99), "stands on a state that is not there"),
    ],
)
def test_verify_names_what_is_wrong_with_a_state(saver: WaymarkSaver, statement: Any, problem: str) -> None:
    ask(make_graph(saver), "t", LONG)
    saver.store.save("t", name="Saved")
    assert find_damages(saver.store) == []
    change(saver.store, statement)
    assert any(problem in damage for damage in find_damages(saver.store))


def test_an_erased_conversation_leaves_no_state_behind(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "kept", LONG)
    before, kept = count_rows(saver.store), read_channels(graph, "kept")
    for question in [LONG, "tool", "approve"]:
        ask(graph, "gone", question)
    assert erasure.erase(saver.store.database, "gone").states > 0
    after = count_rows(saver.store)
    if saver.store.database.kind == "postgresql":  # which keeps the names of a graph's channels
        after["state_shape"] = before["state_shape"]
    assert after == before
    assert read_channels(graph, "kept") == kept
    assert find_damages(saver.store) == []


def test_what_a_branch_a_checkpoint_or_an_undo_reaches_outlives_pruning_and_erasing(saver: WaymarkSaver) -> None:
    graph, store = make_graph(saver), saver.store
    ask(graph, "t", LONG)
    saved, at_one = store.save("t").result, read_channels(graph, "t")
    for question in ["tool", "more"]:
        ask(graph, "t", question)
    at_three = read_channels(graph, "t")
    saver.prune(["t"])
    assert len([*saver.list(make_config("t"))]) == 1
    erasure.erase(store.database, keep_undo=False)
    assert find_damages(store) == []
    assert read_channels(graph, "t") == at_three
    store.restore("t", saved)
    assert read_channels(graph, "t") == at_one
    ask(graph, "t", "again")
    assert read_texts(saver, "t")[-1] == "again!"


def test_without_undo_the_states_of_undone_runs_are_erased(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "one")
    ask(graph, "t", LONG)
    saver.store.undo("t")
    here, before = read_channels(graph, "t"), count_rows(saver.store)
    assert erasure.plan_erasure(saver.store.database).states == 0
    assert erasure.erase(saver.store.database, keep_undo=False).states == 3
    assert count_rows(saver.store)["channel_value"] < before["channel_value"]
    assert read_channels(graph, "t") == here
    assert find_damages(saver.store) == []


def test_states_whose_messages_are_erased_are_erased_with_them(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    for question in ["one", "two", "forget", "more"]:
        ask(graph, "t", question)
    here = read_channels(graph, "t")
    assert erasure.erase(saver.store.database, keep_undo=False).messages > 0
    assert find_damages(saver.store) == []
    assert len([*saver.list(make_config("t"))]) > 3
    assert read_channels(graph, "t") == here


def test_an_answered_interrupt_leaves_no_writes(saver: WaymarkSaver) -> None:
    graph = make_graph(saver)
    ask(graph, "t", "approve")
    waiting = count_rows(saver.store)["state_write"]
    graph.invoke(Command(resume="yes"), make_config("t"), durability="sync")
    assert count_rows(saver.store)["state_write"] == waiting  # for an undo; nothing of the answer
