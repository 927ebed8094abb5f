"""Batches of the wire: JSON, cut into payloads for single notifications, and numbered by their sender."""

import json
from dataclasses import dataclass, field
from typing import Any

from extensions.fleet.outbox import Item

# Senders with unfinished batches.
MAX_UNFINISHED_SENDERS = 100


@dataclass(frozen=True, slots=True)
class Batch:
    """The items that one process has sent at once. With `has_gap`, earlier batches of this sender are missing."""

    sender: str
    number: int
    items: list[Item]
    has_gap: bool


def write_payloads(sender: str, number: int, items: list[Item], max_bytes: int) -> list[str]:
    """Return the payloads of a batch in ASCII: sender, number, part number, count of parts, and a part of the JSON."""
    text = json.dumps(items, separators=(",", ":"))
    # A full outbox needs about a thousand parts.
    part_chars = max_bytes - len(f"{sender} {number} 9999 9999 ")
    parts = [text[place : place + part_chars] for place in range(0, len(text), part_chars)]
    return [f"{sender} {number} {place} {len(parts)} {part}" for place, part in enumerate(parts)]


@dataclass(slots=True)
class BatchReader:
    """Joins the payloads of every other sender."""

    own_name: str
    # The number of each sender's last whole batch, and the number and parts of its unfinished batch.
    _numbers: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def forget(self, sender: str) -> None:
        self._numbers.pop(sender, None)
        self._parts.pop(sender, None)

    def clear(self) -> None:
        """Forget every sender, because payloads may be lost."""
        self._numbers.clear()
        self._parts.clear()

    def read(self, payload: str) -> Batch | None:
        """Return the batch that a payload completes, or None for other payloads and for repeated batches.

        A batch of this process itself is returned without items. Raises `ValueError` for anything else.
        """
        sender, number_text, place, count, part = payload.split(" ", 4)
        number, is_last = int(number_text), int(place) == int(count) - 1
        if sender == self.own_name:
            return Batch(sender, number, [], has_gap=False) if is_last else None
        last = self._numbers.get(sender)
        if last is not None and number <= last:
            return None
        begun_number, parts = self._parts.get(sender, (number, []))
        if begun_number != number or len(parts) != int(place):
            # The earlier parts came on a previous connection.
            begun_number, parts = number, []
        parts.append(part)
        self._parts[sender] = (number, parts)
        # The gap then shows at the last part of the dropped batch.
        if len(self._parts) > MAX_UNFINISHED_SENDERS:
            del self._parts[next(iter(self._parts))]
        if not is_last:
            return None
        self._parts.pop(sender, None)
        self._numbers[sender] = number
        is_whole = len(parts) == int(count)
        items: list[Any] = json.loads("".join(parts)) if is_whole else []
        return Batch(sender, number, items, has_gap=not is_whole or (last is not None and number != last + 1))
