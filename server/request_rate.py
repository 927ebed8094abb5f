"""The rate of requests that a session may send: far more than a person causes, and less than keeps the server busy."""

import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_BURST_REQUESTS = 1_000
MAX_REQUESTS_PER_SECOND = 50
MAX_BUCKETS = 200


@dataclass
class _Bucket:
    """The requests that a session may still send at once, at a moment."""

    requests: float
    at: float


class RequestRate:
    """Admits requests of each session: a burst, and then so many a second."""

    def __init__(self, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._read_clock = read_clock
        self._buckets: dict[str, _Bucket] = {}

    def admit(self, session_id: str) -> bool:
        now = self._read_clock()
        bucket = self._buckets.setdefault(session_id, _Bucket(MAX_BURST_REQUESTS, now))
        bucket.requests, bucket.at = _count_requests(bucket, now), now
        is_admitted = bucket.requests >= 1
        bucket.requests -= is_admitted
        if len(self._buckets) > MAX_BUCKETS:  # a full bucket is as good as none
            self._buckets = {
                key: each for key, each in self._buckets.items() if _count_requests(each, now) < MAX_BURST_REQUESTS
            }
        return is_admitted


def _count_requests(bucket: _Bucket, now: float) -> float:
    return min(MAX_BURST_REQUESTS, bucket.requests + (now - bucket.at) * MAX_REQUESTS_PER_SECOND)
