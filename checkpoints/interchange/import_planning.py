"""Planning an import: a document compared with the existing contents. Nothing here reads or writes a database.

Messages that the conversation contains already (equal hash, equal history) are used again, so none is written twice.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

from ..values import history
from ..values.errors import InvalidDocumentError
from ..values.model import Checkpoint, Node
from ..values.names import clean_name
from ..values.operation_detail import OperationDetail
from ..values.sentence import sentence
from .branch_index import BranchHead, find_free_name, match_branches
from .existing_contents import ExistingContents, IdOwner
from .import_plan import (
    BranchPlan,
    CheckpointPlan,
    ImportPlan,
    MessageChain,
    NewBranch,
    NothingNewError,
)
from .waymark import CheckpointPart, Document, MessagePart


def plan_new_chains(doc: Document) -> list[MessageChain]:
    """Cut all messages into chains: those of a plan, as long as the conversation has none of them."""
    return _plan_chains(doc, {}, {})


def plan_replacement(doc: Document, existing: ExistingContents, new_chains: Sequence[MessageChain] = ()) -> ImportPlan:
    """Plan to replace a conversation's contents by a document's, with its current branch and head.

    `new_chains` are those of `plan_new_chains`, where they are at hand.
    """
    needs_new_ids = _check_ids(doc, existing)
    stored = existing.match_messages(doc)
    path = history.trace_path(_find_last_stored(doc, stored)[doc.active_head], existing.segment_parents)
    visible = history.filter_visible(existing.checkpoints, existing.branch_id, path)
    return ImportPlan(
        stored=stored,
        chains=_plan_chains(doc, existing.last_depths, stored) if stored or not new_chains else new_chains,
        branches=_plan_replaced_branches(doc, existing, stored),
        checkpoints=CheckpointPlan(
            hidden_ids=[checkpoint.id for checkpoint in visible],
            rewritten=[part for part in doc.checkpoints if part.id in existing.listings],
            new=[part for part in doc.checkpoints if part.id not in existing.listings],
        ),
        shown=doc.active_branch,
        needs_new_ids=needs_new_ids,
        taken_ids=frozenset(existing.message_owners),
        detail=OperationDetail(name=doc.thread.title),
    )


def plan_merge(doc: Document, existing: ExistingContents, new_chains: Sequence[MessageChain] = ()) -> ImportPlan:
    """Plan to add a document to a conversation. `new_chains` as for `plan_replacement`. Raises `NothingNewError`.

    The head moves only where the current branch is empty, as after clearing: it becomes the document's current branch.
    A branch of the document equals a stored one with the same head, or with the same name that continues it. Any other
    branch is added, under a free name. A checkpoint equals a stored one with its id, or with its message, time and name.
    """
    needs_new_ids = _check_ids(doc, existing)
    stored = existing.match_messages(doc)
    fills_branch = doc.active_head is not None and _is_current_branch_empty(existing)
    branches = _plan_merged_branches(doc, existing, stored, fills_branch=fills_branch)
    last_stored = _find_last_stored(doc, stored)
    new_heads = [branch.head for branch in branches.new] + ([doc.active_head] if fills_branch else [])
    heads = [head for _, head in existing.branches] + [last_stored[head] for head in new_heads]
    checkpoints = _plan_merged_checkpoints(doc, existing, stored, _list_visible_checkpoints(existing, heads))
    written = len(doc.messages) - len(stored)
    listed = len(checkpoints.relisted) + len(checkpoints.new)
    is_relisting = any(_changes_listing(part, existing, branches) for part in checkpoints.relisted)
    if not (written or fills_branch or branches.new or checkpoints.new or is_relisting):
        raise NothingNewError
    return ImportPlan(
        stored=stored,
        chains=_plan_chains(doc, existing.last_depths, stored) if stored or not new_chains else new_chains,
        branches=branches,
        checkpoints=checkpoints,
        shown=doc.active_branch if fills_branch else None,
        needs_new_ids=needs_new_ids,
        taken_ids=frozenset(existing.message_owners),
        detail=OperationDetail(name=doc.thread.title, messages=written, branches=len(branches.new), checkpoints=listed),
    )


def _check_ids(doc: Document, existing: ExistingContents) -> bool:
    """Return whether another conversation uses ids of the document, so that this copy needs new ones.

    An id that is in use for another message is refused: such a file would impersonate that message. A damaged message of
    this conversation does not count as another one.
    """

    def is_another(owner: IdOwner | None, hash_: str) -> bool:
        if owner is None or owner.hash == hash_:
            return False
        return owner.thread_id != existing.thread_id or owner.message_id in existing.messages

    for index, part in enumerate(doc.messages):
        if is_another(existing.message_owners.get(part.id), part.hash):
            raise InvalidDocumentError(sentence("is the id of another message here"), f"messages[{index}].id")
    hashes = {part.id: part.hash for part in doc.messages}
    for index, checkpoint in enumerate(doc.checkpoints):
        if is_another(existing.checkpoint_owners.get(checkpoint.id), hashes[checkpoint.message_id]):
            raise InvalidDocumentError(sentence("is the id of another checkpoint here"), f"checkpoints[{index}].id")
    owners = chain(existing.message_owners.values(), existing.checkpoint_owners.values())
    return any(owner.thread_id != existing.thread_id for owner in owners)


def _find_last_stored(doc: Document, stored: Mapping[str, Node]) -> dict[str | None, Node | None]:
    """Return the last stored message on the path to each message of the document, which itself counts."""
    found: dict[str | None, Node | None] = {None: None}
    for part in doc.messages:
        found[part.id] = stored.get(part.id) or found[part.parent_id]
    return found


def _plan_chains(doc: Document, last_depths: Mapping[int, int], stored: Mapping[str, Node]) -> list[MessageChain]:
    """Cut the new messages into chains. A damaged message is new: it is written again.

    Chains begin in the document's order, so that a new export has the same order.
    """
    children: dict[str | None, list[MessagePart]] = defaultdict(list)
    depths: dict[str | None, int] = {None: -1}
    for part in doc.messages:
        children[part.parent_id].append(part)
        depths[part.id] = depths[part.parent_id] + 1
    last_depths = dict(last_depths)
    planned: set[str] = set()
    chains = []
    for part in doc.messages:
        if part.id in stored or part.id in planned:
            continue
        line = [part.id]
        while following := children[line[-1]]:
            line.append(following[0].id)
        parent = stored.get(part.parent_id) if part.parent_id else None
        segment = None
        if parent is not None and last_depths[parent.segment] == parent.depth:
            segment = parent.segment
            last_depths[segment] += len(line)
        chains.append(MessageChain(part.parent_id, line, depths[part.id], segment))
        planned.update(line)
    return chains


def _plan_replaced_branches(doc: Document, existing: ExistingContents, stored: Mapping[str, Node]) -> BranchPlan:
    """Keep the branches with the name and the head of one in the document, and delete the others.

    The conversation's current branch becomes the document's active one.
    """
    others: dict[tuple[str, str | None], deque[str]] = defaultdict(deque)  # two may be equal
    for own, _ in existing.branches:
        if own.id != existing.branch_id:
            others[own.name, own.head_id].append(own.id)
    stored_ids = {doc.active: existing.branch_id}
    current_name, new = None, []
    for part in doc.branches:
        if part.id == doc.active:
            current_name = part.name
        elif (part.head is None or part.head in stored) and (
            same := others[part.name, stored[part.head].id if part.head else None]
        ):
            stored_ids[part.id] = same.popleft()
        else:
            new.append(NewBranch(part.id, part.name, part.head, part.state))
    return BranchPlan(
        stored_ids=stored_ids,
        new=new,
        current_name=current_name,
        deleted_ids=list(chain.from_iterable(others.values())),
    )


def _is_current_branch_empty(existing: ExistingContents) -> bool:
    return any(branch.id == existing.branch_id and branch.head_id is None for branch, _ in existing.branches)


def _plan_merged_branches(
    doc: Document, existing: ExistingContents, stored: Mapping[str, Node], *, fills_branch: bool
) -> BranchPlan:
    """Add the branches that the conversation does not have. No stored branch equals one whose head is a new message.

    With `fills_branch`, the document's current branch becomes the conversation's, whatever else it equals.
    """
    filled = {doc.active: existing.branch_id} if fills_branch else {}
    heads = [
        BranchHead(part.id, part.name, stored[part.head] if part.head else None)
        for part in doc.branches
        if part.id not in filled and (part.head is None or part.head in stored)
    ]
    candidates = [
        (branch, head)
        for branch, head in existing.branches
        if branch.id not in filled.values() and (head or branch.head_id is None)
    ]
    stored_ids = filled | match_branches(heads, candidates, existing.segment_parents)
    names, numbers = {branch.name for branch, _ in existing.branches}, dict[str, int]()
    new = []
    for part in doc.branches:
        if part.id not in stored_ids:
            name = find_free_name(part.name, names, numbers)
            names.add(name)
            new.append(NewBranch(part.id, name, part.head, part.state))
    return BranchPlan(stored_ids=stored_ids, new=new)


def _list_visible_checkpoints(existing: ExistingContents, heads: Sequence[Node | None]) -> list[Checkpoint]:
    """Return the checkpoints that any branch shows once the document's branches are added."""
    reached = history.find_reachable_depths([head for head in heads if head], existing.segment_parents)
    return history.filter_listed(existing.checkpoints, {branch.id for branch, _ in existing.branches}, reached)


def _plan_merged_checkpoints(
    doc: Document, existing: ExistingContents, stored: Mapping[str, Node], visible: Sequence[Checkpoint]
) -> CheckpointPlan:
    """Add the checkpoints that no branch shows. A deleted or hidden one is listed again."""
    visible_ids = {checkpoint.id for checkpoint in visible}
    names = _NamesByPlace(visible)
    new: list[CheckpointPart] = []
    relisted: list[CheckpointPart] = []
    for part in doc.checkpoints:
        if part.id in visible_ids:
            continue
        node = stored.get(part.message_id)
        if part.id in existing.listings:
            relisted.append(part)
        elif node is None or part.name not in names[node.id, part.timestamp]:
            new.append(part)
    return CheckpointPlan(new=new, relisted=relisted)


class _NamesByPlace(dict[tuple[str, datetime], frozenset[str]]):
    """The names of checkpoints by message and time, and the empty name: a checkpoint without a name equals any there.

    Names are cleaned when they are asked for first: most documents find their checkpoints by id.
    """

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        super().__init__()
        self._checkpoints: dict[tuple[str, datetime], list[Checkpoint]] = defaultdict(list)
        for checkpoint in checkpoints:
            if checkpoint.node:
                self._checkpoints[checkpoint.node.id, checkpoint.timestamp].append(checkpoint)

    def __missing__(self, place: tuple[str, datetime]) -> frozenset[str]:
        found = self._checkpoints.get(place, [])
        self[place] = frozenset({clean_name(checkpoint.name) for checkpoint in found} | ({""} if found else set()))
        return self[place]


def _changes_listing(part: CheckpointPart, existing: ExistingContents, branches: BranchPlan) -> bool:
    listing = existing.listings[part.id]
    is_same_branch = branches.stored_ids.get(part.branch) == listing.branch_id
    return listing.is_deleted or not is_same_branch or listing.detached != part.detached
