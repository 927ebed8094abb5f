"""The limits of wrong passwords: by name and address together, by address, and by name.

Browsers in which somebody has signed in before count by themselves: others cannot lock their person out.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_BUCKETS = 10_000


@dataclass(frozen=True)
class Allowance:
    """So many wrong tries at once, and then one each so many seconds."""

    tries: int
    seconds_per_try: float


BY_NAME_AND_ADDRESS = Allowance(5, 60)
BY_ADDRESS = Allowance(30, 20)
BY_NAME = Allowance(50, 60)
BY_KNOWN_BROWSER = Allowance(10, 60)


@dataclass(frozen=True)
class Counter:
    """A thing that tries are counted by."""

    allowance: Allowance
    key: tuple[str, ...]


@dataclass
class _Bucket:
    """The tries that were left at a moment."""

    tries: float
    at: float


class TryLimits:
    """Admits tries as long as each of their counters allows one more."""

    def __init__(self, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._read_clock = read_clock
        self._buckets: dict[Counter, _Bucket] = {}

    def take(self, counters: Sequence[Counter]) -> float:
        """Take one try, and return 0; or take none, and return the seconds until there is one."""
        now = self._read_clock()
        left = {each: self._count_left(each, now) for each in counters}
        wait = max((1 - tries) * each.allowance.seconds_per_try for each, tries in left.items())
        if wait > 0:
            return wait
        for each, tries in left.items():
            self._buckets.pop(each, None)  # the newest is last
            self._buckets[each] = _Bucket(tries - 1, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._drop_buckets(now)
        return 0

    def give_back(self, counters: Sequence[Counter]) -> None:
        """Give a try back: the password was right."""
        now = self._read_clock()
        for each in counters:
            self._buckets[each] = _Bucket(min(each.allowance.tries, self._count_left(each, now) + 1), now)

    def _count_left(self, counter: Counter, now: float) -> float:
        bucket, allowance = self._buckets.get(counter), counter.allowance
        if bucket is None:
            return allowance.tries
        return min(allowance.tries, bucket.tries + (now - bucket.at) / allowance.seconds_per_try)

    def _drop_buckets(self, now: float) -> None:
        """Drop the full buckets, which are as good as none, and the oldest of too many."""
        kept = {each: found for each, found in self._buckets.items() if self._count_left(each, now) < each.allowance.tries}
        self._buckets = dict(list(kept.items())[-MAX_BUCKETS:])
