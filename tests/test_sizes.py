"""The sizes of modules and functions in Python. oxlint checks those of the browser's modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
# docs/architecture.md says why.
LONG_MODULES = {
    "checkpoints/reader.py",
    "checkpoints/runs.py",
    "checkpoints/store.py",
    "checkpoints/values/errors.py",
    "checkpoints/storage/schema.py",
}


def list_modules() -> list[Path]:
    packages = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"]
    within = (path for package in packages for path in package.rglob("*.py") if path.parent.name != "versions")
    return sorted([*ROOT.glob("*.py"), *within])


def _list_functions(parent: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions within a module, a class or a function. Expressions, the most nodes of all, hold none."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _list_functions(node)


def test_few_modules_are_long() -> None:
    modules = list_modules()
    assert len(modules) > 500
    sizes = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in modules}
    assert {name for name, size in sizes.items() if size > MAX_MODULE_LINES} == LONG_MODULES
    architecture = (ROOT / "docs" / "architecture.md").read_text()
    assert [name for name in LONG_MODULES if name not in architecture] == []


def test_no_function_is_long() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} {size}"
        for path in list_modules()
        for node in _list_functions(ast.parse(path.read_text()))
        if (size := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert long == []
