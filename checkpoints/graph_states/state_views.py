"""The channels of any state as people read them: their names and sizes, which of them differ, and their values as JSON."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..rows import state_rows, value_rows
from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.database import Database
from ..storage.ownership import open_values
from ..values import serde
from ..values.errors import DamagedStateError
from ..values.graph_state import (
    INPUT_CHANNEL,
    LOST_KINDS_KEY,
    Reference,
    is_own_channel,
    read_kind,
    unwrap_snapshot,
    write_compact,
)
from .channel_values import list_numbers, list_runs
from .plain_values import read_plain

_value = schema.channel_value.c
_MIN_LONG_RUN = 100  # numbers
_size_query = sa.select(_value.number, _value.hash, sa.func.length(_value.bytes).label("size"))


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a state. `identity` is equal for equal values; nothing of the value is read for it."""

    name: str
    reference: Reference
    identity: Any
    byte_count: int
    lost_kind: str = ""  # that the value had when it was written: LangGraph's serializer gives it back as another one

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
            if name != INPUT_CHANNEL and not is_own_channel(name)
        }
        with open_values(connection, thread_id):
            sizes = _select_sizes(connection, {run for reference in references.values() for run in list_runs(reference)})
    numbers = {number for reference in references.values() for number in list_numbers(reference)}
    if missing := numbers - sizes.keys():
        raise DamagedStateError(thread_id, f"value {min(missing)}")
    lost = state.body["metadata"].get(LOST_KINDS_KEY, {})
    return {name: _describe_channel(name, references[name], sizes, lost.get(name, "")) for name in sorted(references)}


def _select_sizes(connection: sa.Connection, runs: Collection[tuple[int, int]]) -> dict[int, tuple[bytes, int]]:
    """Return the hashes and the sizes of values by number. A long list is read by its ends, and not by its numbers."""
    found = dict[int, tuple[bytes, int]]()
    for first, last in (run for run in runs if _is_long(run)):
        rows = connection.execute(_size_query.where(_value.number.between(first, last)))
        found.update((row.number, (row.hash, row.size)) for row in rows)
    others = {number for run in runs if not _is_long(run) for number in range(run[0], run[1] + 1)}
    rest = select_in_batches(connection, _size_query, _value.number, others)
    return found | {row.number: (row.hash, row.size) for row in rest}


def _is_long(run: tuple[int, int]) -> bool:
    return run[1] - run[0] >= _MIN_LONG_RUN


def _describe_channel(name: str, reference: Reference, sizes: Mapping[int, tuple[bytes, int]], lost_kind: str) -> Channel:
    found = [sizes[number] for number in list_numbers(reference)]
    kind = read_kind(reference)
    identity = (kind, [hash_ for hash_, _ in found]) if kind in ("v", "r") else write_compact(reference)
    return Channel(name, reference, identity, sum(size for _, size in found), lost_kind)


def read_plain_value(database: Database, thread_id: str, channel: Channel, max_items: int | None = None) -> Any:
    """Return the value of a channel, or the first items of its list, as plain JSON. Raises `DamagedStateError`."""
    numbers = list_numbers(channel.reference)[:max_items]
    if not numbers:
        return [] if read_kind(channel.reference) == "r" else serde.sanitize_json(channel.reference)
    with database.begin_read() as connection:
        stored = value_rows.select_values(connection, set(numbers), thread_id)
    values = [read_plain(*stored[number]) for number in numbers]
    return values[0] if read_kind(channel.reference) == "v" else values
