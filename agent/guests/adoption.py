"""A guest graph on Waymark's saver: its messages are the conversation's, and all its channels move through time."""

import copy
from collections.abc import Collection
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph._internal import _serde
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.state import CompiledStateGraph

from agent.guests.definitions import MESSAGES_CHANNEL
from agent.guests.opening import AnyGraph


def find_messages_channel(graph: AnyGraph) -> str | None:
    """Return the channel of the conversation's messages; None for a graph without one."""
    return MESSAGES_CHANNEL if MESSAGES_CHANNEL in graph.channels else None


def adopt_graph(graph: AnyGraph, saver: BaseCheckpointSaver[Any]) -> AnyGraph:
    """Return a copy of a graph that keeps its states with this saver, in the place of one of its own."""
    adopted = copy.copy(graph)
    adopted.checkpointer = saver
    # The saver shares values between states, so a whole value costs no more than a change of it, and can be shown.
    adopted.channels = {name: _make_whole(channel) for name, channel in graph.channels.items()}
    return adopted


def read_messages(state: CheckpointTuple, channel: str) -> list[BaseMessage]:
    """Return the messages of a state, without what its tasks have written since."""
    value = state.checkpoint["channel_values"].get(channel)
    content = value.value if isinstance(value, _DeltaSnapshot) else value
    return content if isinstance(content, list) else []


def list_own_types(graph: AnyGraph) -> Collection[tuple[str, ...]]:
    """Return the classes that the channels of a graph name: the saver rebuilds these, and no others of the author's."""
    schemas: list[Any] = []
    if isinstance(graph, CompiledStateGraph):
        builder = graph.builder
        schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
    return _serde.build_serde_allowlist(schemas=schemas, channels=graph.channels)


class _WholeChannel(DeltaChannel[Any]):
    """A DeltaChannel with its value in every state. LangGraph leaves it out where a step has written nothing to it."""

    def checkpoint(self) -> Any:
        return _DeltaSnapshot(self.value) if self.is_available() else super().checkpoint()


def _make_whole(channel: Any) -> Any:
    """Return a DeltaChannel that writes its whole value each time; any other channel as it is."""
    if not isinstance(channel, DeltaChannel):
        return channel
    is_own = type(channel) is not DeltaChannel  # the author's kind of it
    whole = copy.copy(channel) if is_own else _WholeChannel(channel.reducer, channel.typ)
    whole.key, whole.snapshot_frequency = channel.key, 1
    return whole
