"""The other processes of one Waymark, as far as this one hears them."""

import math
import time
from collections.abc import Callable

BEAT_SECONDS = 1.0  # a process sends at least so often
MAX_SILENCE_SECONDS = 5.0  # a process that is not heard for so long is gone
START_SECONDS = 2.0  # until a new process knows the others


class Peers:
    """Knows whether this process is alone: then nothing needs to be sent."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.was_any_heard = False  # since the start
        self._heard: dict[str, float] = {}  # when each was heard last
        self._unsure_until = math.inf  # until this process listens

    @property
    def names(self) -> list[str]:
        return list(self._heard)

    @property
    def is_alone(self) -> bool:
        return not self._heard and self._now() > self._unsure_until

    def restart(self) -> None:
        """Begin to listen. Count as not alone for a while: others may not have been heard."""
        self._unsure_until = self._now() + START_SECONDS

    def stop_hearing(self) -> None:
        """Count as not alone until `restart`: others may come unheard, and hear this one."""
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
