"""The tree of a conversation as drawn by the page: the forks between branches and checkpoints, without messages."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import sqlalchemy as sa

from .changes import branches
from .changes.restore import name_kept_branch
from .reader import Reader
from .rows import message_rows, operation_rows, path_questions, thread_rows, tree_rows
from .storage import schema
from .values import history
from .values.errors import MessageNotFoundError
from .values.history import Place
from .values.model import Branch, Checkpoint, CheckpointMark, LeftBehind, Message, Node, RemovedPart
from .values.names import clean_name
from .values.operation import Move, OperationKind
from .values.operation_detail import OperationDetail

_Key = TypeVar("_Key")

# The newest alternatives of a tree.
MAX_TREE_ALTERNATIVES = 50
# The newest restores of a conversation, which may have named branches.
_MAX_RESTORES = 200
# So far before a fork its question is looked for, and so far after it the first words that follow.
_MAX_TURN_MESSAGES = 8
_MAX_FIRST_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class Questions:
    """Messages that say what the lines of a tree are about. A line that begins with an answer has that.

    `first` begins a segment. `turns` have the question of the turn in which a segment leaves its parent, by the place of
    the fork. `following` has the message after a fork, or after the end of a branch, by that place.
    """

    first: Mapping[int, Message]
    turns: Mapping[Place, Message]
    following: Mapping[Place, Message]


@dataclass(frozen=True, slots=True)
class Fork:
    """The place where a segment forks: in another segment, after `length` messages, at a message."""

    segment: int
    length: int
    message_id: str


@dataclass(frozen=True, slots=True)
class BranchRank:
    """A branch's place among others: its group, and its number in the group."""

    group: Hashable
    number: int


@dataclass(frozen=True, slots=True)
class ConversationTree:
    """The outline of a conversation's tree. Its size depends on the shown places, not on the number of messages.

    `heads` is keyed by branch, with None for an empty branch. `forks` is keyed by segment, with None at the root.
    `elsewhere` are checkpoints hidden on the current branch. `moves` includes summaries, and moves on paths replaced by a
    shown summary. `alternatives` are the newest ends abandoned by an edit, another answer or a choice, on no shown branch.
    `restores` have the restore that named a branch, by branch, if nobody has named it since.
    """

    heads: Mapping[str, Node | None]
    forks: Mapping[int, Fork | None]
    elsewhere: Sequence[Checkpoint]
    moves: Sequence[Move]
    left_behind: LeftBehind | None
    alternatives: Sequence[Node]
    questions: Questions
    restores: Mapping[str, OperationDetail]


def read_tree(
    reader: Reader,
    thread_id: str,
    branch_ids: Collection[str],
    checkpoints: Collection[Checkpoint],
    *,
    count: int,
    words: str = "",
) -> ConversationTree:
    """Read the tree around these branches and checkpoints, and around at most `count` checkpoints of other branches.

    With `words`, only checkpoints with matching names or descriptions are added, from any branch.
    """
    database = reader.database
    with database.begin_read() as connection:
        thread, path = thread_rows.load_current_path(connection, thread_id)
        segment_parents = thread_rows.select_segment_parents(connection, thread_id)
        with_heads = thread_rows.select_branch_heads(connection, thread_id)
        all_heads = {branch.id: head for branch, head in with_heads}
        heads = {branch_id: head for branch_id, head in all_heads.items() if branch_id in branch_ids}
        searched = all_heads if words else heads
        elsewhere = tree_rows.select_elsewhere(connection, thread, path, searched, count, words, database)
        left = tree_rows.select_left_behind(connection, thread, path, database)
        ends = [node for node in (*heads.values(), left.node if left else None) if node]
        moves, reached = tree_rows.find_shown_moves(tree_rows.select_moves(connection, thread_id), ends, segment_parents)
        abandoned = branches.select_abandoned_heads(connection, thread_id)
        alternatives = _select_alternatives(connection, abandoned, reached)
        marked = [each.node for each in (*checkpoints, *elsewhere, *(left.checkpoints if left else ())) if each.node]
        of_moves = [node for each in moves for node in (each.node, each.replaced) if node]
        places = {node.place for node in (*ends, *alternatives, *marked, *of_moves)}
        outline = history.outline_tree(places, segment_parents)
        messages = tree_rows.select_fork_messages(connection, outline.values())
        questions = _select_questions(connection, outline, segment_parents, [head for head in heads.values() if head])
        restores = _select_restores(connection, thread_id, [branch for branch, _ in with_heads if branch.id in heads])
    forks = {segment: _build_fork(*segment_parents[first], messages.get(first, "")) for segment, first in outline.items()}
    return ConversationTree(heads, forks, elsewhere, moves, left, alternatives, questions, restores)


def _select_restores(connection: sa.Connection, thread_id: str, named: Sequence[Branch]) -> Mapping[str, OperationDetail]:
    """Return the restores that gave these branches the names that they have."""
    if len(named) < 2:
        return {}
    is_restore = schema.operation.c.kind == OperationKind.RESTORE
    restores = operation_rows.select_operations(connection, thread_id, is_restore, limit=_MAX_RESTORES, abridged=True)
    details = {clean_name(name_kept_branch(each.detail)): each.detail for each in restores}
    return {branch.id: details[branch.name] for branch in named if branch.name in details}


def _select_questions(
    connection: sa.Connection, outline: Mapping[int, int], parents: history.SegmentParents, ends: Sequence[Node] = ()
) -> Questions:
    """Return the questions of an outline and of the ends of branches, as far as they are near: see the limits."""
    begins = {segment: _list_places_after(begin, parents[begin][1]) for segment, begin in outline.items()}
    forks = {(parent, depth) for begin in outline.values() for parent, depth in (parents[begin],) if parent is not None}
    before = {fork: [(fork[0], depth) for depth in _list_depths_back(fork[1])] for fork in forks}
    after = {place: _list_places_after(*place) for place in forks | {end.place for end in ends}}
    wanted = {place for places in (begins, before, after) for each in places.values() for place in each}
    found = message_rows.select_messages_at(connection, path_questions.find_words_at(connection, wanted))
    asked = {place: message for place, message in found.items() if message.type == "human"}
    return Questions(_choose_nearest(begins, found), _choose_nearest(before, asked), _choose_nearest(after, found))


def _list_places_after(segment: int, depth: int) -> list[Place]:
    return [(segment, depth + number) for number in range(1, _MAX_FIRST_MESSAGES + 1)]


def _list_depths_back(depth: int) -> range:
    return range(depth, max(-1, depth - _MAX_TURN_MESSAGES), -1)


def _choose_nearest(wanted: Mapping[_Key, Sequence[Place]], found: Mapping[Place, Message]) -> dict[_Key, Message]:
    """Return the first message found at each key's places."""
    nearest = ((key, next((found[place] for place in places if place in found), None)) for key, places in wanted.items())
    return {key: message for key, message in nearest if message is not None}


def _select_alternatives(connection: sa.Connection, abandoned: Sequence[str], reached: Mapping[int, int]) -> list[Node]:
    nodes = thread_rows.select_nodes(connection, set(abandoned))
    found = [nodes[each] for each in dict.fromkeys(abandoned) if each in nodes]
    return [node for node in found if node.depth > reached.get(node.segment, -1)][:MAX_TREE_ALTERNATIVES]


def _build_fork(parent: int | None, depth: int, message_id: str) -> Fork | None:
    return None if parent is None else Fork(parent, depth + 1, message_id)


def read_removed_part(reader: Reader, thread_id: str, count: int) -> RemovedPart | None:
    """Return the first messages removed by the last restore, until a message follows it or it is undone."""
    with reader.database.begin_read() as connection:
        thread, path = thread_rows.load_current_path(connection, thread_id)
        end = tree_rows.select_removed_end(connection, thread, path)
        if end is None or end.operation.kind is not OperationKind.RESTORE or end.count == 0:
            return None
        messages = tree_rows.select_removed_messages(connection, end, count)
        return RemovedPart(messages, end.count, end.node.id, is_newest=end.is_newest)


def read_marks(reader: Reader, messages: Sequence[Message]) -> list[CheckpointMark]:
    """Return the checkpoints at these consecutive messages of the current path, in a single statement."""
    if not messages:
        return []
    with reader.database.begin_read() as connection:
        thread, path = thread_rows.load_current_path(connection, messages[0].thread_id)
        return tree_rows.select_marks(connection, thread, path, messages[0].depth, messages[-1].depth)


def find_branches_after(
    reader: Reader,
    thread_id: str,
    after: Collection[str | None],
    rank: Callable[[Message], BranchRank | None],
    *,
    most: int = 20,
) -> dict[Hashable, list[tuple[Branch, Message]]]:
    """Return the branches that continue a message of `after` (None: the beginning) with a ranked message.

    They are grouped and ordered by rank, each with its last message, at most `most` in a group. Other last messages
    are not read. Call it once for a whole view, because each call reads all branches.
    """
    with reader.database.begin_read() as connection:
        forks = thread_rows.select_segment_parents(connection, thread_id)
        branches_with_heads = [
            (branch, head) for branch, head in thread_rows.select_branch_heads(connection, thread_id) if head is not None
        ]
        heads = [head for _, head in branches_with_heads]
        places: set[Place | None] = {
            node.place for node in thread_rows.select_nodes(connection, [m for m in after if m]).values()
        }
        reached = history.find_reachable_depths(heads, forks)
        following = history.find_followers(places | ({None} & set(after)), forks, reached)
        first = message_rows.select_messages_at(connection, set(chain.from_iterable(following.values())))
        ranks = {place: found for place, message in first.items() if (found := rank(message)) is not None}
        beyond = history.find_heads_beyond(ranks, heads, forks, most)
        groups = _group_branches(beyond, ranks, most)
        last = message_rows.select_messages_at(connection, {heads[n].place for n in chain.from_iterable(groups.values())})
    return {group: [(branches_with_heads[n][0], last[heads[n].place]) for n in numbers] for group, numbers in groups.items()}


def _group_branches(
    beyond: Mapping[Place, Sequence[int]], ranks: Mapping[Place, BranchRank], most: int
) -> dict[Hashable, list[int]]:
    """Group the branches beyond these places by rank, as indexes, at most `most` in a group."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for _, n, place in sorted((ranks[place].number, n, place) for place, numbers in beyond.items() for n in numbers):
        groups[ranks[place].group].append(n)
    return {group: numbers[:most] for group, numbers in groups.items()}


def count_stored_chars(reader: Reader, thread_id: str) -> int:
    """Return the total characters of a thread's messages as JSON, without loading them."""
    segments = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == thread_id)
    query = sa.select(sa.func.sum(sa.func.length(schema.message.c.body))).where(schema.message.c.segment.in_(segments))
    with reader.database.begin_read() as connection:
        return int(connection.scalar(query) or 0)


def read_fork(reader: Reader, thread_id: str, segment: int) -> tuple[int | None, int]:
    """Return the segment that a segment forks from (None: the beginning), and the number of messages before the fork."""
    with reader.database.begin_read() as connection:
        # A view has already read these.
        parent, depth = thread_rows.select_segment_parents(connection, thread_id)[segment]
        return parent, depth + 1


def read_questions(reader: Reader, thread_id: str, segment: int) -> Questions:
    """Return the questions of one segment, as in `ConversationTree.questions`."""
    with reader.database.begin_read() as connection:
        parents = thread_rows.select_segment_parents(connection, thread_id)
        return _select_questions(connection, {segment: segment}, parents)


def find_message_id(reader: Reader, thread_id: str, depth: int, message_hash: str) -> str:
    """Return the id of the message with this depth and hash, in any copy of the conversation.

    Raises `MessageNotFoundError`.
    """
    segments = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == thread_id)
    table = schema.message.c
    is_wanted = (table.segment.in_(segments), table.depth == depth, table.hash == message_hash)
    with reader.database.begin_read() as connection:
        thread_rows.select_thread(connection, thread_id)
        found = connection.scalar(sa.select(table.id).where(*is_wanted).limit(1))
    if found is None:
        raise MessageNotFoundError(message_hash)
    return str(found)
