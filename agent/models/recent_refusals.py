"""Recent refusals of servers. They expire, since a router may have asked another server, and servers get better."""

from collections.abc import Hashable
from time import monotonic

# After that, the next request asks again, and may be refused again.
MAX_AGE_SECONDS = 3_600.0


class RecentRefusals:
    """Refusals within the last hour, by any key."""

    def __init__(self) -> None:
        self._times: dict[Hashable, float] = {}

    def add(self, key: Hashable) -> None:
        self._times[key] = monotonic()

    def knows(self, key: Hashable) -> bool:
        """Return whether the key was ever refused."""
        return key in self._times

    def __contains__(self, key: object) -> bool:
        return key in self._times and monotonic() - self._times[key] < MAX_AGE_SECONDS
