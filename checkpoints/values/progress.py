"""Progress reports of a long operation.

An operation consists of phases, each with a number of steps. Reports are limited by number and not by a clock: a phase
of 100,000 steps reports as seldom as a phase of a hundred.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

# A phase reports at most this often.
MAX_REPORTS = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a phase: `done` of `total` steps, named by `noun`. Without a total, the steps cannot be counted.

    `phase` is a word such as “Checking”. `detail` is the progress within the current step.
    """

    phase: str
    done: int = 0
    total: int | None = None
    noun: str = ""
    detail: "Progress | None" = None

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.phase}…"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.phase}: {self.done:,} of {self.total:,} {self.noun}{detail}"


# A report may raise an error. This ends the operation, and nothing of it is written.
Report = Callable[[Progress], None]


def ignore_progress(_: Progress) -> None:
    """Report to nobody."""


class StepCounter:
    """Count the steps of a phase. It reports about every hundredth part, and the last step."""

    def __init__(self, report: Report, phase: str, total: int, noun: str) -> None:
        self._report = report
        self._progress = Progress(phase, 0, total, noun)
        self._reported = 0
        self._stride = -(-total // MAX_REPORTS)
        self._done = 0
        if total:
            report(self._progress)

    def add(self, steps: int = 1) -> None:
        total = self._progress.total or 0
        self._done = min(self._done + steps, total)
        if self._done > self._reported and (self._done - self._reported >= self._stride or self._done == total):
            self._reported = self._done
            self._report(replace(self._progress, done=self._done))


def count_steps(items: Collection[T], report: Report, phase: str, noun: str) -> Iterator[T]:
    """Yield the items. Each request for the next item reports a step."""
    counter = StepCounter(report, phase, len(items), noun)
    for item in items:
        yield item
        counter.add()


def report_within(report: Report, outer: Progress) -> Report:
    """Return a report for a single step of `outer`: its progress becomes the detail."""
    return lambda inner: report(replace(outer, detail=inner))
