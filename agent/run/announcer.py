"""Announcing the moves of agents to the tracer and to the listeners that the app was given."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.protocol import Tracer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MoveAnnouncer:
    """The listeners to time travel, the tracer first."""

    tracer: Tracer
    listeners: Sequence[Callable[[TimeTravelEvent], None]] = ()

    def announce(self, event: TimeTravelEvent) -> None:
        """Pass a move to every listener. A listener that fails harms neither the run nor the others."""
        for listen in (self.tracer.record, *self.listeners):
            try:
                listen(event)
            except BaseException:  # noqa: BLE001  (foreign code, whose failure is no reason to lose a run)
                _log.exception("a listener to time travel failed")
