"""Room for uploaded files not yet used by an action."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class KeptFile(NamedTuple):
    id: str
    owner: str | None
    # The size is in bytes.
    size: int


def choose_surplus(kept: Iterable[KeptFile], new: KeptFile, *, max_bytes: int, max_count: int) -> list[str]:
    """Return the ids of files to drop for a new file: each time the oldest of the owner with the most room in use."""
    left, surplus = [*kept], list[str]()
    while left:
        sizes, counts = Counter({new.owner: new.size}), Counter({new.owner: 1})
        for each in left:
            sizes[each.owner] += each.size
            counts[each.owner] += 1
        is_too_large = sizes.total() > max_bytes
        if not is_too_large and counts.total() <= max_count:
            break
        used = sizes if is_too_large else counts
        chosen = max(left, key=lambda each: used[each.owner])
        left.remove(chosen)
        surplus.append(chosen.id)
    return surplus
