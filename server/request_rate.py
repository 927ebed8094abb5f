"""The rate of requests per session: far more than a person causes, and less than keeps the server busy."""

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_BURST_REQUESTS = 1_000
MAX_REQUESTS_PER_SECOND = 50
MAX_BUCKETS = 10_000


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
        # Each bucket has its requests and their time. The bucket that was used last is the last.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, session_id: str) -> bool:
        now = self._read_clock()
        requests, at = self._buckets.pop(session_id, (self._max_burst, now))
        requests = min(self._max_burst, requests + (now - at) * self._per_second)
        is_admitted = requests >= 1
        self._buckets[session_id] = requests - is_admitted, now
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return is_admitted
