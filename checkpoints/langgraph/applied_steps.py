"""Steps whose state is written, and their writes, which LangGraph may hand over on other threads."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..rows.write_rows import StateKey, Write
from ..values.graph_state import OWN_PREFIXES

_MAX_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """A step whose state is written. `late_key` is for its writes that come afterwards."""

    late_key: StateKey
    whole_channels: Collection[str]

    def holds(self, write: Write) -> bool:
        """Return whether the state has a write's value. Other channels are rebuilt from the writes to the state before."""
        return write.channel in self.whole_channels or write.channel.startswith(OWN_PREFIXES)


class AppliedSteps:
    """The last steps of this process, by the state before the step and the reading with which its run began."""

    def __init__(self) -> None:
        self._steps: OrderedDict[tuple[StateKey, object], AppliedStep] = OrderedDict()
        self._lock = threading.Condition()
        self._announced: Counter[StateKey] = Counter()

    @contextmanager
    def announce_writes(self, key: StateKey) -> Iterator[None]:
        """Let the state after a step wait for writes of the step that are on their way, so that it can name them."""
        with self._lock:
            self._announced[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._announced -= Counter([key])
                self._lock.notify_all()

    def await_writes(self, key: StateKey) -> None:
        with self._lock:
            self._lock.wait_for(lambda: key not in self._announced)

    def note_step(self, key: StateKey, reading: object, step: AppliedStep) -> None:
        with self._lock:
            self._steps[key, reading] = step
            while len(self._steps) > _MAX_STEPS:
                self._steps.popitem(last=False)

    def forget_step(self, key: StateKey, reading: object) -> None:
        with self._lock:
            self._steps.pop((key, reading), None)

    def find_step(self, key: StateKey, reading: object) -> AppliedStep | None:
        with self._lock:
            return self._steps.get((key, reading))
