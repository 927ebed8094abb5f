"""The progress of a long operation: reports that its caller may show.

An operation consists of phases, each with a number of steps. Reports are limited by number and not by a clock: a phase of
100,000 steps reports as seldom as a phase of a hundred.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

MAX_REPORTS = 100  # of one phase
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one phase: `done` of `total` steps, which `noun` names. A phase without a total cannot be counted."""

    phase: str  # such as “Checking”
    done: int = 0
    total: int | None = None
    noun: str = ""
    detail: "Progress | None" = None  # of the current step

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.phase}…"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.phase}: {self.done:,} of {self.total:,} {self.noun}{detail}"


Report = Callable[[Progress], None]  # may raise an error: it ends the operation, and nothing of it is written


def ignore_progress(_: Progress) -> None:
    """Report to nobody."""


class StepCounter:
    """The steps of one phase. Every hundredth part of them is reported, and the last one."""

    def __init__(self, report: Report, phase: str, total: int, noun: str) -> None:
        self._report = report
        self._progress = Progress(phase, 0, total, noun)
        self._reported = 0
        self._stride = -(-total // MAX_REPORTS)
        self._done = 0
        if total:
            report(self._progress)

    def add(self, steps: int = 1) -> None:
        """Count steps that are done."""
        total = self._progress.total or 0
        self._done = min(self._done + steps, total)
        if self._done > self._reported and (self._done - self._reported >= self._stride or self._done == total):
            self._reported = self._done
            self._report(replace(self._progress, done=self._done))


def count_steps(items: Collection[T], report: Report, phase: str, noun: str) -> Iterator[T]:
    """Yield the items, and report a step when the next item is requested."""
    counter = StepCounter(report, phase, len(items), noun)
    for item in items:
        yield item
        counter.add()


def report_within(report: Report, outer: Progress) -> Report:
    """Return a report for one step of `outer`: its progress becomes the detail."""
    return lambda inner: report(replace(outer, detail=inner))
