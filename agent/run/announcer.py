"""Announces the moves of agents to the tracer and to the app's listeners."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.protocol import Tracer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MoveAnnouncer:
    """Passes moves to the tracer first, then to the listeners."""

    tracer: Tracer
    listeners: Sequence[Callable[[TimeTravelEvent], None]] = ()

    def announce(self, event: TimeTravelEvent) -> None:
        """Pass a move to every listener. A failing listener harms neither the run nor the other listeners."""
        for listen in (self.tracer.record, *self.listeners):
            try:
                listen(event)
            except BaseException:  # noqa: BLE001  (foreign code, whose failure is no reason to lose a run)
                _log.exception("a listener to time travel failed")
