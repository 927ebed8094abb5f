"""What a call of `fork` has come to, as its card is told."""

import json

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent.marks import AttemptMark
from checkpoints import NewMessage, Runs, RunState, Store
from checkpoints.rows import message_rows
from checkpoints.values import serde
from checkpoints.values.limits import MAX_CALLS
from components.views import fork_attempts
from components.views.fork_attempts import MAX_SHOWN_ATTEMPTS
from tests.checkpoints.conversations import new


def fork(runs: Runs, store: Store, thread_id: str, number: int, *prompts: str) -> None:
    """A run that tries these; the first of them is not answered."""
    run = runs.begin_run(thread_id, new("which?")[0])
    call, after = f"call_{number}", store.get_thread(thread_id).head_id
    marked = [(prompt, AttemptMark(call, number)) for number, prompt in enumerate(prompts, 1)]
    firsts = [HumanMessage(prompt, additional_kwargs=mark.to_kwargs()) for prompt, mark in marked]
    asking = AIMessage("", tool_calls=[{"name": "fork", "args": {"prompts": list(prompts)}, "id": call}])
    runs.commit_message(run, NewMessage(serde.to_body(asking)))
    begun = [(str(first.text), NewMessage(serde.to_body(first))) for first in firsts]
    for branch_id, _ in runs.branch_off(run, begun, after=after)[0][1:]:
        runs.commit_message(run, new("", "done")[1], branch_id=branch_id)
    runs.commit_message(run, NewMessage(serde.to_body(ToolMessage("[]", tool_call_id=call))))
    runs.end_run(run, RunState.DONE)


def test_each_call_has_its_own_ways_in_the_order_of_its_prompts(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    fork(Runs(memory_store), memory_store, thread_id, 0, "tea", "coffee")
    fork(Runs(memory_store), memory_store, thread_id, 1, "soup")
    shown = fork_attempts.read_attempts(memory_store, thread_id, memory_store.list_messages(thread_id)).values()
    told = [[(way["name"], way["done"]) for way in ways] for ways in shown]
    assert told == [[("tea", False), ("coffee", True)], [("soup", False)]]


def test_the_result_is_shown_as_text() -> None:
    results = [
        {"branch": "tea", "answer": "Green.\n\nOr black."},
        {"branch": "coffee", "failed": "It failed.", "details": "503"},
    ]
    shown = fork_attempts.format_results(json.dumps(results, indent=1))
    assert shown == "1. tea\nGreen.\n\nOr black.\n\n2. coffee\nIt failed.\n503"


@pytest.mark.parametrize(
    "text", ["Nothing was done.", "[]", "[1]", '[{"branch": 1}]', '[{"branch": "a", "b": "c"}]', "[" * 9]
)
def test_any_other_text_is_no_result_of_a_fork(text: str) -> None:
    assert fork_attempts.format_results(text) == text


def test_a_thousand_calls_of_one_answer_are_looked_at_once_and_most_of_them_not_at_all(memory_store: Store) -> None:
    calls = [{"name": "fork", "args": {}, "id": f"call_{number}"} for number in range(1000)]
    answer = NewMessage(serde.to_body(AIMessage("", tool_calls=calls)))
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [*new("which?"), answer])
    statements: list[int] = []
    sa.event.listen(memory_store.database.engine, "before_cursor_execute", lambda *_: statements.append(1))
    shown = fork_attempts.read_attempts(memory_store, thread_id, memory_store.list_messages(thread_id))
    assert len(shown) == MAX_CALLS
    assert len(statements) < 20


def test_no_more_is_read_of_the_branches_of_a_call_than_a_card_shows(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id, count = memory_store.create_thread().id, 3 * MAX_SHOWN_ATTEMPTS
    fork(Runs(memory_store), memory_store, thread_id, 0, *(f"tea {number}" for number in range(count)))
    select, read = message_rows.select_messages_at, list[int]()
    monkeypatch.setattr(
        message_rows, "select_messages_at", lambda of, places: (read.append(len(places)), select(of, places))[1]
    )
    [shown] = fork_attempts.read_attempts(memory_store, thread_id, memory_store.list_messages(thread_id)).values()
    assert [each["name"] for each in shown] == [f"tea {number}" for number in range(MAX_SHOWN_ATTEMPTS)]
    assert [each["done"] for each in shown] == [False, *[True] * (MAX_SHOWN_ATTEMPTS - 1)]
    assert sum(read) <= count + 1 + MAX_SHOWN_ATTEMPTS  # the first messages, and the result of the call


def test_what_a_card_is_told_takes_as_many_statements_however_many_forks_there_are(memory_store: Store) -> None:
    thread_id, runs = memory_store.create_thread().id, Runs(memory_store)
    statements: list[int] = []
    for number in range(6):
        fork(runs, memory_store, thread_id, number, "tea", "coffee", "soup")
    calling = [message for message in memory_store.list_messages(thread_id) if message.body["data"].get("tool_calls")]
    sa.event.listen(memory_store.database.engine, "before_cursor_execute", lambda *_: statements.append(1))
    counted = []
    for message in calling:
        before = len(statements)
        fork_attempts.read_attempts(memory_store, thread_id, [message])
        counted.append(len(statements) - before)
    assert counted[0] == counted[-1] < 20
