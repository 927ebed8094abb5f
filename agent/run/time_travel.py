"""Building the time travel of a run, for the built-in agent and for user graphs alike."""

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
    """The parts that the moves of every run use."""

    store: Store
    runs: Runs
    inputs: RunInputs
    announcer: MoveAnnouncer
    default_policy: Policy  # for threads without a setting of their own
    numbers: NumberStyle  # of messages, as the models see them

    def find_policy(self, settings: ThreadSettings) -> Policy:
        return settings.resolve_policy(self.default_policy)

    def build(self, run: Run, policy: Policy) -> TimeTravelExecutor | None:
        """Return the executor of a run's moves; None where they are switched off."""
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
