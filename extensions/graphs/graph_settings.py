"""The graphs of the settings: `GRAPH`, `[graphs.NAME]` of waymark.toml, and LangGraph's own `langgraph.json`."""

import importlib.util
import json
import logging
import os
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from application.settings import Settings, SettingsError, list_own_keys
from extensions.graphs.definitions import GraphDefinition

MAX_GRAPH_NAME_CHARS = 60
_READ_KEYS = ("$schema", "graphs", "env", "store")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _GraphFile:
    """The parts of a langgraph.json read by Waymark."""

    graphs: list[GraphDefinition]
    environment: Mapping[str, str]
    ignored_keys: list[str]


def list_graphs(settings: Settings, environ: MutableMapping[str, str] = os.environ) -> list[GraphDefinition]:
    """Return the graphs of the settings, those of `GRAPH` first. Raises `SettingsError`.

    The environment becomes that of a langgraph.json: Waymark's own settings are removed, and the file's variables are set,
    unless they are set already.
    """
    found: list[GraphDefinition] = []
    if settings.graph and settings.graph.endswith(".json"):
        file = _read_graph_file(Path(settings.graph).expanduser().resolve())
        for name in list_own_keys():
            environ.pop(name, None)
        for name, value in file.environment.items():
            environ.setdefault(name, value)
        if file.ignored_keys:
            _log.warning("%s: Waymark does not use %s.", settings.graph, ", ".join(file.ignored_keys))
        found += file.graphs
    elif settings.graph:
        found.append(_parse_path(settings.graph, name=settings.graph.rpartition(":")[2]))
    for name, table in settings.graphs.items():
        place = next((place for place, each in enumerate(found) if each.name == name), None)
        if table.path is None:
            if place is None:
                raise SettingsError(f"[graphs.{name}] in waymark.toml has no path, and GRAPH no graph of that name.")
            found[place] = replace(found[place], context=table.context, messages_key=table.messages_key)
            continue
        if place is not None:
            raise SettingsError(f"[graphs.{name}] in waymark.toml has the name of a graph of GRAPH. Choose another.")
        given = {"description": table.description, "context": table.context, "messages_key": table.messages_key}
        found.append(_parse_path(table.path, name=name, **given))
    return found


def _parse_path(text: str, **options: Any) -> GraphDefinition:
    path, _, variable = text.rpartition(":")
    return GraphDefinition(path=Path(path).expanduser().resolve(), variable=variable, **options)


def _read_graph_file(path: Path) -> _GraphFile:
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SettingsError(f"GRAPH: there is no file {path}.") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"GRAPH: {path}, line {error.lineno}, is not JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"GRAPH: {path} cannot be read ({type(error).__name__}).") from None
    graphs = given.get("graphs") if isinstance(given, dict) else None
    if not isinstance(graphs, dict) or not graphs:
        raise SettingsError(f"GRAPH: {path} names no graphs.")
    folders = _list_folders(given.get("dependencies"), path.parent)
    store = given.get("store") if isinstance(given.get("store"), dict) else {}
    index = store.get("index") if isinstance(store.get("index"), dict) else None
    read = [replace(_read_entry(name, entry, path, folders), store_index=index) for name, entry in graphs.items()]
    ignored = [key for key in given if key not in _READ_KEYS] + [f"store.{key}" for key in store if key != "index"]
    return _GraphFile(read, _read_environment(given.get("env"), path), ignored)


def _list_folders(dependencies: Any, project: Path) -> Sequence[Path]:
    """Return the folders whose modules a project's graphs may import: its own, and folders among its dependencies."""
    named = [each for each in dependencies if isinstance(each, str)] if isinstance(dependencies, list) else []
    roots = [project, *(project / each for each in named if each.startswith("."))]
    folders = (folder.resolve() for root in roots for folder in (root, root / "src"))
    return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def _read_entry(name: str, entry: Any, file: Path, folders: Sequence[Path]) -> GraphDefinition:
    """Read the entry of a graph: `"path.py:variable"` or `"module:variable"`, or a table with a path and a description."""
    table = {"path": entry} if isinstance(entry, str) else entry
    path, about = (table.get("path"), table.get("description", "")) if isinstance(table, dict) else (None, "")
    place, _, variable = path.rpartition(":") if isinstance(path, str) else ("", "", "")
    is_file = place.endswith(".py")
    found: Path | None = file
    if len(name) > MAX_GRAPH_NAME_CHARS:
        problem = f"It has a name of more than {MAX_GRAPH_NAME_CHARS} characters in {file}."
    elif not isinstance(about, str) or not variable or not (is_file or _MODULE.fullmatch(place)):
        problem = f"{file} must name it as FILE.py:NAME or MODULE:NAME: graphs in other languages do not run here."
    else:
        found = (file.parent / Path(place).expanduser()).resolve() if is_file else _find_module(place, folders)
        problem = "" if found else f"The module {place} of {file} is neither in that project nor installed."
    return GraphDefinition(name[:MAX_GRAPH_NAME_CHARS], found or file, variable, str(about), folders, problem=problem)


def _find_module(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a module, in the folders or installed, without importing anything."""
    first, *others = name.split(".")
    installed = importlib.util.find_spec(first)
    packages = installed.submodule_search_locations or [] if installed else []
    bases = [*(folder / first for folder in folders), *map(Path, packages)]
    modules = (base.joinpath(*others) for base in bases)
    files = (file for module in modules for file in (module.with_suffix(".py"), module / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _read_environment(given: Any, file: Path) -> dict[str, str]:
    """Read the variables of a langgraph.json: a table of texts, or the path of a file in the form of `.env`."""
    if isinstance(given, dict):
        return {str(key): str(value) for key, value in given.items()}
    if not isinstance(given, str):
        return {}
    path = file.parent / given
    if not path.is_file():
        # A new project has no such file yet.
        _log.warning("%s names the file %r of environment variables, and there is no such file.", file, given)
        return {}
    try:
        return {key: value for key, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"GRAPH: {path} cannot be read ({type(error).__name__}).") from None
