"""Writing a document into a conversation: in the place of its contents, or merged with them.

Messages that the conversation contains already (equal hash, equal history) are used again, so none is written twice.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import chain
from typing import Any

import sqlalchemy as sa

from checkpoints import files, history
from checkpoints.changes.transaction import ChangeBody, Transaction
from checkpoints.errors import InvalidDocumentError
from checkpoints.interchange.branch_index import BranchHead, find_free_name, match_branches
from checkpoints.interchange.waymark import CheckpointPart, Document, MessagePart
from checkpoints.model import Checkpoint, Json, NewMessage, Node, clean_name
from checkpoints.operation_detail import OperationDetail
from checkpoints.storage import checkpoint_rows, message_rows, schema, thread_rows

IntactMessages = Mapping[str, tuple[str, Node]]  # by id: hash and node, as message_rows.select_intact_messages returns them


class NothingNewError(Exception):
    """A merge would change nothing: raised within the change, so that none is recorded. Only transfer catches it."""


def make_replacement(doc: Document) -> ChangeBody:
    """Make the change that replaces a conversation's contents by a document's, with its current branch and head."""

    def replace_contents(transaction: Transaction) -> str:
        transaction.detail = transaction.detail or OperationDetail(name=doc.thread.title)
        here = message_rows.select_intact_messages(transaction.connection, transaction.thread.id)
        fresh = _needs_new_ids(transaction, doc, here)
        nodes = _write_messages(transaction, doc, here, fresh)
        branches = _write_branches(transaction, doc, nodes)
        transaction.move_head(nodes[doc.active_head] if doc.active_head else None)
        transaction.update_rows(
            "checkpoint",
            [checkpoint.id for checkpoint in transaction.select_visible_checkpoints()],
            deleted_at=transaction.now,
        )
        own = checkpoint_rows.select_checkpoint_ids(transaction.connection, transaction.thread.id)
        places = [(part, nodes[part.message_id], branches[part.branch]) for part in doc.checkpoints]
        # Some of these were deleted in this thread before; the others were hidden by the statement above.
        transaction.update_each_row(
            "checkpoint", {each[0].id: _checkpoint_values(*each) for each in places if each[0].id in own}
        )
        new = [each for each in places if each[0].id not in own]
        transaction.add_checkpoints(
            [_build_checkpoint(part, "" if fresh else part.id, node, branch_id) for part, node, branch_id in new]
        )
        return transaction.thread.id

    return replace_contents


def make_merge(doc: Document) -> ChangeBody:
    """Make the change that adds a document to a conversation without moving its head. Raises `NothingNewError`.

    A branch of the document equals a stored one with the same head, or with the same name that continues it. Any other
    branch is added, under a free name. A checkpoint equals a stored one with its id, or with its message, time and name.
    """

    def merge_contents(transaction: Transaction) -> str:
        here = message_rows.select_intact_messages(transaction.connection, transaction.thread.id)
        fresh = _needs_new_ids(transaction, doc, here)
        nodes = _write_messages(transaction, doc, here, fresh)
        before = {hash_ for hash_, _ in here.values()}
        written = sum(message.hash not in before for message in doc.messages)
        branches = _merge_branches(transaction, doc, nodes)
        brought = len(transaction.changes)
        checkpoints = _merge_checkpoints(transaction, doc, nodes, branches, fresh)
        if not written and not transaction.changes:
            raise NothingNewError
        transaction.detail = OperationDetail(
            name=doc.thread.title, messages=written, branches=brought, checkpoints=checkpoints
        )
        return transaction.thread.id

    return merge_contents


def _merge_branches(transaction: Transaction, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """Add the branches that the conversation does not have. Return the stored id of each branch by its id in the file."""
    stored = thread_rows.select_branch_heads(transaction.connection, transaction.thread.id)
    parents = thread_rows.select_segment_parents(transaction.connection, transaction.thread.id)
    heads = [BranchHead(part.id, part.name, nodes[part.head] if part.head else None) for part in doc.branches]
    ids = match_branches(heads, stored, parents)
    names, numbers = {branch.name for branch, _ in stored}, dict[str, int]()
    new: dict[str, tuple[str, str | None]] = {}
    for head in heads:
        if head.id not in ids:
            name = find_free_name(head.name, names, numbers)
            names.add(name)
            new[head.id] = (name, head.head_id)
    return ids | dict(zip(new, transaction.add_branches(list(new.values())), strict=True))


def _merge_checkpoints(
    transaction: Transaction, doc: Document, nodes: Mapping[str, Node], branches: Mapping[str, str], needs_new_ids: bool
) -> int:
    """Add the checkpoints that no branch shows, and return their number. A deleted or hidden one is listed again."""
    own = checkpoint_rows.select_checkpoint_ids(transaction.connection, transaction.thread.id)
    shown = _list_visible_checkpoints(transaction)
    ids = {checkpoint.id for checkpoint in shown}
    alike = {(c.node.id, c.timestamp, name) for c in shown if c.node for name in ("", clean_name(c.name))}
    again: dict[str, Json] = {}
    new: list[Checkpoint] = []
    for part in doc.checkpoints:
        node, branch_id = nodes[part.message_id], branches[part.branch]
        if part.id in ids or (part.id not in own and (node.id, part.timestamp, part.name) in alike):
            continue
        if part.id in own:
            again[part.id] = {"deleted_at": None, "branch_id": branch_id, "detached": part.detached}
        else:
            new.append(_build_checkpoint(part, "" if needs_new_ids else part.id, node, branch_id))
    transaction.update_each_row("checkpoint", again)
    transaction.add_checkpoints(new)
    return len(again) + len(new)


def _list_visible_checkpoints(transaction: Transaction) -> list[Checkpoint]:
    """Return the checkpoints that any branch shows."""
    own = thread_rows.select_branch_heads(transaction.connection, transaction.thread.id)
    forks = thread_rows.select_segment_parents(transaction.connection, transaction.thread.id)
    reached = history.find_reachable_depths([head for _, head in own if head], forks)
    every = checkpoint_rows.select_checkpoints(transaction.connection, transaction.thread.id)
    return history.filter_listed(every, {branch.id for branch, _ in own}, reached)


def _write_branches(transaction: Transaction, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """Return the stored id of each of the document's branches. The active one becomes the conversation's current branch.

    Branches that the document does not have are deleted.
    """
    there: dict[tuple[str, str | None], deque[str]] = defaultdict(deque)  # two may be equal
    for own in thread_rows.select_branches(transaction.connection, transaction.thread.id):
        if own.id != transaction.thread.branch_id:
            there[own.name, own.head_id].append(own.id)
    active = next(branch for branch in doc.branches if branch.id == doc.active)
    transaction.update_row("branch", transaction.thread.branch_id, name=active.name)
    found = {doc.active: transaction.thread.branch_id}
    new: dict[str, tuple[str, str | None]] = {}
    for branch in doc.branches:
        if branch.id != doc.active:
            head_id = nodes[branch.head].id if branch.head else None
            if same := there[branch.name, head_id]:
                found[branch.id] = same.popleft()
            else:
                new[branch.id] = (branch.name, head_id)
    found.update(zip(new, transaction.add_branches(list(new.values())), strict=True))
    transaction.update_rows("branch", chain.from_iterable(there.values()), deleted_at=transaction.now)
    return found


def _checkpoint_values(part: CheckpointPart, node: Node, branch_id: str) -> dict[str, Any]:
    """Return the mutable columns of a checkpoint. The message is another one where the stored message is damaged."""
    return {
        **({"name": part.name} if part.name else {}),
        "description": part.description,
        "pinned": part.pinned,
        "tokens": part.tokens,
        "detached": part.detached,
        "branch_id": branch_id,
        "message_id": node.id,
        "segment": node.segment,
        "depth": node.depth,
        "deleted_at": None,
    }


def _build_checkpoint(part: CheckpointPart, identifier: str, node: Node, branch_id: str) -> Checkpoint:
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


def _write_messages(
    transaction: Transaction, doc: Document, intact: IntactMessages, needs_new_ids: bool
) -> Mapping[str, Node]:
    """Write the document's tree, chain by chain, and reuse the messages that the conversation has (equal hash and history).

    Of several equal messages, the one with the document's id is used. A damaged one is written again, under another id.
    """
    nodes: dict[str, Node] = {}
    known = dict(intact.values())
    taken = thread_rows.select_nodes(transaction.connection, [message.id for message in doc.messages])
    children: dict[str | None, list[MessagePart]] = defaultdict(list)
    for message in doc.messages:
        if message.hash in known:
            nodes[message.id] = intact[message.id][1] if message.id in intact else known[message.hash]
        children[message.parent_id].append(message)
    for message in doc.messages:  # chains begin in the document's order, so that a new export has the same order
        if message.id in nodes:
            continue
        line = [message]
        while following := children[line[-1].id]:
            line.append(following[0])
        parent = nodes[message.parent_id] if message.parent_id else None
        written = transaction.add_messages(parent, [_build_message(doc, m, needs_new_ids or m.id in taken) for m in line])
        nodes.update(zip((m.id for m in line), written, strict=True))
    return nodes


def _build_message(doc: Document, message: MessagePart, needs_new_id: bool) -> NewMessage:
    named = files.find_file_parts(message.message["data"].get("content"))
    return NewMessage(
        body=message.message,
        agent=message.agent,
        status=message.status,
        id=None if needs_new_id else message.id,
        created_at=thread_rows.from_time(message.created_at),
        files=tuple(doc.files_by_hash[part["file"]] for part in named),
    )


def _needs_new_ids(transaction: Transaction, doc: Document, intact: IntactMessages) -> bool:
    """Return whether another conversation uses ids of the document, so that this copy needs new ones.

    An id that is in use for another message is refused: such a file would impersonate that message. A damaged message of
    this conversation does not count as another one.
    """
    message, checkpoint = schema.message.c, schema.checkpoint.c
    found = (message.hash, message.thread_id, message.id.label("place"))
    messages = _select_owners(transaction.connection, sa.select(message.id, *found), [m.id for m in doc.messages])

    def is_another(known: tuple[str, str, str], hash_: str) -> bool:
        return known[0] != hash_ and (known[1] != transaction.thread.id or known[2] in intact)

    for index, part in enumerate(doc.messages):
        if part.id in messages and is_another(messages[part.id], part.hash):
            raise InvalidDocumentError("is the id of another message here", f"messages[{index}].id")
    hashes = {m.id: m.hash for m in doc.messages}
    query = sa.select(checkpoint.id, *found).join_from(
        schema.checkpoint, schema.message, message.id == checkpoint.message_id
    )
    places = _select_owners(transaction.connection, query, [c.id for c in doc.checkpoints])
    for index, checkpoint_part in enumerate(doc.checkpoints):
        if checkpoint_part.id in places and is_another(places[checkpoint_part.id], hashes[checkpoint_part.message_id]):
            raise InvalidDocumentError("is the id of another checkpoint here", f"checkpoints[{index}].id")
    return any(known[1] != transaction.thread.id for known in [*messages.values(), *places.values()])


def _select_owners(connection: sa.Connection, query: sa.Select[Any], ids: list[str]) -> dict[str, tuple[str, str, str]]:
    """Return (hash, thread, message) by id."""
    return {row[0]: (row[1], row[2], row[3]) for row in thread_rows.select_with_ids(connection, query, ids)}
