"""Budgets: the answers, tool calls and seconds that a run, one of its agents or a branch may use before it rests."""

import time
from dataclasses import dataclass, field


class LimitReached(Exception):
    """The work went as far as its budget allows. The text is a sentence for people and models."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one piece of work."""

    answers: int  # of the model
    calls: int  # of tools
    seconds: float


@dataclass(slots=True)
class BudgetUsage:
    """The use of a budget since its work began."""

    budget: Budget
    owner: str  # the subject of the sentence that reports a limit
    answers: int = 0
    calls: int = 0
    started_at: float = field(default_factory=time.monotonic)  # seconds

    def check_answer(self, reserved: int = 0) -> None:
        """Raise `LimitReached` when the next answer is beyond the budget. `reserved` answers are kept for other agents."""
        if self.answers >= self.budget.answers - reserved:
            raise self.describe_limit("answers", self.budget.answers)
        if time.monotonic() - self.started_at > self.budget.seconds:
            raise self.describe_limit("seconds", self.budget.seconds)

    @property
    def remaining_calls(self) -> int:
        return max(0, self.budget.calls - self.calls)

    def describe_limit(self, unit: str, number: float) -> LimitReached:
        """Return the error that names the limit. Work that may go on begins with a fresh budget."""
        return LimitReached(f"{self.owner} reached the limit of {number:,g} {unit if number != 1 else unit[:-1]}.")
