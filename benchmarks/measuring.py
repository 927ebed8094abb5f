"""Measured times, and the table that reports them."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["ms", "MB", "MiB", "×", "KiB", "s", "tokens", "texts"]


@dataclass(frozen=True)
class Samples:
    """Several measurements of one thing. Reports use the median, because other work on the machine only adds time."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def best(self) -> float:
        return min(self.values)

    def percentile(self, percent: float) -> float:
        """Return the smallest value that so many percent of the measurements do not exceed."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@dataclass(frozen=True)
class Bar:
    """One promise with its measured value: met if the value is at most (or at least) the limit."""

    what: str
    measured: float
    limit: float
    unit: Unit
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass
class Section:
    """One table of the report."""

    title: str
    head: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass
class Report:
    bars: list[Bar] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    browser_version: str | None = None  # of the browser that was measured

    def note_load(self) -> None:
        """Return the load average of the last minute; above the number of cores, times are too long."""
        self.loads.append(os.getloadavg()[0])


def milliseconds(action: Callable[[], object], runs: int, *, before: Callable[[], object] | None = None) -> Samples:
    """Measure `action`, `runs` times; `before` prepares each one and is not measured."""
    values = []
    for _ in range(runs):
        if before:
            before()
        start = time.perf_counter()
        action()
        values.append((time.perf_counter() - start) * 1000)
    return Samples(tuple(values))
