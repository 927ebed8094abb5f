"""A sub-agent's memory is read without the messages of other agents."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.marks import MoveMark
from agent.time_travel.scopes import count_memory_moves, load_memory
from checkpoints import Database, NewMessage, Store, serde

MOVE = ToolMessage("Known.", tool_call_id="2", additional_kwargs=MoveMark("goto", 0, 1).to_kwargs())


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
