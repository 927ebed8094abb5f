"""The user graphs of the app, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from langgraph.store.base import BaseStore

from agent.settings import GraphOffer
from checkpoints import StateError
from checkpoints.values.sentence import sentence
from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.graph_loop import GraphLoop
from extensions.graphs.opening import UserGraph, load_user_graph
from extensions.graphs.surroundings import make_store


class GraphUnavailableError(StateError):
    """The graph of a conversation is not offered any more. No other replaces it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            sentence(
                "The graph of this conversation, {name}, is not there any more: start Waymark with it again.", name=name
            )
        )


@dataclass(frozen=True, slots=True)
class GraphCatalog:
    """The graphs whose files are imported, and why others cannot be loaded. The offer has what people may read."""

    graphs: Mapping[str, UserGraph]
    offer: GraphOffer
    problems: Mapping[str, str]  # for the log: with paths, and with the texts of foreign errors
    loop: GraphLoop = field(default_factory=GraphLoop)

    @classmethod
    def load_graphs(cls, definitions: Sequence[GraphDefinition], default: str = "", *, hides_reasons: bool = False) -> Self:
        """Import the file of each graph. Raises `GraphLoadError`, whose text names the graph, where none can be loaded.

        With `hides_reasons`, people are told that the log has the reason of one that cannot.
        The usual one stays it where it cannot: no other gets questions that were meant for it.
        """
        graphs: dict[str, UserGraph] = {}
        problems: dict[str, str] = {}
        store: BaseStore | None = None
        for each in definitions:
            try:
                store = store or make_store(definitions)
                graphs[each.name] = load_user_graph(each, store)
            except GraphLoadError as error:
                problems[each.name] = f"The graph {each.name} cannot be loaded. {error}"
                if len(problems) == len(definitions):
                    raise GraphLoadError(next(iter(problems.values()))) from error
        shown = {name: f"The graph {name} cannot be loaded. The log has the reason." for name in problems}
        return cls(graphs, GraphOffer(tuple(graphs), default, shown if hides_reasons else problems), problems)

    def find_graph(self, name: str) -> UserGraph:
        """Return a graph by its name. Raises `GraphUnavailableError`, or `GraphLoadError` with the reason that is known."""
        if problem := self.offer.problems.get(name):
            raise GraphLoadError(problem)
        try:
            return self.graphs[name]
        except KeyError:
            raise GraphUnavailableError(name) from None
