"""kill -9 in the middle of what a graph's run writes: the conversation and its state agree, and the run can go on."""

import json
import multiprocessing
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.rows import state_rows, write_rows
from checkpoints.rows.state_rows import StoredState
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import Graph, ask, make_config, read_channels, read_texts
from tests.faults import killed_graphs
from tests.postgres import Postgres
from tests.rounds import Rounds

SEEDS = 300


@pytest.mark.parametrize("kills", [pytest.param(8, marks=pytest.mark.slow), pytest.param(SEEDS, marks=pytest.mark.long)])
@pytest.mark.parametrize("database", ["file", "postgresql"])
def test_a_killed_run_loses_nothing_that_was_acknowledged_and_can_go_on(
    kills: int, database: str, rounds: Rounds, tmp_path: Path, empty_file: Path, request: pytest.FixtureRequest
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([killed_graphs.__name__])
    writes = 0
    for seed in range(rounds(kills)):
        notes = tmp_path / f"{seed}.txt"
        with ExitStack() as stack:
            if database == "file":
                file = tmp_path / f"{seed}.db"
                file.write_bytes(empty_file.read_bytes())
                address = f"sqlite:///{file}"
            else:
                postgres: Postgres = request.getfixturevalue("postgres")
                address = stack.enter_context(postgres.lend_to_anybody())
            process = context.Process(target=killed_graphs.drive, args=(address, notes, seed))
            process.start()
            process.join(120)
            assert process.exitcode == -signal.SIGKILL
            acknowledged = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
            writes += sum(len(each) > 2 for each in acknowledged)
            with WaymarkSaver.open(address) as saver:
                check_conversation(saver, f"t{seed}", killed_graphs.GRAPHS[seed % len(killed_graphs.GRAPHS)], acknowledged)
    assert writes > 0


def check_conversation(
    saver: WaymarkSaver, thread_id: str, make: Callable[[Any], Graph], acknowledged: list[list[Any]]
) -> None:
    graph, store = make(saver), saver.store
    assert verification.verify(store.database).damages == ()
    for namespace, checkpoint_id, *written in acknowledged:
        check_acknowledged(store, thread_id, namespace, checkpoint_id, *written)
    if not store.thread_exists(thread_id):
        assert acknowledged == []
        return
    state = saver.get_tuple(make_config(thread_id))  # without what LangGraph adds: the writes of a step that is still to end
    assert state is not None
    messages = state.checkpoint["channel_values"].get("messages", [])
    assert read_texts(saver, thread_id) == [str(message.text) for message in messages]
    graph.invoke(None, make_config(thread_id))
    before = read_channels(graph, thread_id).get("count", 0)
    ask(graph, thread_id, "and now?")
    after = read_channels(graph, thread_id)
    assert (after["count"], read_texts(saver, thread_id)[-1]) == (before + 1, "and now?!")
    if make is killed_graphs.make_wide_graph:
        assert len(after["notes"]) == killed_graphs.NOTES_A_RUN * after["count"]  # no task's write twice, and none lost
    store.undo(thread_id)
    assert read_channels(graph, thread_id).get("count", 0) == before
    assert verification.verify(store.database).damages == ()


def check_acknowledged(
    store: Store, thread_id: str, namespace: str, checkpoint_id: str, task_id: str = "", channels: list[str] | None = None
) -> None:
    """A state is there, and a task's writes are: as they are, or in a state after the one that they belong to.

    LangGraph does not wait for a state before it writes what its tasks did: the run may have died between the two.
    """
    with store.database.begin_read() as connection:
        states = [each for each in state_rows.select_states(connection, thread_id) if each.namespace == namespace]
        state = next((each for each in states if each.checkpoint_id == checkpoint_id), None)
        found = write_rows.select_writes(connection, thread_id, namespace, [checkpoint_id]).get(checkpoint_id, [])
    pending = {each.channel for each in found if each.task_id == task_id}
    if state is None:
        assert channels is not None
        assert pending == {*channels}
        return
    children = [each for each in states if each.parent == state.number]
    for channel in channels or ():
        assert channel in pending or any(holds(child, state, channel) for child in children)


def holds(child: StoredState, parent: StoredState, channel: str) -> bool:
    """Return whether a state has taken the writes to a channel. LangGraph's own channels have no version there."""
    if channel.startswith("__"):
        return True
    return bool(child.body["versions"][channel] > parent.body["versions"].get(channel, 0))
