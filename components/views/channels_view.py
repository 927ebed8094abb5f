"""The channels of one state of a graph, or of two beside each other, as the page shows them. Pure: values only."""

from typing import Literal, TypedDict

from components.views.value_tree import TreeNode
from words import N_

MAX_SHOWN_CHANNELS = 100  # of a state
MAX_NAMED_CHANGES = 8  # of a restore or a comparison

Difference = Literal["same", "changed", "added", "removed"]


class ChannelSide(TypedDict):
    """The value of a channel in one state. `address` is that of the whole value, where the tree has a part of it."""

    summary: str
    tree: TreeNode | None  # None: it is the messages of the conversation, or too large to be shown as a tree
    address: str | None


class ChannelView(TypedDict):
    """A channel. `difference` is that of the second state from the first; None without a second one."""

    name: str
    difference: Difference | None
    one: ChannelSide | None
    other: ChannelSide | None
    is_unknown: bool  # the graph has no such channel any more
    lost_kind: str  # of a value that LangGraph's serializer gives back as another kind; empty for others


class SubgraphView(TypedDict):
    """The values of a subgraph that waits. `name` are the names of the nodes around it."""

    name: str
    channels: list[ChannelView]


class StatesView(TypedDict):
    channels: list[ChannelView]
    more: int  # channels that are not shown
    subgraphs: list[SubgraphView]
    has_state: bool  # the first place has one


class ChannelChange(TypedDict):
    """A channel that differs in two states, each side in a few words."""

    name: str
    before: str
    after: str
    is_unknown: bool  # the graph has no such channel any more


class ChannelChanges(TypedDict):
    changes: list[ChannelChange]
    more: int  # that are not named
    problem: str  # why they cannot be named; empty: they can


NO_CHANGES = ChannelChanges(changes=[], more=0, problem="")
NOT_SET_TEXT = N_("not set")
