"""Two runs of a graph in one conversation at the same moment: whoever is too late is told so, and nothing is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checkpoints import Database, Store
from checkpoints.graph_states import StaleWriterError, WaymarkSaver
from checkpoints.upkeep import verification
from tests.checkpoints.graph_states.graphs import Graph, ask, make_graph, read_channels, read_texts
from tests.rounds import Rounds

PAIRS_A_THREAD = 10


@pytest.mark.parametrize("pairs", [20, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("database", ["file", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_of_two_runs_at_once_none_is_lost_silently(
    database: str, pairs: int, rounds: Rounds, request: pytest.FixtureRequest
) -> None:
    if database == "file":
        store: Store = request.getfixturevalue("file_store")
        savers = [WaymarkSaver(store), WaymarkSaver(store)]
    else:
        url = request.getfixturevalue("postgres_url")
        savers = [WaymarkSaver(Store(Database.open_url(url))) for _ in range(2)]
    graphs, start = [make_graph(saver) for saver in savers], threading.Barrier(2)

    def run(graph: Graph, thread_id: str, question: str) -> bool:
        start.wait(60)
        try:
            ask(graph, thread_id, question)
        except StaleWriterError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds(pairs)):
            thread_id, questions = f"t{number // PAIRS_A_THREAD}", [f"{number} one", f"{number} two"]
            outcomes = [*pool.map(run, graphs, [thread_id] * 2, questions)]
            texts = read_texts(savers[0], thread_id)
            assert any(outcomes)
            for question, was_done in zip(questions, outcomes, strict=True):
                if was_done:
                    assert texts.count(question) == texts.count(f"{question}!") == 1
            assert [str(each.text) for each in read_channels(graphs[1], thread_id)["messages"]] == texts
    assert verification.verify(savers[0].store.database).damages == ()
    for saver in savers:
        saver.close()


def test_a_file_that_is_closed_can_be_opened_again(file: Path) -> None:
    with WaymarkSaver.open(file) as saver:
        ask(make_graph(saver), "t", "one")
    with WaymarkSaver.open(f"sqlite:///{file}") as saver:
        ask(make_graph(saver), "t", "two")
        assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]
