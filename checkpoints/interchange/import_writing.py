"""Writing an import as it was planned. Messages are placed below those that are stored already."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Self

import sqlalchemy as sa

from ..changes.transaction import Transaction
from ..rows import state_rows, value_rows, write_rows
from ..rows.message_inserts import MessageContent, PlacedMessage
from ..rows.segment_rows import NewSegment, reserve_segments
from ..rows.state_inserts import StateBatch, StateDraft
from ..rows.state_rows import StateName
from ..rows.write_rows import StateKey, Write
from ..values.graph_state import Reference, join_runs, list_paths, read_kind
from ..values.model import Checkpoint, Node
from ..values.progress import Report
from ..values.standing_answers import REST_CHANNEL
from .import_contents import ImportContents, StateContents
from .import_plan import BranchPlan, ImportPlan
from .state_checks import NOTE_TASK
from .typed_values import dump_note, parse_stored
from .waymark import CheckpointPart, WritePart

StateNumbers = Mapping[str | None, int]  # of a graph's own states, by their ids in the document


@dataclass(frozen=True, slots=True)
class StoredReferences:
    """The stored messages and values of a document, which its references name by ids and indexes."""

    nodes: Mapping[str, Node]
    numbers: Sequence[int]
    breaks: Sequence[int]  # up to each number: those that do not follow the one before

    @classmethod
    def to(cls, nodes: Mapping[str, Node], numbers: Sequence[int]) -> Self:
        breaks = accumulate((after != before + 1 for before, after in pairwise(numbers)), initial=0)
        return cls(nodes, numbers, list(breaks))

    def translate(self, reference: Reference) -> Any:
        match read_kind(reference):
            case "d":
                return ["d", self.translate(reference[1])]
            case "m":
                node = self.nodes[reference[1]] if reference[1] is not None else None
                return ["m", node.id if node else None, node.depth + 1 if node else 0]
            case "v":
                return ["v", self.numbers[reference[1]]]
            case "r":
                return ["r", self._translate_runs(reference[1])]
        return reference

    def _translate_runs(self, runs: Sequence[Sequence[int]]) -> list[list[int]]:
        if all(self.breaks[first] == self.breaks[last] for first, last in runs):
            return [[self.numbers[first], self.numbers[last]] for first, last in runs]
        return join_runs(self.numbers[place] for first, last in runs for place in range(first, last + 1))


def write_states(transaction: Transaction, nodes: Mapping[str, Node], contents: StateContents) -> StateNumbers:
    """Write the states, each once. One that the conversation has already is used if it is about the same messages.

    `nodes` are the document's messages, by the ids there.
    """
    if not contents.parts:
        return {}
    connection, thread_id = transaction.connection, transaction.thread.id
    ids = {part.id for part in contents.parts} if transaction.loaded.has_states else ()
    stored = state_rows.select_named_states(connection, thread_id, ids)
    references = StoredReferences.to(nodes, value_rows.insert_many_values(connection, contents.values, thread_id))
    batch = StateBatch.reserve(connection, len(contents.parts))
    names: dict[tuple[str, str | None], StateName] = {}  # by namespace and id
    for part, split in zip(contents.parts, contents.bodies, strict=True):
        if (known := stored.get((part.namespace, part.id))) is not None:
            values = {name: references.translate(each) for name, each in part.values.items()}
            if {*list_paths(known.body["values"])} == {*list_paths(values)}:
                names[part.namespace, part.id] = known
            continue
        parent, message = names.get((part.namespace, part.parent)), nodes[part.message] if part.message else None
        place = (thread_id, part.namespace, part.id)
        draft = StateDraft(*place, parent, None if parent else part.parent, part.run_id, message, is_input=False)
        count = len(part.values)
        rest = [*map(references.translate, split.rest[:count]), *split.rest[count:]]
        names[part.namespace, part.id] = batch.add_state(draft, split.shape, split.write_leaves(rest))
    batch.write()
    new = {(part.namespace, part.id) for part in contents.parts} - stored.keys()
    _write_waiting_steps(connection, thread_id, [each for each in contents.writes if (each.namespace, each.state) in new])
    return {identifier: name.number for (namespace, identifier), name in names.items() if not namespace}


def _make_note(writes: Sequence[Write]) -> Write:
    return Write("", NOTE_TASK, 0, REST_CHANNEL, *dump_note(writes))


def _write_waiting_steps(connection: sa.Connection, thread_id: str, parts: Sequence[WritePart]) -> None:
    """Write what tasks have written, and the note of each state that the step rests with it."""
    steps: defaultdict[StateKey, list[Write]] = defaultdict(list)
    for part in parts:
        kind, data = parse_stored(part.json, "", is_typed=True)[0]
        write = Write(part.path, part.task, part.position, part.channel, kind, data)
        steps[StateKey(thread_id, part.namespace, part.state)].append(write)
    for key, writes in steps.items():
        note = _make_note(writes)
        write_rows.insert_many_writes(connection, [(key, each) for each in (*writes, note)])


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
