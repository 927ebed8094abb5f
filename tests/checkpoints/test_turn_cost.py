"""A turn's transactions take few statements: each costs more for its way through the libraries than in the database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, UsageMetadata

from checkpoints import Caller, Draft, NewMessage, Run, Runs, RunState, Store
from checkpoints.values import serde
from tests.checkpoints.conversations import new

MAX_STATEMENTS = (10, 9, 2)  # as a turn begins, for an answer, and as it ends
USAGE = UsageMetadata(input_tokens=3, output_tokens=2, total_tokens=5)


@contextmanager
def note_statements(store: Store) -> Iterator[list[str]]:
    """Note the statements of the block, without those that begin a transaction or lock a row."""
    found: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        if "LOCK" not in statement.upper() and "FOR UPDATE" not in statement and not statement.startswith(("BEGIN", "SET")):
            found.append(statement)

    sa.event.listen(store.database.engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(store.database.engine, "before_cursor_execute", note)


@pytest.fixture
def runs(store: Store) -> Runs:
    return Runs(store)


def begin(runs: Runs, thread_id: str, request_id: str) -> Run:
    return runs.begin_run(thread_id, new("a question")[0], caller=Caller(request_id=request_id))


def test_each_transaction_of_a_turn_takes_few_statements(runs: Runs, store: Store) -> None:
    thread_id = store.create_thread().id
    answer = NewMessage(serde.to_body(AIMessage("an answer", usage_metadata=USAGE)))
    run = begin(runs, thread_id, "first")  # its segment is a statement of its own
    runs.commit_message(run, answer)
    runs.end_run(run, RunState.DONE)
    counts: list[int] = []

    def count(work: Callable[[], object]) -> object:
        with note_statements(store) as statements:
            done = work()
        counts.append(len(statements))
        return done

    begun = count(partial(begin, runs, thread_id, "second"))
    assert isinstance(begun, Run)
    count(partial(runs.commit_message, begun, answer))
    count(partial(runs.end_run, begun, RunState.DONE))
    assert all(found <= most for found, most in zip(counts, MAX_STATEMENTS, strict=True)), counts


def test_a_written_message_is_returned_as_a_reading_has_it(runs: Runs, store: Store) -> None:
    thread_id = store.create_thread().id
    run = begin(runs, thread_id, "request")
    written, version = runs.commit_message(run, NewMessage(serde.to_body(AIMessage("an answer", usage_metadata=USAGE))))
    assert written == store.get_message(thread_id, written.id)
    assert version == store.get_thread(thread_id).version


def test_a_message_forgets_the_draft_of_its_answer(runs: Runs, store: Store) -> None:
    thread_id = store.create_thread().id
    run = begin(runs, thread_id, "request")
    for draft in (Draft("half"), Draft(reasoning="a thought")):
        runs.save_drafts({run.id: draft}, attempts={run.id: run.attempt})
        runs.commit_message(run, new("an answer")[0])
        latest = runs.get_latest_run(thread_id)
        assert latest is not None
        assert latest.draft == Draft()


def test_one_view_reads_the_last_messages_once(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("a", "b", "c", "d"))
    with store.database.begin_read():
        every = store.list_messages(thread_id, last=8)
        with note_statements(store) as statements:
            fewer = [store.list_messages(thread_id, last=count, max_values=1_000) for count in (1, 3, 4, 5)]
        assert fewer == [every[3:], every[1:], every, every]
        assert statements == []
        assert store.list_messages(thread_id, last=4, max_values=1) == every[3:]
        assert store.list_messages(thread_id, last=3) == every[1:]
    store.append(thread_id, new("e"))
    assert [each.body["data"]["content"] for each in store.list_messages(thread_id, last=2)] == ["d", "e"]
