"""Taking times, and the table that they end in."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["ms", "MB", "MiB", "×", "KiB", "s", "tokens"]


@dataclass(frozen=True)
class Samples:
    """Several measurements of one thing. Medians are what is reported: other work on the machine only ever adds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def best(self) -> float:
        return min(self.values)

    def percentile(self, percent: float) -> float:
        """The smallest value that so many percent of the measurements do not exceed."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@dataclass(frozen=True)
class Bar:
    """One promise, and what was measured: met when the measured value is at most (or at least) the limit."""

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

    def note_load(self) -> None:
        """The load average of the last minute: above the number of cores, times are longer than they need be."""
        self.loads.append(os.getloadavg()[0])


def milliseconds(action: Callable[[], object], runs: int, *, before: Callable[[], object] | None = None) -> Samples:
    """How long `action` takes, `runs` times; `before` prepares each one and is not counted."""
    values = []
    for _ in range(runs):
        if before:
            before()
        start = time.perf_counter()
        action()
        values.append((time.perf_counter() - start) * 1000)
    return Samples(tuple(values))
