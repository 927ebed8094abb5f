"""The channels of a graph's state, or of two states side by side, as the page shows them. Pure: values only."""

from typing import Literal, TypedDict

from components.views.value_tree import TreeNode
from words import N_

# This many channels of a state are shown.
MAX_SHOWN_CHANNELS = 100
# A restore or a comparison names this many channels.
MAX_NAMED_CHANGES = 8

Difference = Literal["same", "changed", "added", "removed"]


class ChannelSide(TypedDict):
    """The value of a channel in a state. `address` leads to the whole value if the tree has only a part of it."""

    summary: str
    # It is None for the messages of the conversation, and for values too large for a tree.
    tree: TreeNode | None
    address: str | None


class ChannelView(TypedDict):
    """A channel. `difference` compares the second state with the first; None without a second state."""

    name: str
    difference: Difference | None
    one: ChannelSide | None
    other: ChannelSide | None
    # The graph has no such channel any more.
    is_unknown: bool
    # It is the kind of a value that LangGraph's serializer returns as another kind; otherwise empty.
    lost_kind: str


class SubgraphView(TypedDict):
    """The values of a waiting subgraph. `name` joins the names of the nodes around it."""

    name: str
    channels: list[ChannelView]


class StatesView(TypedDict):
    channels: list[ChannelView]
    # This many channels are left out.
    more: int
    subgraphs: list[SubgraphView]
    # The first place has a state.
    has_state: bool


class ChannelChange(TypedDict):
    """A channel with different values in two states, each in a few words."""

    name: str
    before: str
    after: str
    is_unknown: bool


class ChannelChanges(TypedDict):
    changes: list[ChannelChange]
    # This many changes are left out.
    more: int
    # The problem says why the changes cannot be named; it is empty if they can.
    problem: str


NO_CHANGES = ChannelChanges(changes=[], more=0, problem="")
NOT_SET_TEXT = N_("not set")
