"""User graphs: LangGraph graphs of other people. They run in this process, with its rights, on threads of their own."""

from typing import TYPE_CHECKING, Any

from application.extension import Extension
from extensions.graphs.loading import list_graph_names, load_graphs

if TYPE_CHECKING:
    from checkpoints.langgraph import WaymarkSaver

__all__ = ["EXTENSION", "WaymarkSaver"]

EXTENSION = Extension(name="graphs", load_graphs=load_graphs, list_graph_names=list_graph_names)


def __getattr__(name: str) -> Any:
    if name != "WaymarkSaver":
        raise AttributeError(name)
    from checkpoints.langgraph import WaymarkSaver  # noqa: PLC0415  imports LangGraph's checkpoints

    return WaymarkSaver
