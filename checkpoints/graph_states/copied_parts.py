"""All objects in copies of messages that can change, as they were: whether any has changed is asked of all at once.

A comparison with the originals looks into both, however deep they are. Here each object is compared with a flat snapshot,
which holds the same objects: nothing is looked into twice, and most objects that can change are empty. Each question is
a loop in C.
"""

import gc
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

from langchain_core.messages import BaseMessage

from .message_copies import ATOMS


def _count_references(objects: Sequence[object]) -> list[int]:
    return list(map(getrefcount, objects))


_IN_ONE_LIST = _count_references([object()])[0]
_USUAL_COUNTS = {  # of references: to a message from two lists, to another object from its column, from above, and from
    "messages": _IN_ONE_LIST + 1,
    "filled": _IN_ONE_LIST + 2,  # the slots or a snapshot
    "empty": _IN_ONE_LIST + 2,  # a snapshot
    "names": _IN_ONE_LIST + 2,  # the slots
}


@dataclass(slots=True)
class _Column:
    """The same kind of objects of each copy, one after the other."""

    items: list[Any] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def append(self, items: Sequence[Any]) -> None:
        self.items += items
        self.ends.append(len(self.items))

    def read(self, place: int) -> list[Any]:
        return self.items[self._locate(place)]

    def replace(self, place: int, items: Sequence[Any]) -> None:
        """Put a copy's objects in place of those of another copy of the same message."""
        self.items[self._locate(place)] = items

    def _locate(self, place: int) -> slice:
        return slice(self.ends[place - 1] if place else 0, self.ends[place])

    def cut_to(self, length: int) -> None:
        del self.ends[length:]
        del self.items[self.ends[-1] if self.ends else 0 :]

    def find_places(self, indexes: Iterable[int]) -> set[int]:
        """Return the places of the copies that the objects with these indexes belong to."""
        return {bisect_right(self.ends, index) for index in indexes}


@dataclass(frozen=True, slots=True)
class _Parts:
    """The objects in one copy that can change."""

    messages: list[BaseMessage]  # the copy; none where something in it could change unseen
    slots: list[Any]  # to which the message itself refers
    filled: list[Any]  # dictionaries and lists with something in them
    snapshots: list[Any]  # of these
    empty: list[Any]  # dictionaries and lists without
    names: list[set[str]]  # of fields that were set
    snapshot_names: list[set[str]]

    @classmethod
    def list_of(cls, message: BaseMessage) -> "_Parts | None":
        """Return the parts of a message; None for one with a value of another kind, which is not looked into."""
        extra, names = message.__pydantic_extra__, message.__pydantic_fields_set__
        walk: list[Any] = [message.__dict__, *([] if extra is None else [extra])]
        slots = gc.get_referents(message)
        if message.__pydantic_private__ is not None or not {id(names), *map(id, walk)} <= set(map(id, slots)):
            return None
        for holder in walk:  # it grows on the way
            for value in holder.values() if type(holder) is dict else holder:
                if type(value) is dict or type(value) is list:
                    walk.append(value)
                elif type(value) not in ATOMS:
                    return None
        filled, empty = [each for each in walk if each], [each for each in walk if not each]
        snapshots = [each.copy() for each in filled]
        return cls([message], slots, filled, snapshots, empty, [names], [names.copy()])


_NO_PARTS = _Parts([], [], [], [], [], [], [])


class CopiedParts:
    """The parts of copies, by their places."""

    def __init__(self) -> None:
        self._copies: list[BaseMessage] = []
        self._columns = {name: _Column() for name in _Parts.__slots__}
        self.opaque: set[int] = set()  # places of copies that hold values of other kinds

    @property
    def copies(self) -> Sequence[BaseMessage]:
        return self._copies

    def append(self, message: BaseMessage) -> None:
        parts = self._list_parts(len(self._copies), message)
        self._copies.append(message)
        for name, column in self._columns.items():
            column.append(getattr(parts, name))

    def replace(self, place: int, message: BaseMessage) -> None:
        """Put another copy of the same message in the place of one."""
        parts = self._list_parts(place, message)
        self._copies[place] = message
        for name, column in self._columns.items():
            column.replace(place, getattr(parts, name))

    def _list_parts(self, place: int, message: BaseMessage) -> _Parts:
        parts = _Parts.list_of(message)
        if parts is None:
            self.opaque.add(place)
        return parts or _NO_PARTS

    def cut_to(self, length: int) -> None:
        del self._copies[length:]
        self.opaque = {place for place in self.opaque if place < length}
        for column in self._columns.values():
            column.cut_to(length)

    def find_held(self) -> set[int]:
        """Return the copies that somebody else refers to, or to a part of which."""
        found = set[int]()
        for name, usual in _USUAL_COUNTS.items():
            column = self._columns[name]
            found |= column.find_places(_find_others(_count_references(column.items), usual))
        return found

    def find_changed(self) -> set[int]:
        """Return the copies that have changed, except the opaque ones."""
        found = self._find_differences("names", "snapshot_names")
        if self.has_changed():
            empty, slots, messages = (self._columns[name] for name in ("empty", "slots", "messages"))
            found |= self._find_differences("filled", "snapshots")
            found |= empty.find_places(index for index, each in enumerate(empty.items) if each)
            found.update(
                place
                for place in range(len(self._copies))
                if messages.read(place) and gc.get_referents(*messages.read(place)) != slots.read(place)
            )
        return found

    def has_changed(self) -> bool:
        """Return whether a value in any copy has changed, except in the opaque ones."""
        items = {name: column.items for name, column in self._columns.items()}
        if any(items["empty"]) or items["filled"] != items["snapshots"]:
            return True
        return gc.get_referents(*items["messages"]) != items["slots"]

    def _find_differences(self, name: str, expected: str) -> set[int]:
        column, others = self._columns[name], self._columns[expected].items
        if column.items == others:
            return set()
        return column.find_places(index for index, each in enumerate(column.items) if each != others[index])


def _find_others(counts: Sequence[int], usual: int) -> list[int]:
    if counts == [usual] * len(counts):
        return []
    return [place for place, count in enumerate(counts) if count != usual]
