"""Export and import: conversations as documents of the format waymark/1.

Reading runs nothing and resolves nothing, and checks everything before anything is touched. Importing never overwrites: it
makes a new conversation, or (through the library face) moves a conversation's head to what was imported, undoably.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from checkpoints import document, rows, schema
from checkpoints.changing import Body, Changing
from checkpoints.document import CheckpointPart, Document, MessagePart
from checkpoints.errors import InvalidDocumentError
from checkpoints.model import USER, By, Checkpoint, Json, Message, NewMessage, Node, Receipt
from checkpoints.store import Store


def export(store: Store, thread_id: str) -> str:
    """The conversation as text: what its branches and checkpoints reach, every message once, parents first."""
    thread, branches, checkpoints, messages = store.whole(thread_id)
    roots = {b.head_id for b in branches} | {c.node.id for c in checkpoints if c.node}
    made: Json = {
        "format": document.FORMAT,
        "exported_at": store.now().isoformat(),
        "thread": {"title": thread.title, "settings": dict(thread.settings)},
        "messages": [_message(m) for m in _reached(messages, roots)],
        "branches": [{"id": b.id, "name": b.name, "head": b.head_id} for b in branches],
        "checkpoints": [_checkpoint(c) for c in checkpoints],
        "active": thread.branch_id,
    }
    return document.to_text({**made, "sha256": document.body_hash(made)})


def _reached(messages: list[Message], roots: set[str | None]) -> list[Message]:
    parents = {m.id: m.parent_id for m in messages}
    wanted: set[str] = set()
    for identifier in roots:
        while identifier is not None and identifier not in wanted:
            wanted.add(identifier)
            identifier = parents[identifier]  # noqa: PLW2901
    return [m for m in messages if m.id in wanted]


def _message(message: Message) -> Json:
    return {
        "id": message.id,
        "parent_id": message.parent_id,
        "agent": message.agent,
        "status": message.status,
        "created_at": message.created_at.isoformat(),
        "message": message.body,
        "hash": message.hash,
    }


def _checkpoint(checkpoint: Checkpoint) -> Json:
    assert checkpoint.node is not None
    return {
        **checkpoint.summary(),
        "message_id": checkpoint.node.id,
        "branch": checkpoint.branch_id,
        "detached": checkpoint.detached,
        "extra": checkpoint.extra,
    }


def import_thread(store: Store, doc: Document, *, by: By = USER) -> Receipt:
    """A new conversation from a document; the result is its id. The same document again is the conversation it made."""
    return store.import_thread(doc.thread.title, doc.sha256, filling(doc), by=by)


def filling(doc: Document) -> Body:
    """The change that writes a document into a conversation and stands where the document stands."""

    def body(change: Changing) -> str:
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
    waiting = [m for m in reversed(doc.messages) if m.id not in nodes and (m.parent_id is None or m.parent_id in nodes)]
    while waiting:
        chain = [waiting.pop()]
        while following := children[chain[-1].id]:
            waiting.extend(following[:0:-1])
            chain.append(following[0])
        parent = nodes[chain[0].parent_id] if chain[0].parent_id else None
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
