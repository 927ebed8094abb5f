"""The channels of any state as people read them: their names and sizes, which of them differ, and their values as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .. import serde
from ..errors import DamagedStateError
from ..graph_state import INPUT_CHANNEL, OWN_PREFIXES, Reference, read_kind, unwrap_snapshot, write_compact
from ..storage import schema, state_rows, value_rows
from ..storage.batches import select_in_batches
from ..storage.database import Database
from .channel_values import list_numbers
from .plain_values import read_plain

_value = schema.channel_value.c
_size_query = sa.select(_value.number, _value.hash, sa.func.length(_value.bytes).label("size"))


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a state. `identity` is equal for equal values; nothing of the value is read for it."""

    name: str
    reference: Reference
    identity: Any
    byte_count: int

    @property
    def item_count(self) -> int | None:
        """The number of messages, or of the items of a list; None for another value."""
        kind = read_kind(self.reference)
        if kind == "m":
            return int(self.reference[2])
        return len(list_numbers(self.reference)) if kind == "r" else None

    @property
    def has_messages(self) -> bool:
        """Whether the value is the messages of the conversation."""
        return read_kind(self.reference) == "m"


def list_channels(database: Database, thread_id: str, state_id: int | None) -> dict[str, Channel]:
    """Return the channels of a state by name, without LangGraph's own. Raises `DamagedStateError`."""
    with database.begin_read() as connection:
        state = state_rows.select_numbered_state(connection, state_id)
        if state is None or state.thread_id != thread_id:
            return {}
        references = {
            name: unwrap_snapshot(reference)
            for name, reference in state.body["values"].items()
            if name != INPUT_CHANNEL and not name.startswith(OWN_PREFIXES)
        }
        numbers = {number for reference in references.values() for number in list_numbers(reference)}
        sizes = {row.number: row for row in select_in_batches(connection, _size_query, _value.number, numbers)}
    if missing := numbers - sizes.keys():
        raise DamagedStateError(thread_id, f"value {min(missing)}")
    return {name: _describe_channel(name, references[name], sizes) for name in sorted(references)}


def _describe_channel(name: str, reference: Reference, sizes: Mapping[int, Any]) -> Channel:
    numbers = list_numbers(reference)
    kind = read_kind(reference)
    identity = (kind, [sizes[number].hash for number in numbers]) if kind in ("v", "r") else write_compact(reference)
    return Channel(name, reference, identity, sum(sizes[number].size for number in numbers))


def read_plain_value(database: Database, thread_id: str, channel: Channel, max_items: int | None = None) -> Any:
    """Return the value of a channel, or the first items of its list, as plain JSON. Raises `DamagedStateError`."""
    numbers = list_numbers(channel.reference)[:max_items]
    if not numbers:
        return [] if read_kind(channel.reference) == "r" else serde.sanitize_json(channel.reference)
    with database.begin_read() as connection:
        stored = value_rows.select_values(connection, set(numbers), thread_id)
    values = [read_plain(*stored[number]) for number in numbers]
    return values[0] if read_kind(channel.reference) == "v" else values
