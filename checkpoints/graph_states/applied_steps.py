"""Steps whose state is written, and their writes, which LangGraph may hand over on other threads."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..rows.write_rows import StateKey, Write
from ..values.graph_state import OWN_PREFIXES

_MAX_STEPS = 1_000
# Threads of writes that LangGraph has submitted before a state may not have begun yet. Then the history lacks a result.
_FIRST_WRITE_SECONDS, _OTHER_WRITES_SECONDS = 0.25, 0.002


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """A step as it is known: the channels that its state holds whole, and whether its run had written the state before."""

    whole_channels: Collection[str]
    is_same_run: bool

    def keeps(self, channel: str) -> bool:
        """Return whether the channel's value is rebuilt from its writes."""
        return channel not in self.whole_channels and not channel.startswith(OWN_PREFIXES)


class AppliedSteps:
    """The last steps of this process, until a run begins at their state again."""

    def __init__(self) -> None:
        self._steps: OrderedDict[StateKey, AppliedStep] = OrderedDict()
        self._lock = threading.Condition()
        self._announced: Counter[StateKey] = Counter()
        self._begun: OrderedDict[StateKey, None] = OrderedDict()

    @contextmanager
    def announce_writes(self, key: StateKey) -> Iterator[None]:
        """Let the state after a step wait for writes of the step that are on their way."""
        with self._lock:
            self._announced[key] += 1
            self._begun[key] = None
            while len(self._begun) > _MAX_STEPS:
                self._begun.popitem(last=False)
            self._lock.notify_all()
        try:
            yield
        finally:
            with self._lock:
                self._announced -= Counter([key])
                self._lock.notify_all()

    def await_writes(self, key: StateKey, *, is_of_step: bool) -> None:
        """Wait for writes on their way; after a step also for the first one to begin, for a moment."""
        with self._lock:
            if is_of_step and self._lock.wait_for(lambda: key in self._begun, _FIRST_WRITE_SECONDS):
                self._lock.wait(_OTHER_WRITES_SECONDS)
            self._lock.wait_for(lambda: key not in self._announced)
            self._begun.pop(key, None)

    def note_step(self, key: StateKey, step: AppliedStep) -> None:
        """Note the step after a state."""
        with self._lock:
            self._steps[key] = step
            while len(self._steps) > _MAX_STEPS:
                self._steps.popitem(last=False)

    def forget_step(self, key: StateKey) -> None:
        with self._lock:
            self._steps.pop(key, None)

    def filter_writes(self, key: StateKey, writes: Sequence[Write], *, is_resumed: bool) -> Sequence[Write]:
        """Return the writes that are still needed. A run that began at the state leaves it as it was."""
        with self._lock:
            step = self._steps.get(key)
        if step is None or not (is_resumed or step.is_same_run):
            return writes
        return [each for each in writes if step.keeps(each.channel) or (each.position < 0 and not is_resumed)]
