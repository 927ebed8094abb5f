"""The browser's modules: who imports whom, what is fetched when, and how long things are. Nothing is run here."""

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from server.static_files import ROOMS, list_eager_modules

MODULES = Path(__file__).parents[1] / "assets" / "modules"
MAX_FUNCTION_LINES = 40
MAX_FILE_LINES = 300
# Each room may import from itself and from these.
MAY_IMPORT: dict[str, set[str]] = {
    "lib": set(),
    "page": {"lib"},
    "settings": {"lib"},
    "message": {"lib"},
    "transcript": {"lib", "page", "settings", "message"},
    "composer": {"lib", "page", "settings", "message"},
    "timeline": {"lib", "page", "message"},
    "threads": {"lib", "page"},
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STATIC = re.compile(r'^import \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
DYNAMIC = re.compile(r'\bimport\("([^"]+)"\)')
LAZY = re.compile(r'lazy\(\(\) => import\("([^"]+)"\), "(\w+)"')
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
FUNCTION = re.compile(
    r"""(\ *)(?:
        (?:export\ )?(?:async\ )?function\ \w*\(
        | (?:export\ )?const\ \w+\ =\ (?:\w+\()?(?:async\ )?(?:\(.*\)|\w+)\ =>
        | \#?\w+\(.*\)\ \{$
    )""",
    re.VERBOSE,
)


def _names(pattern: str) -> list[str]:
    return sorted(path.relative_to(MODULES).as_posix() for path in MODULES.rglob(pattern))


def _code(module: str) -> str:
    return COMMENT.sub("", (MODULES / module).read_text())


def _target(module: str, address: str) -> str:
    return ((MODULES / module).parent / address).resolve().relative_to(MODULES).as_posix()


def _static(module: str) -> dict[str, list[str]]:
    """Imported modules, each with the names that are taken from it."""
    return {_target(module, address): names.split(", ") for names, address in STATIC.findall(_code(module))}


def _dynamic(module: str) -> set[str]:
    return {_target(module, address) for address in DYNAMIC.findall(_code(module))}


def _room(module: str) -> str:
    return module.partition("/")[0]


def _is_lazy(module: str) -> bool:
    return module.endswith(".lazy.mjs")


def _functions(code: str) -> Iterator[tuple[str, int]]:
    """The first line of each function that has several, and how many it has."""
    lines = code.splitlines()
    for first, line in enumerate(lines):
        if (found := FUNCTION.match(line)) and line.endswith(("{", "(", "=>")):
            end = re.compile(rf"{found[1]}[^ ]")
            last = next(number for number in range(first + 1, len(lines)) if end.match(lines[number]))
            yield line.strip(), last - first + 1


ALL = _names("*.mjs")


def test_no_module_imports_itself_over_others() -> None:
    graph = {module: {*_static(module), *_dynamic(module)} for module in ALL}
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


@pytest.mark.parametrize("module", ALL)
def test_a_room_imports_only_from_the_rooms_below_it(module: str) -> None:
    room = _room(module)
    assert {_room(other) for other in {*_static(module), *_dynamic(module)}} <= {room, *MAY_IMPORT[room]}


def test_the_rooms_stand_floor_by_floor() -> None:
    assert {path.name for path in MODULES.iterdir()} == set(ROOMS) == set(MAY_IMPORT)
    for place, room in enumerate(ROOMS):
        assert MAY_IMPORT[room] <= set(ROOMS[:place])


@pytest.mark.parametrize("module", ALL)
def test_every_imported_name_is_there(module: str) -> None:
    taken = [(other, name) for other, names in _static(module).items() for name in names]
    taken += [(_target(module, address), name) for address, name in LAZY.findall(_code(module))]
    assert [(other, name) for other, name in taken if name not in EXPORT.findall(_code(other))] == []


@pytest.mark.parametrize("module", ALL)
def test_what_is_lazy_is_fetched_by_the_loader_alone(module: str) -> None:
    assert [other for other in _static(module) if _is_lazy(other) and not _is_lazy(module)] == []
    assert [other for other in _dynamic(module) if not _is_lazy(other)] == []
    assert len(DYNAMIC.findall(_code(module))) == len(LAZY.findall(_code(module)))


def test_what_is_not_lazy_is_preloaded_and_needed() -> None:
    entry = STATIC.findall((MODULES.parent / "waymark.mjs").read_text())
    needed, new = set(), {address.removeprefix("./modules/") for _, address in entry}
    while new:
        needed |= new
        new = {other for module in new for other in _static(module)} - needed
    assert list_eager_modules() == sorted(f"/assets/modules/{module}" for module in needed)


@pytest.mark.parametrize("module", ALL)
def test_functions_and_modules_stay_short(module: str) -> None:
    assert len((MODULES / module).read_text().splitlines()) <= MAX_FILE_LINES
    assert [found for found in _functions(_code(module)) if found[1] > MAX_FUNCTION_LINES] == []


def test_the_check_of_functions_sees_a_long_one() -> None:
    body = "\n".join(["  one();"] * MAX_FUNCTION_LINES)
    for first in ("export function long() {", "const long = (a, b) => {", "async function long() {"):
        assert list(_functions(f"{first}\n{body}\n}}\n")) == [(first, MAX_FUNCTION_LINES + 2)]


@pytest.mark.parametrize("sheet", _names("*.css"))
def test_a_style_sheet_is_short_and_lies_in_the_room_that_it_dresses(sheet: str) -> None:
    assert len((MODULES / sheet).read_text().splitlines()) <= MAX_FILE_LINES
    if sheet.endswith(".lazy.css"):
        name = sheet.rpartition("/")[2]
        assert f'loadStyle(new URL("./{name}", import.meta.url));' in _code(sheet.removesuffix(".css") + ".mjs")


def test_the_modules_of_an_import_are_in_order() -> None:
    """Other rooms first, then the own one, each by its path."""
    for module in ALL:
        addresses = [address for _, address in STATIC.findall(_code(module))]
        keys = [(not address.startswith("../"), address) for address in addresses]
        assert all(one < other for one, other in pairwise(keys)), module
