"""The rate of requests per session: far more than a person causes, and less than keeps the server busy."""

import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_BURST_REQUESTS = 1_000
MAX_REQUESTS_PER_SECOND = 50
# Full buckets count as well.
MAX_BUCKETS = 200
# With more addresses than this, the oldest buckets are dropped.
MAX_BUSY_BUCKETS = 10_000


@dataclass
class _Bucket:
    """The requests that a session could send at the time `at`."""

    requests: float
    at: float


class RequestRate:
    """Admit requests of each session, or of each address: a burst, and then so many a second."""

    def __init__(
        self,
        read_clock: Callable[[], float] = time.monotonic,
        *,
        max_burst: float | None = None,
        per_second: float = MAX_REQUESTS_PER_SECOND,
    ) -> None:
        self._read_clock = read_clock
        self._max_burst = MAX_BURST_REQUESTS if max_burst is None else max_burst
        self._per_second = per_second
        self._buckets: dict[str, _Bucket] = {}

    def admit(self, session_id: str) -> bool:
        now = self._read_clock()
        bucket = self._buckets.setdefault(session_id, _Bucket(self._max_burst, now))
        bucket.requests, bucket.at = self._count_requests(bucket, now), now
        is_admitted = bucket.requests >= 1
        bucket.requests -= is_admitted
        if len(self._buckets) > MAX_BUCKETS:
            # A full bucket is as good as none.
            found = self._buckets.items()
            busy = [(key, each) for key, each in found if self._count_requests(each, now) < self._max_burst]
            self._buckets = dict(busy[-MAX_BUSY_BUCKETS:])
        return is_admitted

    def _count_requests(self, bucket: _Bucket, now: float) -> float:
        return min(self._max_burst, bucket.requests + (now - bucket.at) * self._per_second)
