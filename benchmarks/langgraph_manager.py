"""LangGraph's own persistence, SqliteSaver, behind the part of `CheckpointManager`'s face that it has."""

import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

State = dict[str, Any]


class ChatState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class LangGraphManager:
    """One thread of a graph; `add` is `update_state`, of which every one makes a checkpoint with all channels in it.

    It can neither delete one checkpoint (only whole threads) nor export.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False)
        graph = StateGraph(ChatState)
        graph.add_node("agent", lambda _: {})
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self._graph = graph.compile(checkpointer=SqliteSaver(self._connection))
        self._thread: Any = {"configurable": {"thread_id": "1"}}

    def add(self, messages: list[BaseMessage]) -> None:
        """Save the conversation with these messages at its end."""
        self._graph.update_state(self._thread, {"messages": messages}, as_node="agent")

    def restore_newest(self) -> State:
        """The state of the newest checkpoint; going on from an older one would write another checkpoint of full size."""
        return dict(self._graph.get_state(self._thread).values)

    def list_checkpoints(self) -> int:
        """How many there are; LangGraph reads every state to tell."""
        return sum(1 for _ in self._graph.get_state_history(self._thread))

    def close(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
