"""Figures of several programs, measure by measure, with the processor time of other work beside them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Error

from benchmarks.measuring import Samples, Section, Unit
from benchmarks.noise import Noise
from benchmarks.peers.programs import Running

DIGITS = {"ms": 0, "s": 2, "MiB": 0}


@dataclass
class Measure:
    """One row: the measurements of each program, of which a percentile is shown."""

    unit: Unit
    percent: float = 50
    values: dict[str, list[float]] = field(default_factory=dict)
    others: float | None = None  # processors used by other work meanwhile

    def figure(self, program: str) -> float:
        samples = Samples(tuple(self.values[program]))
        return samples.median if self.percent == 50 else samples.percentile(self.percent)


@dataclass
class Table:
    """All rows, by their titles."""

    measures: dict[str, Measure] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def watch(self, titles: Sequence[str], unit: Unit, *, percent: float = 50) -> Iterator[None]:
        """Begin these rows, and note what others use of the machine until the block ends."""
        noise = Noise()
        for title in titles:
            self.measures[title] = Measure(unit, percent)
        yield
        for title in titles:
            self.measures[title].others = noise.read()

    def add(self, title: str, program: str, *values: float) -> None:
        self.measures[title].values.setdefault(program, []).extend(values)

    @contextmanager
    def tolerate(self, running: Running, what: str) -> Iterator[None]:
        """Note that a peer's page did not do it in time, and go on. Waymark's error ends the run."""
        try:
            yield
        except Error as error:
            if running.is_waymark:
                raise
            self.failures.append(f"{running.name}, {what}: {error.message.splitlines()[0]}")

    def figure(self, title: str, program: str) -> float | None:
        measure = self.measures.get(title)
        return measure.figure(program) if measure and program in measure.values else None

    def describe(self, title: str, programs: Sequence[str], remarks: list[str]) -> Section:
        """Return the section of the report."""
        section = Section(title, ("", *programs, "others' CPU (processors)"), remarks=remarks)
        for name, measure in self.measures.items():
            cells = [
                f"{measure.figure(program):,.{DIGITS[measure.unit]}f}" if program in measure.values else "–"
                for program in programs
            ]
            others = "–" if measure.others is None else f"{measure.others:.2f}"
            section.rows.append((f"{name} ({measure.unit})", *cells, others))
        section.remarks += [f"Failed: {failure}." for failure in dict.fromkeys(self.failures)]
        return section
