"""The surroundings of a graph's runs beside its state: the context that the settings give, and LangGraph's `Store`."""

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.importing import describe_error, import_variable
from extensions.graphs.input_form import read_json_schema
from extensions.graphs.opening import AnyGraph


def make_store(definitions: Sequence[GraphDefinition]) -> BaseStore:
    """Make the store of the graphs that bring none. It is in memory, and no state has a part of it.

    Raises `GraphLoadError` for an index that cannot be made.
    """
    defined = next((each for each in definitions if each.store_index), None)
    if defined is None:
        return InMemoryStore()
    index: Any = dict(defined.store_index or {})
    try:
        index["embed"] = _find_embeddings(index.get("embed"), defined)
        return InMemoryStore(index=index)
    except Exception as error:  # foreign code, or another package that it needs
        raise GraphLoadError(
            f"The store of the langgraph.json cannot be made. {describe_error(error, defined.path)}"
        ) from error


def _find_embeddings(named: Any, definition: GraphDefinition) -> Any:
    """Return the author's function of `FILE.py:NAME`; the name of a provider's model as it is."""
    file, _, variable = named.rpartition(":") if isinstance(named, str) else ("", "", "")
    if not file.endswith(".py"):
        return named
    return import_variable(GraphDefinition("embed", definition.folders[0] / file, variable, folders=definition.folders))


def choose_context(graph: AnyGraph, definition: GraphDefinition) -> dict[str, Any] | None:
    """Return the context of a run. LangGraph adds the defaults of its schema; None where the graph asks for none."""
    return dict(definition.context) if definition.context or graph.context_schema is not None else None


def list_missing_context(graph: AnyGraph, definition: GraphDefinition) -> list[str]:
    """Return the names that the schema of a graph's context requires and the settings do not give."""
    schema = graph.context_schema
    required = read_json_schema(schema).get("required") or () if schema is not None else ()
    return [name for name in required if name not in definition.context]
