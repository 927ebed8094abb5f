"""Asking a model again, where that is safe: it refused or was not reached, and nothing of its answer had come."""

import random
import time

from agent.models import retry_after

PAUSES = (0.5, 1.0)  # seconds before the second and the third try
PATIENCE = 4.0  # seconds after the first failure in which the last try begins: a person is waiting for a sentence


class Retries:
    """The tries of one request."""

    def __init__(self) -> None:
        self._made = 0
        self._failed_at: float | None = None

    def pause(self, error: BaseException) -> float | None:
        """How many seconds to wait after this failure before asking again; None when it is final."""
        wanted = retry_after(error)
        if wanted is None or self._made == len(PAUSES):
            return None
        now = time.monotonic()
        self._failed_at = self._failed_at or now
        # Not all at the same moment: many conversations may have been refused together.
        pause = max(wanted, PAUSES[self._made] * random.uniform(0.75, 1.0))  # noqa: S311  (no secret)
        self._made += 1
        return pause if now + pause - self._failed_at <= PATIENCE else None
