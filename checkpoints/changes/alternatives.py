"""The limit of alternatives. A file with more alternatives could not be imported again."""

import sqlalchemy as sa

from ..rows import checkpoint_rows, thread_rows
from ..values import history
from ..values.errors import TooManyAlternativesError
from ..values.limits import MAX_ALTERNATIVES
from ..values.model import Node, Thread


def check_room_after(connection: sa.Connection, thread: Thread, node: Node | None) -> None:
    """Raise `TooManyAlternativesError` if the current branch cannot get another message after this node (None: at the root).

    The branch's present message there does not count, since it leaves the branch.
    """
    forks = thread_rows.select_segment_parents(connection, thread.id)
    place = node.place if node else None
    begun = sum(place == (None if parent is None else (parent, depth)) for parent, depth in forks.values())
    if begun + 1 < MAX_ALTERNATIVES:
        # Another message may continue the segment.
        return
    branches = thread_rows.select_branch_heads(connection, thread.id)
    heads = [head for branch, head in branches if head and branch.id != thread.branch_id]
    heads += [each.node for each in checkpoint_rows.select_checkpoints(connection, thread.id) if each.node]
    followers = history.find_followers({place}, forks, history.find_reachable_depths(heads, forks))[place]
    if len(followers) >= MAX_ALTERNATIVES:
        raise TooManyAlternativesError(MAX_ALTERNATIVES)
