"""Matching of a document's branches with the branches of a conversation."""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..values.history import Ancestry, Place, SegmentParents
from ..values.limits import MAX_NAME_CHARS
from ..values.model import Branch, Node


@dataclass(frozen=True, slots=True)
class BranchHead:
    """A branch of a document: its id there, its name, and the stored message that it points to."""

    id: str
    name: str
    head: Node | None

    @property
    def head_id(self) -> str | None:
        return self.head.id if self.head else None

    @property
    def place(self) -> Place | None:
        return self.head.place if self.head else None


class BranchIndex:
    """The branches of a conversation that are not matched yet. Each is taken at most once, in the order of the list.

    A branch has two names where its own ends in a number such as “ (2)”: an earlier import may have added the number.
    """

    def __init__(self, branches: Sequence[tuple[Branch, Node | None]]) -> None:
        self._branches = branches
        self._taken: set[str] = set()
        self._by_head: dict[str | None, deque[str]] = defaultdict(deque)
        self._by_name_and_head: dict[tuple[str, str | None], deque[str]] = defaultdict(deque)
        for branch, _ in branches:
            self._by_head[branch.head_id].append(branch.id)
            for name in list_names(branch):
                self._by_name_and_head[name, branch.head_id].append(branch.id)

    def take_by_name_and_head(self, name: str, head_id: str | None) -> str | None:
        """Take the first branch of this name that points to this message."""
        return self._take_first(self._by_name_and_head[name, head_id])

    def take_by_head(self, head_id: str | None) -> str | None:
        """Take the first branch that points to this message."""
        return self._take_first(self._by_head[head_id])

    def take_continuations(self, heads: Iterable[BranchHead], parents: SegmentParents) -> dict[str, str]:
        """Take the branches that continue one of these under the same name, by the id of the continued one.

        A branch that continues several of them belongs to the last one on its path.
        """
        waiting = _WaitingHeads(heads, parents)
        found: dict[str, str] = {}
        for branch, head in self._branches:
            if branch.id not in self._taken and (continued := waiting.take_nearest(list_names(branch), head)) is not None:
                found[continued] = branch.id
                self._taken.add(branch.id)
        return found

    def _take_first(self, candidates: deque[str]) -> str | None:
        while candidates:
            branch_id = candidates.popleft()
            if branch_id not in self._taken:
                self._taken.add(branch_id)
                return branch_id
        return None


class _WaitingHeads:
    """The unmatched branches of a document, by name and place."""

    def __init__(self, heads: Iterable[BranchHead], parents: SegmentParents) -> None:
        self._ids: dict[str, dict[Place | None, deque[str]]] = defaultdict(lambda: defaultdict(deque))
        for head in heads:
            self._ids[head.name][head.place].append(head.id)
        self._ancestries = {
            name: Ancestry([place for place in places if place], parents) for name, places in self._ids.items()
        }

    def take_nearest(self, names: Sequence[str], head: Node | None) -> str | None:
        """Take the branch of one of these names whose place is the last on the path to `head`."""
        for name in names:
            if name not in self._ids:
                continue
            ancestry = self._ancestries[name]
            place = ancestry.nearest(*head.place) if head else None
            if ids := self._ids[name][place]:
                taken = ids.popleft()
                if not ids and place is not None:
                    ancestry.remove(place)
                return taken
        return None


def match_branches(
    heads: Sequence[BranchHead], branches: Sequence[tuple[Branch, Node | None]], parents: SegmentParents
) -> dict[str, str]:
    """Match a document's branches with a conversation's: the id of the stored branch by the id in the document.

    The rounds run from the surest match to the least sure: a branch that one head finds by its place alone may be another's
    by its name.
    """
    index = BranchIndex(branches)
    found: dict[str, str] = {}
    for head in heads:
        if (branch_id := index.take_by_name_and_head(head.name, head.head_id)) is not None:
            found[head.id] = branch_id
    found |= index.take_continuations([head for head in heads if head.id not in found], parents)
    for head in heads:
        if head.id not in found and (branch_id := index.take_by_head(head.head_id)) is not None:
            found[head.id] = branch_id
    return found


def list_names(branch: Branch) -> list[str]:
    """Return a branch's name, and its name without the number that an earlier import may have added."""
    numbered = re.fullmatch(r"(.*) \(\d+\)", branch.name, re.DOTALL)
    return [branch.name, numbered[1]] if numbered else [branch.name]


def find_free_name(name: str, taken: set[str], numbers: dict[str, int]) -> str:
    """Return the name, or the name with the first free number. `numbers` remembers the last number of each name."""
    free = name
    while free in taken:
        numbers[name] = numbers.get(name, 1) + 1
        ending = f" ({numbers[name]})"
        free = f"{name[: MAX_NAME_CHARS - len(ending)]}{ending}"
    return free
