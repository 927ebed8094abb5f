"""The browser's modules in few files: the eager ones joined, each lazy one by itself.

A module keeps its lines and its comments. In the bundle it is a function that returns its exports, below a comment with its
path: that is how the line of an error leads to its file. The bundle relies on one discipline, which `tests/test_modules.py`
checks: each import names its parts on a line of its own, each export is a declaration, and no imports form a circle.
"""

import posixpath
import re
from collections.abc import Mapping
from graphlib import TopologicalSorter

ENTRY = "waymark.mjs"
_IMPORT = re.compile(r'^import (\{ [^}]+ \}) from "([^"]+)";', re.MULTILINE)
_DYNAMIC_IMPORT = re.compile(r'(lazy\(\s*\(\) => import\(")([^"]+)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


def build_bundle(sources: Mapping[str, str]) -> str:
    """Join the entry and all modules that it needs, each after its imports. `sources` maps paths in `assets/` to texts."""
    imports: dict[str, list[str]] = {}
    open_paths = [ENTRY]
    while open_paths:
        path = open_paths.pop()
        if path not in imports:
            imports[path] = [_resolve(path, address) for _, address in _IMPORT.findall(sources[path])]
            open_paths.extend(imports[path])
    order = TopologicalSorter(imports).static_order()
    return "\n".join(["export const modules = {};", *(_build_part(path, sources[path]) for path in order)])


def build_lazy_module(path: str, source: str) -> str:
    """Take the imports of eager modules from the bundle. A second copy of a module would have a state of its own."""
    bundle = posixpath.relpath(ENTRY, posixpath.dirname(path))
    return f'import {{ modules }} from "{bundle}"; {_link_imports(path, source)}'


def is_lazy(path: str) -> bool:
    return path.endswith(".lazy.mjs")


def _build_part(path: str, source: str) -> str:
    body = _EXPORT.sub("", _link_imports(path, source))
    body = _DYNAMIC_IMPORT.sub(lambda found: f"{found[1]}./{_resolve(path, found[2])}", body)
    exports = ", ".join(_EXPORT.findall(source))
    return f'// assets/{path}\nmodules["{path}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n'


def _link_imports(path: str, source: str) -> str:
    """Replace each import of an eager module on its line."""

    def link_import(found: re.Match[str]) -> str:
        names, imported = found[1], _resolve(path, found[2])
        return found[0] if is_lazy(imported) else f'const {names} = modules["{imported}"];'

    return _IMPORT.sub(link_import, source)


def _resolve(path: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), address))
