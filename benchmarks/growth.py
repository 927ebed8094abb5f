"""A cost at a size that nobody waits for, from those at two smaller sizes."""

from collections.abc import Mapping


def extend_line(known: Mapping[int, float], size: int) -> float:
    """Return the cost of one turn, or of one read. It grows in a straight line with what each state holds, or not at all."""
    (first, one), (second, other) = sorted(known.items())[-2:]
    return other + max(0.0, other - one) / (second - first) * (size - second)


def extend_sum(known: Mapping[int, float], size: int) -> float:
    """Return what so many turns add up to, where each adds a part that grows in a straight line."""
    means = {turns: total / turns for turns, total in known.items()}
    return size * extend_line(means, size)
