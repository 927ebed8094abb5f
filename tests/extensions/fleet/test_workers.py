"""Several processes on one PostgreSQL: who lives, whose run it is, and what a process that was taken for dead may write."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from checkpoints import (
    Caller,
    CandidateEnd,
    CandidateKey,
    Database,
    Draft,
    OperationDetail,
    OperationKind,
    Run,
    RunEnd,
    Runs,
    RunState,
    RunTakenError,
    Store,
    StoreInUseError,
)
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.handed_states import OF_ATTEMPT
from checkpoints.rows import run_rows
from checkpoints.storage.postgresql import WORKER_KEY
from checkpoints.values.run import Handover
from extensions.fleet import workers
from extensions.fleet.workers import Workers
from tests.checkpoints import tables
from tests.checkpoints.conversations import new, talked
from tests.checkpoints.langgraph.graphs import ask, make_config, make_graph
from tests.postgres import Postgres

Write = Callable[[Runs, Run], Any]


class Process:
    """A server without its page."""

    def __init__(self, address: str) -> None:
        self.store = Store(Database.open_url(address))
        self.runs = Runs(self.store)
        self.workers = Workers.join(self.store, "test")
        self.workers._judges_from = 0

    def freeze(self, seconds: int) -> None:
        """Be as if this process had not beaten for some time."""
        with self.store.database.begin_write() as connection:
            connection.exec_driver_sql(
                f"UPDATE worker SET heartbeat = heartbeat - {seconds * 1_000_000} WHERE id = {self.workers.id}"
            )

    def lose_session(self) -> None:
        """End the session that shows that this process lives. PostgreSQL takes a moment to end it."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE pid = "
        pid = self.workers._claim.run(lambda connection: connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
        self.workers._claim.close()
        with self.store.database.engine.connect() as connection:
            while connection.exec_driver_sql(f"{query}{pid}").scalar_one():
                connection.rollback()

    def close(self) -> None:
        self.workers.leave()
        self.store.database.close()


@pytest.fixture(scope="module")
def address(postgres: Postgres) -> Iterator[str]:
    address = postgres.empty()
    yield address
    postgres.drop(address)


@pytest.fixture
def one(address: str) -> Iterator[Process]:
    process = Process(address)
    yield process
    process.close()


@pytest.fixture
def other(address: str) -> Iterator[Process]:
    process = Process(address)
    yield process
    process.close()


def begin(process: Process, **how: Any) -> Run:
    return process.runs.begin_run(talked(process.store, "a", "b"), new("c")[0], **how)


def test_the_run_of_a_process_that_lives_is_no_orphan(one: Process, other: Process) -> None:
    run = begin(one)
    one.workers.beat()
    assert other.runs.interrupt_orphans() == []
    assert run.id not in {each.id for each in other.workers.beat()}
    assert run.id in {each.id for each in one.workers.beat()}


@pytest.mark.parametrize(("seconds", "has_session", "is_dead"), [(9, True, True), (5, False, True), (5, True, False)])
def test_a_process_is_dead_without_a_heartbeat_or_soon_without_its_session(
    one: Process, other: Process, seconds: int, has_session: bool, is_dead: bool
) -> None:
    run = begin(one)
    if not has_session:
        one.lose_session()
    one.freeze(seconds)
    assert [each.id for each in other.runs.interrupt_orphans(run.thread_id)] == [run.id] * is_dead


def test_a_process_of_another_database_lends_a_dead_one_no_session(one: Process, other: Process, postgres: Postgres) -> None:
    run, elsewhere = begin(one), postgres.bare()
    with closing(Database.open_url(elsewhere)) as database, database.engine.connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({WORKER_KEY}, {one.workers.id})")
        one.lose_session()
        one.freeze(5)
        found = other.runs.interrupt_orphans(run.thread_id)
    assert [each.id for each in found] == [run.id]
    postgres.drop(elsewhere)


def test_after_an_outage_nobody_is_taken_for_dead_before_all_had_time_for_a_heartbeat(one: Process, other: Process) -> None:
    run = begin(one)
    one.freeze(9)
    other.workers._last_beat -= 9  # its own were late, too
    assert run.id not in {each.id for each in other.workers.beat()}
    other.workers._judges_from = 0
    assert run.id in {each.id for each in other.workers.beat()}


def test_a_free_place_is_first_that_of_a_run_whose_process_has_died(one: Process, other: Process) -> None:
    own, oldest, waiting = begin(other), begin(one), begin(other, handover=Handover("{}", waits=True))

    def list_free() -> list[str]:
        return [each.id for each in other.workers.list_free(1_000) if each.id in (own.id, oldest.id, waiting.id)]

    assert list_free() == [waiting.id]
    one.freeze(9)
    assert list_free() == [oldest.id, waiting.id]
    other.freeze(9)
    other.workers._last_beat -= 9  # its own heartbeats were late, too
    assert list_free() == [waiting.id]


def test_a_process_that_was_frozen_during_its_heartbeat_trusts_itself_only_after_the_next(
    one: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed, beat = 0.0, one.workers._claim.run

    def freeze(work: Callable[[Any], Any]) -> Any:
        nonlocal passed
        done = beat(work)
        passed += 60
        return done

    clock = workers._read_clock
    monkeypatch.setattr(workers, "_read_clock", lambda: clock() + passed)
    monkeypatch.setattr(one.workers._claim, "run", freeze)
    one.workers.beat()
    assert not one.workers.is_trusted()
    monkeypatch.setattr(one.workers._claim, "run", beat)
    one.workers.beat()
    assert one.workers.is_trusted()


def test_a_stop_in_the_moment_in_which_a_run_is_taken_is_kept(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, count = begin(one), run_rows.count_attempt
    one.freeze(9)

    def stop_first(*given: Any) -> Run:
        one.workers.request_stop(run.thread_id)
        return count(*given)

    monkeypatch.setattr(run_rows, "count_attempt", stop_first)
    assert other.runs.take_run(run.id)
    taken = other.runs.get_run(run.id)
    assert taken is not None
    assert (taken.attempt, taken.stop_wanted) == (2, True)


WRITES: dict[str, Write] = {
    "commit a message": lambda runs, run: runs.commit_message(run, new("", "late")[1]),
    "end": lambda runs, run: runs.end_run(run, RunState.DONE, last_messages=new("", "late")[1:]),
    "end a candidate": lambda runs, run: runs.end_candidate(
        run,
        CandidateEnd(runs.list_candidates(run.id)[0], RunEnd(RunState.DONE), new("", "late")[1:]),
    ),
    "commit as a candidate": lambda runs, run: runs.commit_message(
        run, new("", "late")[1], branch_id=runs.list_candidates(run.id)[0].branch_id, candidate=CandidateKey(run.id, 1)
    ),
    "move": lambda runs, run: runs.record_move(
        run, OperationKind.GOTO, new("late")[0], after=None, detail=OperationDetail()
    ),
    "replace": lambda runs, run: runs.replace_message(run, "x", new("", "late")[1], [], detail=OperationDetail()),
    "summarise": lambda runs, run: runs.replace_with_summary(run, new("late"), after=None, detail=OperationDetail()),
    "branch off": lambda runs, run: runs.branch_off(run, [("late", new("late")[0])], after=None),
    "save a checkpoint": lambda runs, run: runs.save_checkpoint(run, "late", ""),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("is_driven_on", [False, True], ids=["ended", "driven on"])
def test_a_process_that_was_taken_for_dead_writes_nothing(
    one: Process, other: Process, write: Write, is_driven_on: bool
) -> None:
    run = begin(one, models=("demo", "demo"))
    one.freeze(9)
    if is_driven_on:
        with other.store.database.begin_write() as connection:
            connection.exec_driver_sql(f"UPDATE run SET worker = {other.workers.id}, attempt = 2 WHERE id = '{run.id}'")
    else:
        assert other.runs.interrupt_orphans(run.thread_id)
    before = tables.read(other.store)
    with pytest.raises(RunTakenError):
        write(one.runs, run)
    one.runs.save_drafts({run.id: Draft("late")}, {CandidateKey(run.id, 1): Draft("late")}, {run.id: run.attempt})
    assert tables.read(other.store) == before


def test_a_graph_of_a_process_that_was_taken_for_dead_writes_no_state(one: Process, other: Process) -> None:
    thread_id = one.store.create_thread().id
    saver = WaymarkSaver(one.store)
    ask(make_graph(saver), thread_id, "one")
    run = one.runs.begin_run(thread_id, None)
    config = make_config(thread_id, run.id)
    config["configurable"][OF_ATTEMPT] = (run.id, run.attempt)
    found = saver.get_tuple(config)
    assert found is not None
    at = {**found.config, "configurable": {**found.config["configurable"], **config["configurable"]}}
    saver.put_writes(at, [("count", 1)], "task")
    one.freeze(9)
    other.runs.interrupt_orphans(thread_id)
    before = tables.read(other.store)
    with pytest.raises(RunTakenError):
        saver.put_writes(at, [("count", 2)], "late")
    with pytest.raises(RunTakenError):
        saver.put(at, found.checkpoint | {"id": "1f1e0000-0000-6000-8000-000000000000"}, found.metadata, {})  # type: ignore[typeddict-item]
    assert tables.read(other.store) == before


def test_the_same_request_at_another_process_returns_the_run_of_the_first(one: Process, other: Process) -> None:
    run = begin(one, caller=Caller(request_id="fleet-1"))
    again = other.runs.begin_run(run.thread_id, new("c")[0], caller=Caller(request_id="fleet-1"))
    assert (again.id, again.worker, again.attempt) == (run.id, one.workers.id, 1)


def test_a_run_that_was_to_stop_has_stopped_when_its_process_is_found_dead(one: Process, other: Process) -> None:
    run = begin(one)
    assert other.workers.request_stop(run.thread_id) == run.id
    assert [each.stop_wanted for each in one.workers.beat() if each.id == run.id] == [True]
    one.freeze(9)
    other.runs.interrupt_orphans(run.thread_id)
    ended = other.runs.get_run(run.id)
    assert ended is not None
    assert ended.state is RunState.STOPPED


def test_a_process_that_leaves_is_counted_no_more(one: Process, other: Process) -> None:
    assert other.workers.count_others() == 1
    one.workers.leave()
    assert other.workers.count_others() == 0


def test_a_process_that_was_forgotten_is_known_again_with_its_next_heartbeat(one: Process, other: Process) -> None:
    one.workers.leave()
    one.workers.beat()
    assert other.workers.count_others() == 1


def test_servers_of_one_version_share_a_database_and_who_needs_it_alone_is_refused(one: Process, address: str) -> None:
    alone = Database.open_url(address)
    with pytest.raises(StoreInUseError):
        alone.claim()
    alone.close()
