"""Budgets: how many answers, tool calls and seconds a run, an agent or a branch may use."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.marks import CallKey
from checkpoints import MAIN
from checkpoints.values.sentence import plural_sentence, sentence

RUN_OWNER, AGENT_OWNER, BRANCH_OWNER = sentence("The run"), sentence("The agent"), sentence("The branch")
# The main agent answers no agent's call.
MAIN_KEY = CallKey(MAIN, "")


class LimitReached(Exception):
    """The work has used its budget. The text is a sentence for people and models."""


@dataclass(frozen=True, slots=True)
class Budget:
    # The model's answers, and calls of tools.
    answers: int
    calls: int
    seconds: float


@dataclass(slots=True)
class BudgetUsage:
    """The use of a budget since its work began."""

    budget: Budget
    # The subject of the sentence that reports a limit.
    owner: str
    answers: int = 0
    calls: int = 0
    # Seconds of work before the run waited for a decision.
    earlier_seconds: float = 0.0
    started_at: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self.started_at

    @property
    def _seconds_limit(self) -> str:
        return plural_sentence("{count:,g} second", "{count:,g} seconds", count=self.budget.seconds)

    def check_answer(self, reserved: int = 0) -> None:
        """Raise `LimitReached` if the budget has no next answer. `reserved` answers are kept for other agents."""
        if self.answers >= self.budget.answers - reserved:
            answers = plural_sentence("{count:,g} answer", "{count:,g} answers", count=self.budget.answers)
            raise self.describe_limit(answers)
        if self.seconds > self.budget.seconds:
            raise self.describe_limit(self._seconds_limit)

    @asynccontextmanager
    async def limit_answer(self) -> AsyncIterator[None]:
        """Raise `LimitReached` if one answer takes all seconds of the budget, since a stream may go on for ever."""
        deadline = asyncio.timeout(self.budget.seconds)
        try:
            async with deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise self.describe_limit(self._seconds_limit) from None

    @property
    def remaining_calls(self) -> int:
        return max(0, self.budget.calls - self.calls)

    def describe_limit(self, amount: str) -> LimitReached:
        """Return the error that names the limit. Continued work begins with a fresh budget."""
        return LimitReached(sentence("{owner} reached the limit of {amount}.", owner=self.owner, amount=amount))


@dataclass(slots=True)
class RunUsage(BudgetUsage):
    """The use of a run's budget by all its agents, and of each working agent's own budget."""

    # Number of branches that forks opened.
    branches: int = 0
    # Keys are the calls that asked the agents.
    own: dict[CallKey, BudgetUsage] = field(default_factory=dict)

    def start_clock(self) -> None:
        """Count the seconds from now on, since the work begins, or continues after a decision."""
        for usage in (self, *self.own.values()):
            usage.started_at = time.monotonic()

    def find_own(self, key: CallKey, budget: Budget) -> BudgetUsage:
        """Return the usage of an agent's work on a call. Interrupted work continues to count."""
        return self.own.setdefault(key, BudgetUsage(budget, AGENT_OWNER))


def write_usage(usage: RunUsage) -> str:
    """Write the usage of a run that waits for a decision. The wait itself does not count."""
    own = [[key.agent, key.call_id, *_list_numbers(each)] for key, each in usage.own.items()]
    return json.dumps({"run": _list_numbers(usage), "branches": usage.branches, "own": own})


def parse_usage(text: str | None, run: Budget, agent: Budget) -> RunUsage:
    """Read the usage of a run that waited, with the current budgets. Without a text, nothing is used yet."""
    written = json.loads(text or "{}")
    usage = RunUsage(run, RUN_OWNER, *written.get("run", ()))
    usage.branches = written.get("branches", 0)
    for name, call_id, *numbers in written.get("own", ()):
        usage.own[CallKey(name, call_id)] = BudgetUsage(agent, AGENT_OWNER, *numbers)
    return usage


def _list_numbers(usage: BudgetUsage) -> tuple[int, int, float]:
    return usage.answers, usage.calls, usage.seconds
