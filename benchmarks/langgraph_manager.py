"""LangGraph's own persistence, SqliteSaver and PostgresSaver, plain and with DeltaChannel."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import (
    _messages_delta_reducer,  # private, and DeltaChannel is beta; its documentation imports it this way
    add_messages,
)

from benchmarks.databases import Place

State = dict[str, Any]


class ChatState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class DeltaChatState(TypedDict):
    """State whose checkpoints hold the added messages, and every hundredth the whole list."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


class LangGraphManager:
    """One thread of a graph; `add` is `update_state`, of which every one makes one checkpoint (a run makes three).

    It can neither delete one checkpoint (only whole threads) nor export.
    """

    def __init__(self, place: Place, *, deltas: bool = False) -> None:
        graph = StateGraph(DeltaChatState if deltas else ChatState)
        graph.add_node("agent", lambda _: {})
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self._open = ExitStack()
        saver: Any = SqliteSaver if place.kind == "SQLite" else PostgresSaver
        checkpointer = self._open.enter_context(saver.from_conn_string(place.address))
        checkpointer.setup()
        self._graph = graph.compile(checkpointer=checkpointer)
        self._thread: Any = {"configurable": {"thread_id": "1"}}
        self._length = 0
        self._made: dict[int, Any] = {}  # the newest checkpoint with so many messages
        self._forks = 0

    def add(self, messages: list[BaseMessage]) -> None:
        """Save the conversation with these messages at its end."""
        self._length += len(messages)
        self._made[self._length] = self._graph.update_state(self._thread, {"messages": messages}, as_node="agent")

    def read(self) -> State:
        """Read the whole state of the newest checkpoint; LangGraph cannot read a part of it."""
        return dict(self._graph.get_state(self._thread).values)

    def list(self) -> Iterable[object]:
        """List the checkpoints; LangGraph reads the state of each."""
        return self._graph.get_state_history(self._thread)

    def restore(self, length: int) -> None:
        """Move to the checkpoint with so many messages: a copy of it becomes the newest checkpoint."""
        self._graph.update_state(self._made[length], None, as_node="__copy__")

    branch = restore  # a thread's checkpoints are a tree anyway, and branches have no names

    def back(self) -> None:
        """Move to the end again."""
        self.restore(self._length)

    def fork(self, length: int) -> None:
        """Make a new thread with the conversation up to there."""
        self._forks += 1
        state = self._graph.get_state(self._made[length]).values
        self._graph.update_state({"configurable": {"thread_id": f"fork {self._forks}"}}, state, as_node="agent")

    def close(self) -> None:
        self._open.close()
