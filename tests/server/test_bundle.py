"""The bundle: each module once, after its imports, with its lines and its path."""

from server.static_files import build_bundle, build_lazy_module

SOURCES = {
    "waymark.mjs": 'import { Page } from "./modules/page/page.mjs";\n\nnew Page();\n',
    "modules/page/page.mjs": (
        'import { icon } from "../lib/icons.mjs";\nimport { lazy } from "../lib/lazy.mjs";\n\n'
        'const Help = lazy(() => import("./help.lazy.mjs"), "Help");\nexport class Page {}\nconst own = 1;\n'
    ),
    "modules/page/help.lazy.mjs": (
        'import { icon } from "../lib/icons.mjs";\nimport { useFetch } from "../lib/fetch.lazy.mjs";\n\n'
        "export const Help = 1;\n"
    ),
    "modules/lib/icons.mjs": "export const ICONS = [];\nexport async function icon() {}\n",
    "modules/lib/lazy.mjs": 'import { icon } from "./icons.mjs";\n\nexport function lazy() {}\n',
    "modules/lib/types.mjs": "export {};\n",
}


def test_each_needed_module_is_there_once_and_after_its_imports() -> None:
    starts = [line for line in build_bundle(SOURCES).splitlines() if line.startswith("// assets/")]
    assert starts[0] == "// assets/modules/lib/icons.mjs"
    assert starts[1:] == [
        "// assets/modules/lib/lazy.mjs",
        "// assets/modules/page/page.mjs",
        "// assets/waymark.mjs",
    ]


def test_a_module_takes_its_imports_and_gives_its_exports() -> None:
    text = build_bundle(SOURCES)
    assert 'const { icon } = modules["modules/lib/icons.mjs"];' in text
    assert "return { ICONS, icon };" in text
    assert "return { Page };" in text
    assert "\nexport const modules = {};" in f"\n{text}"
    assert text.count("export") == 1


def test_a_line_keeps_its_distance_from_the_path_of_its_module() -> None:
    lines = build_bundle(SOURCES).splitlines()
    first = lines.index("// assets/modules/page/page.mjs") + 2
    assert lines[first + SOURCES["modules/page/page.mjs"].splitlines().index("const own = 1;")] == "const own = 1;"


def test_a_lazy_module_is_fetched_from_its_place_beside_the_bundle() -> None:
    assert 'lazy(() => import("./modules/page/help.lazy.mjs"), "Help")' in build_bundle(SOURCES)


def test_a_lazy_module_shares_the_eager_modules_of_the_bundle() -> None:
    path = "modules/page/help.lazy.mjs"
    lines = build_lazy_module(path, SOURCES[path]).splitlines()
    assert lines[0] == 'import { modules } from "../../waymark.mjs"; const { icon } = modules["modules/lib/icons.mjs"];'
    assert lines[1:] == SOURCES[path].splitlines()[1:]


def test_the_same_sources_give_the_same_bundle_in_any_order() -> None:
    assert build_bundle(dict(reversed(SOURCES.items()))) == build_bundle(SOURCES)
