"""The processor time that other work on the machine takes during a measurement."""

import sys
import time

import psutil  # type: ignore[import-untyped]  # ships no types

BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


class Noise:
    """Processors used by others since it was made: all that are busy, less this process and what it has started."""

    def __init__(self) -> None:
        self._start, self._before = time.perf_counter(), _others_seconds()

    def read(self) -> float | None:
        """Return the number of processors, or `None` where the system does not count the time of ended children."""
        if not sys.platform.startswith("linux"):
            return None
        return max(0.0, (_others_seconds() - self._before) / (time.perf_counter() - self._start))


def _others_seconds() -> float:
    machine = psutil.cpu_times()
    return sum(getattr(machine, kind, 0.0) for kind in BUSY) - _own_seconds()


def _own_seconds() -> float:
    """Return the seconds of our living processes; each includes those of its ended children."""
    own = psutil.Process()
    seconds = 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # its parent has its seconds
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds
