"""Other ways that a conversation took: alternatives of a message, branches, and a message replaced in the middle."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import sqlalchemy as sa

from checkpoints import history
from checkpoints.changes.transaction import Transaction
from checkpoints.errors import CurrentBranchError, DamagedMessageError, MessageNotFoundError
from checkpoints.history import Path, SegmentParents
from checkpoints.model import Branch, Json, Message, NewMessage, Node, OperationKind, Thread, pluralize
from checkpoints.storage import checkpoint_rows, rows, schema

_ABANDONING_KINDS = (OperationKind.EDIT, OperationKind.SWITCH)  # changes after which what they left is an alternative
_CallKey = tuple[int, str]  # the depth of the answer that makes it, and its id there
_MAX_ABANDONING_OPERATIONS = (
    200  # of such changes, the newest: alternatives that were left before them are found by undo alone
)


def select_alternatives(connection: sa.Connection, thread: Thread, messages: Sequence[Message]) -> dict[str, list[str]]:
    """See `Reader.siblings`."""
    forks = rows.select_segment_parents(connection, thread.id)
    if len(forks) < 2:
        return {}
    ways = [path for _, path in _select_candidate_paths(connection, thread, forks)]
    places = _select_siblings(connection, messages, forks)
    found: dict[str, list[str]] = {}
    for message in messages:
        there = places.get(_sibling_key(message, forks), [])
        reached = [node.id for node in there if node.id == message.id or any(node in way for way in ways)]
        if len(reached) > 1:
            found[message.id] = reached
    return found


def _sibling_key(message: Message, parents: SegmentParents) -> tuple[int | None, int]:
    """What all alternatives of a message share: the segment and the depth of the message before them."""
    parent, depth = parents[message.segment]
    return (parent, depth) if message.depth == depth + 1 else (message.segment, message.depth - 1)


def _select_siblings(
    connection: sa.Connection, messages: Sequence[Message], parents: SegmentParents
) -> dict[tuple[int | None, int], list[Node]]:
    """All messages at the places of these that have more than one, by place, oldest first."""
    beginning: dict[tuple[int | None, int], list[int]] = defaultdict(list)
    for segment in sorted(parents):
        beginning[parents[segment]].append(segment)
    wanted: dict[tuple[int, int], tuple[int | None, int]] = {}
    for place in {_sibling_key(message, parents) for message in messages} & set(beginning):
        parent, depth = place
        going_on = [] if parent is None else [parent]  # the first one stands in the segment that the others left
        wanted.update({(segment, depth + 1): place for segment in [*going_on, *beginning[place]]})
    table = schema.message.c
    query = sa.select(table.id, table.segment, table.depth).where(sa.tuple_(table.segment, table.depth).in_(list(wanted)))
    found: dict[tuple[int | None, int], list[Node]] = defaultdict(list)
    for row in connection.execute(query.order_by(table.segment)) if wanted else ():
        found[wanted[row.segment, row.depth]].append(Node(row.id, row.segment, row.depth))
    return found


def _select_candidate_paths(
    connection: sa.Connection, thread: Thread, parents: SegmentParents
) -> list[tuple[Branch | None, Path]]:
    """The paths that count: to where the branches stand, and then to what was left for something else, newest first."""
    branches = rows.select_branches(connection, thread.id)
    heads: list[tuple[Branch | None, str | None]] = [(branch, branch.head_id) for branch in branches]
    heads += [(None, head_id) for head_id in _select_abandoned_heads(connection, thread.id)]
    found = rows.select_nodes(connection, {head_id for _, head_id in heads if head_id})
    return [(branch, history.path_to(found[head_id], parents)) for branch, head_id in heads if head_id in found]


def _select_abandoned_heads(connection: sa.Connection, thread_id: str) -> list[str]:
    table = schema.operation.c
    left = rows.select_operations(
        connection, thread_id, table.kind.in_(_ABANDONING_KINDS), table.undone_by.is_(None), limit=_MAX_ABANDONING_OPERATIONS
    )
    return [
        change.before["head_id"]
        for operation in left
        for change in operation.changes
        if change.table == "branch" and change.before.get("head_id")
    ]


def choose_alternative(transaction: Transaction, message_id: str) -> str:
    """Stand on what last followed an alternative: the branch that holds it, or else where it was left."""
    wanted = rows.select_node(transaction.connection, message_id, transaction.thread.id)
    forks = rows.select_segment_parents(transaction.connection, transaction.thread.id)
    for branch, path in _select_candidate_paths(transaction.connection, transaction.thread, forks):
        if wanted not in path:
            continue
        if branch is not None:
            transaction.note = f"branch {branch.name}"
            transaction.update_row("thread", transaction.thread.id, branch_id=branch.id)
        else:
            transaction.note = "another alternative"
            transaction.move_head(_select_tip(transaction, path))
        return message_id
    raise MessageNotFoundError(message_id)


def _select_tip(transaction: Transaction, path: Path) -> Node:
    last = rows.select_messages(transaction.connection, path, last=1)[0]
    return Node(last.id, last.segment, last.depth)


def fork_branch(transaction: Transaction, message_id: str | None, name: str) -> str:
    """A new branch from a message, to stand on."""
    place = rows.select_node(transaction.connection, message_id, transaction.thread.id)
    branch_id = transaction.add_branch(name, place.id if place else None)
    transaction.note = f"branch {rows.select_branch(transaction.connection, branch_id, transaction.thread.id).name}"
    transaction.update_row("thread", transaction.thread.id, branch_id=branch_id)
    return branch_id


def copy_path(transaction: Transaction, source_thread: Thread, path: Path) -> str:
    """Copy a path of another conversation, and the checkpoints that its branch shows there, into this new one."""
    messages = rows.select_messages(transaction.connection, path)
    # No run of this conversation wrote them: what is derived from them is said to come from elsewhere.
    nodes = transaction.add_messages(None, [replace(copy_message(message), run_id=None) for message in messages])
    shown = history.filter_visible(checkpoint_rows.select_checkpoints(transaction.connection, source_thread.id), "", path)
    for checkpoint in shown:
        node = nodes[checkpoint.message_count - 1]
        transaction.add_checkpoint(
            replace(checkpoint, id="", node=node, branch_id=transaction.thread.branch_id, detached=False)
        )
    transaction.move_head(nodes[-1] if nodes else None)
    transaction.note = source_thread.title
    transaction.record_insert("thread", transaction.thread.id)
    return transaction.thread.id


def delete_branch(transaction: Transaction, branch_id: str) -> str:
    branch = rows.select_branch(transaction.connection, branch_id, transaction.thread.id)
    if branch.id == transaction.thread.branch_id:
        raise CurrentBranchError
    transaction.note = f"branch {branch.name}"
    transaction.update_row("branch", branch.id, deleted_at=transaction.now)
    return branch.id


def prune_branches(transaction: Transaction) -> None:
    """Delete every branch but the one that the conversation stands on."""
    others = [
        b
        for b in rows.select_branches(transaction.connection, transaction.thread.id)
        if b.id != transaction.thread.branch_id
    ]
    transaction.note = pluralize(len(others), "other branch", "other branches")
    for branch in others:
        transaction.update_row("branch", branch.id, deleted_at=transaction.now)


def replace_message(
    transaction: Transaction, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, run_continues: bool = False
) -> str:
    """Write another message in the place of one, and again after it what followed and can stand without what is dropped.

    Where a run `goes_on` from there, calls whose results are dropped can stand: it answers them.
    """
    path = transaction.current_path()
    place = rows.select_node(transaction.connection, message_id, transaction.thread.id)
    if place is None or place not in path:
        raise MessageNotFoundError(message_id)
    replaced, *following = rows.select_messages(transaction.connection, path, last=path.length - place.depth)
    kept = (
        [m for m in following if m.id not in dropped_ids]
        if run_continues
        else keep_complete_pairs(replaced, new, following, dropped_ids)
    )
    parent = rows.select_node(transaction.connection, replaced.parent_id, transaction.thread.id)
    nodes = transaction.add_messages(parent, [new, *(copy_message(message) for message in kept)])
    transaction.detach_and_move(nodes[-1])
    transaction.note = pluralize(len(kept), "later message")
    return nodes[0].id


def copy_message(message: Message) -> NewMessage:
    """The message once more, for another place of its conversation. What is said of the answer of a run is said of its copy.

    Raises `DamagedMessageError`: a copy would make damage look whole.
    """
    if message.damaged:
        raise DamagedMessageError(message.thread_id, message.id, message.depth)
    time = rows.from_time(message.created_at)
    return NewMessage(message.body, agent=message.agent, status=message.status, created_at=time, run_id=message.run_id)


def keep_complete_pairs(
    replaced: Message, new: NewMessage, following: Sequence[Message], dropped_ids: Collection[str]
) -> list[Message]:
    """What of `following` stands after `new`: no result whose call is gone, and no call of which a result is gone."""
    kept = [message for message in following if message.id not in dropped_ids]
    calls, answers = _pair_calls([replaced, *following])
    still_asked = {(replaced.depth, identifier) for identifier in _call_ids(new.body)}
    while True:
        gone = [message for message in following if message not in kept]
        unasked = calls[replaced.id].union(*(calls[message.id] for message in gone)) - still_asked
        unanswered = {answers[message.id] for message in gone if message.id in answers}
        stands = [m for m in kept if answers.get(m.id) not in unasked and not unanswered & calls[m.id]]
        if len(stands) == len(kept):
            return kept
        kept = stands


def _pair_calls(messages: Sequence[Message]) -> tuple[dict[str, set[_CallKey]], dict[str, _CallKey]]:
    """The calls that each message makes, and the one that each result answers: of the nearest answer of the same agent
    before it that calls. Their ids alone would not do: some servers begin anew with "call_0" in each answer.
    """
    calls: dict[str, set[_CallKey]] = {}
    answers: dict[str, _CallKey] = {}
    last: dict[str, int] = {}
    for message in messages:
        found = _call_ids(message.body)
        asked_at = last[message.agent] = message.depth if found else last.get(message.agent, -1)  # -1: before these
        calls[message.id] = {(asked_at, identifier) for identifier in found}
        if (identifier := _answered_call_id(message)) is not None:
            answers[message.id] = (asked_at, identifier)
    return calls, answers


def _call_ids(body: Json) -> set[str]:
    data = body["data"]
    return {call["id"] for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or [] if call["id"]}


def _answered_call_id(message: Message) -> str | None:
    return message.body["data"].get("tool_call_id") if message.type == "tool" else None
