"""What a graph of your own may import from Waymark: the tools with which its agent moves through time (docs/graphs.md)."""

from agent.guests.tools import goto, list_checkpoints, rewind, save_checkpoint

__all__ = ["goto", "list_checkpoints", "rewind", "save_checkpoint"]
