"""The time travel of a run, for the built-in agent and for user graphs."""

import logging
from functools import partial

from agent.run.parts import RunParts
from agent.time_travel.executor import TimeTravelExecutor
from agent.time_travel.policy import Policy, TimeTravelEvent
from checkpoints import Run

_log = logging.getLogger(__name__)


def build_time_travel(parts: RunParts, run: Run, policy: Policy) -> TimeTravelExecutor | None:
    """Return the executor of a run's moves, or None if moves are switched off."""
    if policy == "off":
        return None
    return TimeTravelExecutor(
        store=parts.store,
        runs=parts.runs,
        run=run,
        policy=policy,
        announce_move=partial(_announce_move, parts),
        count_tokens=partial(parts.inputs.count_tokens, run.thread_id),
        numbers=parts.numbers,
    )


def _announce_move(parts: RunParts, event: TimeTravelEvent) -> None:
    """Pass a move to the tracer, then to the listeners. A failing listener harms neither the run nor the others."""
    for listen in (parts.tracer.record, *parts.on_time_travel):
        try:
            listen(event)
        except BaseException:  # noqa: BLE001  (foreign code, whose failure is no reason to lose a run)
            _log.exception("a listener to time travel failed")
