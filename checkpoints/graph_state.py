"""The state of a graph after one of its steps, as JSON: the values of its channels by name, and their versions.

A state holds no value. It names each by a reference: a small scalar stands for itself; `["v", number]` names a stored value,
`["r", [[first, last], …]]` the items of a list, `["m", message id, length]` a path of messages, and `["d", reference]` the
snapshot of a DeltaChannel. Most states of a graph differ in few numbers, so the names are stored apart, as its *shape*.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from .model import Json

Reference = Any  # JSON: see above
INPUT_CHANNEL = "__start__"  # LangGraph's: its value is deleted once the first step has taken it
ReferenceKind = Literal["v", "r", "m", "d"]
_VARYING_METADATA = ("counters_since_delta_snapshot", "parents", "run_id", "step")  # others are the same for a whole run
_OF_THE_ROW = {"run_id": True}  # the metadata has the run's id, which the state's row has already


def write_compact(value: Any) -> str:
    """Serialize JSON in its one form. Unlike a message's, it is ASCII: half of a surrogate pair can be a key."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def split_body(body: Json, run_id: str | None) -> tuple[str, str]:
    """Return the shape and the leaves of a state, as JSON. `run_id` is stored beside them."""
    metadata = body["metadata"]
    if run_id is not None and metadata.get("run_id") == run_id:
        metadata = metadata | _OF_THE_ROW
    varying = [name for name in _VARYING_METADATA if name in metadata]
    shape = {
        "v": body["v"],
        "values": sorted(body["values"]),
        "versions": sorted(body["versions"]),
        "seen": {node: sorted(versions) for node, versions in body["seen"].items()},
        "updated": body["updated"],
        "metadata": {name: value for name, value in metadata.items() if name not in varying},
        "varying": varying,
    }
    leaves = [
        body["ts"],
        [body["values"][name] for name in shape["values"]],
        [body["versions"][name] for name in shape["versions"]],
        [[body["seen"][node][name] for name in names] for node, names in sorted(shape["seen"].items())],
        [metadata[name] for name in varying],
    ]
    return write_compact(shape), write_compact(leaves)


def join_body(shape_text: str, leaves_text: str, run_id: str | None) -> Json:
    """Return the state of a shape and leaves. Raises `ValueError` or `TypeError` if they do not fit."""
    shape = json.loads(shape_text)
    timestamp, values, versions, seen, varying = json.loads(leaves_text)
    metadata = shape["metadata"] | dict(zip(shape["varying"], varying, strict=True))
    if metadata.get("run_id") is True:
        metadata["run_id"] = run_id
    return {
        "v": shape["v"],
        "ts": timestamp,
        "values": dict(zip(shape["values"], values, strict=True)),
        "versions": dict(zip(shape["versions"], versions, strict=True)),
        "seen": {
            node: dict(zip(names, numbers, strict=True))
            for (node, names), numbers in zip(sorted(shape["seen"].items()), seen, strict=True)
        },
        "updated": shape["updated"],
        "metadata": metadata,
    }


def hash_state(namespace: str, checkpoint_id: str, parent: bytes | str | None, shape: str, leaves: str) -> bytes:
    """Hash a state. `parent` is the hash of its parent; of a parent that was never stored, its id."""
    named = parent.hex() if isinstance(parent, bytes) else parent
    return hash_text(write_compact([namespace, checkpoint_id, named, shape, leaves]))


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def read_kind(reference: Reference) -> ReferenceKind | None:
    """Return the kind of a reference; None for a scalar."""
    return reference[0] if isinstance(reference, list) else None


def unwrap_snapshot(reference: Reference) -> Reference:
    """Return the reference to the value of a DeltaChannel's snapshot; any other reference as it is."""
    return reference[1] if read_kind(reference) == "d" else reference


def list_value_numbers(references: Mapping[str, Reference]) -> Iterator[int]:
    """Yield the numbers of all stored values that a state names."""
    for reference in map(unwrap_snapshot, references.values()):
        if read_kind(reference) == "v":
            yield reference[1]
        elif read_kind(reference) == "r":
            for first, last in reference[1]:
                yield from range(first, last + 1)


def list_paths(references: Mapping[str, Reference]) -> Iterator[tuple[str | None, int]]:
    """Yield the last message's id and the length of each path that a state names."""
    for reference in map(unwrap_snapshot, references.values()):
        if read_kind(reference) == "m":
            yield reference[1], reference[2]
