"""The parts of long grids that an ordinary run goes through: as many as were asked for, and together all of a grid."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.e2e.networks import NETWORKS
from tests.rounds import find_left_cells

E2E = Path(__file__).parent / "e2e"
SHARE = 0.25  # of the cells, as `.ci/run` asks for
STORY = re.compile(r"^def (test_\w+)\((?=[^)]*\bname: str)", re.MULTILINE)


def make_cell(test: str, cell: object) -> Any:
    """A long test as pytest collects it."""
    return SimpleNamespace(nodeid=f"{test}[{cell}]", get_closest_marker=lambda _: True, fixturenames=())


def find_kept(tests: list[str], cells: list[str], share: float) -> dict[str, list[str]]:
    """The cells of each test that stay."""
    items = [make_cell(test, cell) for test in tests for cell in cells]
    left = {each.nodeid for each in find_left_cells(items, share)}
    kept: dict[str, list[str]] = {test: [] for test in tests}
    for item in items:
        if item.nodeid not in left:
            test, _, cell = item.nodeid.rstrip("]").partition("[")
            kept[test].append(cell)
    return kept


def test_of_each_grid_its_share_stays_and_at_least_one_cell() -> None:
    cells = [f"cell {number}" for number in range(20)]
    assert {len(each) for each in find_kept([f"test_{n}" for n in range(30)], cells, SHARE).values()} == {5}
    assert {len(each) for each in find_kept([f"test_{n}" for n in range(30)], cells[:3], SHARE).values()} == {1}
    kept = find_kept(["test_spread"], cells, SHARE)["test_spread"]
    numbers = sorted(int(each.split()[1]) for each in kept)
    assert {(b - a) % 20 for a, b in zip(numbers, [*numbers[1:], numbers[0] + 20], strict=True)} == {4}


def test_each_network_runs_in_several_stories_of_each_pipeline() -> None:
    """Two networks are in every run (see `networks.name`); the others take turns."""
    stories = [
        f"tests/e2e/{file.name}::{name}"
        for file in sorted(E2E.glob("test_slow_*.py"))
        for name in STORY.findall(file.read_text())
    ]
    long = [name for name in NETWORKS if name not in {"400 ms", "away"}]
    kept = find_kept(stories, long, SHARE)
    assert len(stories) > 20
    for name in long:
        assert sum(name in cells for cells in kept.values()) >= 5, name
