"""Writing an import as it was planned. Messages are placed below those that are stored already."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..changes.transaction import Transaction
from ..rows.message_inserts import MessageContent, PlacedMessage
from ..rows.segment_rows import NewSegment, reserve_segments
from ..values.model import Checkpoint, Node
from ..values.progress import Report
from .import_contents import ImportContents
from .import_plan import BranchPlan, ImportPlan
from .state_writing import StateNumbers, write_states
from .waymark import CheckpointPart


def write_plan(transaction: Transaction, plan: ImportPlan, contents: ImportContents, report: Report) -> None:
    transaction.detail = transaction.detail or plan.detail
    nodes = _write_messages(transaction, plan, contents.messages, report)
    states = write_states(transaction, nodes, contents.states)
    branch_ids = _write_branches(transaction, plan.branches, nodes, states)
    if plan.shown is not None:
        transaction.move_head(nodes[plan.shown.head] if plan.shown.head else None, states.get(plan.shown.state))
    _write_checkpoints(transaction, plan, nodes, branch_ids, states)


def _write_messages(
    transaction: Transaction, plan: ImportPlan, contents: Mapping[str, MessageContent], report: Report
) -> Mapping[str, Node]:
    """Write the new messages. Return the stored message for each message of the document, by its id there."""
    nodes = dict(plan.stored)
    placed, new_segments = [], []
    reserved = iter(reserve_segments(transaction.connection, sum(chain.segment is None for chain in plan.chains)))
    for chain in plan.chains:
        parent = nodes[chain.parent_id] if chain.parent_id else None
        segment = next(reserved) if chain.segment is None else chain.segment
        if chain.segment is None:
            new_segments.append(NewSegment(segment, parent))
        parent_id = parent.id if parent else None
        for depth, document_id in enumerate(chain.message_ids, chain.depth):
            is_taken = plan.needs_new_ids or document_id in plan.taken_ids
            node = Node(transaction.new_id() if is_taken else document_id, segment, depth)
            placed.append(PlacedMessage(node, parent_id, contents[document_id]))
            nodes[document_id], parent_id = node, node.id
    transaction.insert_segments(new_segments)
    transaction.insert_messages(placed, report)
    return nodes


def _write_branches(
    transaction: Transaction, plan: BranchPlan, nodes: Mapping[str, Node], states: StateNumbers
) -> dict[str, str]:
    """Return the stored id of each of the document's branches, by its id there."""
    if plan.current_name is not None:
        transaction.update_row("branch", transaction.thread.branch_id, name=plan.current_name)
    heads = [(new.name, nodes[new.head] if new.head else None) for new in plan.new]
    added = transaction.add_branches(heads, [states.get(new.state) for new in plan.new])
    transaction.update_rows("branch", plan.deleted_ids, deleted_at=transaction.now)
    return {**plan.stored_ids, **{new.document_id: branch.id for new, branch in zip(plan.new, added, strict=True)}}


def _write_checkpoints(
    transaction: Transaction,
    whole: ImportPlan,
    nodes: Mapping[str, Node],
    branch_ids: Mapping[str, str],
    states: StateNumbers,
) -> None:
    plan = whole.checkpoints
    transaction.update_rows("checkpoint", plan.hidden_ids, deleted_at=transaction.now)
    rewritten = {
        p.id: _make_checkpoint_values(p, nodes[p.message_id], branch_ids[p.branch], states.get(p.state))
        for p in plan.rewritten
    }
    # Some of these were deleted in this thread before; the others were hidden by the statement above.
    transaction.update_each_row("checkpoint", rewritten)
    relisted = {
        part.id: {"deleted_at": None, "branch_id": branch_ids[part.branch], "detached": part.detached}
        for part in plan.relisted
    }
    transaction.update_each_row("checkpoint", relisted)
    transaction.add_checkpoints(
        [
            replace(
                _build_checkpoint(part, "" if whole.needs_new_ids else part.id, nodes[part.message_id]),
                branch_id=branch_ids[part.branch],
                state_id=states.get(part.state),
            )
            for part in plan.new
        ]
    )


def _make_checkpoint_values(part: CheckpointPart, node: Node, branch_id: str, state_id: int | None) -> dict[str, Any]:
    """Return the mutable columns of a checkpoint. The message is another one where the stored message is damaged."""
    return {
        **({"name": part.name} if part.name else {}),
        **({} if state_id is None else {"state_id": state_id}),
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


def _build_checkpoint(part: CheckpointPart, identifier: str, node: Node) -> Checkpoint:
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
        detached=part.detached,
    )
