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
    """The graphs whose files are imported."""

    graphs: Mapping[str, GuestGraph]
    offer: GraphOffer

    @classmethod
    def load_graphs(cls, definitions: Sequence[GraphDefinition], default: str = "") -> Self:
        """Import the file of each graph. Raises `GraphLoadError`, whose text names the graph."""
        graphs: dict[str, GuestGraph] = {}
        store = make_store(definitions)
        for each in definitions:
            try:
                graphs[each.name] = load_guest(each, store)
            except GraphLoadError as error:
                raise GraphLoadError(f"The graph {each.name} cannot be loaded. {error}") from error
        return cls(graphs, GraphOffer(tuple(graphs), default))

    def find_graph(self, name: str) -> GuestGraph:
        """Return a graph by its name. Raises `GraphUnavailableError`."""
        try:
            return self.graphs[name]
        except KeyError:
            raise GraphUnavailableError(name) from None
