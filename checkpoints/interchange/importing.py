"""Writing a document into a conversation: in the place of what is there (`filling`), or beside it (`merging`).

Messages that the conversation holds already (equal hash, equal history) are used again, so nothing is written twice.
"""

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import sqlalchemy as sa

from checkpoints import files, history
from checkpoints.changes.transaction import ChangeBody, Transaction
from checkpoints.errors import InvalidDocumentError
from checkpoints.history import Path
from checkpoints.interchange.waymark import BranchPart, CheckpointPart, Document, MessagePart
from checkpoints.model import MAX_NAME_CHARS, Branch, Checkpoint, NewMessage, Node, clean_name, pluralize
from checkpoints.storage import checkpoint_rows, rows, schema

IntactMessages = Mapping[str, tuple[str, Node]]  # what the conversation holds undamaged: see rows.whole


class NothingNewError(Exception):
    """A merge that would change nothing: raised within the change, so that none is recorded. Never leaves transfer."""


def make_replacement(doc: Document) -> ChangeBody:
    """The change that writes a document into a conversation and stands where the document stands."""

    def replace_contents(transaction: Transaction) -> str:
        transaction.note = transaction.note or doc.thread.title
        here = rows.select_intact_messages(transaction.connection, transaction.thread.id)
        fresh = _needs_new_ids(transaction, doc, here)
        nodes = _write_messages(transaction, doc, here, fresh)
        branches = _write_branches(transaction, doc, nodes)
        transaction.move_head(nodes[doc.active_head] if doc.active_head else None)
        for checkpoint in transaction.visible_checkpoints():
            transaction.update_row("checkpoint", checkpoint.id, deleted_at=transaction.now)
        own = checkpoint_rows.select_checkpoint_ids(transaction.connection, transaction.thread.id)
        for part in doc.checkpoints:
            branch_id = branches[part.branch]
            if part.id in own:  # it was deleted here, or has just left with what was there
                transaction.update_row("checkpoint", part.id, **_checkpoint_values(part, nodes[part.message_id], branch_id))
            else:
                transaction.add_checkpoint(
                    _build_checkpoint(part, "" if fresh else part.id, nodes[part.message_id], branch_id)
                )
        return transaction.thread.id

    return replace_contents


def make_merge(doc: Document) -> ChangeBody:
    """The change that adds a document to a conversation, whose head stays where it is. Raises `NothingNewError`.

    A branch of the document is one of the conversation's if that stands at the same place, or has the same name and went on
    from there; else it comes in, under a name of its own. A checkpoint is there if its id is, or one like it at its place.
    """

    def merge_contents(transaction: Transaction) -> str:
        here = rows.select_intact_messages(transaction.connection, transaction.thread.id)
        fresh = _needs_new_ids(transaction, doc, here)
        nodes = _write_messages(transaction, doc, here, fresh)
        before = {hash_ for hash_, _ in here.values()}
        written = sum(message.hash not in before for message in doc.messages)
        branches = _merge_branches(transaction, doc, nodes)
        brought = len(transaction.changes)
        checkpoints = _merge_checkpoints(transaction, doc, nodes, branches, fresh)
        if not written and not transaction.changes:
            raise NothingNewError
        added = ((written, "message", ""), (brought, "branch", "branches"), (checkpoints, "checkpoint", ""))
        counts = ", ".join(pluralize(number, *noun) for number, *noun in added if number)
        transaction.note = f"{doc.thread.title} · {counts} added"
        return transaction.thread.id

    return merge_contents


def _merge_branches(transaction: Transaction, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The id here of each of the document's branches."""
    own = rows.select_branch_paths(transaction.connection, transaction.thread.id)
    known = _index_branches(own, {node.segment for node in nodes.values()})
    found: dict[str, str] = {}
    taken: set[str] = set()
    # In rounds, the surest first: what one branch takes for its place alone may be another's by its name.
    for asked in (_key_by_name_and_head, _key_by_name_and_segment, _key_by_head):
        for part in (each for each in doc.branches if each.id not in found):
            head = nodes[part.head] if part.head else None
            alike = known[asked(part, head)]
            while alike and alike[0][1] in taken:
                alike.popleft()
            depth = head.depth if head else -1
            same = next((own_id for last, own_id in alike if last >= depth and own_id not in taken), None)
            if same is not None:
                found[part.id] = same
                taken.add(same)
    names, numbers = {branch.name for branch, _ in own}, dict[str, int]()
    for part in doc.branches:
        if part.id not in found:
            name = _free_branch_name(part.name, names, numbers)
            names.add(name)
            found[part.id] = transaction.add_branch(name, nodes[part.head].id if part.head else None)
    return found


_BranchKey = tuple[str | None, ...]
_BranchIndex = defaultdict[
    _BranchKey, deque[tuple[int, str]]
]  # what may be asked for -> the branches here, and how far they go there


def _index_branches(branches: Sequence[tuple[Branch, Path]], imported_segments: set[int]) -> _BranchIndex:
    """The branches here by all that a branch of a document may be found by: there may be thousands of each."""
    known: _BranchIndex = defaultdict(deque)
    for branch, way in branches:
        entry = (way.length - 1, branch.id)
        known["place", branch.head_id].append(entry)
        numbered = re.fullmatch(r"(.*) \(\d+\)", branch.name, re.DOTALL)  # as it was named if its name was taken
        for name in (branch.name, numbered[1]) if numbered else (branch.name,):
            known["name and place", name, branch.head_id].append(entry)
            known["name", name].append(entry)
            for segment, last in way.segments:
                if segment in imported_segments:
                    known["name and way", name, str(segment)].append((last, branch.id))
    return known


def _key_by_name_and_head(part: BranchPart, head: Node | None) -> _BranchKey:
    return "name and place", part.name, head.id if head else None


def _key_by_name_and_segment(part: BranchPart, head: Node | None) -> _BranchKey:
    return ("name and way", part.name, str(head.segment)) if head else ("name", part.name)


def _key_by_head(_: BranchPart, head: Node | None) -> _BranchKey:
    return "place", head.id if head else None


def _free_branch_name(name: str, taken: set[str], numbers: dict[str, int]) -> str:
    """The name, or the first with a number that is not taken; `numbers` remembers up to which they are."""
    free = name
    while free in taken:
        numbers[name] = numbers.get(name, 1) + 1
        ending = f" ({numbers[name]})"
        free = f"{name[: MAX_NAME_CHARS - len(ending)]}{ending}"
    return free


def _merge_checkpoints(
    transaction: Transaction, doc: Document, nodes: Mapping[str, Node], branches: Mapping[str, str], needs_new_ids: bool
) -> int:
    """How many came in. One that was deleted here, or that nothing shows any more, comes back as it was."""
    own = checkpoint_rows.select_checkpoint_ids(transaction.connection, transaction.thread.id)
    shown = _list_visible_checkpoints(transaction)
    ids = {checkpoint.id for checkpoint in shown}
    alike = {(c.node.id, c.timestamp, name) for c in shown if c.node for name in ("", clean_name(c.name))}
    brought = 0
    for part in doc.checkpoints:
        node = nodes[part.message_id]
        if part.id in ids or (part.id not in own and (node.id, part.timestamp, part.name) in alike):
            continue
        brought += 1
        if part.id in own:
            transaction.update_row(
                "checkpoint", part.id, deleted_at=None, branch_id=branches[part.branch], detached=part.detached
            )
        else:
            transaction.add_checkpoint(
                _build_checkpoint(part, "" if needs_new_ids else part.id, node, branches[part.branch])
            )
    return brought


def _list_visible_checkpoints(transaction: Transaction) -> list[Checkpoint]:
    """The checkpoints that any branch shows."""
    own = rows.select_branch_paths(transaction.connection, transaction.thread.id)
    standing, ways = {branch.id for branch, _ in own}, history.reachable_depths(path for _, path in own)
    every = checkpoint_rows.select_checkpoints(transaction.connection, transaction.thread.id)
    return [c for c in every if (c.detached and c.branch_id in standing) or _is_reachable(c.node, ways)]


def _is_reachable(node: Node | None, depths: Mapping[int, int]) -> bool:
    return node is not None and node.depth <= depths.get(node.segment, -1)


def _write_branches(transaction: Transaction, doc: Document, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The id here of each of the document's branches; the active one is the one that the conversation stands on.

    Branches that the document does not have leave the list.
    """
    there: dict[tuple[str, str | None], list[str]] = defaultdict(list)  # two may be alike
    for own in rows.select_branches(transaction.connection, transaction.thread.id):
        if own.id != transaction.thread.branch_id:
            there[own.name, own.head_id].append(own.id)
    active = next(branch for branch in doc.branches if branch.id == doc.active)
    transaction.update_row("branch", transaction.thread.branch_id, name=active.name)
    found = {doc.active: transaction.thread.branch_id}
    for branch in doc.branches:
        if branch.id != doc.active:
            head_id = nodes[branch.head].id if branch.head else None
            same = there[branch.name, head_id]
            found[branch.id] = same.pop(0) if same else transaction.add_branch(branch.name, head_id)
    for left in chain.from_iterable(there.values()):
        transaction.update_row("branch", left, deleted_at=transaction.now)
    return found


def _checkpoint_values(part: CheckpointPart, node: Node, branch_id: str) -> dict[str, Any]:
    """What moves of a checkpoint, as the document has it. Its message is another one where the first was damaged."""
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
    """Write the document's tree, chain by chain, reusing what the conversation holds already (equal hash, equal history).

    Of several that are equal, the one with the document's own id. What is damaged here is written anew, under another id.
    """
    nodes: dict[str, Node] = {}
    known = dict(intact.values())
    taken = rows.select_nodes(transaction.connection, [message.id for message in doc.messages])
    children: dict[str | None, list[MessagePart]] = defaultdict(list)
    for message in doc.messages:
        if message.hash in known:
            nodes[message.id] = intact[message.id][1] if message.id in intact else known[message.hash]
        children[message.parent_id].append(message)
    for message in doc.messages:  # the beginnings of chains in their order, so that another export has the same
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
        created_at=rows.from_time(message.created_at),
        files=tuple(doc.files_by_hash[part["file"]] for part in named),
    )


def _needs_new_ids(transaction: Transaction, doc: Document, intact: IntactMessages) -> bool:
    """Whether ids of the document are in use in another conversation, so that this copy of it needs new ones.

    An id that is in use for something else is refused: such a file wants to stand in for what it is not. A damaged message
    of this conversation is nothing else.
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
    for index, bookmark in enumerate(doc.checkpoints):
        if bookmark.id in places and is_another(places[bookmark.id], hashes[bookmark.message_id]):
            raise InvalidDocumentError("is the id of another checkpoint here", f"checkpoints[{index}].id")
    return any(known[1] != transaction.thread.id for known in [*messages.values(), *places.values()])


def _select_owners(connection: sa.Connection, query: sa.Select[Any], ids: list[str]) -> dict[str, tuple[str, str, str]]:
    """(hash, thread, message) by id, asked in portions: databases limit how many values one statement may carry."""
    key = query.selected_columns[0]
    found: dict[str, tuple[str, str, str]] = {}
    for start in range(0, len(ids), 500):
        portion = connection.execute(query.where(key.in_(ids[start : start + 500])))
        found.update((row[0], (row[1], row[2], row[3])) for row in portion)
    return found
