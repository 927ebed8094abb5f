"""Saving costs the same however many checkpoints a thread has: the database's steps are counted, not the time."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage

from checkpoints import CheckpointManager, Database, NewMessage, Runs, RunState, Store
from checkpoints.values import serde

pytestmark = pytest.mark.slow

Save = Callable[[Store, str, int], object]


@contextmanager
def count_steps(database: Database) -> Iterator[list[int]]:
    """Count the instructions of SQLite's virtual machine on every connection that is used meanwhile."""
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    def watch(connection: sa.Connection, *_: object) -> None:
        raw = connection.connection.dbapi_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.set_progress_handler(count, 1)

    sa.event.listen(database.engine, "before_cursor_execute", watch)
    yield steps
    sa.event.remove(database.engine, "before_cursor_execute", watch)


def save_milestone(store: Store, thread_id: str, number: int) -> object:
    runs = Runs(store)
    run = runs.begin_run(thread_id, NewMessage(serde.to_body(HumanMessage(f"more {number}"))))
    saved = runs.save_milestone(run, store.list_messages(thread_id)[-1].id, f"Milestone {number}", "")
    runs.end_run(run, RunState.DONE)
    return saved


@pytest.mark.parametrize(
    "save",
    [
        lambda store, thread_id, _: store.save(thread_id),
        lambda store, thread_id, number: store.save(thread_id, name=f"Named {number}"),
        lambda store, thread_id, _: CheckpointManager(store, thread_id).save_checkpoint(),
        save_milestone,
    ],
    ids=["default name", "own name", "manager", "milestone"],
)
def test_saving_takes_as_many_steps_after_hundreds_of_checkpoints_as_after_ten(save: Save) -> None:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("hello")))])
    steps = {}
    for number in range(301):
        if number in (10, 300):
            with count_steps(store.database) as counted:
                save(store, thread_id, number)
            steps[number] = counted[0]
        else:
            store.save(thread_id, name=f"Filler {number}")
    assert steps[300] <= steps[10] * 1.1
    store.database.close()


def test_a_default_name_is_looked_for_among_few_names_and_is_free() -> None:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("hello")))])
    counts: list[int] = []
    sa.event.listen(store.database.engine, "before_cursor_execute", lambda *call: counts.append(len(call[3])))
    store.save(thread_id)
    assert max(counts) < 20
    for number in range(300, 1, -1):
        store.save(thread_id, name=f"Checkpoint {number}")
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[-1].id)
    store.save(thread_id)
    assert store.list_checkpoints(thread_id)[-1].name == "Checkpoint 301"
    store.database.close()


def test_a_run_takes_few_statements() -> None:
    store = Store(Database.in_memory())
    runs, thread_id, statements = Runs(store), store.create_thread().id, list[str]()
    answer(runs, thread_id)
    sa.event.listen(store.database.engine, "before_cursor_execute", lambda *about: statements.append(about[2]))
    answer(runs, thread_id)
    assert len(statements) <= 27, statements


def answer(runs: Runs, thread_id: str) -> None:
    run = runs.begin_run(thread_id, NewMessage(serde.to_body(HumanMessage("hello"))))
    runs.commit_message(run, NewMessage(serde.to_body(AIMessage("Hello."))))
    runs.end_run(run, RunState.DONE)
