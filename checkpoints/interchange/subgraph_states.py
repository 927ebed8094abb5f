"""The states of subgraphs in an export: those from which the states of the graph itself that are in it were reached.

Nothing that an undo or a restore left behind leads to them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..rows.state_rows import StoredState
from .waiting_steps import WaitingStep


@dataclass
class SubgraphChoice:
    """Chooses among the states of a conversation. `named` are the states of branches and checkpoints, by number.

    `undone` are the runs whose states count only where they have written the graph's own state as well. `find_left` tells
    which runs an undo or a restore had left behind when a run began.
    """

    states: Sequence[StoredState]
    named: Collection[int]
    undone: Collection[str]
    find_left: Callable[[str], Collection[str]]
    _roots: dict[str, StoredState] = field(default_factory=dict)
    _below: defaultdict[str, list[StoredState]] = field(default_factory=lambda: defaultdict(list))

    def choose(self, roots: Sequence[StoredState], waiting: Sequence[WaitingStep]) -> set[int]:
        """Return the numbers of the chosen states below these states of the graph itself."""
        self._roots = {root.checkpoint_id: root for root in roots}
        for state in self.states:
            root = self._roots.get(_read_parents(state).get("", "")) if state.namespace else None
            if root is not None and (state.run_id not in self.undone or state.run_id == root.run_id):
                self._below[root.checkpoint_id].append(state)
        followers = defaultdict[int | None, list[StoredState]](list)
        for root in roots:
            followers[root.parent].append(root)
        steps = {step.root.number: step for step in waiting}
        chosen = {number for step in waiting for number in step.below}
        for root in roots:
            for each in self._list_ends(root, followers[root.number], is_waiting=root.number in steps):
                chosen.add(each.number)
        return self._add_parents(chosen)

    def _list_ends(self, root: StoredState, followers: Sequence[StoredState], *, is_waiting: bool) -> Iterator[StoredState]:
        """Yield the newest state of each subgraph before each state that follows. Numbers grow with the time."""
        below = self._below[root.checkpoint_id]
        for follower in followers:
            before = [state for state in below if state.number < follower.number]
            own = {root.run_id, follower.run_id}
            left = self.find_left(follower.run_id) if any(state.run_id not in own for state in before) else ()
            yield from _list_newest([state for state in before if state.run_id in own or state.run_id not in left])
        if not followers and not is_waiting:
            is_named = root.number in self.named
            yield from _list_newest([state for state in below if is_named or state.run_id == root.run_id])

    def _add_parents(self, ends: Collection[int]) -> set[int]:
        """Return the ends with all states above them, without those begun by a subgraph's state that is left out."""
        chosen: set[int | None] = {*ends}
        below = [state for state in self.states if state.namespace and _read_parents(state).get("") in self._roots]
        for state in reversed(below):
            if state.number in chosen:
                chosen.add(state.parent)
        left_out = {(state.namespace, state.checkpoint_id) for state in below if state.number not in chosen}
        found = set[int]()
        for state in sorted(below, key=lambda each: each.namespace.count("|")):
            if state.number not in chosen or not left_out.isdisjoint(_read_parents(state).items()):
                left_out.add((state.namespace, state.checkpoint_id))
            else:
                found.add(state.number)
        return found


def _read_parents(state: StoredState) -> Mapping[str, str]:
    """Return the states that have begun a subgraph, by namespace."""
    found: Mapping[str, str] = state.body["metadata"].get("parents", {})
    return found


def _list_newest(states: Sequence[StoredState]) -> Collection[StoredState]:
    return {state.namespace: state for state in states}.values()
