"""Damaged and planted rows of states: nothing of them is shown or run. What is erased, and what stays."""

from pathlib import Path
from typing import Any

import ormsgpack
import pytest
import sqlalchemy as sa
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from checkpoints import Store
from checkpoints.graph_states import DamagedStateError, WaymarkSaver
from checkpoints.storage import schema, value_rows
from checkpoints.upkeep import erasure, verification
from tests.checkpoints.graph_states.graphs import ask, make_config, make_graph, read_channels, read_texts

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


def plant(store: Store, path: Path, *, with_hash: bool) -> bytes:
    """Replace all values by one that runs a command when LangGraph's permissive serializer rebuilds it."""
    call = ormsgpack.packb(("os", "system", f"touch {path}"))
    data = ormsgpack.packb(ormsgpack.Ext(0, call))
    hashes = {"hash": value_rows.hash_value("msgpack", data)} if with_hash else {}
    change(store, sa.update(schema.channel_value).values(bytes=data, type="msgpack", **hashes))
    writes = {"bytes": data, "type": "msgpack"}
    change(store, sa.update(schema.state_write).values(**writes))
    return data


def test_a_planted_value_runs_nothing(saver: WaymarkSaver, tmp_path: Path) -> None:
    graph, planted = make_graph(saver), tmp_path / "planted"
    ask(graph, "t", LONG)
    ask(graph, "t", "approve")
    assert count_rows(saver.store)["state_write"]
    data = plant(saver.store, planted, with_hash=True)
    found = saver.get_tuple(make_config("t"))
    assert found is not None
    assert "files" in found.checkpoint["channel_values"]
    assert found.pending_writes
    assert not planted.exists()
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(("msgpack", data))  # as LangGraph's own savers do
    assert planted.exists()


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
    assert count_rows(saver.store) == before
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
