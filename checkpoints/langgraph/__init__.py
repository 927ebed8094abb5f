"""LangGraph's checkpointer on the store: save, undo, restore and branch the whole state of any graph.

It needs `langgraph-checkpoint`, which the rest of the library imports only for a graph's states.
"""

from ..values.errors import DamagedStateError, StaleWriterError, UnseenMessagesError
from .saver import WaymarkSaver

__all__ = ["DamagedStateError", "StaleWriterError", "UnseenMessagesError", "WaymarkSaver"]
