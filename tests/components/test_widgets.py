"""The page's parts in Python and in the browser: one list each, and nothing missing in either."""

import re
from pathlib import Path

from components import page, widgets

ROOT = Path(__file__).parents[2]
ENTRY = (ROOT / "assets" / "waymark.mjs").read_text()
CALLBACK = re.compile(r'ClientsideFunction\("waymark", "(\w+)"\)')


def read_list(name: str) -> list[str]:
    found = re.search(rf"^const {name} = {{\s+([^}}]+?),?\s+}};$", ENTRY, re.MULTILINE)
    assert found, name
    return re.split(r",\s+", found[1])


def test_each_component_has_its_half_in_the_browser() -> None:
    assert sorted(read_list("components")) == sorted(each._type for each in widgets._Widget.__subclasses__())


def test_each_clientside_callback_is_one_of_the_browser() -> None:
    sources = [path for folder in ("components", "extensions") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in sources for name in CALLBACK.findall(path.read_text())}
    assert named == set(read_list("clientside"))


def test_each_panel_is_in_the_list_of_the_page() -> None:
    defining = {
        path.stem
        for path in (ROOT / "components" / "panels").glob("*.py")
        if re.search(r"^PANEL\b.* = ", path.read_text(), re.MULTILINE)
    }
    assert defining == {name for name, each in vars(page).items() if getattr(each, "PANEL", None) in page.PANELS}
    assert len(page.PANELS) == len(defining)
