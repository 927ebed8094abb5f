"""Paths as stretches say the same as walking from parent to parent."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import Checkpoint
from checkpoints.values import history
from checkpoints.values.limits import MAX_ALTERNATIVES
from checkpoints.values.model import Node


@dataclass
class Tree:
    """A generated tree: message i hangs below message parents[i], and stands in a segment as the store would place it."""

    parents: list[int | None]
    nodes: list[Node] = field(default_factory=list)
    forks: dict[int, tuple[int | None, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken: set[tuple[int, int]] = set()
        for index, parent in enumerate(self.parents):
            above = None if parent is None else self.nodes[parent]
            if above is not None and (above.segment, above.depth + 1) not in taken:
                place = (above.segment, above.depth + 1)
            else:
                self.forks[len(self.forks)] = (above.segment, above.depth) if above else (None, -1)
                place = (len(self.forks) - 1, above.depth + 1 if above else 0)
            taken.add(place)
            self.nodes.append(Node(str(index), *place))

    def walk(self, index: int | None) -> list[int]:
        """The oracle: parent by parent."""
        found = []
        while index is not None:
            found.append(index)
            index = self.parents[index]
        return found[::-1]

    def path(self, index: int | None) -> history.Path:
        return history.trace_path(None if index is None else self.nodes[index], self.forks)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    size = draw(st.integers(1, 25))
    return Tree([draw(st.none() | st.integers(max(0, i - 4), i - 1)) if i else None for i in range(size)])


def places(tree: Tree) -> list[int | None]:
    return [None, *range(len(tree.parents))]


def bookmark(node: Node, order: int, *, detached: bool = False, branch: str = "main") -> Checkpoint:
    made = datetime(2025, 1, 1, tzinfo=UTC)
    return Checkpoint(str(order), "", made, 1, node=node, position=order, detached=detached, branch_id=branch)


@settings(max_examples=80, deadline=None, database=None)
@given(trees())
def test_a_message_is_on_a_path_when_walking_up_meets_it(tree: Tree) -> None:
    for place in places(tree):
        walked = tree.walk(place)
        path = tree.path(place)
        assert path.length == len(walked)
        assert [i for i, node in enumerate(tree.nodes) if node in path] == sorted(walked)


@settings(max_examples=80, deadline=None, database=None)
@given(trees())
def test_two_paths_share_what_both_walks_meet(tree: Tree) -> None:
    for one in places(tree):
        for other in places(tree):
            shared = len(set(tree.walk(one)) & set(tree.walk(other)))
            assert history.measure_common_length(tree.path(one), tree.path(other)) == shared


@settings(max_examples=60, deadline=None, database=None)
@given(trees(), st.data())
def test_a_branch_lists_what_is_on_its_path_or_was_detached_on_it(tree: Tree, data: st.DataObject) -> None:
    flags = st.tuples(st.integers(0, len(tree.nodes) - 1), st.booleans(), st.sampled_from(["main", "other"]))
    made = data.draw(st.lists(flags, max_size=8))
    checkpoints = [bookmark(tree.nodes[i], n, detached=d, branch=b) for n, (i, d, b) in enumerate(made)]
    head = data.draw(st.sampled_from(places(tree)))
    walked = tree.walk(head)
    expected = [str(n) for n, (i, d, b) in enumerate(made) if i in walked or (d and b == "main")]
    assert [c.id for c in history.filter_visible(checkpoints, "main", tree.path(head))] == expected


def test_only_messages_are_on_a_path() -> None:
    tree = Tree([None])
    assert "0" not in tree.path(0)
    assert None not in tree.path(0)
    assert tree.nodes[0] not in history.EMPTY_PATH


@settings(max_examples=60, deadline=None, database=None)
@given(trees(), st.data())
def test_what_all_heads_are_asked_at_once_is_what_walking_up_from_each_says(tree: Tree, data: st.DataObject) -> None:
    heads = data.draw(st.lists(st.sampled_from(range(len(tree.nodes))), max_size=6))
    nodes = [tree.nodes[head] for head in heads]
    walks = [tree.walk(head) for head in heads]
    reached = history.find_reachable_depths(nodes, tree.forks)
    on_a_path = [i for i, node in enumerate(tree.nodes) if node.depth <= reached.get(node.segment, -1)]
    assert on_a_path == sorted({i for walked in walks for i in walked})
    stands = data.draw(st.sampled_from(places(tree)))
    shared = history.common_lengths(tree.path(stands), nodes, tree.forks)
    assert shared == {str(head): len(set(tree.walk(head)) & set(tree.walk(stands))) for head in heads}
    wanted = data.draw(st.lists(st.sampled_from(range(len(tree.nodes))), max_size=6, unique=True))
    most = data.draw(st.integers(1, 3))
    beyond = history.find_heads_beyond([tree.nodes[i].place for i in wanted], nodes, tree.forks, most)
    expected = {i: [number for number, walked in enumerate(walks) if i in walked][:most] for i in wanted}
    assert beyond == {tree.nodes[i].place: numbers for i, numbers in expected.items()}


@settings(max_examples=60, deadline=None, database=None)
@given(trees(), st.data())
def test_what_follows_a_message_are_its_children_on_the_way_to_a_head(tree: Tree, data: st.DataObject) -> None:
    heads = data.draw(st.lists(st.sampled_from(range(len(tree.nodes))), max_size=6))
    reached = history.find_reachable_depths([tree.nodes[head] for head in heads], tree.forks)
    on_a_path = {i for head in heads for i in tree.walk(head)}
    for place in places(tree):
        own = None if place is None else tree.nodes[place].place
        children = [i for i in on_a_path if tree.parents[i] == place]
        found = history.find_followers({own}, tree.forks, reached)[own]
        assert sorted(found) == sorted(tree.nodes[i].place for i in children)


def test_of_very_many_alternatives_the_newest_are_found() -> None:
    tree = Tree([None, *(0 for _ in range(MAX_ALTERNATIVES + 50))])
    found = history.find_followers({(0, 0)}, tree.forks, history.find_reachable_depths(tree.nodes, tree.forks))[0, 0]
    assert found == [node.place for node in tree.nodes[-MAX_ALTERNATIVES:]]


@settings(max_examples=80, deadline=None, database=None)
@given(trees(), st.data())
def test_an_outline_keeps_what_joins_the_places(tree: Tree, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(tree.nodes) - 1), min_size=1, max_size=6))
    nodes = [tree.nodes[index] for index in chosen]
    outline = history.outline_tree([node.place for node in nodes], tree.forks)
    assert len(outline) <= 2 * len(chosen)
    joined = {segment: tree.forks[first] for segment, first in outline.items()}
    assert {parent for parent, _ in joined.values() if parent is not None} <= set(joined)
    for index in chosen:
        path = history.trace_path(tree.nodes[index], joined)
        assert [other for other in chosen if tree.nodes[other] in path] == [o for o in chosen if o in tree.walk(index)]
