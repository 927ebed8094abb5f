"""References in the states of a document, translated into those of the database: see `graph_state`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Self

from ..values.graph_state import Reference, join_runs, read_kind
from ..values.model import Node


@dataclass(frozen=True, slots=True)
class StoredReferences:
    """The stored messages and values of a document, which its references name by ids and indexes."""

    nodes: Mapping[str, Node]
    numbers: Sequence[int]
    breaks: Sequence[int]  # up to each number: those that do not follow the one before

    @classmethod
    def to(cls, nodes: Mapping[str, Node], numbers: Sequence[int]) -> Self:
        breaks = accumulate((after != before + 1 for before, after in pairwise(numbers)), initial=0)
        return cls(nodes, numbers, list(breaks))

    def translate(self, reference: Reference) -> Any:
        match read_kind(reference):
            case "d":
                return ["d", self.translate(reference[1])]
            case "m":
                node = self.nodes[reference[1]] if reference[1] is not None else None
                return ["m", node.id if node else None, node.depth + 1 if node else 0]
            case "v":
                return ["v", self.numbers[reference[1]]]
            case "r":
                return ["r", self._translate_runs(reference[1])]
        return reference

    def _translate_runs(self, runs: Sequence[Sequence[int]]) -> list[list[int]]:
        if all(self.breaks[first] == self.breaks[last] for first, last in runs):
            return [[self.numbers[first], self.numbers[last]] for first, last in runs]
        return join_runs(self.numbers[place] for first, last in runs for place in range(first, last + 1))
