"""Builds the time travel of a run, for the built-in agent and for user graphs."""

from dataclasses import dataclass
from functools import partial

from agent.context.numbering import NumberStyle
from agent.preparation.inputs import RunInputs
from agent.run.announcer import MoveAnnouncer
from agent.settings import ThreadSettings
from agent.time_travel.executor import TimeTravelExecutor
from agent.time_travel.policy import Policy
from checkpoints import Run, Runs, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeTravelBuilder:
    store: Store
    runs: Runs
    inputs: RunInputs
    announcer: MoveAnnouncer
    # For threads without their own setting.
    default_policy: Policy
    # How models see the numbers of messages.
    numbers: NumberStyle

    def find_policy(self, settings: ThreadSettings) -> Policy:
        return settings.resolve_policy(self.default_policy)

    def build(self, run: Run, policy: Policy) -> TimeTravelExecutor | None:
        """Return the executor of a run's moves, or None if moves are switched off."""
        if policy == "off":
            return None
        return TimeTravelExecutor(
            store=self.store,
            runs=self.runs,
            run=run,
            policy=policy,
            announce_move=self.announcer.announce,
            count_tokens=partial(self.inputs.count_tokens, run.thread_id),
            numbers=self.numbers,
        )
