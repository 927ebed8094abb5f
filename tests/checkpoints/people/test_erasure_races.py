"""A person is erased in the moment in which a request of theirs begins an answer, in a conversation of somebody else."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from checkpoints import EVERYBODY, NewMessage, Run, Runs, RunState, Store, act_for
from checkpoints.people.members import Members
from checkpoints.rows import run_rows, usage_rows
from checkpoints.rows.thread_rows import from_time
from checkpoints.upkeep import erasure
from checkpoints.upkeep.person_erasure import PersonErasure, erase_person
from checkpoints.values import serde
from checkpoints.values.errors import BeingErasedError, RunActiveError, ThreadNotFoundError
from checkpoints.values.model import ThreadRole
from tests.checkpoints import tables
from tests.checkpoints.conversations import new

PATIENCE = 60.0


class House:
    """Ann's conversations, with Bob as an editor of each."""

    def __init__(self, store: Store, count: int = 2) -> None:
        store.database.separate_owners()
        self.store, self.runs, self.members = store, Runs(store), Members(store)
        with act_for("ann"):
            self.threads = [store.create_thread(title=f"heron {number}").id for number in range(count)]
            for each in self.threads:
                self.members.add_member(each, "bob", ThreadRole.EDITOR)

    def ask(self, person: str, thread_id: str | None) -> Run:
        with act_for(person):
            return self.runs.begin_run(thread_id, new(f"a question of {person}")[0])

    def find_rows_of(self, person: str) -> list[Any]:
        with act_for(EVERYBODY):
            rows = [
                row for name, found in tables.read(self.store).items() if name != "audit_entry" for row in found.values()
            ]
        return [row for row in rows if person in (row.get("person"), row.get("owner"), row.get("name"))]


@contextmanager
def pause_at(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Let the first call of a function wait. Return the events of its arrival, and of its release."""
    call, arrived, released = getattr(module, name), threading.Event(), threading.Event()

    def wait_and_call(*arguments: Any, **named: Any) -> Any:
        if not arrived.is_set():
            arrived.set()
            assert released.wait(PATIENCE)
        return call(*arguments, **named)

    monkeypatch.setattr(module, name, wait_and_call)
    try:
        yield arrived, released
    finally:
        released.set()


def _wait_for_lock_or_end(store: Store, other: Future[Any]) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with act_for(EVERYBODY), store.database.begin_read() as connection:
        while not other.done() and connection.exec_driver_sql(query).scalar_one() == 0:
            connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")


@pytest.mark.slow
def test_an_erasure_waits_for_an_answer_that_begins_and_is_refused(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(ordinary_store)
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, run_rows, "insert_run") as (arrived, released):
        asked = pool.submit(house.ask, "bob", house.threads[0])
        assert arrived.wait(PATIENCE)
        beside = house.ask("bob", house.threads[1])  # another answer of his is not held up
        erased = pool.submit(erase_person, house.store.database, "bob")
        _wait_for_lock_or_end(house.store, erased)
        assert not erased.done()
        released.set()
        with pytest.raises(RunActiveError):
            erased.result()
        run = asked.result()
    with act_for("bob"):
        for each in (run, beside):
            house.runs.end_run(each, RunState.STOPPED)
    erase_person(house.store.database, "bob")
    assert house.find_rows_of("bob") == []


@pytest.mark.slow
def test_no_answer_begins_while_its_person_is_erased(ordinary_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(ordinary_store)
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, erasure, "erase_owner") as (arrived, released):
        erased: Future[PersonErasure] = pool.submit(erase_person, house.store.database, "bob")
        assert arrived.wait(PATIENCE)
        for thread_id in (house.threads[0], None):
            with pytest.raises(BeingErasedError):
                house.ask("bob", thread_id)
        assert house.ask("ann", house.threads[0])  # others are not held up
        released.set()
        erased.result()
    with pytest.raises(ThreadNotFoundError):
        house.ask("bob", house.threads[1])
    assert house.find_rows_of("bob") == []


@pytest.mark.parametrize("store", ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def test_the_end_of_an_answer_counts_for_its_person_who_was_let_out(store: str, request: pytest.FixtureRequest) -> None:
    house = House(request.getfixturevalue(store))
    run = house.ask("bob", house.threads[0])
    with act_for("ann"):
        house.members.remove_member(house.threads[0], "bob")
    with act_for(EVERYBODY):
        house.runs.end_run(run, RunState.STOPPED, last_messages=[_make_answer()])
    for person, tokens in (("bob", 10), ("ann", 0)):
        with act_for(person), house.store.database.begin_read() as connection:
            assert usage_rows.count_use(connection, person, from_time(house.store.now()))[0] == tokens


def _make_answer() -> NewMessage:
    [message] = new("an answer")
    counted = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    body = {**message.body, "type": "ai", "data": {**message.body["data"], "type": "ai", "usage_metadata": counted}}
    return NewMessage(serde.to_body(serde.to_message(body)))
