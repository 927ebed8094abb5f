"""Opening a user graph for one run: a graph as it is, or a new one from its factory for each run."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from agent.preparation.graph_inputs import InputForm
from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.importing import describe_error, find_line, import_variable
from extensions.graphs.input_form import read_form
from extensions.graphs.message_channel import find_messages_channel

AnyGraph = Pregel[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class UserGraph:
    """A graph whose file is imported. `entry` is a graph, or a factory that is called for each run.

    `store` is for one that brings none.
    """

    definition: GraphDefinition
    entry: Any
    form: InputForm | None = None
    store: BaseStore | None = None

    @asynccontextmanager
    async def open_graph(self, config: RunnableConfig) -> AsyncIterator[AnyGraph]:
        """Make the graph of one run, and release it afterwards. Raises `GraphLoadError`."""
        failure: BaseException | None = None
        async with AsyncExitStack() as stack:
            made = self.entry if _is_graph(self.entry) else await self._make(config, stack)
            made = _compile(made, self.definition)
            if not isinstance(made, Pregel):
                raise GraphLoadError(self._describe_wrong_type(made, "made"))
            try:
                yield made
            except BaseException as error:
                failure = error
                raise
        if failure is not None:
            raise failure  # the author's context manager has swallowed it

    @property
    def channels(self) -> Collection[str] | None:
        """The names of the graph's channels; None where a factory makes it for each run."""
        return list(self.entry.channels) if _is_graph(self.entry) else None

    async def _make(self, config: RunnableConfig, stack: AsyncExitStack) -> Any:
        try:
            arguments = _choose_arguments(self.entry, config, self.store)
            # A plain function may block, for example while it lists the tools of a server.
            is_async = inspect.iscoroutinefunction(self.entry) or inspect.isasyncgenfunction(inspect.unwrap(self.entry))
            made = self.entry(**arguments) if is_async else await asyncio.to_thread(self.entry, **arguments)
            if inspect.isawaitable(made):
                made = await made
            if hasattr(made, "__aenter__"):
                return await stack.enter_async_context(made)
            return stack.enter_context(made) if hasattr(made, "__enter__") else made
        except Exception as error:  # foreign code
            raise GraphLoadError(describe_error(error, self.definition.path, self.definition.variable)) from error

    def _describe_wrong_type(self, value: object, verb: str) -> str:
        path, variable = self.definition.path, self.definition.variable
        line = find_line(path, variable)
        return f"{path}{line}: {variable} {verb} {_describe_type(value)}, and not a graph of LangGraph."


def load_user_graph(definition: GraphDefinition, store: BaseStore | None = None) -> UserGraph:
    """Import the file of a graph, and check its type. Raises `GraphLoadError`."""
    entry = _compile(import_variable(definition), definition)
    form = _read_form(entry, definition) if _is_graph(entry) else None
    user_graph = UserGraph(definition, entry, form, store)
    if not _is_graph(user_graph.entry) and not callable(user_graph.entry):
        raise GraphLoadError(user_graph._describe_wrong_type(user_graph.entry, "is"))
    return user_graph


def _read_form(entry: Any, definition: GraphDefinition) -> InputForm | None:
    try:
        return read_form(entry, find_messages_channel(entry, definition.messages_key))
    except GraphLoadError as error:
        raise GraphLoadError(f"{definition.path}{find_line(definition.path, definition.variable)}: {error}") from error


def _compile(value: Any, definition: GraphDefinition) -> Any:
    """Compile what is not compiled yet, and return any other value as it is. Raises `GraphLoadError`."""
    if not isinstance(value, StateGraph):
        return value
    try:
        return value.compile()
    except Exception as error:  # such as a graph without an edge from its start
        raise GraphLoadError(describe_error(error, definition.path, definition.variable)) from error


def _is_graph(value: object) -> bool:
    return isinstance(value, Pregel | StateGraph)


def _describe_type(value: object) -> str:
    return "None" if value is None else f"an object of the type {type(value).__name__}"


def _choose_arguments(factory: Callable[..., Any], config: RunnableConfig, store: BaseStore | None) -> dict[str, Any]:
    """Return the arguments that a factory takes: a config, a runtime, both, or none."""
    function = inspect.unwrap(factory)
    hints = _read_hints(function) if inspect.isroutine(function) else {}
    needed = [each for each in inspect.signature(factory).parameters.values() if each.default is each.empty]
    chosen: dict[str, Any] = {}
    for each in needed:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        is_runtime = each.name == "runtime" or "Runtime" in str(hints.get(each.name, ""))
        chosen[each.name] = _make_runtime(store) if is_runtime else config
    return chosen


def _read_hints(function: Any) -> dict[str, Any]:
    """Return the types of a function's parameters; as text where a name was imported for type checkers alone."""
    try:
        return get_type_hints(function)
    except Exception:  # noqa: BLE001  (the author's annotations)
        return dict(function.__annotations__)


def _make_runtime(store: BaseStore | None) -> Any:
    """Return the runtime that LangGraph's server gives to a factory."""
    from langgraph_sdk.runtime import _ExecutionRuntime  # noqa: PLC0415  (the server's own class; few factories need it)

    given = store or InMemoryStore()
    return _ExecutionRuntime(access_context="threads.create_run", store=given)
