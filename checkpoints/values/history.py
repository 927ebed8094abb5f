"""Pure functions over the tree of messages.

The tree is cut into **segments**: runs of messages without a fork. A message has a segment and a depth (the number of
messages before it on its path). A segment has a parent segment and the depth of the message it forked at. So the path
to any message is a few (segment, last depth) pairs, and "is A on the path to B?" is a look-up, however long the
conversation is. Parent links describe the same tree and are authoritative.

Thousands of segments may lie below one another, with as many branches. A query over all branches walks each segment
once, so its cost is the number of branches plus the number of segments, never their product.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .limits import MAX_ALTERNATIVES
from .model import Checkpoint, Message, Node

# Maps a segment to its parent segment and the depth of the fork.
SegmentParents = Mapping[int, tuple[int | None, int]]
# A message's segment and depth.
Place = tuple[int, int]


@dataclass(frozen=True)
class Path:
    """The path from the root to a message, as (segment, last depth) pairs, nearest first. `last` maps the same pairs."""

    segments: tuple[Place, ...]
    last: Mapping[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "last", dict(self.segments))

    @property
    def length(self) -> int:
        return self.segments[0][1] + 1 if self.segments else 0

    @property
    def places(self) -> list[Place]:
        """The places of the messages, from the root down."""
        found: list[Place] = []
        for segment, last in reversed(self.segments):
            found.extend((segment, depth) for depth in range(len(found), last + 1))
        return found

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Node) and node.depth <= self.last.get(node.segment, -1)


EMPTY_PATH = Path(())


def trace_path(node: Node | None, parents: SegmentParents) -> Path:
    """Return the path to a message. None is the position before the first message."""
    if node is None:
        return EMPTY_PATH
    segments = []
    segment: int | None = node.segment
    last = node.depth
    while segment is not None:
        segments.append((segment, last))
        segment, last = parents[segment]
    return Path(tuple(segments))


def continues(node: Node | None, head: Node) -> bool:
    """Return whether a node is the head or follows it in its segment, so the head is on the node's path."""
    return node is not None and node.segment == head.segment and node.depth >= head.depth


def find_reachable_depths(heads: Iterable[Node], forks: SegmentParents) -> dict[int, int]:
    """Map each segment on a path to a head to its last depth. Reachability of a message is then a single look-up."""
    found: dict[int, int] = {}
    for head in heads:
        segment: int | None = head.segment
        last = head.depth
        while segment is not None and segment not in found:
            found[segment] = last
            segment, last = forks[segment]
        if segment is not None:
            found[segment] = max(found[segment], last)
    return found


def find_followers(
    places: Collection[Place | None], forks: SegmentParents, reached: Mapping[int, int]
) -> dict[Place | None, list[Place]]:
    """Map each place (None: before the first message) to the places of its following messages, oldest first.

    Only messages on a path to a head count. At most the newest `MAX_ALTERNATIVES` of each place are returned.
    """
    found: dict[Place | None, list[Place]] = {place: [] for place in places}
    for place, following in found.items():
        if place is not None and place[1] < reached.get(place[0], -1):
            # The first follower continues the segment. The others begin new segments.
            following.append((place[0], place[1] + 1))
    for segment in sorted(reached):
        parent, depth = forks[segment]
        fork = None if parent is None else (parent, depth)
        if fork in found:
            found[fork].append((segment, depth + 1))
    return {place: following[-MAX_ALTERNATIVES:] for place, following in found.items()}


class Ancestry:
    """A set of messages in a tree, queried for the nearest ancestor in the set."""

    def __init__(self, places: Iterable[Place], forks: SegmentParents) -> None:
        self._forks = forks
        self._depths: dict[int, list[int]] = defaultdict(list)
        # The nearest place above each segment's first message.
        self._nearest: dict[int, Place | None] = {}
        # Each removed place, with the next place above it.
        self._removed: dict[Place, Place | None] = {}
        for segment, depth in sorted(set(places)):
            self._depths[segment].append(depth)

    def nearest(self, segment: int, depth: int) -> Place | None:
        """Return the last place of the set on the path to this place, including this place itself."""
        found, passed = self._find(segment, depth), []
        while found is not None and found in self._removed:
            passed.append(found)
            found = self._removed[found]
        self._removed.update(dict.fromkeys(passed, found))
        return found

    def remove(self, place: Place) -> None:
        self._removed[place] = self._find(place[0], place[1] - 1)

    def _find(self, segment: int, depth: int) -> Place | None:
        walked: list[int] = []
        above: int | None = segment
        last, found = depth, None
        while above is not None:
            depths = self._depths.get(above, [])
            if index := bisect_right(depths, last):
                found = (above, depths[index - 1])
                break
            if above in self._nearest:
                found = self._nearest[above]
                break
            walked.append(above)
            above, last = self._forks[above]
        self._nearest.update(dict.fromkeys(walked, found))
        return found


def find_heads_beyond(
    places: Collection[Place], heads: Sequence[Node], forks: SegmentParents, most: int
) -> dict[Place, list[int]]:
    """Map each place to the indexes of the first `most` heads whose path contains its message."""
    ancestry = Ancestry(places, forks)
    found: dict[Place, list[int]] = {place: [] for place in places}
    for number, head in enumerate(heads):
        place = ancestry.nearest(head.segment, head.depth)
        while place is not None:
            found[place].append(number)
            if len(found[place]) == most:
                ancestry.remove(place)
            place = ancestry.nearest(place[0], place[1] - 1)
    return found


def common_lengths(path: Path, heads: Iterable[Node], forks: SegmentParents) -> dict[str, int]:
    """Count the messages each head's path shares with this path, by the head's id."""
    # Known lengths of segments off the path.
    known: dict[int, int] = {}
    found: dict[str, int] = {}
    for head in heads:
        walked: list[int] = []
        segment: int | None = head.segment
        last = head.depth
        while segment is not None and segment not in known and segment not in path.last:
            walked.append(segment)
            segment, last = forks[segment]
        shared = known.get(segment, min(last, path.last.get(segment, -1)) + 1) if segment is not None else 0
        known.update(dict.fromkeys(walked, shared))
        found[head.id] = shared
    return found


def outline_tree(places: Iterable[Place], forks: SegmentParents) -> dict[int, int]:
    """Return the segments joining these places, each with the segment that begins where it leaves the outline above it.

    A segment is left out if it holds none of the places and a single segment of the outline continues it. Where nothing is
    left out, a segment maps to itself. An outline has at most twice as many segments as there are places.
    """
    owners = {segment for segment, _ in places}
    walked: set[int] = set()
    children: Counter[int] = Counter()
    for owner in owners:
        segment: int | None = owner
        while segment is not None and segment not in walked:
            walked.add(segment)
            if (segment := forks[segment][0]) is not None:
                children[segment] += 1
    kept = {segment for segment in walked if segment in owners or children[segment] > 1}
    found: dict[int, int] = {}
    for each in sorted(kept):
        first = each
        while (parent := forks[first][0]) is not None and parent not in kept:
            first = parent
        found[each] = first
    return found


def measure_common_length(left: Path, right: Path) -> int:
    """Count the messages two paths share, from the root down."""
    return next((min(last, right.last[segment]) + 1 for segment, last in left.segments if segment in right.last), 0)


def filter_visible(checkpoints: Iterable[Checkpoint], branch_id: str, path: Path) -> list[Checkpoint]:
    """Return a branch's visible checkpoints: those on its path, and those detached on it.

    A checkpoint is detached when a saved state does not continue it, for example after a library's caller has
    compacted. It stays in the list, and every operation that moves the head treats it like the others.
    """
    return [c for c in checkpoints if is_visible(c, branch_id, path)]


def is_visible(checkpoint: Checkpoint, branch_id: str, path: Path) -> bool:
    return checkpoint.node in path or (checkpoint.detached and checkpoint.branch_id == branch_id)


def filter_listed(
    checkpoints: Iterable[Checkpoint], branch_ids: Collection[str], reached: Mapping[int, int]
) -> list[Checkpoint]:
    """Return the checkpoints visible on any of these branches. `reached` comes from `find_reachable_depths`."""
    return [
        each
        for each in checkpoints
        if (each.detached and each.branch_id in branch_ids)
        or (each.node is not None and each.node.depth <= reached.get(each.node.segment, -1))
    ]


def find_calling_messages(path: Sequence[Message]) -> list[Message]:
    """Return the last message of a path that is no tool result, with the results after it."""
    begin = max((index for index, message in enumerate(path) if message.type != "tool"), default=len(path))
    return list(path[begin:])


def drop_open_calls(messages: Sequence[Message]) -> list[Message]:
    """Drop open calls at the end of messages, since their results may come after the cut."""
    ends = (n for n, each in enumerate(messages, 1) if each.type != "tool" and not each.body["data"].get("tool_calls"))
    return list(messages[: max(ends, default=len(messages))])
