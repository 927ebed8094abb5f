"""Graphs whose DeltaChannels have their whole value in every state. Only this module imports `langgraph`.

LangGraph omits a DeltaChannel's value from most states, and rebuilds it with the graph's code. The store shares values
between states, so a whole value costs no more than a change of it, and can be shown without the graph's code.
"""

import copy
from typing import Any, TypeVar

from langgraph.channels.delta import DeltaChannel
from langgraph.pregel import Pregel

from .channel_values import DeltaSnapshot

G = TypeVar("G", bound=Pregel[Any, Any, Any, Any])


class _WholeChannel(DeltaChannel[Any]):
    """A DeltaChannel with its value in every state. LangGraph omits the value if a step has written nothing to it."""

    def checkpoint(self) -> Any:
        return DeltaSnapshot(self.value) if self.is_available() else super().checkpoint()


def make_channels_whole(graph: G) -> G:
    """Return a copy of a compiled graph that writes whole values of its DeltaChannels."""
    whole = copy.copy(graph)
    whole.channels = {name: _make_whole(channel) for name, channel in graph.channels.items()}
    return whole


def _make_whole(channel: Any) -> Any:
    """Make a DeltaChannel write its whole value each time. Any other channel is returned unchanged."""
    if not isinstance(channel, DeltaChannel):
        return channel
    # The author may have subclassed DeltaChannel.
    is_own = type(channel) is not DeltaChannel
    whole = copy.copy(channel) if is_own else _WholeChannel(channel.reducer, channel.typ)
    whole.key, whole.snapshot_frequency = channel.key, 1
    return whole
