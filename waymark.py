"""The parts of Waymark for your own graphs: the tools with which its agent moves through time (docs/graphs.md).

They are imported on demand, because Dash imports this module at the start: it has the name of our components' namespace.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extensions.graphs.tools import goto, list_checkpoints, rewind, save_checkpoint

__all__ = ["goto", "list_checkpoints", "rewind", "save_checkpoint"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from extensions.graphs import tools  # noqa: PLC0415  imports LangGraph

    return getattr(tools, name)
