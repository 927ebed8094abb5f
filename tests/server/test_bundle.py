"""The bundle: each module once, after its imports, with its lines and its path."""

from server.static_files import build_bundle

SOURCES = {
    "waymark.mjs": 'import { Page } from "./modules/page/page.mjs";\n\nnew Page();\n',
    "modules/page/page.mjs": (
        'import { icon } from "../controls/icons.mjs";\nimport { Menu } from "../controls/menu.mjs";\n\n'
        "export class Page {}\nconst own = 1;\n"
    ),
    "modules/controls/icons.mjs": "export const ICONS = [];\nexport async function icon() {}\n",
    "modules/controls/menu.mjs": 'import { icon } from "./icons.mjs";\n\nexport function Menu() {}\n',
    "modules/state/types.mjs": "export {};\n",
}


def test_each_needed_module_is_there_once_and_after_its_imports() -> None:
    starts = [line for line in build_bundle(SOURCES).splitlines() if line.startswith("// assets/")]
    assert starts[0] == "// assets/modules/controls/icons.mjs"
    assert starts[1:] == [
        "// assets/modules/controls/menu.mjs",
        "// assets/modules/page/page.mjs",
        "// assets/waymark.mjs",
    ]


def test_a_module_takes_its_imports_and_gives_its_exports() -> None:
    text = build_bundle(SOURCES)
    assert 'const { icon } = modules["modules/controls/icons.mjs"];' in text
    assert "return { ICONS, icon };" in text
    assert "return { Page };" in text
    assert "export" not in text


def test_a_line_keeps_its_distance_from_the_path_of_its_module() -> None:
    lines = build_bundle(SOURCES).splitlines()
    first = lines.index("// assets/modules/page/page.mjs") + 2
    assert lines[first + SOURCES["modules/page/page.mjs"].splitlines().index("const own = 1;")] == "const own = 1;"


def test_the_same_sources_give_the_same_bundle_in_any_order() -> None:
    assert build_bundle(dict(reversed(SOURCES.items()))) == build_bundle(SOURCES)
