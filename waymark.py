"""What a graph of your own may import from Waymark: the tools with which its agent moves through time (docs/graphs.md).

They are imported when they are asked for: Dash imports the module that is called as our components' namespace, at the start.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.user_graphs.tools import goto, list_checkpoints, rewind, save_checkpoint

__all__ = ["goto", "list_checkpoints", "rewind", "save_checkpoint"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from agent.user_graphs import tools  # noqa: PLC0415  imports LangGraph

    return getattr(tools, name)
