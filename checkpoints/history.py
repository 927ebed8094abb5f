"""Pure functions over the tree of messages.

The tree is cut into **segments**: stretches without a fork. A message knows its segment and its depth (how many messages
stand before it on its path). A segment knows the segment it forked from and the depth of the message it forked at. So the
path to any message is a handful of (segment, last depth) pairs, and "is A on the path to B?" is a look-up, however long
the conversation is; parent links say the same, and are the truth.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from checkpoints.model import Checkpoint, Node

SegmentParents = Mapping[int, tuple[int | None, int]]  # segment -> (the segment it forked from, the depth that it forked at)


@dataclass(frozen=True, slots=True)
class Path:
    """The messages from the root to a message, as (segment, last depth) pairs, nearest first."""

    segments: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        return self.segments[0][1] + 1 if self.segments else 0

    def locate(self, depth: int) -> tuple[int, int]:
        """Where the path's message of this depth stands: its segment and the depth."""
        return next(segment for segment, last in reversed(self.segments) if depth <= last), depth

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Node) and any(
            segment == node.segment and node.depth <= last for segment, last in self.segments
        )


EMPTY_PATH = Path(())


def path_to(node: Node | None, parents: SegmentParents) -> Path:
    """The path to a message (None: before the first one)."""
    if node is None:
        return EMPTY_PATH
    stretches = []
    segment: int | None = node.segment
    last = node.depth
    while segment is not None:
        stretches.append((segment, last))
        segment, last = parents[segment]
    return Path(tuple(stretches))


def reachable_depths(paths: Iterable[Path]) -> dict[int, int]:
    """The last depth in each segment that stands on one of these paths: whether any holds a message is one look-up."""
    found: dict[int, int] = {}
    for segment, last in chain.from_iterable(path.segments for path in paths):
        found[segment] = max(found.get(segment, -1), last)
    return found


def common_length(left: Path, right: Path) -> int:
    """How many messages two paths share from the root on."""
    others = dict(right.segments)
    return max((min(last, others[segment]) + 1 for segment, last in left.segments if segment in others), default=0)


def filter_visible(checkpoints: Iterable[Checkpoint], branch_id: str, path: Path) -> list[Checkpoint]:
    """The checkpoints that a branch shows: those on its path, and those that were detached on it.

    A checkpoint is detached when a state is saved that does not continue it, as a library's caller may after compacting:
    it stays in the list, and stays out of nothing that moves the head along the tree.
    """
    return [c for c in checkpoints if is_visible(c, branch_id, path)]


def is_visible(checkpoint: Checkpoint, branch_id: str, path: Path) -> bool:
    return checkpoint.node in path or (checkpoint.detached and checkpoint.branch_id == branch_id)
