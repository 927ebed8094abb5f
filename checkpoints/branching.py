"""Other ways that a conversation took: alternatives of a message, branches, and a message replaced in the middle."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import sqlalchemy as sa

from checkpoints import bookmarks, history, rows, schema
from checkpoints.changing import Changing
from checkpoints.errors import CurrentBranchError, DamagedMessageError, MessageNotFoundError
from checkpoints.history import Forks, Path
from checkpoints.model import Branch, Json, Message, NewMessage, Node, OperationKind, Thread, counted

_LEFT_BY = (OperationKind.EDIT, OperationKind.SWITCH)  # changes after which what they left is an alternative
_Call = tuple[int, str]  # the depth of the answer that makes it, and its id there
_NOTED = 200  # of such changes, the newest: alternatives that were left before them are found by undo alone


def siblings(connection: sa.Connection, thread: Thread, messages: Sequence[Message]) -> dict[str, list[str]]:
    """See `Reader.siblings`."""
    forks = rows.forks(connection, thread.id)
    if len(forks) < 2:
        return {}
    ways = [path for _, path in _ways(connection, thread, forks)]
    places = _places(connection, messages, forks)
    found: dict[str, list[str]] = {}
    for message in messages:
        there = places.get(_place(message, forks), [])
        reached = [node.id for node in there if node.id == message.id or any(node in way for way in ways)]
        if len(reached) > 1:
            found[message.id] = reached
    return found


def _place(message: Message, forks: Forks) -> tuple[int | None, int]:
    """What all alternatives of a message share: the segment and the depth of the message before them."""
    parent, depth = forks[message.segment]
    return (parent, depth) if message.depth == depth + 1 else (message.segment, message.depth - 1)


def _places(
    connection: sa.Connection, messages: Sequence[Message], forks: Forks
) -> dict[tuple[int | None, int], list[Node]]:
    """All messages at the places of these that have more than one, by place, oldest first."""
    beginning: dict[tuple[int | None, int], list[int]] = defaultdict(list)
    for segment in sorted(forks):
        beginning[forks[segment]].append(segment)
    wanted: dict[tuple[int, int], tuple[int | None, int]] = {}
    for place in {_place(message, forks) for message in messages} & set(beginning):
        parent, depth = place
        going_on = [] if parent is None else [parent]  # the first one stands in the segment that the others left
        wanted.update({(segment, depth + 1): place for segment in [*going_on, *beginning[place]]})
    table = schema.message.c
    query = sa.select(table.id, table.segment, table.depth).where(sa.tuple_(table.segment, table.depth).in_(list(wanted)))
    found: dict[tuple[int | None, int], list[Node]] = defaultdict(list)
    for row in connection.execute(query.order_by(table.segment)) if wanted else ():
        found[wanted[row.segment, row.depth]].append(Node(row.id, row.segment, row.depth))
    return found


def _ways(connection: sa.Connection, thread: Thread, forks: Forks) -> list[tuple[Branch | None, Path]]:
    """The paths that count: to where the branches stand, and then to what was left for something else, newest first."""
    branches = rows.branches(connection, thread.id)
    heads: list[tuple[Branch | None, str | None]] = [(branch, branch.head_id) for branch in branches]
    heads += [(None, head_id) for head_id in _left(connection, thread.id)]
    found = rows.nodes(connection, {head_id for _, head_id in heads if head_id})
    return [(branch, history.path_to(found[head_id], forks)) for branch, head_id in heads if head_id in found]


def _left(connection: sa.Connection, thread_id: str) -> list[str]:
    table = schema.operation.c
    left = rows.operations(connection, thread_id, table.kind.in_(_LEFT_BY), table.undone_by.is_(None), limit=_NOTED)
    return [
        change.before["head_id"]
        for operation in left
        for change in operation.changes
        if change.table == "branch" and change.before.get("head_id")
    ]


def choosing(change: Changing, message_id: str) -> str:
    """Stand on what last followed an alternative: the branch that holds it, or else where it was left."""
    wanted = rows.node(change.connection, message_id, change.thread.id)
    forks = rows.forks(change.connection, change.thread.id)
    for branch, path in _ways(change.connection, change.thread, forks):
        if wanted not in path:
            continue
        if branch is not None:
            change.note = f"branch {branch.name}"
            change.move("thread", change.thread.id, branch_id=branch.id)
        else:
            change.note = "another alternative"
            change.move_head(_tip(change, path))
        return message_id
    raise MessageNotFoundError(message_id)


def _tip(change: Changing, path: Path) -> Node:
    last = rows.messages(change.connection, path, last=1)[0]
    return Node(last.id, last.segment, last.depth)


def forking(change: Changing, message_id: str | None, name: str) -> str:
    """A new branch from a message, to stand on."""
    place = rows.node(change.connection, message_id, change.thread.id)
    branch_id = change.add_branch(name, place.id if place else None)
    change.note = f"branch {rows.branch(change.connection, branch_id, change.thread.id).name}"
    change.move("thread", change.thread.id, branch_id=branch_id)
    return branch_id


def filling(change: Changing, source: Thread, path: Path) -> str:
    """Copy a path of another conversation, and the checkpoints that its branch shows there, into this new one."""
    messages = rows.messages(change.connection, path)
    # No run of this conversation wrote them: what is derived from them is said to come from elsewhere.
    nodes = change.add(None, [replace(copied(message), run_id=None) for message in messages])
    shown = history.listed(bookmarks.every(change.connection, source.id), "", path)
    for checkpoint in shown:
        node = nodes[checkpoint.message_count - 1]
        change.add_checkpoint(replace(checkpoint, id="", node=node, branch_id=change.thread.branch_id, detached=False))
    change.move_head(nodes[-1] if nodes else None)
    change.note = source.title
    change.made("thread", change.thread.id)
    return change.thread.id


def deleting(change: Changing, branch_id: str) -> str:
    branch = rows.branch(change.connection, branch_id, change.thread.id)
    if branch.id == change.thread.branch_id:
        raise CurrentBranchError
    change.note = f"branch {branch.name}"
    change.move("branch", branch.id, deleted_at=change.now)
    return branch.id


def pruning(change: Changing) -> None:
    """Delete every branch but the one that the conversation stands on."""
    others = [b for b in rows.branches(change.connection, change.thread.id) if b.id != change.thread.branch_id]
    change.note = counted(len(others), "other branch", "other branches")
    for branch in others:
        change.move("branch", branch.id, deleted_at=change.now)


def replacing(change: Changing, message_id: str, new: NewMessage, drop: Collection[str], *, goes_on: bool = False) -> str:
    """Write another message in the place of one, and again after it what followed and can stand without what is dropped.

    Where a run `goes_on` from there, calls whose results are dropped can stand: it answers them.
    """
    path = change.path()
    place = rows.node(change.connection, message_id, change.thread.id)
    if place is None or place not in path:
        raise MessageNotFoundError(message_id)
    replaced, *following = rows.messages(change.connection, path, last=path.length - place.depth)
    kept = [m for m in following if m.id not in drop] if goes_on else standing(replaced, new, following, drop)
    parent = rows.node(change.connection, replaced.parent_id, change.thread.id)
    nodes = change.add(parent, [new, *(copied(message) for message in kept)])
    change.leave_for(nodes[-1])
    change.note = counted(len(kept), "later message")
    return nodes[0].id


def copied(message: Message) -> NewMessage:
    """The message once more, for another place of its conversation. What is said of the answer of a run is said of its copy.

    Raises `DamagedMessageError`: a copy would make damage look whole.
    """
    if message.damaged:
        raise DamagedMessageError(message.thread_id, message.id, message.depth)
    time = rows.from_time(message.created_at)
    return NewMessage(message.body, agent=message.agent, status=message.status, created_at=time, run_id=message.run_id)


def standing(replaced: Message, new: NewMessage, following: Sequence[Message], drop: Collection[str]) -> list[Message]:
    """What of `following` stands after `new`: no result whose call is gone, and no call of which a result is gone."""
    kept = [message for message in following if message.id not in drop]
    calls, answers = _paired([replaced, *following])
    still_asked = {(replaced.depth, identifier) for identifier in _calls(new.body)}
    while True:
        gone = [message for message in following if message not in kept]
        unasked = calls[replaced.id].union(*(calls[message.id] for message in gone)) - still_asked
        unanswered = {answers[message.id] for message in gone if message.id in answers}
        stands = [m for m in kept if answers.get(m.id) not in unasked and not unanswered & calls[m.id]]
        if len(stands) == len(kept):
            return kept
        kept = stands


def _paired(messages: Sequence[Message]) -> tuple[dict[str, set[_Call]], dict[str, _Call]]:
    """The calls that each message makes, and the one that each result answers: of the nearest answer of the same agent
    before it that calls. Their ids alone would not do: some servers begin anew with "call_0" in each answer.
    """
    calls: dict[str, set[_Call]] = {}
    answers: dict[str, _Call] = {}
    last: dict[str, int] = {}
    for message in messages:
        found = _calls(message.body)
        asked_at = last[message.agent] = message.depth if found else last.get(message.agent, -1)  # -1: before these
        calls[message.id] = {(asked_at, identifier) for identifier in found}
        if (identifier := _answers(message)) is not None:
            answers[message.id] = (asked_at, identifier)
    return calls, answers


def _calls(body: Json) -> set[str]:
    data = body["data"]
    return {call["id"] for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or [] if call["id"]}


def _answers(message: Message) -> str | None:
    return message.body["data"].get("tool_call_id") if message.type == "tool" else None
