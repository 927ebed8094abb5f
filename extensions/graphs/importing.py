"""Importing the Python file of a user graph, as `python FILE` would find its neighbours."""

import ast
import asyncio
import hashlib
import importlib
import importlib.util
import linecache
import logging
import re
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType

from pydantic import ValidationError

from checkpoints.values.sentence import sentence
from extensions.graphs.definitions import GraphDefinition, GraphLoadError

LATE_SECONDS = 10.0  # until the log says that an import takes long
MAX_IMPORT_SECONDS = 120.0
_log = logging.getLogger(__name__)
_TASK_NOTE = re.compile(r"During task with name '(.*)' and id '")  # of LangGraph, on the errors of nodes
_WAYMARK = Path(__file__).resolve().parents[2]


def import_variable(definition: GraphDefinition) -> object:
    """Return the variable that a definition names. Its file runs. Raises `GraphLoadError`."""
    path = definition.path
    if definition.problem:
        raise GraphLoadError(definition.problem)
    _require_file(path)
    module = _ImportThread(path, definition.folders).wait_for_module()
    try:
        return getattr(module, definition.variable)
    except AttributeError:
        raise GraphLoadError(f"{path} has no variable {definition.variable!r}.{_suggest_names(module)}") from None
    except Exception as error:  # a module may make its variables when they are read
        raise GraphLoadError(describe_error(error, path)) from error


def _require_file(path: Path) -> None:
    try:
        is_file = path.is_file()
    except OSError as error:  # such as a folder that is not open to Waymark
        raise GraphLoadError(f"{path} cannot be read ({error.strerror}).") from None
    if not is_file:
        raise GraphLoadError(f"There is no file {path}.")


def describe_error(error: BaseException, path: Path, variable: str = "") -> str:
    """Describe an error of a user graph's code in one sentence, with the last line of its own files on the way.

    Where there is none, the node or the line of the variable takes its place. Of errors of several tasks, the first is
    described.
    """
    found = _find_own_line(traceback.extract_tb(error.__traceback__), path)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
        found = _find_own_line(traceback.extract_tb(error.__traceback__), path) or found
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        error = error.__cause__  # no coroutine raises it as it is, and Python's words name no line
        found = _find_own_line(traceback.extract_tb(error.__traceback__), path)
    words = error.msg if isinstance(error, SyntaxError) else _read_words(error)
    kind, lines = type(error).__name__, words.strip().splitlines()
    text = f"{kind}: {lines[0][:300].rstrip('.')}" if lines else kind
    if isinstance(error, SyntaxError) and error.filename:
        return sentence("{file}, line {line}: {reason}.", file=error.filename, line=error.lineno, reason=text)
    if found is None and (node := _find_node(error)):
        return sentence("{file}, node {node}: {reason}.", file=path, node=node, reason=text)
    if found is None:
        return f"{path}{find_line(path, variable)}: {text}."
    return sentence("{file}, line {line}: {reason}.", file=found.filename, line=found.lineno, reason=text)


def _find_node(error: BaseException) -> str | None:
    """Return the name of the innermost node that raised an error."""
    notes = (_TASK_NOTE.match(note) for note in getattr(error, "__notes__", ()))
    return next((note[1] for note in notes if note), None)


def _find_own_line(frames: Sequence[traceback.FrameSummary], path: Path) -> traceback.FrameSummary | None:
    """Return the last of these places that is in the author's own files."""
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(path.parent)]
    return next((frame for frame in reversed(own) if not _is_installed(frame.filename)), None)


def _read_words(error: BaseException) -> str:
    try:
        if isinstance(error, ValidationError):  # its first line only counts
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{error.title}, {'.'.join(map(str, first['loc']))}: {first['msg']}"
        return str(error)
    except Exception:  # noqa: BLE001  (the author's class)
        return ""


def find_line(path: Path, variable: str) -> str:
    """Return the words that name the first line of a file that defines a variable; empty if none can be found."""
    try:
        nodes = list(ast.walk(ast.parse("".join(linecache.getlines(str(path))))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
        return ""
    number = next((node.lineno for node in nodes if _read_defined_name(node) == variable), None)  # type: ignore[attr-defined]
    return f", line {number}" if number else ""


def _read_defined_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.alias):
        return node.asname or node.name
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


class _ImportThread(Thread):
    """A thread that imports a file: code that never ends there must not keep the start waiting without a word."""

    def __init__(self, path: Path, folders: Sequence[Path]) -> None:
        super().__init__(name=f"import of {path.name}", daemon=True)
        self._path = path
        self._import = partial(copy_context().run, _import_file, path, folders)
        self._module: Future[ModuleType] = Future()

    def wait_for_module(self) -> ModuleType:
        """Return the module. Raises `GraphLoadError`, also where the import does not end in time."""
        self.start()
        wait([self._module], LATE_SECONDS)
        if not self._module.done():
            _log.warning("%s: the import has not ended after %g seconds.", self._describe_place(), LATE_SECONDS)
            wait([self._module], MAX_IMPORT_SECONDS - LATE_SECONDS)
        if self._module.done():
            return self._module.result()
        raise GraphLoadError(
            f"{self._describe_place()}: the import did not end within {MAX_IMPORT_SECONDS:g} seconds. "
            "A module that a graph is in must not wait or work when it is imported."
        )

    def run(self) -> None:
        with closing(asyncio.new_event_loop()) as loop:
            asyncio.set_event_loop(loop)  # as the main thread has one
            try:
                self._module.set_result(self._import())
            except BaseException as error:  # noqa: BLE001  (it belongs to whoever waits)
                self._module.set_exception(error)

    def _describe_place(self) -> str:
        frame = sys._current_frames().get(self.ident or 0)
        found = _find_own_line(traceback.extract_stack(frame), self._path) if frame else None
        return f"{found.filename}, line {found.lineno}" if found else str(self._path)


def _import_file(path: Path, folders: Sequence[Path]) -> ModuleType:
    root, name = _find_module_name(path)
    for each in (root, *folders):
        if str(each) not in sys.path:
            sys.path.append(str(each))  # last: Waymark's own modules keep their names
    try:
        return importlib.import_module(name) if "." in name else _execute_file(path)
    except BaseException as error:  # the thread is its own: nothing but the author's code raises here
        raise GraphLoadError(describe_error(error, path) + _describe_taken_names(error, root)) from error


def _find_module_name(path: Path) -> tuple[Path, str]:
    """Return the folder that has to be on the path of imports, and the name of a file's module from there.

    A file outside a package, or in one with the name of a module of Waymark, is imported alone.
    """
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    return (root, path.stem) if _is_ours(parts[0]) else (root, ".".join(parts))


def _execute_file(path: Path) -> ModuleType:
    """Import a file under a name that nothing else has."""
    name = f"waymark_user_graph_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_ours(name: str) -> bool:
    """Return whether a module of Waymark has this name."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and Path(file).resolve().parent in (_WAYMARK, _WAYMARK / name)


def _is_installed(file: str) -> bool:
    return "site-packages" in Path(file).parts


def _describe_taken_names(error: BaseException, root: Path) -> str:
    """Describe the modules beside a file that failed to import which Waymark's own modules hide."""
    if not isinstance(error, ImportError | AttributeError):
        return ""
    taken = sorted({each.stem for each in root.iterdir() if _is_ours(each.stem) and each.resolve().parent != _WAYMARK})
    return f" Waymark itself has a module {taken[0]!r}, which hides yours: give yours another name." if taken else ""


def _suggest_names(module: ModuleType) -> str:
    """Suggest the variables that may be a graph."""
    kinds = ("CompiledStateGraph", "StateGraph", "Pregel")
    names = [name for name, value in vars(module).items() if type(value).__name__ in kinds]
    return f" It has {', '.join(names[:5])}." if names else ""
