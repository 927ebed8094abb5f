"""The parts of long grids and slow tests that a run goes through: as many as were asked for."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.e2e.networks import NETWORKS
from tests.rounds import find_left_cells, find_other_half, put_pages_first

E2E = Path(__file__).parent / "e2e"
SHARE = 0.25  # of the cells
STORY = re.compile(r"^def (test_\w+)\((?=[^)]*\bname: str)", re.MULTILINE)


def make_cell(test: str, cell: object) -> Any:
    """A long test as pytest collects it."""
    return SimpleNamespace(nodeid=f"{test}[{cell}]", get_closest_marker="long".__eq__, fixturenames=())


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
    """Two networks are in every slow run (see `networks.name`), the others in the long one."""
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


def test_two_halves_have_all_slow_tests_and_each_has_the_quick_ones() -> None:
    slow: list[Any] = [SimpleNamespace(nodeid=f"slow {n}", get_closest_marker="slow".__eq__) for n in range(7)]
    quick: Any = SimpleNamespace(nodeid="quick", get_closest_marker="e2e".__eq__)
    left = [{each.nodeid for each in find_other_half([*slow, quick], half)} for half in (0, 1)]
    assert left[0] | left[1] == {each.nodeid for each in slow}
    assert [len(each) for each in left] == [3, 4]
    assert left[0].isdisjoint(left[1])


def test_pages_come_first_and_all_else_keeps_its_order() -> None:
    files = ["tests/agent/test_a.py", "tests/e2e/test_b.py", "tests/e2e/test_a.py", "tests/test_e2e.py", "tests/a/test_a.py"]
    items: list[Any] = [SimpleNamespace(nodeid=f"{file}::test") for file in files]
    put_pages_first(items)
    assert [item.nodeid.partition("::")[0] for item in items] == [files[1], files[2], files[0], files[3], files[4]]
