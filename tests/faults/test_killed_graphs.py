"""kill -9 in the middle of what a graph's run writes: the conversation and its state agree, and the run can go on."""

import multiprocessing
import signal
from pathlib import Path

import pytest

from checkpoints import Database, Store
from checkpoints.graph_states import WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.graph_states.graphs import ask, make_config, make_graph, read_channels, read_texts
from tests.faults import killed_graphs
from tests.rounds import Rounds

SEEDS = 300


@pytest.mark.parametrize("kills", [pytest.param(6, marks=pytest.mark.slow), pytest.param(SEEDS, marks=pytest.mark.long)])
def test_a_killed_run_loses_nothing_that_was_acknowledged_and_can_go_on(
    kills: int, rounds: Rounds, tmp_path: Path, empty_file: Path
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([killed_graphs.__name__])
    for seed in range(rounds(kills)):
        file, notes = tmp_path / f"{seed}.db", tmp_path / f"{seed}.txt"
        file.write_bytes(empty_file.read_bytes())
        process = context.Process(target=killed_graphs.drive, args=(file, notes, seed))
        process.start()
        process.join(120)
        assert process.exitcode == -signal.SIGKILL
        store = Store(Database.open_file(file))
        check_conversation(store, notes.read_text().split() if notes.exists() else [])
        store.database.close()


def check_conversation(store: Store, acknowledged: list[str]) -> None:
    saver = WaymarkSaver(store)
    graph = make_graph(saver)
    assert verification.verify(store.database).damages == ()
    stored = {found.config["configurable"]["checkpoint_id"] for found in saver.list(make_config("t"))}
    assert set(acknowledged) <= stored
    if not stored:
        return
    state = saver.get_tuple(make_config("t"))  # without what LangGraph adds: the writes of a step that is still to end
    assert state is not None
    messages = state.checkpoint["channel_values"].get("messages", [])
    assert read_texts(saver, "t") == [str(message.text) for message in messages]
    graph.invoke(None, make_config("t"))
    before = read_channels(graph, "t").get("count", 0)
    ask(graph, "t", "and now?")
    assert (read_channels(graph, "t")["count"], read_texts(saver, "t")[-1]) == (before + 1, "and now?!")
    store.undo("t")
    assert read_channels(graph, "t").get("count", 0) == before
    assert verification.verify(store.database).damages == ()
