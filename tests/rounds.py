"""How much of a proof a run goes through: some of it each time, all of it in the long one.

The ordinary run takes the same part each time, so that a failure can be repeated. What it leaves is marked `long`.
A long proof asks the fixture `rounds` how often it is to go round: `--share 0.05` is a twentieth of its rounds. Of the
other long tests, the cells of grids, `--cells 0.25` takes each fourth of a test function. Tests begin at different cells,
so that several tests of one grid (of the networks, for instance) go through all of it together.
Slow tests have two halves: `--half 0` and `--half 1` are all of them.
"""

import zlib
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy


class Rounds:
    """The rounds of one test: all that it asks for, or the share of them that the run was started with."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.gone = self.all = 0
        self.remark = ""  # of the test, for the end of the run

    def __call__(self, number: int, at_least: int = 1) -> int:
        """Return how many of this number are gone."""
        share = max(at_least, round(number * self.share))
        self.gone += share
        self.all += number
        return share


def sample(values: Iterable[Any], ordinary: int) -> list[Any]:
    """Mark all but this many of a grid's values, evenly spread, for the long run."""
    every = list(values)
    kept = {index * len(every) // ordinary for index in range(ordinary)}
    return [
        value if index in kept else pytest.param(*_parts(value), marks=pytest.mark.long) for index, value in enumerate(every)
    ]


def find_left_cells(items: Iterable[pytest.Item], share: float) -> list[pytest.Item]:
    """Return the long cells that a share of each grid leaves.

    Those that stay are evenly spread, and at least one. The test's name says where they begin.
    """
    cells = [item for item in items if item.get_closest_marker("long") and "rounds" not in getattr(item, "fixturenames", ())]
    left = []
    for name, grid in groupby(cells, lambda item: item.nodeid.partition("[")[0]):
        every = list(grid)
        number = max(1, round(len(every) * share))
        begin = zlib.crc32(name.encode())
        kept = {(begin + index * len(every) // number) % len(every) for index in range(number)}
        left += [item for index, item in enumerate(every) if index not in kept]
    return left


def find_other_half(items: Iterable[pytest.Item], half: int) -> list[pytest.Item]:
    """Return the slow tests that a half leaves: each second one, so that both take as long."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    return [item for number, item in enumerate(slow) if number % 2 != half]


def put_pages_first(items: list[pytest.Item]) -> None:
    """Put the tests that drive a page before all others, which keep their order.

    The processes of a run begin with equal parts of the list, and an idle one takes over the end of another one's part. So
    one process goes through all pages. Each further one would start servers and a browser of its own.
    """
    items.sort(key=lambda item: not item.nodeid.startswith("tests/e2e/"))


def given_examples(ordinary: int, long: int, *strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a property on this many examples, the same each time; in the long run on the share of more, but never on fewer."""

    def decorate(check: Callable[..., None]) -> Any:
        @pytest.mark.parametrize("examples", [ordinary, pytest.param(long, marks=pytest.mark.long)])
        def test(examples: int, rounds: Rounds) -> None:
            share = rounds(examples, at_least=ordinary)
            settings(max_examples=share, deadline=None, database=None, derandomize=share == ordinary)(
                given(*strategies)(check)
            )()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
