"""Two runs of a graph in one conversation at the same moment: whoever is too late is told so, and nothing is lost."""

import multiprocessing
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from checkpoints import Database, Store
from checkpoints.langgraph import StaleWriterError, WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.langgraph.graphs import Graph, ask, make_graph, read_channels, read_texts
from tests.rounds import Rounds

PAIRS_A_THREAD = 10


class Meeting(Protocol):
    """A barrier of threads or of processes."""

    def wait(self, timeout: float | None = None) -> int: ...


class MeetingSaver(WaymarkSaver):
    """Waits for another run that has read the same state, in rounds that must end with a refusal."""

    def __init__(self, store: Store, meeting: Meeting) -> None:
        super().__init__(store)
        self._meeting, self._rounds = meeting, {"is_strict": False}  # which LangGraph's copies of a saver share

    def begin_round(self, *, is_strict: bool) -> None:
        self._rounds["is_strict"] = is_strict
        self._meeting.wait(60)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if self._rounds.pop("is_strict", False):
            self._meeting.wait(60)
        return found


def run(saver: MeetingSaver, graph: Graph, number: int, runner: int) -> bool:
    """Ask one question of a pair; return whether it was answered. Both of every second pair have read the same state."""
    saver.begin_round(is_strict=number % 2 == 0)
    try:
        ask(graph, name_thread(number), f"{number} {runner}")
    except StaleWriterError:
        return False
    return True


def name_thread(number: int) -> str:
    return f"t{number // PAIRS_A_THREAD}"


def check_pair(texts: list[str], number: int, outcomes: Sequence[bool]) -> None:
    assert any(outcomes)
    assert number % 2 or not all(outcomes)  # who has read the same state is refused, whichever is slower
    for runner, was_done in enumerate(outcomes):
        if was_done:
            assert texts.count(f"{number} {runner}") == texts.count(f"{number} {runner}!") == 1


@pytest.mark.parametrize("pairs", [20, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("database", ["file", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_of_two_runs_at_once_none_is_lost_silently(
    database: str, pairs: int, rounds: Rounds, request: pytest.FixtureRequest
) -> None:
    meeting = threading.Barrier(2)
    if database == "file":
        store: Store = request.getfixturevalue("file_store")
        savers = [MeetingSaver(store, meeting), MeetingSaver(store, meeting)]
    else:
        url = request.getfixturevalue("postgres_url")
        savers = [MeetingSaver(Store(Database.open_url(url)), meeting) for _ in range(2)]
    graphs, refused, free = [make_graph(saver) for saver in savers], 0, 0
    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds(pairs)):
            outcomes = [*pool.map(run, savers, graphs, [number] * 2, range(2))]
            texts = read_texts(savers[0], name_thread(number))
            check_pair(texts, number, outcomes)
            assert [str(each.text) for each in read_channels(graphs[1], name_thread(number))["messages"]] == texts
            refused, free = refused + outcomes.count(False), free + outcomes.count(False) * (number % 2)
    rounds.remark = f"{refused:,} runs were refused, {free:,} of them without a meeting"
    assert refused > 0
    assert verification.verify(savers[0].store.database).damages == ()
    for saver in savers:
        saver.close()


def race(address: str, pairs: int, runner: int, meeting: Meeting, result: Connection) -> None:
    """Ask one question of each pair, in a process of its own."""
    saver = MeetingSaver(Store(Database.open_url(address)), meeting)
    graph = make_graph(saver)
    result.send([run(saver, graph, number, runner) for number in range(pairs)])
    saver.close()


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [20, pytest.param(1_000, marks=pytest.mark.long)])
def test_of_the_runs_of_two_processes_none_is_lost_silently(pairs: int, rounds: Rounds, postgres_url: str) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    pipes, meeting, gone = [context.Pipe(duplex=False) for _ in range(2)], context.Barrier(2), rounds(pairs)
    processes = [
        context.Process(target=race, args=(postgres_url, gone, runner, meeting, pipe[1]))
        for runner, pipe in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    try:
        assert all(pipe.poll(60 + gone) for pipe, _ in pipes)
        outcomes = [pipe.recv() for pipe, _ in pipes]
    finally:
        for process in processes:
            process.join(60)
            process.kill()
    with WaymarkSaver.open(postgres_url) as saver:
        for number, pair in enumerate(zip(*outcomes, strict=True)):
            check_pair(read_texts(saver, name_thread(number)), number, pair)
        assert verification.verify(saver.store.database).damages == ()
    rounds.remark = f"{sum(each.count(False) for each in outcomes):,} runs were refused"


def test_a_file_that_is_closed_can_be_opened_again(file: Path) -> None:
    with WaymarkSaver.open(file) as saver:
        ask(make_graph(saver), "t", "one")
    with WaymarkSaver.open(f"sqlite:///{file}") as saver:
        ask(make_graph(saver), "t", "two")
        assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]
