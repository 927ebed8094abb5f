"""The constraints pin every requirement, with hashes."""

import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from deploy.supply.pins import (
    CONSTRAINTS,
    DEVELOPMENT_CONSTRAINTS,
    GRAPH_CONSTRAINTS,
    ROOT,
    Pin,
    read_pins,
    read_requirements,
)

FILES = [CONSTRAINTS, DEVELOPMENT_CONSTRAINTS, GRAPH_CONSTRAINTS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_pin_has_the_hashes_of_its_files(path: Path) -> None:
    pins = read_pins(path)
    assert pins
    for pin in pins:
        assert pin.hashes, pin.name
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin.hashes), pin.name


def test_a_package_with_code_for_each_platform_has_hashes_for_all() -> None:
    (uvloop,) = (pin for pin in read_pins(CONSTRAINTS) if pin.name == "uvloop")
    assert len(uvloop.hashes) >= 3 * 4  # three versions of Python; Linux and macOS, Intel and ARM


@pytest.mark.parametrize(
    ("name", "files"),
    [("requirements.txt", [CONSTRAINTS]), ("requirements-dev.txt", FILES), ("requirements-graphs.txt", [GRAPH_CONSTRAINTS])],
)
def test_every_requirement_is_pinned_to_its_version(name: str, files: list[Path]) -> None:
    pinned = {pin.name: pin.version for path in files for pin in read_pins(path)}
    for requirement in read_requirements(ROOT / name):
        version = pinned.get(canonicalize_name(requirement.name))
        assert str(requirement.specifier) == f"=={version}", f"{requirement.name}: run make lock"


def test_no_package_is_pinned_twice() -> None:
    names = [pin.name for path in FILES for pin in read_pins(path)]
    assert len(names) == len(set(names))


def test_constraints_name_no_registry() -> None:
    assert all("://" not in path.read_text() for path in FILES)


def test_a_pin_is_read_with_its_marker_hashes_and_parents(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text(
        "# a comment\n"
        "Tz_Data==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via clock\n"
        "clock==2.0 \\\n    --hash=sha256:cc\n    # via\n    #   -r requirements.txt\n    #   watch\n\n# excluded:\n# zip\n"
    )
    assert read_pins(path) == (
        Pin("tz-data", "1.0", 'sys_platform == "win32"', ("aa", "bb"), ("clock",)),
        Pin("clock", "2.0", "", ("cc",), ("-r requirements.txt", "watch")),
    )
