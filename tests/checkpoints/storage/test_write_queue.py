"""Threads that write to a SQLite file take turns: nobody waits in vain for its own process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from checkpoints import Store, StoreBusyError, StoreUnavailableError
from checkpoints.langgraph import WaymarkSaver
from checkpoints.storage import write_queue
from checkpoints.storage.driver_errors import LOCKED
from checkpoints.storage.write_queue import WriteQueue
from checkpoints.storage.write_queue import _Turn as Turn
from tests.checkpoints.conversations import new, talked, texts
from tests.checkpoints.langgraph.graphs import ask, make_graph, read_texts

WRITERS = 8


def wait_for(is_there: Callable[[], object]) -> None:
    while not is_there():
        threading.Event().wait(0.001)


def test_turns_come_in_the_order_in_which_they_were_asked_for() -> None:
    queue, order = WriteQueue(60), list[int]()

    def write(number: int) -> None:
        with queue.take_turn():
            order.append(number)

    with ThreadPoolExecutor(WRITERS) as pool, queue.take_turn():
        for number in range(WRITERS):
            pool.submit(write, number)
            wait_for(lambda number=number: len(queue._waiting) == number + 1)
    assert order == [*range(WRITERS)]


class Scripted(threading.Event):
    """An event whose waits are over at once. Something happens in each."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self.steps = [*steps]

    def wait(self, timeout: float | None = None) -> bool:
        self.steps.pop(0)()
        return self.is_set()


def test_a_writer_waits_as_long_as_others_get_on_and_gives_up_when_nobody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WriteQueue(1)

    def get_on() -> None:
        queue._ended_turns += 1

    with queue.take_turn():
        event = Scripted(get_on, get_on, get_on, lambda: None)
        monkeypatch.setattr(write_queue, "_Turn", lambda: Turn(event))
        with pytest.raises(StoreBusyError):
            queue._wait_for_turn()
        assert event.steps == []
    with queue.take_turn():  # whoever gave up holds up nobody
        pass


def test_a_turn_that_comes_while_its_writer_gives_up_goes_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WriteQueue(1)
    queue._wait_for_turn()

    def interrupt() -> None:
        queue._end_turn()
        raise KeyboardInterrupt

    monkeypatch.setattr(write_queue, "_Turn", lambda: Turn(Scripted(interrupt)))
    with pytest.raises(KeyboardInterrupt):
        queue._wait_for_turn()
    with queue.take_turn():
        assert not queue._waiting


def forbid_waiting(store: Store) -> None:
    """Let SQLite refuse whoever finds another writer."""
    sa.event.listen(
        store.database.engine, "begin", lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout = 0"), insert=True
    )


def test_many_writers_of_one_process_are_never_refused(file_store: Store) -> None:
    forbid_waiting(file_store)
    thread_ids = [talked(file_store) for _ in range(WRITERS)]
    start = threading.Barrier(WRITERS)

    def write(thread_id: str) -> None:
        start.wait(60)
        for number in range(10):
            file_store.append(thread_id, new(str(number)))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, thread_ids))
    assert {tuple(texts(file_store, each)) for each in thread_ids} == {tuple(map(str, range(10)))}


def test_many_runs_of_graphs_are_never_refused(file_store: Store) -> None:
    forbid_waiting(file_store)
    saver = WaymarkSaver(file_store)
    graph, start = make_graph(saver), threading.Barrier(WRITERS)

    def run(thread_id: str) -> list[str]:
        start.wait(60)
        ask(graph, thread_id, "one")
        ask(graph, thread_id, "tool")
        return read_texts(saver, thread_id)

    with ThreadPoolExecutor(WRITERS) as pool:
        found = list(pool.map(run, [f"t{number}" for number in range(WRITERS)]))
    assert {len(each) for each in found} == {6}


def test_all_that_wait_behind_another_program_are_told_so_with_the_first() -> None:
    queue, written = WriteQueue(60), list[int]()

    def write(number: int) -> None:
        with pytest.raises(StoreUnavailableError, match=f"^{LOCKED}$"), queue.take_turn():
            written.append(number)

    def fail() -> None:
        with queue.take_turn():
            waiting.extend(pool.submit(write, number) for number in range(WRITERS))
            wait_for(lambda: len(queue._waiting) == WRITERS)
            raise StoreUnavailableError(LOCKED)

    waiting: list[Future[None]] = []
    with ThreadPoolExecutor(WRITERS) as pool:
        with pytest.raises(StoreUnavailableError, match=f"^{LOCKED}$"):
            fail()
        for each in waiting:
            each.result()
    assert written == []
    with queue.take_turn():
        assert not queue._waiting
