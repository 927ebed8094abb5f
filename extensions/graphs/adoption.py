"""A user graph on Waymark's saver: its messages are the conversation's, and all its channels move through time."""

from collections.abc import Collection
from typing import Any

from langgraph._internal import _serde
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from checkpoints.langgraph.whole_channels import make_channels_whole
from extensions.graphs.opening import AnyGraph


def adopt_graph(graph: AnyGraph, saver: BaseCheckpointSaver[Any], store: BaseStore | None = None) -> AnyGraph:
    """Return a copy of a graph that keeps its states with this saver, in the place of one of its own.

    A graph without a `Store` gets this one.
    """
    adopted = make_channels_whole(graph)
    adopted.checkpointer = saver
    adopted.store = graph.store or store
    return adopted


def list_own_types(graph: AnyGraph) -> Collection[tuple[str, ...]]:
    """Return the classes that the channels of a graph name: the saver rebuilds these, and no others of the author's."""
    schemas: list[Any] = []
    if isinstance(graph, CompiledStateGraph):
        builder = graph.builder
        schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
    return _serde.build_serde_allowlist(schemas=schemas, channels=graph.channels)
