"""Messages of a graph whose input takes none: the conversation shows those that it adds, after the user's own message.

The user's message never reaches such a graph as one, so its list is not the conversation. The states keep it as a value.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from checkpoints import NewMessage
from checkpoints.langgraph.channel_values import unwrap_value
from extensions.graphs.delegated_work import read_body


class AddedMessages:
    """The messages that a pass of a graph adds to a channel."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._seen_ids: set[str] = set()
        self._seen_count = 0
        self.count = 0  # of those that were taken

    def note_known(self, values: Any) -> None:
        """Remember the messages of a state. One without the channel, as between snapshots, changes nothing."""
        if not isinstance(values, Mapping) or self._channel not in values:
            return
        messages = self._list_messages(values)
        self._seen_ids.update(each.id for each in messages if each.id)
        self._seen_count = len(messages)

    def take_messages(self, values: Mapping[str, Any]) -> list[NewMessage]:
        """Return the new answers and results of tools in a state. The user's words stand in the conversation already."""
        messages = self._list_messages(values)
        fresh = [each for place, each in enumerate(messages) if self._is_fresh(place, each)]
        self.note_known(values)
        shown = [each for each in fresh if isinstance(each, AIMessage | ToolMessage)]
        taken = [NewMessage(body) for each in shown if (body := read_body(each)) is not None]
        self.count += len(taken)
        return taken

    def _is_fresh(self, place: int, message: BaseMessage) -> bool:
        return message.id not in self._seen_ids if message.id else place >= self._seen_count

    def _list_messages(self, values: Mapping[str, Any]) -> list[BaseMessage]:
        given = unwrap_value(values.get(self._channel))
        return [each for each in given if isinstance(each, BaseMessage)] if isinstance(given, list) else []
