"""The cost of a graph's turn, counted in work and not in time."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.graph import START, MessagesState, StateGraph
from sqlalchemy.sql.cache_key import HasCacheKey

from checkpoints import Store
from checkpoints.graph_states import WaymarkSaver
from tests.checkpoints.graph_states.graphs import ask


def answer(state: MessagesState) -> MessagesState:
    used = UsageMetadata(input_tokens=1, output_tokens=1, total_tokens=2)
    return {"messages": [AIMessage(f"Hello {len(state['messages'])}.", usage_metadata=used)]}


def test_a_turn_builds_no_statement_anew(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """To build a statement takes SQLAlchemy as long as to run it several times."""
    graph: Any = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    graph = graph.compile(checkpointer=WaymarkSaver(memory_store))
    built: list[str] = []
    make_key = HasCacheKey._generate_cache_key

    def note_statement(self: Any) -> Any:
        built.append(str(self))
        return make_key(self)

    for _ in range(2):
        ask(graph, "t", "Hello?")
    monkeypatch.setattr(HasCacheKey, "_generate_cache_key", note_statement)
    assert len(ask(graph, "t", "Hello again?")["messages"]) == 6
    assert built == []
