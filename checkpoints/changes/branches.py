"""Alternatives of a message, branches, and replaced messages in the middle of a path."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ..rows import message_rows, operation_rows, state_rows, thread_rows
from ..storage import schema
from ..values import history
from ..values.errors import CurrentBranchError, DamagedMessageError, MessageNotFoundError
from ..values.history import Place, SegmentParents
from ..values.model import Branch, Json, Message, NewMessage, Node, Thread
from ..values.names import clean_name
from ..values.operation import OperationKind
from ..values.operation_detail import OperationDetail
from ..values.standing_runs import HEAD
from .transaction import Transaction

# After these changes, the path they left is an alternative.
_ABANDONING_KINDS = (
    OperationKind.EDIT,
    OperationKind.RETRY,
    OperationKind.REPLACE,
    OperationKind.SWITCH,
)
# The depth of the calling answer, and the id of the call there.
_CallKey = tuple[int, str]
# The newest such changes. Alternatives left earlier are reachable only by undo.
_MAX_ABANDONING_OPERATIONS = 200


def select_alternatives(connection: sa.Connection, thread: Thread, messages: Sequence[Message]) -> dict[str, list[str]]:
    """See `Reader.find_alternatives`."""
    forks = thread_rows.select_segment_parents(connection, thread.id)
    if len(forks) < 2:
        return {}
    heads = [head for _, head in _select_heads(connection, thread)]
    before = {message.id: _find_place_before(message, forks) for message in messages}
    following = history.find_followers(set(before.values()), forks, history.find_reachable_depths(heads, forks))
    shown: dict[str, list[Place]] = {}
    for message in messages:
        own, there = (message.segment, message.depth), following[before[message.id]]
        there = there if own in there else sorted([*there[1:], own])
        if len(there) > 1:
            shown[message.id] = there
    found = {head.place: head.id for head in heads}
    found |= message_rows.select_ids_at(connection, {place for there in shown.values() for place in there} - found.keys())
    return {message_id: [found[place] for place in there if place in found] for message_id, there in shown.items()}


def _find_place_before(message: Message, forks: SegmentParents) -> Place | None:
    """Return the place before a message, followed by all its alternatives. None precedes the first messages."""
    parent, depth = forks[message.segment]
    if message.depth > depth + 1:
        return message.segment, message.depth - 1
    return None if parent is None else (parent, depth)


def _select_heads(connection: sa.Connection, thread: Thread) -> list[tuple[Branch | None, Node]]:
    """Return the branch heads, followed by abandoned heads, newest first."""
    heads: list[tuple[Branch | None, Node]] = [
        (branch, head) for branch, head in thread_rows.select_branch_heads(connection, thread.id) if head
    ]
    abandoned = select_abandoned_heads(connection, thread.id)
    found = thread_rows.select_nodes(connection, set(abandoned))
    return [*heads, *((None, found[head_id]) for head_id in abandoned if head_id in found)]


def select_abandoned_heads(connection: sa.Connection, thread_id: str) -> list[str]:
    """Return heads left by an edit, another answer or a choice, newest first. A branch may contain some of them."""
    table = schema.operation.c
    left = operation_rows.select_operations(
        connection, thread_id, table.kind.in_(_ABANDONING_KINDS), table.undone_by.is_(None), limit=_MAX_ABANDONING_OPERATIONS
    )
    return [
        change.before["head_id"]
        for operation in left
        for change in operation.changes
        if change.table == "branch" and change.before.get("head_id")
    ]


def choose_alternative(transaction: Transaction, message_id: str) -> str:
    """Choose an alternative: the branch that contains it, or else the last head after it."""
    wanted = thread_rows.select_node(transaction.connection, message_id, transaction.thread.id)
    forks = thread_rows.select_segment_parents(transaction.connection, transaction.thread.id)
    heads = _select_heads(transaction.connection, transaction.thread)
    assert wanted is not None
    place = wanted.place
    following = history.find_heads_beyond([place], [head for _, head in heads], forks, most=1)[place]
    if not following:
        raise MessageNotFoundError(message_id)
    branch, head = heads[following[0]]
    if branch is not None:
        transaction.detail = OperationDetail(subject="branch", name=branch.name)
        transaction.switch_to(branch.id)
    else:
        transaction.detail = OperationDetail(subject="message")
        transaction.move_head(head)
    return message_id


def switch_branch(transaction: Transaction, branch_id: str) -> str:
    branch = thread_rows.select_branch(transaction.connection, branch_id, transaction.thread.id)
    transaction.detail = OperationDetail(subject="branch", name=branch.name)
    transaction.switch_to(branch.id)
    return branch.id


def rename_branch(transaction: Transaction, branch_id: str, name: str) -> None:
    branch = thread_rows.select_branch(transaction.connection, branch_id, transaction.thread.id)
    new_name = clean_name(name) or branch.name
    transaction.detail = OperationDetail(subject="branch", name=branch.name, new_name=new_name)
    transaction.update_row("branch", branch.id, name=new_name)


def fork_branch(transaction: Transaction, message_id: str | None, name: str, checkpoint_id: str | None) -> str:
    """Add a branch that ends at this message, and make it current. See `Store.fork`."""
    place = thread_rows.select_node(transaction.connection, message_id, transaction.thread.id)
    at = place.place if place else None
    saved = state_rows.find_saved_state(transaction.connection, transaction.thread.id, checkpoint_id, at)
    (branch,) = transaction.add_branches([(name, place)], [saved])
    of_checkpoint = checkpoint_id if saved is not None and checkpoint_id else ""
    # As after a restore to a message, no answers of the runs after that state count on the new branch.
    is_earlier = saved is None and branch.state_id != transaction.state_id
    standing: dict[str, list[str]] = {HEAD: []} if is_earlier else {}
    transaction.detail = OperationDetail(subject="branch", name=branch.name, checkpoint=of_checkpoint, standing=standing)
    transaction.switch_to(branch.id)
    return branch.id


def delete_branch(transaction: Transaction, branch_id: str) -> str:
    branch = thread_rows.select_branch(transaction.connection, branch_id, transaction.thread.id)
    if branch.id == transaction.thread.branch_id:
        raise CurrentBranchError
    transaction.detail = OperationDetail(subject="branch", name=branch.name)
    transaction.update_row("branch", branch.id, deleted_at=transaction.now)
    return branch.id


def prune_branches(transaction: Transaction) -> None:
    """Delete every branch but the current branch."""
    others = [
        b
        for b in thread_rows.select_branches(transaction.connection, transaction.thread.id)
        if b.id != transaction.thread.branch_id
    ]
    transaction.detail = OperationDetail(subject="branches", branches=len(others))
    transaction.update_rows("branch", [branch.id for branch in others], deleted_at=transaction.now)


def replace_message(
    transaction: Transaction, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, run_continues: bool = False
) -> str:
    """Replace a message, and copy the later messages that need no dropped message.

    If `run_continues` there, calls with dropped results are copied too, because the run answers them.
    """
    path = transaction.trace_current_path()
    place = thread_rows.select_node(transaction.connection, message_id, transaction.thread.id)
    if place is None or place not in path:
        raise MessageNotFoundError(message_id)
    replaced, *following = message_rows.select_messages(transaction.connection, path, last=path.length - place.depth)
    kept = (
        [m for m in following if m.id not in dropped_ids]
        if run_continues
        else keep_complete_pairs(replaced, new, following, dropped_ids)
    )
    parent = thread_rows.select_node(transaction.connection, replaced.parent_id, transaction.thread.id)
    nodes = transaction.add_messages(parent, [new, *(copy_message(message) for message in kept)])
    transaction.detach_and_move(nodes[-1])
    transaction.detail = OperationDetail(kept=len(kept))
    return nodes[0].id


def copy_message(message: Message) -> NewMessage:
    """Return a copy of a message for another place of its conversation, with the original's run and person.

    Raises `DamagedMessageError`, since a copy would make damage look intact.
    """
    if message.damaged:
        raise DamagedMessageError(message.thread_id, message.id, message.depth)
    time = thread_rows.from_time(message.created_at)
    kept = (time, (), message.run_id, message.person)
    return NewMessage(message.body, message.agent, message.status, None, *kept)


def keep_complete_pairs(
    replaced: Message, new: NewMessage, following: Sequence[Message], dropped_ids: Collection[str]
) -> list[Message]:
    """Return the messages of `following` that can follow `new`, so that calls and results stay paired."""
    kept = [message for message in following if message.id not in dropped_ids]
    calls, answers = _pair_calls([replaced, *following])
    still_asked = {(replaced.depth, identifier) for identifier in _list_call_ids(new.body)}
    while True:
        gone = [message for message in following if message not in kept]
        unasked = calls[replaced.id].union(*(calls[message.id] for message in gone)) - still_asked
        unanswered = {answers[message.id] for message in gone if message.id in answers}
        stands = [m for m in kept if answers.get(m.id) not in unasked and not unanswered & calls[m.id]]
        if len(stands) == len(kept):
            return kept
        kept = stands


def _pair_calls(messages: Sequence[Message]) -> tuple[dict[str, set[_CallKey]], dict[str, _CallKey]]:
    """Return the calls made by each message, and the call answered by each result.

    A result answers the nearest preceding answer of the same agent with calls. Call ids alone are ambiguous, because
    some servers restart with "call_0" in each answer.
    """
    calls: dict[str, set[_CallKey]] = {}
    answers: dict[str, _CallKey] = {}
    last: dict[str, int] = {}
    for message in messages:
        found = _list_call_ids(message.body)
        # Without any call so far, -1 stands for a place before these messages.
        asked_at = last[message.agent] = message.depth if found else last.get(message.agent, -1)
        calls[message.id] = {(asked_at, identifier) for identifier in found}
        if (identifier := _read_answered_call_id(message)) is not None:
            answers[message.id] = (asked_at, identifier)
    return calls, answers


def _list_call_ids(body: Json) -> set[str]:
    data = body["data"]
    return {call["id"] for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or [] if call["id"]}


def _read_answered_call_id(message: Message) -> str | None:
    return message.body["data"].get("tool_call_id") if message.type == "tool" else None
