"""The savers of the user graphs' states: one for each name of a channel that holds the conversation's messages."""

import threading

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from extensions.graphs.definitions import MESSAGES_CHANNEL
from extensions.graphs.message_channel import MessagesChannel

_NO_CHANNEL = ""  # no channel has this name: all of them are values


class Savers:
    """A saver remembers the last steps of its conversations, so each graph keeps its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()  # each graph is opened on a thread of its own
        self._savers: dict[str, WaymarkSaver] = {}
        self.usual = self._find_saver(MESSAGES_CHANNEL)

    def find_saver(self, channel: MessagesChannel | None) -> WaymarkSaver:
        """Return the saver of graphs with this channel. Without one that is an input, no list is the conversation."""
        return self._find_saver(channel.name if channel and channel.is_input else _NO_CHANNEL)

    def _find_saver(self, name: str) -> WaymarkSaver:
        with self._lock:
            if name not in self._savers:
                self._savers[name] = WaymarkSaver(self._store, messages=name, takes_unfit_messages=False)
            return self._savers[name]
