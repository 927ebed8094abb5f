"""What the server needs of the browser's modules. oxlint and TypeScript check the rest."""

import re
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from server.static_files import ROOMS, build_bundle

MODULES = Path(__file__).parents[1] / "assets" / "modules"
MAX_SHEET_LINES = 300
MAX_COLUMNS = 125
TEXT = re.compile(r'\s*(?:_\()?"[^"]*"[),;]*')  # a text is one string, however long: the catalogue finds it so
# Each room may import from itself and from these.
BASE = ("words", "browser", "controls", "requests", "state")
MAY_IMPORT: dict[str, set[str]] = {
    "words": set(),
    "browser": {"words"},
    "controls": {"words", "browser"},
    "requests": {"words", "browser", "controls"},
    "state": {"words", "browser", "controls", "requests"},
    "page": {*BASE},
    "dialogs": {*BASE, "page"},
    "settings": {*BASE, "page"},
    "message": {*BASE},
    "transcript": {*BASE, "page", "dialogs", "settings", "message"},
    "composer": {*BASE, "page", "dialogs", "settings", "message"},
    "history": {*BASE, "page", "dialogs", "message"},
    "threads": {*BASE, "page"},
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STATIC = re.compile(r'^import \{ [^}]+ \} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def _list_files(pattern: str) -> list[str]:
    return sorted(path.relative_to(MODULES).as_posix() for path in MODULES.rglob(pattern))


@cache
def _read_code(module: str) -> str:
    return COMMENT.sub("", (MODULES / module).read_text())


def _resolve(module: str, address: str) -> str:
    return ((MODULES / module).parent / address).resolve().relative_to(MODULES).as_posix()


@cache
def _find_imports(module: str) -> set[str]:
    return {_resolve(module, address) for address in STATIC.findall(_read_code(module))}


def _build_whole_bundle() -> str:
    assets = MODULES.parent
    return build_bundle({path.relative_to(assets).as_posix(): path.read_text() for path in assets.rglob("*.mjs")})


def _get_room(module: str) -> str:
    return module.partition("/")[0]


ALL = _list_files("*.mjs")


def test_imports_have_no_circle() -> None:
    graph = {module: _find_imports(module) for module in ALL}
    assert list(TopologicalSorter(graph).static_order())  # CycleError names the circle


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_the_rooms_below_it(room: str) -> None:
    imports = [(module, other) for module in ALL if _get_room(module) == room for other in _find_imports(module)]
    assert [each for each in imports if _get_room(each[1]) not in {room, *MAY_IMPORT[room]}] == []


def test_each_room_imports_only_from_floors_below() -> None:
    assert {path.name for path in MODULES.iterdir()} == set(ROOMS) == set(MAY_IMPORT)
    for floor, room in enumerate(ROOMS):
        assert MAY_IMPORT[room] <= set(ROOMS[:floor])


def test_every_module_is_needed() -> None:
    needed = set(re.findall(r'^modules\["modules/([^"]+)"\]', _build_whole_bundle(), re.MULTILINE))
    assert needed == {module for module in ALL if not module.endswith("types.mjs")}


def test_every_import_is_linked() -> None:
    assert re.findall(r"^import .*", _build_whole_bundle(), re.MULTILINE) == []


def test_every_export_is_a_declaration() -> None:
    for module in ALL:
        exports = re.findall(r"^export\b", _read_code(module), re.MULTILINE)
        assert len(exports) == len(EXPORT.findall(_read_code(module))) + (module == "state/types.mjs"), module


def test_lines_stay_short() -> None:
    for module in [*ALL, "../waymark.mjs", "../first-paint.js", "../theme.js"]:
        lines = (MODULES / module).read_text().splitlines()
        assert [line for line in lines if len(line) > MAX_COLUMNS and not TEXT.fullmatch(line)] == [], module


def test_a_style_sheet_is_short() -> None:
    for sheet in _list_files("*.css"):
        assert len((MODULES / sheet).read_text().splitlines()) <= MAX_SHEET_LINES, sheet


def test_no_style_sheet_looks_through_the_whole_page() -> None:
    """With a rule like `body:has(.open) .card`, the browser matches hundreds of elements again whenever one is added."""
    for sheet in _list_files("*.css"):
        code = COMMENT.sub("", (MODULES / sheet).read_text())
        assert not re.search(r"(?<![\w.-])(?:body|html|:root)[^\s{,]*:has\(", code), sheet


def test_no_module_names_a_file_by_an_absolute_address() -> None:
    """The address of a file holds the hash of all files, so it can only be found from the address of a module."""
    for module in ALL:
        assert not re.search(r"/(assets|vendor)/|[\w-]+\.(svg|css|m?js)#", _read_code(module)), module
    assert [module for module in ALL if "icons.svg" in _read_code(module)] == ["controls/icons.mjs"]


def test_json_is_sent_by_one_module() -> None:
    """A dialog with a request of its own would have rules of its own for refusals and lost replies."""
    found = {
        module
        for module in ALL
        if {"JSON.stringify", "fetchAsPage("} <= set(re.findall(r"JSON\.stringify|\bfetchAsPage\(", _read_code(module)))
    }
    assert found == {"requests/send.mjs"}


def test_imports_are_in_order() -> None:
    """Check the order: modules of other rooms first, then of the own room, each sorted by path."""
    for module in ALL:
        addresses = STATIC.findall(_read_code(module))
        keys = [(not address.startswith("../"), address) for address in addresses]
        assert all(one < other for one, other in pairwise(keys)), module
