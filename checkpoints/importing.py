"""Writing a document into a conversation: in the place of what is there (`filling`), or beside it (`merging`).

Messages that the conversation holds already (equal hash, equal history) are used again, so nothing is written twice.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from checkpoints import rows, schema
from checkpoints.changing import Body, Changing
from checkpoints.document import BranchPart, CheckpointPart, Document, MessagePart
from checkpoints.errors import InvalidDocumentError
from checkpoints.history import Path
from checkpoints.model import NAME_LENGTH, Branch, Checkpoint, NewMessage, Node, counted


class NothingNewError(Exception):
    """A merge that would change nothing: raised within the change, so that none is recorded. Never leaves transfer."""


def filling(doc: Document) -> Body:
    """The change that writes a document into a conversation and stands where the document stands."""

    def body(change: Changing) -> str:
        change.note = change.note or doc.thread.title
        fresh = _ids_taken(change, doc)
        nodes = _write_messages(change, doc, fresh)
        branches = _write_branches(change, doc, nodes)
        change.move_head(nodes[doc.active_head] if doc.active_head else None)
        for checkpoint in change.shown():
            change.move("checkpoint", checkpoint.id, deleted_at=change.now)
        own = rows.checkpoint_ids(change.connection, change.thread.id)
        for part in doc.checkpoints:
            branch_id = branches[part.branch]
            if part.id in own:  # it was deleted here, or has just left with what was there
                as_it_was = {"name": part.name, "detached": part.detached, "branch_id": branch_id, "deleted_at": None}
                change.move("checkpoint", part.id, **as_it_was)
            else:
                change.add_checkpoint(_bookmark(part, "" if fresh else part.id, nodes[part.message_id], branch_id))
        return change.thread.id

    return body


def merging(doc: Document) -> Body:
    """The change that adds a document to a conversation, whose head stays where it is. Raises `NothingNewError`.

    A branch of the document is one of the conversation's if that stands at the same place, or has the same name and went on
    from there; else it comes in, under a name of its own. A checkpoint is there if its id is, or one like it at its place.
    """

    def body(change: Changing) -> str:
        fresh = _ids_taken(change, doc)
        before = set(rows.nodes_by_hash(change.connection, change.thread.id))
        nodes = _write_messages(change, doc, fresh)
        written = sum(message.hash not in before for message in doc.messages)
        branches = _bring_branches(change, doc, nodes)
        brought = len(change.changes)
        checkpoints = _bring_checkpoints(change, doc, nodes, branches, fresh)
        if not written and not change.changes:
            raise NothingNewError
        added = ((written, "message", ""), (brought, "branch", "branches"), (checkpoints, "checkpoint", ""))
        counts = ", ".join(counted(number, *noun) for number, *noun in added if number)
        change.note = f"{doc.thread.title} · {counts} added"
        return change.thread.id

    return body


def _bring_branches(change: Changing, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The id here of each of the document's branches."""
    own = rows.branches(change.connection, change.thread.id)
    places = rows.nodes(change.connection, [branch.head_id for branch in own if branch.head_id])
    ways = {branch.id: change.path_to(places.get(branch.head_id or "")) for branch in own}
    names = {branch.name for branch in own}
    found: dict[str, str] = {}
    for branch in doc.branches:
        head = nodes[branch.head] if branch.head else None
        same = _same_branch(branch, head, [each for each in own if each.id not in found.values()], ways)
        if same is None:
            name = _free_name(branch.name, names)
            names.add(name)
            found[branch.id] = change.add_branch(name, head.id if head else None)
        else:
            found[branch.id] = same
    return found


def _same_branch(branch: BranchPart, head: Node | None, own: list[Branch], ways: Mapping[str, Path]) -> str | None:
    there = [each for each in own if each.head_id == (head.id if head else None)]
    if there:
        return next((each.id for each in there if each.name == branch.name), there[0].id)
    known_as = re.compile(re.escape(branch.name) + r"( \(\d+\))?")
    ahead = (each.id for each in own if known_as.fullmatch(each.name) and (head is None or head in ways[each.id]))
    return next(ahead, None)


def _free_name(name: str, taken: set[str]) -> str:
    number = 1
    free = name
    while free in taken:
        number += 1
        ending = f" ({number})"
        free = f"{name[: NAME_LENGTH - len(ending)]}{ending}"
    return free


def _bring_checkpoints(
    change: Changing, doc: Document, nodes: Mapping[str, Node], branches: Mapping[str, str], fresh: bool
) -> int:
    """How many came in. One that was deleted here comes back as it was."""
    own = rows.checkpoint_ids(change.connection, change.thread.id)
    shown = rows.checkpoints(change.connection, change.thread.id)
    ids = {checkpoint.id for checkpoint in shown}
    alike = {(c.node.id, c.timestamp, c.name) for c in shown if c.node}
    brought = 0
    for part in doc.checkpoints:
        node = nodes[part.message_id]
        if part.id in ids or (part.id not in own and (node.id, part.timestamp, part.name) in alike):
            continue
        brought += 1
        if part.id in own:
            change.move("checkpoint", part.id, deleted_at=None)
        else:
            change.add_checkpoint(_bookmark(part, "" if fresh else part.id, node, branches[part.branch]))
    return brought


def _write_branches(change: Changing, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The id here of each of the document's branches; the active one is the one that the conversation stands on."""
    there: dict[tuple[str, str | None], list[str]] = defaultdict(list)  # two may be alike
    for own in rows.branches(change.connection, change.thread.id):
        if own.id != change.thread.branch_id:
            there[own.name, own.head_id].append(own.id)
    active = next(branch for branch in doc.branches if branch.id == doc.active)
    change.move("branch", change.thread.branch_id, name=active.name)
    found = {doc.active: change.thread.branch_id}
    for branch in doc.branches:
        if branch.id != doc.active:
            head_id = nodes[branch.head].id if branch.head else None
            same = there[branch.name, head_id]
            found[branch.id] = same.pop(0) if same else change.add_branch(branch.name, head_id)
    return found


def _bookmark(part: CheckpointPart, identifier: str, node: Node, branch_id: str) -> Checkpoint:
    return Checkpoint(
        id=identifier,
        name=part.name,
        timestamp=part.timestamp,
        message_count=part.message_count,
        description=part.description,
        created_by=part.created_by,
        tokens=part.tokens,
        pinned=part.pinned,
        node=node,
        extra=part.extra,
        branch_id=branch_id,
        detached=part.detached,
    )


def _write_messages(change: Changing, doc: Document, fresh: bool) -> Mapping[str, Node]:
    """Write the document's tree, chain by chain, reusing what the conversation holds already (equal hash, equal history)."""
    nodes: dict[str, Node] = {}
    known = rows.nodes_by_hash(change.connection, change.thread.id)
    children: dict[str | None, list[MessagePart]] = defaultdict(list)
    for message in doc.messages:
        if message.hash in known:
            nodes[message.id] = known[message.hash]
        children[message.parent_id].append(message)
    for message in doc.messages:  # the beginnings of chains in their order, so that another export has the same
        if message.id in nodes:
            continue
        chain = [message]
        while following := children[chain[-1].id]:
            chain.append(following[0])
        parent = nodes[message.parent_id] if message.parent_id else None
        written = change.add(parent, [_new(m, fresh) for m in chain])
        nodes.update(zip((m.id for m in chain), written, strict=True))
    return nodes


def _new(message: MessagePart, fresh: bool) -> NewMessage:
    return NewMessage(
        body=message.message,
        agent=message.agent,
        status=message.status,
        id=None if fresh else message.id,
        created_at=rows.from_time(message.created_at),
    )


def _ids_taken(change: Changing, doc: Document) -> bool:
    """Whether ids of the document are in use in another conversation, so that this copy of it needs new ones.

    An id that is in use for something else is refused: such a file wants to stand in for what it is not.
    """
    message, checkpoint = schema.message.c, schema.checkpoint.c
    messages = _found(
        change.connection, sa.select(message.id, message.hash, message.thread_id), [m.id for m in doc.messages]
    )
    for index, part in enumerate(doc.messages):
        if messages.get(part.id, (part.hash, ""))[0] != part.hash:
            raise InvalidDocumentError("is the id of another message here", f"messages[{index}].id")
    hashes = {m.id: m.hash for m in doc.messages}
    query = sa.select(checkpoint.id, message.hash, checkpoint.thread_id).join(
        schema.message, message.id == checkpoint.message_id
    )
    places = _found(change.connection, query, [c.id for c in doc.checkpoints])
    for index, bookmark in enumerate(doc.checkpoints):
        if places.get(bookmark.id, (hashes[bookmark.message_id], ""))[0] != hashes[bookmark.message_id]:
            raise InvalidDocumentError("is the id of another checkpoint here", f"checkpoints[{index}].id")
    return any(thread_id != change.thread.id for _, thread_id in [*messages.values(), *places.values()])


def _found(connection: sa.Connection, query: sa.Select[Any], ids: list[str]) -> dict[str, tuple[str, str]]:
    """(hash, thread) by id, asked in portions: databases limit how many values one statement may carry."""
    key = query.selected_columns[0]
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(ids), 500):
        portion = connection.execute(query.where(key.in_(ids[start : start + 500])))
        found.update((row[0], (row[1], row[2])) for row in portion)
    return found
