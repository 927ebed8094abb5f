"""A sub-agent's memory is read without the messages of other agents."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.marks import MoveMark
from agent.time_travel import scopes
from agent.time_travel.executor import MemoryExecutor
from agent.time_travel.moves import MoveRefused
from agent.time_travel.scopes import TOO_LARGE_TEXT, count_memory_moves, load_memory
from checkpoints import Database, NewMessage, Store
from checkpoints.values import serde
from checkpoints.values.limits import count_values
from tests.agent.time_travel.test_waiting_moves import counting_rows
from tests.statements import record_statements

MOVE = ToolMessage("Known.", tool_call_id="2", additional_kwargs=MoveMark("goto", 0, 1).to_kwargs())


def test_a_memory_of_too_many_values_is_not_moved_in_and_hardly_read(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, thread_id = memory_store, memory_store.create_thread().id
    question = NewMessage(serde.to_body(HumanMessage("How?")), agent="ann")
    size = count_values(question.body, 100)
    monkeypatch.setattr(scopes, "MAX_READ_VALUES", 10 * size)
    store.append(thread_id, [question] * 10)
    assert len(load_memory(store, thread_id, "ann")) == 10
    store.append(thread_id, [question] * 990)
    parsed, parse = list[str](), serde.parse_canonical
    monkeypatch.setattr(serde, "parse_canonical", lambda text: (parsed.append(text), parse(text))[1])
    executor: Any = MemoryExecutor(store, None, "ann", "allow", print, "msg")  # type: ignore[arg-type]
    executor = replace(executor, run=SimpleNamespace(thread_id=thread_id))
    with pytest.raises(MoveRefused, match="too large to move in"):
        executor.plan_call({"name": "goto", "args": {"position": "msg_0", "message": "x"}, "id": "1"}, None)
    assert executor.describe_checkpoints() == TOO_LARGE_TEXT
    assert len(parsed) < 50


def test_a_memory_of_too_many_messages_is_refused_unread(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "MAX_MEMORY_MESSAGES", 600)
    question = NewMessage(serde.to_body(HumanMessage("How?")), agent="ann")
    for messages, most_rows in ((600, 600), (601, 0), (6_000, 0)):
        thread_id = memory_store.create_thread().id
        memory_store.append(thread_id, [question] * messages)
        with counting_rows() as rows, record_statements(memory_store.database) as sent:
            if most_rows:
                assert len(load_memory(memory_store, thread_id, "ann")) == messages
            else:
                with pytest.raises(MoveRefused, match="too large to move in"):
                    load_memory(memory_store, thread_id, "ann")
        assert (rows[0] <= 2 * most_rows, len(sent) < 12) == (True, True)
        with record_statements(memory_store.database) as sent:
            assert count_memory_moves(memory_store, thread_id, "ann") == 0
        assert len(sent) < 12


def test_only_the_agents_own_messages_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Database.in_memory())
    question = ("ann", HumanMessage("How?"))
    said: list[tuple[str, BaseMessage]] = [
        question,
        ("ann", MOVE),
        *[("main", AIMessage("So."))] * 500,
        question,
        ("ann", MOVE),
    ]
    said += [("main", AIMessage("So."))] * 500
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(message), agent=agent) for agent, message in said])
    parsed, parse = list[str](), serde.parse_canonical
    monkeypatch.setattr(serde, "parse_canonical", lambda text: (parsed.append(text), parse(text))[1])
    memory = load_memory(store, thread_id, "ann")
    assert ([message.depth for message in memory], len(parsed)) == (list(range(len(memory))), 4)
    parsed.clear()
    assert (count_memory_moves(store, thread_id, "ann"), len(parsed)) == (1, 2)
    assert count_memory_moves(store, thread_id, "ben") == 0
    store.database.close()
