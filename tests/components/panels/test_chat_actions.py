"""The operation that the notice above the conversation is about."""

import pytest

from checkpoints import Caller, Database, Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.rows import operation_rows
from components.panels.chat_actions import MAX_RUN_OPERATIONS, USUAL_RUN_OPERATIONS, find_notice_operation
from components.views.change_log import build_log
from components.views.operations import describe_notice
from tests.checkpoints.conversations import new, talked
from tests.checkpoints.langgraph.graphs import ask, make_graph


@pytest.mark.parametrize(
    ("answers", "read"),
    [(1, USUAL_RUN_OPERATIONS), (USUAL_RUN_OPERATIONS, USUAL_RUN_OPERATIONS + MAX_RUN_OPERATIONS)],
)
def test_the_notice_reads_few_operations_after_a_short_run(answers: int, read: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Database.in_memory())
    thread_id = talked(store, *"abcdefghijklmnopqrst" * 2)
    question = store.append(thread_id, new("And?"), caller=Caller("user", undo_group="run"))
    for _ in range(answers):
        store.append(thread_id, new("So."), caller=Caller("agent", undo_group="run"))
    store.save(thread_id, caller=Caller("judge"))
    parsed, parse = list[object](), operation_rows.parse_operation
    monkeypatch.setattr(operation_rows, "parse_operation", lambda *a, **k: (parsed.append(a), parse(*a, **k))[1])
    found = find_notice_operation(store, thread_id)
    assert (found and found.version, len(parsed)) == (question.version, read)


def test_the_notice_tells_which_messages_the_turn_of_a_graph_replaced(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    for question in ("hello", "more", "forget"):
        ask(graph, "t", question)
    notice = describe_notice(find_notice_operation(store, "t"))
    assert notice is not None
    assert notice["text"] == "The graph replaced or removed 5 earlier messages"
    assert build_log(store.list_operations("t"), {})[0]["text"] == "Replaced or removed 5 earlier messages"
    ask(graph, "t", "on")
    assert describe_notice(find_notice_operation(store, "t")) is None
