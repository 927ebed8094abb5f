"""Safe retries of a request: the model refused or was not reached, and sent no part of an answer."""

import random
import time

from agent.models.errors import retry_after

# Before the second and the third try.
RETRY_PAUSES_SECONDS = (0.5, 1.0)
# The last try begins within this time after the first failure, since a person is waiting.
MAX_RETRY_SECONDS = 4.0


class Retries:
    """The tries of a request."""

    def __init__(self) -> None:
        self._retry_count = 0
        self._first_failure_at: float | None = None

    def next_pause(self, error: BaseException) -> float | None:
        """Return the seconds to wait before the next try, or None if the failure is final."""
        wanted = retry_after(error)
        if wanted is None or self._retry_count == len(RETRY_PAUSES_SECONDS):
            return None
        now = time.monotonic()
        self._first_failure_at = self._first_failure_at or now
        # The pauses vary, since many conversations may have been refused together.
        pause = max(wanted, RETRY_PAUSES_SECONDS[self._retry_count] * random.uniform(0.75, 1.0))  # noqa: S311  (no secret)
        self._retry_count += 1
        return pause if now + pause - self._first_failure_at <= MAX_RETRY_SECONDS else None
