"""Messages a graph has not seen: written by the page or the store's user after the graph's last state.

A graph's next state names all its messages, with no room for others in between. A run without these messages would
take them off the conversation's path.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage

from ..rows import thread_rows
from ..rows.state_rows import StoredState
from ..rows.thread_rows import LoadedThread
from ..values.errors import UnseenMessagesError
from ..values.graph_state import INPUT_CHANNEL
from ..values.history import Path
from ..values.model import Json, Node
from .channel_values import unwrap_value
from .message_paths import read_messages


def read_unseen_messages(connection: sa.Connection, loaded: LoadedThread, state: StoredState | None) -> list[BaseMessage]:
    """Return the messages after the conversation's current state, in the graph's form."""
    seen = state.message if state is not None else None
    if loaded.head in (None, seen):
        return []
    path = thread_rows.load_path(connection, loaded.thread.id, loaded.thread.head_id)
    return read_messages(connection, path, _count_seen(path, seen))[1]


def _count_seen(path: Path, seen: Node | None) -> int:
    return seen.depth + 1 if seen is not None and seen in path else 0


def check_unseen(
    connection: sa.Connection, loaded: LoadedThread, state: StoredState | None, channel: str, values: Json
) -> None:
    """Refuse a state that continues without the messages after its predecessor. Raises `UnseenMessagesError`.

    An input holds them in its own channel until the first step takes it.
    """
    handed = [*_list_messages(values.get(channel)), *_list_messages(_read_field(values.get(INPUT_CHANNEL), channel))]
    if channel not in values and not handed:
        # No messages are written.
        return
    if unseen := read_unseen_messages(connection, loaded, state):
        known = {each.get("id") if isinstance(each, Mapping) else getattr(each, "id", None) for each in handed}
        if any(message.id not in known for message in unseen):
            raise UnseenMessagesError(loaded.thread.id)


def _read_field(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _list_messages(value: Any) -> Sequence[Any]:
    content = unwrap_value(value)
    return content if isinstance(content, list) else [] if content is None else [content]
