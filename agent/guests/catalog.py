"""The guest graphs of the app, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from agent.guests.definitions import GraphDefinition, GraphLoadError
from agent.guests.opening import GuestGraph, load_guest
from agent.guests.surroundings import make_store
from agent.settings import GraphOffer
from checkpoints import StateError
from checkpoints.values.sentence import sentence


class GraphUnavailableError(StateError):
    """The graph of a conversation is not offered any more. No other replaces it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            sentence(
                "The graph of this conversation, {name}, is not there any more: start Waymark with it again.", name=name
            )
        )


@dataclass(frozen=True, slots=True)
class GuestCatalog:
    """The graphs whose files are imported. The offer names those that cannot be loaded, each with the reason."""

    graphs: Mapping[str, GuestGraph]
    offer: GraphOffer

    @classmethod
    def load_graphs(cls, definitions: Sequence[GraphDefinition], default: str = "") -> Self:
        """Import the file of each graph. Raises `GraphLoadError`, whose text names the graph, where none can be loaded.

        Where the usual one cannot, the first of the others takes its place.
        """
        graphs: dict[str, GuestGraph] = {}
        problems: dict[str, str] = {}
        store = make_store(definitions)
        for each in definitions:
            try:
                graphs[each.name] = load_guest(each, store)
            except GraphLoadError as error:
                problems[each.name] = f"The graph {each.name} cannot be loaded. {error}"
                if len(problems) == len(definitions):
                    raise GraphLoadError(next(iter(problems.values()))) from error
        usual = default if default in graphs or not default else next(iter(graphs))
        return cls(graphs, GraphOffer(tuple(graphs), usual, problems))

    def find_graph(self, name: str) -> GuestGraph:
        """Return a graph by its name. Raises `GraphUnavailableError`, or `GraphLoadError` with the reason that is known."""
        if problem := self.offer.problems.get(name):
            raise GraphLoadError(problem)
        try:
            return self.graphs[name]
        except KeyError:
            raise GraphUnavailableError(name) from None
