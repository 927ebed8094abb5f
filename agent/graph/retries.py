"""Retries of a request, where that is safe: the model refused or was not reached, and sent nothing of an answer."""

import random
import time

from agent.models.errors import retry_after

RETRY_PAUSES_SECONDS = (0.5, 1.0)  # seconds before the second and the third try
MAX_RETRY_SECONDS = 4.0  # seconds after the first failure in which the last try begins: a person is waiting for a sentence


class Retries:
    """The tries of one request."""

    def __init__(self) -> None:
        self._retry_count = 0
        self._first_failure_at: float | None = None

    def next_pause(self, error: BaseException) -> float | None:
        """Return the seconds to wait after this failure before the next try; None when it is final."""
        wanted = retry_after(error)
        if wanted is None or self._retry_count == len(RETRY_PAUSES_SECONDS):
            return None
        now = time.monotonic()
        self._first_failure_at = self._first_failure_at or now
        # Not all at the same moment: many conversations may have been refused together.
        pause = max(wanted, RETRY_PAUSES_SECONDS[self._retry_count] * random.uniform(0.75, 1.0))  # noqa: S311  (no secret)
        self._retry_count += 1
        return pause if now + pause - self._first_failure_at <= MAX_RETRY_SECONDS else None
