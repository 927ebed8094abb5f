"""The graphs that the settings name: `GRAPH`, `[graphs.NAME]` of waymark.toml, and LangGraph's own `langgraph.json`."""

import json
import logging
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from agent.guests.definitions import GraphDefinition
from config import Settings, SettingsError

MAX_GRAPH_NAME_CHARS = 60
_READ_KEYS = ("$schema", "graphs", "env")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _GraphFile:
    """The parts of a langgraph.json that Waymark reads."""

    graphs: list[GraphDefinition]
    environment: Mapping[str, str]
    ignored_keys: list[str]


def list_graphs(settings: Settings, environ: MutableMapping[str, str] = os.environ) -> list[GraphDefinition]:
    """Return the graphs that the settings name; those of `GRAPH` come first. Raises `SettingsError`.

    The variables that a langgraph.json names are set, unless they are set already: its graphs read them.
    """
    found: list[GraphDefinition] = []
    if settings.graph and settings.graph.endswith(".json"):
        file = _read_graph_file(Path(settings.graph).expanduser().resolve())
        for name, value in file.environment.items():
            environ.setdefault(name, value)
        if file.ignored_keys:
            _log.warning("%s: ignored are %s.", settings.graph, ", ".join(file.ignored_keys))
        found += file.graphs
    elif settings.graph:
        found.append(_parse_path(settings.graph, Path(), name=settings.graph.rpartition(":")[2]))
    for name, table in settings.graphs.items():
        if any(each.name == name for each in found):
            raise SettingsError(f"[graphs.{name}] in waymark.toml has the name of a graph of GRAPH. Choose another.")
        found.append(_parse_path(table.path, Path(), name=name, description=table.description))
    return found


def _parse_path(text: str, folder: Path, *, name: str, description: str = "") -> GraphDefinition:
    path, _, variable = text.rpartition(":")
    whole = (folder / Path(path).expanduser()).resolve()
    return GraphDefinition(name, whole, variable, description, folder.resolve() if folder != Path() else None)


def _read_graph_file(path: Path) -> _GraphFile:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"GRAPH: there is no file {path}.") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"GRAPH: {path}, line {error.lineno}, is not JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"GRAPH: {path} cannot be read ({type(error).__name__}).") from None
    graphs = given.get("graphs") if isinstance(given, dict) else None
    if not isinstance(graphs, dict) or not graphs:
        raise SettingsError(f"GRAPH: {path} names no graphs.")
    read = [_read_entry(name, entry, path) for name, entry in graphs.items()]
    ignored = [key for key in given if key not in _READ_KEYS]
    return _GraphFile(read, _read_environment(given.get("env"), path), ignored)


def _read_entry(name: str, entry: Any, file: Path) -> GraphDefinition:
    """Read one of the graphs: `"path.py:variable"`, or a table with that path and a description."""
    table = {"path": entry} if isinstance(entry, str) else entry
    path, about = (table.get("path"), table.get("description", "")) if isinstance(table, dict) else (None, "")
    if not isinstance(path, str) or not isinstance(about, str) or ".py:" not in path:
        raise SettingsError(f"GRAPH: the graph {name[:MAX_GRAPH_NAME_CHARS]!r} of {file} must be FILE.py:NAME.")
    if len(name) > MAX_GRAPH_NAME_CHARS:
        raise SettingsError(f"GRAPH: a graph of {file} has a name of more than {MAX_GRAPH_NAME_CHARS} characters.")
    return _parse_path(path, file.parent, name=name, description=about)


def _read_environment(given: Any, file: Path) -> dict[str, str]:
    """Read the variables of a langgraph.json: a table of texts, or the path of a file in the form of `.env`."""
    if isinstance(given, dict):
        return {str(key): str(value) for key, value in given.items()}
    if not isinstance(given, str):
        return {}
    path = file.parent / given
    if not path.is_file():
        raise SettingsError(f"GRAPH: {file} names the environment {given!r}, and there is no such file.")
    try:
        return {key: value for key, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"GRAPH: {path} cannot be read ({type(error).__name__}).") from None
