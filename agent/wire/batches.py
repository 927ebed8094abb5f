"""Batches of the wire: JSON, cut into payloads that one notification can carry, and numbered by their sender."""

import json
from dataclasses import dataclass, field
from typing import Any

from agent.wire.outbox import Item

MAX_PARTS = 9_999  # of a batch, as write_payloads has room for
MAX_UNFINISHED_SENDERS = 100  # whose batches are not whole yet


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch: everything that one process has sent at once. `has_gap`: batches of this sender before it never came."""

    sender: str
    number: int
    items: list[Item]
    has_gap: bool


def write_payloads(sender: str, number: int, items: list[Item], max_bytes: int) -> list[str]:
    """Return the payloads of a batch, in ASCII: sender, number, part and count of the parts, and a part of the JSON."""
    text = json.dumps(items, separators=(",", ":"))
    part_chars = max_bytes - len(f"{sender} {number} 9999 9999 ")
    parts = [text[place : place + part_chars] for place in range(0, len(text), part_chars)]
    return [f"{sender} {number} {place} {len(parts)} {part}" for place, part in enumerate(parts)]


@dataclass(slots=True)
class BatchReader:
    """Joins the payloads of every other sender."""

    own_name: str
    _numbers: dict[str, int] = field(default_factory=dict)  # of the last whole batch, by sender
    _parts: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  # of a batch that is not whole, by sender

    def forget(self, sender: str) -> None:
        """Forget a sender that is gone."""
        self._numbers.pop(sender, None)
        self._parts.pop(sender, None)

    def clear(self) -> None:
        """Forget every sender: payloads may be lost."""
        self._numbers.clear()
        self._parts.clear()

    def read(self, payload: str) -> Batch | None:
        """Return the batch that a payload completes; None for the others, and for one that has come before.

        Of a batch of this process itself, no item is read. Raises `ValueError` for anything else.
        """
        sender, number_text, place, count, part = payload.split(" ", 4)
        number, is_last = int(number_text), int(place) == int(count) - 1
        if sender == self.own_name:
            return Batch(sender, number, [], has_gap=False) if is_last else None
        last = self._numbers.get(sender)
        if last is not None and number <= last:
            return None
        if int(count) > MAX_PARTS:
            raise ValueError("a batch has too many parts")
        begun_number, parts = self._parts.get(sender, (number, []))
        if begun_number != number or len(parts) != int(place):
            begun_number, parts = number, []  # the rest of it came on a connection before this one
        parts.append(part)
        self._parts[sender] = (number, parts)
        if len(self._parts) > MAX_UNFINISHED_SENDERS:
            del self._parts[next(iter(self._parts))]  # the last of its parts then shows the gap
        if not is_last:
            return None
        self._parts.pop(sender, None)
        self._numbers[sender] = number
        is_whole = len(parts) == int(count)
        items: list[Any] = json.loads("".join(parts)) if is_whole else []
        return Batch(sender, number, items, has_gap=not is_whole or (last is not None and number != last + 1))
