"""Other ways that a conversation took: alternatives, branches, forks, and a message replaced in the middle."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import (
    Caller,
    ConflictError,
    CurrentBranchError,
    Message,
    MessageNotFoundError,
    NewMessage,
    OperationDetail,
    OperationKind,
    Store,
)
from checkpoints.rows import message_rows
from checkpoints.upkeep import verification
from checkpoints.values import serde
from checkpoints.values.history import Place
from tests.checkpoints.conversations import names, new, picture, talked, texts


def ids(store: Store, thread_id: str) -> list[str]:
    return [message.id for message in store.list_messages(thread_id)]


def alternatives(store: Store, thread_id: str) -> dict[int, list[str]]:
    """The texts of the alternatives at each place of the conversation that has several, by place."""
    path = store.list_messages(thread_id)
    found = store.find_alternatives(thread_id, path)
    return {m.depth: [_text(store.get_message(thread_id, i)) for i in found[m.id]] for m in path if m.id in found}


def _text(message: Message) -> str:
    return str(message.body["data"]["content"])


def edited(store: Store, thread_id: str, place: int, *lines: str) -> None:
    """As when a user message is edited and answered anew."""
    parent = store.list_messages(thread_id)[place].parent_id
    store.append(thread_id, new(*lines), after=parent)


def test_what_was_edited_away_is_an_alternative_and_can_be_chosen_with_all_that_followed(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    edited(store, thread_id, 2, "C", "D")
    assert alternatives(store, thread_id) == {2: ["c", "C"]}
    edited(store, thread_id, 0, "A", "B")
    assert alternatives(store, thread_id) == {0: ["a", "A"]}
    first = store.find_alternatives(thread_id, store.list_messages(thread_id))[ids(store, thread_id)[0]][0]
    store.choose(thread_id, first)
    assert texts(store, thread_id) == ["a", "b", "C", "D"]
    assert alternatives(store, thread_id) == {0: ["a", "A"], 2: ["c", "C"]}
    assert names(store, thread_id) == ["after b"]


def test_another_answer_is_an_alternative_of_the_first_one(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.append(thread_id, new("", "B")[1:], after=ids(store, thread_id)[0])
    assert alternatives(store, thread_id) == {1: ["b", "B"]}


def test_only_alternatives_that_no_branch_and_no_change_ends_with_are_looked_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = talked(store, "a", "b")
    store.append(thread_id, new("", "B")[1:], after=ids(store, thread_id)[0])
    store.append(thread_id, new("", "B again", "c")[1:], after=ids(store, thread_id)[0])
    looked_up, select = list[Place](), message_rows.select_ids_at
    monkeypatch.setattr(message_rows, "select_ids_at", lambda of, places: (looked_up.extend(places), select(of, places))[1])
    assert alternatives(store, thread_id) == {1: ["b", "B", "B again"]}
    again = store.list_messages(thread_id)[1]
    assert looked_up == [(again.segment, again.depth)]


def test_what_a_restore_took_out_is_no_alternative_and_neither_is_what_was_undone(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    store.append(thread_id, new("e", "f"))
    assert alternatives(store, thread_id) == {}
    edited(store, thread_id, 0, "A", "B")
    store.undo(thread_id)
    assert (texts(store, thread_id), alternatives(store, thread_id)) == (["a", "b", "e", "f"], {})


def test_choosing_is_undone_exactly(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    old = ids(store, thread_id)[2]
    edited(store, thread_id, 2, "C", "D")
    before = picture(store, thread_id)
    store.choose(thread_id, old)
    assert texts(store, thread_id) == ["a", "b", "c", "d"]
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_a_message_that_is_no_alternative_cannot_be_chosen(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    gone = ids(store, thread_id)[2]
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    with pytest.raises(MessageNotFoundError):
        store.choose(thread_id, gone)


def test_a_fork_stands_on_its_message_and_leaves_the_other_branch_alone(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    made = store.fork(thread_id, ids(store, thread_id)[1], name="Elsewhere")
    assert (texts(store, thread_id), names(store, thread_id)) == (["a", "b"], ["after b"])
    store.append(thread_id, new("x", "y"))
    assert [(b.name, n, b.id == made.result) for b, n in store.list_branches(thread_id)] == [
        ("main", 4, False),
        ("Elsewhere", 4, True),
    ]
    assert alternatives(store, thread_id) == {2: ["c", "x"]}
    store.choose(thread_id, store.find_alternatives(thread_id, store.list_messages(thread_id))[ids(store, thread_id)[2]][0])
    assert store.get_thread(thread_id).branch_id == store.list_branches(thread_id)[0][0].id
    assert texts(store, thread_id) == ["a", "b", "c", "d"]


def test_a_fork_before_the_first_message_is_empty_and_gets_a_name(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.fork(thread_id, None)
    assert texts(store, thread_id) == []
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["main", "Branch 2"]


BRANCH_CHANGES: dict[str, Callable[[Store, str, str], Any]] = {
    "fork": lambda store, thread_id, _: store.fork(thread_id, ids(store, thread_id)[0]),
    "switch": lambda store, thread_id, _: store.switch(thread_id, store.list_branches(thread_id)[0][0].id),
    "rename": lambda store, thread_id, branch_id: store.rename_branch(thread_id, branch_id, "Other"),
    "delete": lambda store, thread_id, _: store.delete_branch(thread_id, store.list_branches(thread_id)[0][0].id),
    "prune": lambda store, thread_id, _: store.prune_branches(thread_id),
    "pin": lambda store, thread_id, _: store.change_checkpoint(
        thread_id, store.list_checkpoints(thread_id)[0].id, pinned=True
    ),
    "call": lambda store, thread_id, _: store.change_checkpoint(
        thread_id, store.list_checkpoints(thread_id)[0].id, name="New", description="About it"
    ),
    "replace": lambda store, thread_id, _: store.replace(thread_id, ids(store, thread_id)[0], new("A")[0]),
}


@pytest.mark.parametrize("change", BRANCH_CHANGES.values(), ids=BRANCH_CHANGES)
def test_every_change_of_branches_and_checkpoints_is_undone_and_redone_exactly(
    store: Store, change: Callable[[Store, str, str], Any]
) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    branch_id = store.fork(thread_id, ids(store, thread_id)[1]).result
    before = picture(store, thread_id)
    change(store, thread_id, branch_id)
    after = picture(store, thread_id)
    assert after != before
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert picture(store, thread_id) == after


def test_the_branch_that_is_stood_on_cannot_be_deleted(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    with pytest.raises(CurrentBranchError):
        store.delete_branch(thread_id, store.get_thread(thread_id).branch_id)


def test_pruning_keeps_the_branch_that_is_stood_on(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    for name in ("one", "two", "three"):
        store.fork(thread_id, ids(store, thread_id)[0], name=name)
    assert store.prune_branches(thread_id).operation.detail == OperationDetail(subject="branches", branches=3)
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["three"]


def test_what_is_done_to_another_branch_is_no_conflict_for_who_writes_here(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    main = store.get_thread(thread_id).branch_id
    store.fork(thread_id, ids(store, thread_id)[1])
    seen = store.get_thread(thread_id).version
    store.rename_branch(thread_id, main, "First")
    store.delete_branch(thread_id, main)
    store.append(thread_id, new("c"), caller=Caller(expected_version=seen))
    with pytest.raises(ConflictError):
        store.append(thread_id, new("d"), caller=Caller(expected_version=seen))


def test_a_forked_conversation_holds_the_path_and_its_checkpoints_and_stands_for_itself(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    made = store.fork_thread(thread_id, ids(store, thread_id)[1], caller=Caller(request_id="wish"))
    assert store.fork_thread(thread_id, ids(store, thread_id)[1], caller=Caller(request_id="wish")).repeated
    assert (texts(store, made.result), names(store, made.result)) == (["a", "b"], ["after b"])
    assert [m.hash for m in store.list_messages(made.result)] == [m.hash for m in store.list_messages(thread_id)[:2]]
    assert set(ids(store, made.result)) & set(ids(store, thread_id)) == set()
    store.append(made.result, new("x"))
    assert texts(store, thread_id) == ["a", "b", "c", "d"]
    store.delete_thread(thread_id)
    assert store.fork_thread(thread_id, None, caller=Caller(request_id="wish")).repeated
    store.undo(thread_id)
    assert len(store.list_threads()) == 2
    store.undo(made.result)
    store.undo(made.result)
    assert len(store.list_threads()) == 1


def test_a_forked_conversation_copies_a_path_through_many_segments_with_its_checkpoints_as_they_are(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.save(thread_id, name="late", extra={"step": 1}, description="why", tokens=7)
    store.append(thread_id, new("e"), after=ids(store, thread_id)[1])
    store.append(thread_id, new("f"), after=ids(store, thread_id)[1])
    store.append(thread_id, new("g", "h"), after=ids(store, thread_id)[2])
    store.fork(thread_id, ids(store, thread_id)[3])
    store.change_checkpoint(thread_id, store.save(thread_id, name="pinned", extra={"n": [None]}).result, pinned=True)
    store.save(thread_id, keep=3, new=new("i"), name="compacted")
    path = ids(store, thread_id)
    copy = store.fork_thread(thread_id, path[-1]).result
    assert [m.body for m in store.list_messages(copy)] == [m.body for m in store.list_messages(thread_id)]
    assert [m.hash for m in store.list_messages(copy)] == [m.hash for m in store.list_messages(thread_id)]
    on_path = [c for c in store.list_checkpoints(thread_id) if c.node and c.node.id in path]
    copies = store.list_checkpoints(copy)
    assert [c.to_dict() | {"id": ""} for c in copies] == [c.to_dict() | {"id": ""} for c in on_path]
    assert ([c.position for c in copies], [c.detached for c in copies]) == ([*range(len(on_path))], [False] * len(on_path))
    store.save(copy)
    assert len(names(store, copy)) == len(set(names(store, copy))) == len(on_path) + 1
    assert verification.verify(store.database).damages == ()


def test_a_replaced_message_leaves_what_follows_and_the_checkpoints_restore_what_was(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    first = store.list_checkpoints(thread_id)[1]
    store.replace(thread_id, ids(store, thread_id)[1], new("", "B")[1])
    assert texts(store, thread_id) == ["a", "B", "c", "d"]
    assert alternatives(store, thread_id)[1] == ["b", "B"]
    assert names(store, thread_id) == ["after b", "after d"]
    store.restore(thread_id, first.id)
    assert texts(store, thread_id) == ["a", "b", "c", "d"]


def test_what_is_dropped_leaves_and_what_is_independent_stays(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d", "e", "f")
    there = ids(store, thread_id)
    store.replace(thread_id, there[0], new("A")[0], drop={there[2], there[3]})
    assert texts(store, thread_id) == ["A", "b", "e", "f"]


def _asking(*calls: str, text: str = "") -> NewMessage:
    wanted = [{"name": "look", "args": {}, "id": call} for call in calls]
    return NewMessage(serde.to_body(AIMessage(text, tool_calls=wanted)))


def _result(call: str) -> NewMessage:
    return NewMessage(serde.to_body(ToolMessage(f"result {call}", tool_call_id=call)))


@pytest.mark.parametrize(
    ("place", "by", "drop", "left"),
    [
        (0, NewMessage(serde.to_body(HumanMessage("Q"))), (), ["Q", "", "result 1", "result 2", "done"]),
        (1, NewMessage(serde.to_body(AIMessage("no"))), (), ["q", "no", "done"]),  # its calls are gone
        (1, _asking("2"), (), ["q", "", "result 2", "done"]),
        (0, NewMessage(serde.to_body(HumanMessage("Q"))), (2,), ["Q", "done"]),  # a call without one result goes whole
        (0, NewMessage(serde.to_body(HumanMessage("Q"))), (1,), ["Q", "done"]),
        (2, _result("1"), (), ["q", "", "result 1", "result 2", "done"]),
    ],
)
def test_no_result_stays_without_its_call_and_no_call_without_its_results(
    store: Store, place: int, by: NewMessage, drop: tuple[int, ...], left: list[str]
) -> None:
    thread_id = store.create_thread().id
    lines = [*new("q"), _asking("1", "2"), _result("1"), _result("2"), NewMessage(serde.to_body(AIMessage("done")))]
    store.append(thread_id, lines)
    there = ids(store, thread_id)
    store.replace(thread_id, there[place], by, drop={there[index] for index in drop})
    assert texts(store, thread_id) == left


def test_a_later_turn_whose_calls_have_the_same_ids_stays(store: Store) -> None:
    thread_id = store.create_thread().id
    turns = [[*new("q"), _asking("call_0"), _result("call_0"), *new("", text)[1:]] for text in ("one", "two")]
    store.append(thread_id, [message for turn in turns for message in turn])
    there = ids(store, thread_id)
    store.replace(thread_id, there[1], new("", "no")[1], drop={there[3]})
    assert texts(store, thread_id) == ["q", "no", "q", "", "result call_0", "two"]


def test_only_a_message_of_the_conversation_as_it_stands_can_be_replaced(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    gone = ids(store, thread_id)[3]
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    with pytest.raises(MessageNotFoundError):
        store.replace(thread_id, gone, new("A")[0])


def test_the_difference_of_two_places_is_what_each_has_after_what_they_share(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    there = ids(store, thread_id)
    edited(store, thread_id, 2, "C", "D", "E")
    found = store.compare_paths(thread_id, there[3], ids(store, thread_id)[4])
    assert (found.last_shared_id, [_text(m) for m in found.left], [_text(m) for m in found.right]) == (
        there[1], ["c", "d"], ["C", "D", "E"],
    )  # fmt: skip
    assert (found.shared_length, found.lengths) == (2, (2, 3))
    first = store.compare_paths(thread_id, there[3], ids(store, thread_id)[4], max_messages=2)
    assert ([_text(m) for m in first.left], [_text(m) for m in first.right]) == (["c", "d"], ["C", "D"])
    assert (first.last_shared_id, first.lengths) == (there[1], (2, 3))
    same = store.compare_paths(thread_id, there[1], there[1], max_messages=2)
    assert (same.shared_length, same.left, same.right, same.lengths) == (2, [], [], (0, 0))
    assert store.compare_paths(thread_id, there[3], None).last_shared_id is None
    assert [_text(m) for m in store.compare_paths(thread_id, there[0], there[2]).right] == ["b", "c"]


def test_every_change_is_an_operation_in_words(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    branch = store.fork(thread_id, ids(store, thread_id)[1], name="Two").result
    store.rename_branch(thread_id, branch, "Three")
    store.change_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id, name="Mine")
    store.change_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id, pinned=True)
    store.switch(thread_id, store.list_branches(thread_id)[0][0].id)
    store.delete_branch(thread_id, branch)
    assert [(op.kind, op.detail.subject, op.detail.name, op.detail.new_name) for op in store.list_operations(thread_id)][
        :6
    ] == [
        (OperationKind.DELETE, "branch", "Three", ""),
        (OperationKind.SWITCH, "branch", "main", ""),
        (OperationKind.PIN, "checkpoint", "Mine", ""),
        (OperationKind.RENAME, "checkpoint", "after b", "Mine"),
        (OperationKind.RENAME, "branch", "Two", "Three"),
        (OperationKind.FORK, "branch", "Two", ""),
    ]
