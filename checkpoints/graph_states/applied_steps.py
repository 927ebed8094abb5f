"""Steps whose state is written: LangGraph may hand over their writes only afterwards, when nobody needs them."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence

from ..storage.write_rows import StateKey, Write

_MAX_STEPS = 1_000


class AppliedSteps:
    """The last steps of this process, until a run begins at their state again."""

    def __init__(self) -> None:
        self._kept_channels: OrderedDict[StateKey, frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, key: StateKey, kept_channels: Collection[str]) -> None:
        """Note the step after a state, and the channels whose writes are still needed."""
        with self._lock:
            self._kept_channels[key] = frozenset(kept_channels)
            while len(self._kept_channels) > _MAX_STEPS:
                self._kept_channels.popitem(last=False)

    def forget(self, key: StateKey) -> None:
        with self._lock:
            self._kept_channels.pop(key, None)

    def select_needed(self, key: StateKey, writes: Sequence[Write]) -> Sequence[Write]:
        """Return the writes that are still needed."""
        with self._lock:
            kept = self._kept_channels.get(key)
        return writes if kept is None else [each for each in writes if each.position < 0 or each.channel in kept]
