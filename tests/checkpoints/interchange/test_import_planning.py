"""An import is planned without a database: a document compared with what is there."""

from dataclasses import replace

import pytest

from checkpoints.interchange import reading
from checkpoints.interchange.existing_contents import ExistingContents, IdOwner
from checkpoints.interchange.import_plan import ImportPlan, NothingNewError
from checkpoints.interchange.import_planning import plan_merge, plan_replacement
from checkpoints.interchange.waymark import Document, InvalidDocumentError
from checkpoints.rows.message_rows import IntactMessage
from checkpoints.values.history import Place
from checkpoints.values.model import Branch, Node
from checkpoints.values.operation_detail import OperationDetail
from tests.checkpoints import shapes

EMPTY = ExistingContents(
    thread_id="thread",
    branch_id="main",
    messages={},
    last_depths={},
    segment_parents={},
    branches=[(Branch("main", "thread", "main", None), None)],
    checkpoints=[],
    listings={},
    message_owners={},
    checkpoint_owners={},
)


def split(alternatives: int) -> Document:
    """One question with so many answers, and a branch for each."""
    return reading.read_document(shapes.split(alternatives))


def holding(doc: Document, places: dict[int, Place]) -> ExistingContents:
    """A conversation that has some messages of the document, by their number there, under other ids."""
    found = {number: Node(f"stored {number}", *place) for number, place in places.items()}
    last = {segment: max(node.depth for node in found.values() if node.segment == segment) for segment, _ in places.values()}
    return replace(
        EMPTY,
        messages={node.id: IntactMessage(doc.messages[number].hash, node) for number, node in found.items()},
        last_depths=last,
        segment_parents={segment: (None, -1) if segment == 1 else (1, 0) for segment in last},
    )


def numbers(plan: ImportPlan, doc: Document) -> list[tuple[list[int], int | None]]:
    """The chains: the numbers of their messages, and the segment that they continue."""
    order = {part.id: number for number, part in enumerate(doc.messages)}
    return [([order[each] for each in chain.message_ids], chain.segment) for chain in plan.chains]


def test_chains_begin_in_the_documents_order_and_after_those_that_they_fork_from() -> None:
    doc = split(3)
    assert numbers(plan_replacement(doc, EMPTY), doc) == [([0, 1], None), ([2], None), ([3], None)]


def test_chains_of_a_comb_follow_those_above() -> None:
    doc = reading.read_document(shapes.comb(3, 3))
    assert numbers(plan_replacement(doc, EMPTY), doc) == [([0, 1], None), ([2, 3], None), ([4], None)]


def test_the_first_chain_after_a_stored_tail_continues_its_segment() -> None:
    doc = split(2)
    assert numbers(plan_merge(doc, holding(doc, {0: (1, 0)})), doc) == [([1], 1), ([2], None)]


def test_a_chain_after_an_earlier_message_begins_a_segment() -> None:
    doc = split(2)
    plan = plan_merge(doc, holding(doc, {0: (1, 0), 1: (1, 1)}))
    assert (numbers(plan, doc), set(plan.stored)) == ([([2], None)], {doc.messages[0].id, doc.messages[1].id})


def test_a_damaged_message_after_a_stored_one_keeps_its_place() -> None:
    doc = split(1)
    damaged = replace(holding(doc, {0: (1, 0)}), last_depths={1: 1})
    assert numbers(plan_merge(doc, damaged), doc) == [([1], None)]


def test_a_merge_counts_what_it_adds() -> None:
    doc = split(2)
    there = holding(doc, {0: (1, 0)})
    [node] = [message.node for message in there.messages.values()]
    plan = plan_merge(doc, replace(there, branches=[(Branch("main", "thread", "main", node.id), node)]))
    assert plan.detail == OperationDetail(name="Shape", messages=2, branches=2)
    assert ([new.name for new in plan.branches.new], plan.shown) == (["b0", "b1"], None)


def test_a_merge_into_an_empty_branch_moves_its_head() -> None:
    doc = split(2)
    plan = plan_merge(doc, EMPTY)
    assert (plan.branches.stored_ids, plan.shown) == ({"b0": "main"}, doc.active_branch)
    assert [new.name for new in plan.branches.new] == ["b1"]


def test_a_merge_of_what_is_there_is_no_change() -> None:
    doc = split(1)
    there = holding(doc, {0: (1, 0), 1: (1, 1)})
    [node] = [message.node for message in there.messages.values() if message.node.depth == 1]
    with pytest.raises(NothingNewError):
        plan_merge(doc, replace(there, branches=[(Branch("main", "thread", "main", node.id), node)]))


def test_a_replacement_renames_the_current_branch_and_deletes_the_others() -> None:
    other = Branch("other", "thread", "other", None)
    plan = plan_replacement(split(2), replace(EMPTY, branches=[*EMPTY.branches, (other, None)]))
    assert (plan.branches.stored_ids, plan.branches.current_name) == ({"b0": "main"}, "b0")
    assert ([new.name for new in plan.branches.new], list(plan.branches.deleted_ids)) == (["b1"], ["other"])


def test_ids_of_another_conversation_are_not_used_twice() -> None:
    doc = split(1)
    owner = IdOwner(doc.messages[0].hash, "another thread", doc.messages[0].id)
    plan = plan_replacement(doc, replace(EMPTY, message_owners={doc.messages[0].id: owner}))
    assert (plan.needs_new_ids, plan_replacement(doc, EMPTY).needs_new_ids) == (True, False)


def test_an_id_of_another_message_is_refused() -> None:
    doc = split(1)
    owner = IdOwner("another hash", "another thread", doc.messages[1].id)
    with pytest.raises(InvalidDocumentError, match=r"^messages\[1\]\.id is the id of another message here$"):
        plan_merge(doc, replace(EMPTY, message_owners={doc.messages[1].id: owner}))
