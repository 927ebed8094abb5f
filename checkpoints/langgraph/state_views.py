"""A state's channels for people: their names, sizes and differences, and their values as JSON."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import ormsgpack
import sqlalchemy as sa
from langgraph.checkpoint.serde import jsonplus

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

# Sets and similar types are shown as lists.
_CONTAINERS: Final = ("builtins", "collections")
_CONSTRUCTORS: Final = (
    jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG,
    jsonplus.EXT_CONSTRUCTOR_POS_ARGS,
    jsonplus.EXT_CONSTRUCTOR_KW_ARGS,
    jsonplus.EXT_METHOD_SINGLE_ARG,
    jsonplus.EXT_PYDANTIC_V1,
    jsonplus.EXT_PYDANTIC_V2,
)
_value = schema.channel_value.c
_MIN_LONG_RUN = 100
_size_query = sa.select(_value.number, _value.hash, sa.func.length(_value.bytes).label("size"))


def read_plain(kind: str, data: bytes) -> Any:
    """Return a stored value as plain JSON. An object of a class becomes `{"Class": fields}`."""
    match kind:
        case "null":
            return None
        case "msgpack":
            return _clean(_unpack(data))
        case "json":
            return _clean(json.loads(data))
    return _describe_bytes(data)


def _unpack(data: bytes) -> Any:
    try:
        return ormsgpack.unpackb(data, ext_hook=_read_extension, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError:
        return _describe_bytes(data)


def _read_extension(code: int, data: bytes) -> Any:
    content = _unpack(data)
    if code in _CONSTRUCTORS and isinstance(content, list | tuple) and len(content) > 2:
        module, name, value = str(content[0]), str(content[1]), content[2]
        is_plain = module in _CONTAINERS or not isinstance(value, Mapping | list | tuple)
        return value if is_plain else {name: value}
    return content


def _clean(value: Any) -> Any:
    """Return a value with texts as keys, bytes described, and all texts valid in UTF-8."""
    if isinstance(value, Mapping):
        return {serde.sanitize_text(str(each)): _clean(below) for each, below in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(bytes(value))
    return value if value is None or isinstance(value, int | float) else serde.sanitize_text(str(value))


def _describe_bytes(data: bytes) -> str:
    return f"({len(data):,} bytes)"


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a state. Equal values have equal `identity`, computed without reading the value.

    `lost_kind` is the value's original kind, if LangGraph's serializer returns another.
    """

    name: str
    reference: Reference
    identity: Any
    byte_count: int
    lost_kind: str = ""

    @property
    def item_count(self) -> int | None:
        """The number of messages or list items, or None for another value."""
        kind = read_kind(self.reference)
        if kind == "m":
            return int(self.reference[2])
        return len(list_numbers(self.reference)) if kind == "r" else None

    @property
    def has_messages(self) -> bool:
        """Whether the value is the conversation's messages."""
        return read_kind(self.reference) == "m"


def list_channels(database: Database, thread_id: str, state_id: int | None) -> dict[str, Channel]:
    """Return a state's channels by name, without LangGraph's own. Raises `DamagedStateError`."""
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
    """Return the hashes and sizes of values by number. A long run is read as a range, not by its numbers."""
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
    """Return a channel's value, or the first items of its list, as plain JSON. Raises `DamagedStateError`."""
    numbers = list_numbers(channel.reference)[:max_items]
    if not numbers:
        return [] if read_kind(channel.reference) == "r" else serde.sanitize_json(channel.reference)
    with database.begin_read() as connection:
        stored = value_rows.select_values(connection, set(numbers), thread_id)
    values = [read_plain(*stored[number]) for number in numbers]
    return values[0] if read_kind(channel.reference) == "v" else values
