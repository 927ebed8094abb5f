"""The last step of each conversation that this process wrote: the next step of the run need not read it again."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from ..rows.state_rows import StoredState
from ..values.model import Thread
from ..values.operation import Operation

_MAX_THREADS = 1_000


@dataclass(frozen=True, slots=True)
class LastStep:
    """A state of a graph's own, and the operation that moved the conversation to it."""

    state: StoredState
    operation: Operation

    def is_current(self, thread: Thread) -> bool:
        """Return whether nothing has changed the conversation since: it has this state and this version still."""
        return thread.state_id == self.state.number and thread.version == self.operation.version


class LastSteps:
    """The last steps by conversation."""

    def __init__(self) -> None:
        self._steps: OrderedDict[str, LastStep] = OrderedDict()
        self._lock = threading.Lock()

    def find_step(self, thread: Thread, checkpoint_id: str | None) -> LastStep | None:
        """Return the step to this state, if the conversation stands there."""
        with self._lock:
            step = self._steps.get(thread.id)
        is_wanted = step is not None and step.state.checkpoint_id == checkpoint_id and step.is_current(thread)
        return step if is_wanted else None

    def keep_step(self, step: LastStep) -> None:
        with self._lock:
            self._steps[step.state.thread_id] = step
            self._steps.move_to_end(step.state.thread_id)
            while len(self._steps) > _MAX_THREADS:
                self._steps.popitem(last=False)
