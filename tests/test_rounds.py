"""The parts of long grids and slow tests that an ordinary run goes through: as many as were asked for, and in turns all."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.app_process import ROOT, read_environment
from tests.e2e.networks import NETWORKS
from tests.rounds import Turn, find_left_cells, find_waiting, put_pages_first

E2E = Path(__file__).parent / "e2e"
SHARE = 0.25  # of the cells, as `.ci/run` asks for
STORY = re.compile(r"^def (test_\w+)\((?=[^)]*\bname: str)", re.MULTILINE)


def make_cell(test: str, cell: object) -> Any:
    """A long test as pytest collects it."""
    return SimpleNamespace(nodeid=f"{test}[{cell}]", get_closest_marker="long".__eq__, fixturenames=())


def find_kept(tests: list[str], cells: list[str], share: float, cycle: int = 0) -> dict[str, list[str]]:
    """The cells of each test that stay."""
    items = [make_cell(test, cell) for test in tests for cell in cells]
    left = {each.nodeid for each in find_left_cells(items, share, cycle)}
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


def list_turn(items: list[Any], number: int) -> list[str]:
    """Name the tests that the third part of a commit has."""
    waiting = {each.nodeid for each in find_waiting(items, Turn(number, 3))}
    return [item.nodeid for item in items if item.nodeid not in waiting]


def test_three_commits_have_all_slow_tests_and_each_has_some_of_each_file() -> None:
    sizes = [1, 2, 3, 4, 7, 20, 21]
    items = [make_cell(f"tests/test_{size}.py::test", number) for size in sizes for number in range(size)]
    quick = SimpleNamespace(nodeid="tests/test_1.py::test_quick", get_closest_marker="e2e".__eq__)
    turns = [list_turn([*items, quick], number) for number in range(17, 20)]
    assert {each for turn in turns for each in turn} == {each.nodeid for each in [*items, quick]}
    for turn in turns:
        assert {each.partition("::")[0] for each in turn} == {f"tests/test_{size}.py" for size in sizes}
        assert len(turn) <= len(items) / 3 + len(sizes)
        assert quick.nodeid in turn
    assert [list_turn([*items, quick], number) for number in range(20, 23)] == turns  # a turn names its tests


def test_commits_one_after_the_other_go_through_all_cells_of_a_grid() -> None:
    tests, cells = ["tests/test_a.py::test_one", "tests/test_a.py::test_two"], [f"cell {number}" for number in range(8)]
    seen = set()
    for number in range(3 * 4, 3 * 8):
        kept = find_kept(tests, cells, SHARE, Turn(number, 3).cycle)
        seen |= {*list_turn([make_cell(test, cell) for test in kept for cell in kept[test]], number)}
    assert seen == {f"{test}[{cell}]" for test in tests for cell in cells}


def test_a_turn_is_read_from_the_command_line() -> None:
    assert str(Turn.parse("4071/3")) == "turn 1 of 3"
    for wrong in ("1", "1/0", "a/3"):
        with pytest.raises(ValueError, match=r"turns|invalid"):
            Turn.parse(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_run_says_its_turn_also_where_processes_share_it(processes: str, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n long\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.slow\n@pytest.mark.parametrize('n', range(9))\ndef test(n): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "--rootdir", ".", "-p", "tests.conftest", "-n", processes, "--turn", "7/3"]
    environment = read_environment() | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "3 passed" in done.stdout
    assert "turn 2 of 3: 3 of 9 slow and long tests" in done.stdout


def test_pages_come_first_and_all_else_keeps_its_order() -> None:
    files = ["tests/agent/test_a.py", "tests/e2e/test_b.py", "tests/e2e/test_a.py", "tests/test_e2e.py", "tests/a/test_a.py"]
    items: list[Any] = [SimpleNamespace(nodeid=f"{file}::test") for file in files]
    put_pages_first(items)
    assert [item.nodeid.partition("::")[0] for item in items] == [files[1], files[2], files[0], files[3], files[4]]
