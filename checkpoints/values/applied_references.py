"""JSON references to the task writes applied by a state, grouped by task and channel.

`["n", runs, 0]` names messages of this state by negative places, counted from its end. `["n", place, 0]` names a single
message. A final 1 marks messages without ids. `["o", {name: reference}]` is an object. All others are channel references.

Most steps of a graph differ only in task ids and a few values. These values, and places far from the end, are *leaves*.
Everything else belongs to the shape.
"""

import itertools
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from uuid import UUID

# A reference is JSON, as described above.
Reference: TypeAlias = Any
# Of each task: its id, its path, and its writes, each with its position and its channel.
Applied: TypeAlias = Sequence[tuple[str, str, Sequence[tuple[int, str, Reference]]]]
_LEAF = "leaf"
_ID_CHARS = 22
_NEAREST = -4


def split_applied(applied: Applied) -> tuple[list[Any], list[Any]]:
    """Split applied writes into names, which go into the shape, and leaves."""
    leaves: list[Any] = []

    def split(reference: Reference) -> Any:
        match reference:
            case None:
                return None
            case ["n", places, without_ids] if _is_near(places):
                leaves.append(without_ids)
                return ["n", places]
            case ["o", fields]:
                return ["o", {name: split(below) for name, below in sorted(fields.items())}]
        leaves.append(reference)
        return _LEAF

    names = []
    for task_id, task_path, writes in applied:
        leaves.append(_shorten_id(task_id))
        names.append([task_path, [[position, channel, split(reference)] for position, channel, reference in writes]])
    return names, leaves


def join_applied(names: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """Rebuild applied writes from names and leaves. Raises `IndexError` if they do not fit."""
    place = itertools.count()

    def join(name: Any) -> Reference:
        match name:
            case "leaf":
                return leaves[next(place)]
            case ["n", places]:
                return ["n", places, leaves[next(place)]]
            case ["o", fields]:
                return ["o", {each: join(below) for each, below in sorted(fields.items())}]
        return name

    return [
        [_read_id(leaves[next(place)]), task_path, [[position, channel, join(name)] for position, channel, name in writes]]
        for task_path, writes in names
    ]


def list_references(applied: Applied) -> Iterator[Reference]:
    """Yield all references of applied writes, including references inside objects."""

    def list_below(reference: Reference) -> Iterator[Reference]:
        match reference:
            case ["o", fields]:
                for below in fields.values():
                    yield from list_below(below)
            case _:
                yield reference

    for _, _, writes in applied:
        for _, _, reference in writes:
            yield from list_below(reference)


def _is_near(places: Any) -> bool:
    """Return whether all places are near the end. Farther places grow with the list, so each would need a new shape."""
    return all(place >= _NEAREST for place in (itertools.chain(*places) if isinstance(places, list) else [places]))


def _shorten_id(task_id: str) -> str:
    """Shorten a UUID to 22 characters of base64. Any other id stays, after a colon."""
    try:
        uuid = UUID(task_id)
    except ValueError:
        return f":{task_id}"
    return urlsafe_b64encode(uuid.bytes).decode()[:_ID_CHARS] if str(uuid) == task_id else f":{task_id}"


def _read_id(shortened: str) -> str:
    return shortened[1:] if shortened.startswith(":") else str(UUID(bytes=urlsafe_b64decode(f"{shortened}==")))
