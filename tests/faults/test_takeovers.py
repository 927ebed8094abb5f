"""The clock of the kill proof: it judges processes by what they can know."""

from dataclasses import dataclass, field
from typing import Any, cast

from checkpoints.rows.worker_rows import DEAD_SECONDS
from tests.faults.fleet import Fleet, Takeovers


@dataclass
class Beats:
    """The last heartbeats of two processes, in microseconds."""

    last: dict[int, int] = field(default_factory=lambda: {1: 0, 2: 0})

    def read_heartbeats(self) -> dict[int, int]:
        return dict(self.last)


def count(*pauses: float) -> int:
    """Return the beats that are counted against one run after these pauses of a process, in seconds."""
    fleet = Beats()
    takeovers = Takeovers(cast("Fleet", cast("Any", fleet)))
    takeovers._count_heartbeats()
    takeovers.watch({"r": 1})
    for pause in pauses:
        fleet.last[1] += round(pause * 1_000_000)
        takeovers._count_heartbeats()
    [(_, _, before)] = takeovers._pending.values()
    return max((takeovers._counts - before).values(), default=0)


def test_the_heartbeats_of_the_quickest_process_are_counted_and_one_that_came_late_counts_anew() -> None:
    late = DEAD_SECONDS + 0.5
    assert [count(1, 1, 1), count(1, 1, late, 1, 1), count(1, late)] == [3, 2, 0]
