"""The state of a graph after a step, as JSON: the values of its channels by name, and their versions.

A state holds no values, only references. A small scalar stands for itself. `["v", number]` names a stored value, `["r",
[[first, last], …]]` the items of a list, `["m", message id, length]` a path of messages, and `["d", reference]` the snapshot
of a DeltaChannel. Most states of a graph differ in few numbers, so the names are stored apart, as its *shape*.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from .applied_references import join_applied, list_references, split_applied
from .checkpoint_ids import measure_time, read_time
from .model import Json, Node
from .serde import parse_canonical

_MORE = 0x80
# A reference is JSON, as described above.
Reference = Any
# The metadata key of kinds lost by LangGraph's serializer, by channel.
LOST_KINDS_KEY = "waymark_lost_kinds"
# LangGraph's input channel. Its value is deleted once the first step has taken it.
INPUT_CHANNEL = "__start__"
# The prefixes of LangGraph's own channels, which decide what runs next.
OWN_PREFIXES = ("__", "branch:", "join:")
# LangGraph's channel for `Send`. It stays, empty, once the nodes have taken their input.
TASKS_CHANNEL = "__pregel_tasks"
# Such a channel is gone once its node has run.
_STARTING_PREFIX = "branch:to:"
# The saved value of a function with `@entrypoint`.
_PREVIOUS_CHANNEL = "__previous__"
# The saved and the returned value are values like any others.
ENTRYPOINT_CHANNELS = ("__end__", _PREVIOUS_CHANNEL)
ReferenceKind = Literal["v", "r", "m", "d", "n", "o"]
# All other metadata is the same for a whole run.
_VARYING_METADATA = ("counters_since_delta_snapshot", "run_id")
# Stands for the run's id in the metadata, since the state's row has it.
_OF_THE_ROW = True
_NAMES_MESSAGE = "names_message"
_EMPTY_LIST: Reference = ["r", []]
# Stands for the path to the message named in the state's row. No other reference is an object.
_OWN_PATH: Json = {}
# The encoder is made once, because an import writes thousands of states.
_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
# SHA-256 is truncated, because every step stores a hash.
_HASH_BYTES = 16


def pack_numbers(numbers: Iterable[int]) -> bytes:
    packed = bytearray()
    for number in numbers:
        left = number * 2 if number >= 0 else -number * 2 - 1
        while left >= _MORE:
            packed.append(left % _MORE | _MORE)
            left //= _MORE
        packed.append(left)
    return bytes(packed)


def unpack_numbers(packed: bytes, count: int) -> tuple[list[int], bytes]:
    """Return the first `count` numbers and the bytes after them. Raises `ValueError` if there are fewer."""
    numbers, place = [], 0
    for _ in range(count):
        folded, factor = 0, 1
        while place < len(packed) and packed[place] & _MORE:
            folded += packed[place] % _MORE * factor
            factor *= _MORE
            place += 1
        if place == len(packed):
            raise ValueError("numbers are missing")
        folded += packed[place] * factor
        place += 1
        numbers.append(-(folded // 2) - 1 if folded % 2 else folded // 2)
    return numbers, packed[place:]


@dataclass(frozen=True, slots=True)
class RowValues:
    """The columns of a state's row beside its body, which does not repeat them."""

    checkpoint_id: str
    run_id: str
    # The last message's id, and the path's length. A document has the id alone.
    path: tuple[str, int] | tuple[str] | None

    @classmethod
    def at(cls, checkpoint_id: str, run_id: str, message: Node | None) -> Self:
        """Build the columns of a state stored while the conversation stood at `message`."""
        return cls(checkpoint_id, run_id, (message.id, message.depth + 1) if message else None)


@dataclass(frozen=True, slots=True)
class SplitBody:
    """The stored parts of a state. The leaves are `before`, the `rest` as JSON, and `after`.

    `rest` begins with the references, by channel name. Callers may replace them.
    """

    shape: str
    before: bytes
    rest: list[Any]
    after: bytes = b""

    def write_leaves(self, rest: list[Any]) -> bytes:
        return self.before + write_compact(rest).encode() + self.after


def write_compact(value: Any) -> str:
    """Serialize JSON in canonical form. Unlike a message's JSON, it is ASCII, since a key may be a lone surrogate."""
    return _COMPACT.encode(value)


def split_body(body: Json, row: RowValues) -> SplitBody:
    """Split a state into its shape and its leaves.

    The leaves are packed numbers, followed by the other values as JSON. The time is stored as a distance from the time
    in LangGraph's id. The step and the versions are distances from the highest of them.
    """
    metadata = dict(body["metadata"])
    if metadata.get("run_id") == row.run_id:
        metadata["run_id"] = _OF_THE_ROW
    varying = [name for name in _VARYING_METADATA if metadata.get(name, _OF_THE_ROW) is not _OF_THE_ROW]
    varying += ["parents"] if metadata.get("parents") else []
    values, versions = sorted(body["values"].items()), sorted(body["versions"].items())
    seen = [(node, sorted(channels.items())) for node, channels in sorted(body["seen"].items())]
    step = metadata.pop("step", None)
    numbers = [number for _, number in versions] + [number for _, channels in seen for _, number in channels]
    rest = [_OWN_PATH if _is_path(reference, row.path) else reference for _, reference in values]
    rest += [metadata.pop(name) for name in varying]
    time = measure_time(row.checkpoint_id, body["ts"])
    shape = {
        "v": body["v"],
        "values": [name for name, _ in values],
        "versions": [name for name, _ in versions],
        "seen": {node: [name for name, _ in channels] for node, channels in seen},
        "updated": body["updated"],
        "metadata": metadata,
        "varying": varying,
    }
    _split_notes(body, shape, rest)
    if any(_is_path(reference, row.path) for _, reference in values):
        shape[_NAMES_MESSAGE] = True
    numbers = [step, *numbers]
    if time is None or not all(type(number) is int for number in numbers):
        listed = write_compact([body["ts"], numbers]).removesuffix("]")
        return SplitBody(write_compact(shape | {"packed": False}), f"{listed},".encode(), rest, b"]")
    top = max(numbers)
    packed = pack_numbers([time, top, *(top - number for number in numbers)])
    return SplitBody(write_compact(shape), packed, rest)


def _split_notes(body: Json, shape: Json, rest: list[Any]) -> None:
    """Add the rare fields to a shape and its leaves."""
    if body.get("resumed"):
        shape["resumed"] = True
    if body.get("begun_at") is not None:
        shape["begun_at"] = True
        rest.append(body["begun_at"])
    if body.get("applied"):
        shape["applied"], leaves = split_applied(body["applied"])
        rest.append(leaves)


def join_body(shape_text: str, leaves: bytes, row: RowValues) -> Json:
    """Rebuild a state from its shape and leaves. Raises `ValueError` or `TypeError` if they do not fit."""
    shape = parse_canonical(shape_text)
    channels = [(node, name) for node, names in sorted(shape["seen"].items()) for name in names]
    if shape.get("packed", True):
        (time, top, *distances), text = unpack_numbers(leaves, 3 + len(shape["versions"]) + len(channels))
        rest, timestamp = parse_canonical(text.decode()), read_time(row.checkpoint_id, time)
        numbers = [top - distance for distance in distances]
    else:
        timestamp, numbers, rest = parse_canonical(leaves.decode())
    step, *numbers = numbers
    applied = join_applied(shape["applied"], rest.pop()) if shape.get("applied") else []
    begun_at = rest.pop() if shape.get("begun_at") else None
    values, varying = rest[: len(shape["values"])], rest[len(shape["values"]) :]
    metadata = shape["metadata"] | dict(zip(shape["varying"], varying, strict=True))
    metadata |= {} if step is None else {"step": step}
    if metadata.get("run_id") is _OF_THE_ROW:
        metadata["run_id"] = row.run_id
    seen: Json = {node: {} for node in shape["seen"]}
    for (node, name), number in zip(channels, numbers[len(shape["versions"]) :], strict=True):
        seen[node][name] = number
    path = ["m", *(row.path or (None, 0))]
    return {
        "v": shape["v"],
        "ts": timestamp,
        "values": {n: path if each == _OWN_PATH else each for n, each in zip(shape["values"], values, strict=True)},
        "versions": dict(zip(shape["versions"], numbers, strict=False)),
        "seen": seen,
        "updated": shape["updated"],
        "metadata": metadata,
        "resumed": shape.get("resumed", False),
        "begun_at": begun_at,
        "applied": applied,
    }


def _is_path(reference: Reference, path: tuple[str, int] | tuple[str] | None) -> bool:
    return path is not None and reference == ["m", *path]


def hash_state(
    namespace: str, checkpoint_id: str, parent: bytes | str | None, shape: str, leaves: bytes, message_id: str | None
) -> bytes:
    """Hash a state, and its row's message if the state names it.

    `parent` is the parent's hash, or the id of a parent never stored. A state that does not name its message may move
    to another message: see `state_rows.place_state`.
    """
    message_id = message_id if f'"{_NAMES_MESSAGE}":true' in shape else None
    named = parent.hex() if isinstance(parent, bytes) else parent
    names = write_compact([namespace, checkpoint_id, named, shape, message_id])
    return hashlib.sha256(names.encode() + leaves).digest()[:_HASH_BYTES]


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def read_kind(reference: Reference) -> ReferenceKind | None:
    """Return the kind of a reference, or None for a scalar."""
    return reference[0] if isinstance(reference, list) else None


def unwrap_snapshot(reference: Reference) -> Reference:
    """Return the value reference inside a DeltaChannel's snapshot. Any other reference is returned unchanged."""
    return reference[1] if read_kind(reference) == "d" else reference


def join_runs(numbers: Iterable[int]) -> list[list[int]]:
    """Group consecutive numbers into [first, last] runs."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def is_own_channel(name: str) -> bool:
    """Return whether a channel is LangGraph's own, not the author's."""
    return name.startswith(OWN_PREFIXES) and name != _PREVIOUS_CHANNEL


def is_resting(references: Mapping[str, Reference]) -> bool:
    """Return whether no channel of a state makes LangGraph run a node next."""
    return not any(
        name.startswith(_STARTING_PREFIX) or (name in (INPUT_CHANNEL, TASKS_CHANNEL) and reference != _EMPTY_LIST)
        for name, reference in references.items()
    )


def list_value_numbers(references: Mapping[Any, Reference]) -> Iterator[int]:
    """Yield the numbers of all stored values in a state's channels."""
    for first, last in list_value_runs(references):
        yield from range(first, last + 1)


def list_all_numbers(body: Json) -> Iterator[int]:
    """Yield the numbers of all stored values of a state, including values of its applied writes."""
    yield from list_value_numbers(body["values"])
    yield from list_applied_numbers(body)


def list_applied_numbers(body: Json) -> Iterator[int]:
    """Yield the numbers of all stored values in a state's applied writes."""
    return list_value_numbers(dict(enumerate(list_references(body["applied"]))))


def list_value_runs(references: Mapping[Any, Reference]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each run of stored values in a state's channels."""
    for reference in map(unwrap_snapshot, references.values()):
        if read_kind(reference) == "v":
            yield reference[1], reference[1]
        elif read_kind(reference) == "r":
            yield from ((first, last) for first, last in reference[1])


def list_paths(references: Mapping[str, Reference]) -> Iterator[tuple[str | None, int]]:
    """Yield the last message's id and the length of each path in a state's channels."""
    for reference in map(unwrap_snapshot, references.values()):
        if read_kind(reference) == "m":
            yield reference[1], reference[2]
