"""The other processes of one Waymark, as far as this process hears them."""

import math
import time
from collections.abc import Callable

# A process sends at least this often.
BEAT_SECONDS = 1.0
# A process counts as gone after this silence.
MAX_SILENCE_SECONDS = 5.0
# A new process needs this long to hear the others.
START_SECONDS = 2.0


class Peers:
    """Knows whether this process is alone and need not send."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        # Whether any process was heard since the start, and when each was last heard.
        self.was_any_heard = False
        self._heard: dict[str, float] = {}
        # Infinite until this process listens.
        self._unsure_until = math.inf

    @property
    def names(self) -> list[str]:
        return list(self._heard)

    @property
    def is_alone(self) -> bool:
        return not self._heard and self._now() > self._unsure_until

    def restart(self) -> None:
        """Begin to listen. Count as not alone for a while, since other processes may not have been heard yet."""
        self._unsure_until = self._now() + START_SECONDS

    def stop_hearing(self) -> None:
        """Count as not alone until `restart`, since other processes may come unheard, and hear this process."""
        self._unsure_until = math.inf

    def hear(self, name: str) -> None:
        self.was_any_heard = True
        self._heard[name] = self._now()

    def remove_silent(self) -> list[str]:
        """Remove the processes that are gone, and return them."""
        oldest = self._now() - MAX_SILENCE_SECONDS
        gone = [name for name, heard in self._heard.items() if heard < oldest]
        for name in gone:
            del self._heard[name]
        return gone
