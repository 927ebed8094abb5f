"""The tree that History draws: what joins the shown places, the moves, and what a restore left behind."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from checkpoints import Caller, Message, NewMessage, OperationDetail, OperationKind, Runs, RunState, Store
from checkpoints.rows.tree_rows import MAX_MESSAGE_MARKS
from checkpoints.tree_reader import ConversationTree, read_fork, read_marks, read_questions, read_removed_part, read_tree
from checkpoints.values import serde
from tests.checkpoints.conversations import new, talked


def read(store: Store, thread_id: str, words: str = "") -> ConversationTree:
    branch_ids = {branch.id for branch, _ in store.list_branches(thread_id)}
    return read_tree(store, thread_id, branch_ids, store.list_checkpoints(thread_id), count=10, words=words)


def find_left_names(store: Store, thread_id: str) -> list[str] | None:
    left = read(store, thread_id).left_behind
    return left and [str(left.messages), *(checkpoint.name for checkpoint in left.checkpoints)]


def test_a_restore_leaves_its_end_behind_until_a_message_or_an_undo(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d", "e", "f")
    first = store.list_checkpoints(thread_id)[0].id
    assert find_left_names(store, thread_id) is None
    store.restore(thread_id, first)
    assert find_left_names(store, thread_id) == ["4", "after d", "after f"]
    store.save(thread_id, name="Again")
    assert find_left_names(store, thread_id) == ["4", "after d", "after f"]
    store.undo(thread_id)
    store.undo(thread_id)
    assert find_left_names(store, thread_id) is None
    store.restore(thread_id, first)
    store.append(thread_id, new("x"))
    assert find_left_names(store, thread_id) is None


def test_what_a_branch_keeps_is_not_left_behind(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    tree = read(store, thread_id)
    assert tree.left_behind is None
    assert [checkpoint.name for checkpoint in tree.elsewhere] == ["after d"]
    assert read(store, thread_id, words="no such").elsewhere == []


def test_a_fork_names_its_message(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    at = store.list_messages(thread_id)[1]
    store.fork(thread_id, at.id)
    store.append(thread_id, new("other"))
    tree = read(store, thread_id)
    head = store.list_messages(thread_id)[-1]
    fork = tree.forks[head.segment]
    assert fork is not None
    assert (fork.segment, fork.length, fork.message_id) == (at.segment, at.depth + 1, at.id)
    assert read_fork(store, thread_id, head.segment) == (fork.segment, fork.length)
    assert [node.id if node else None for node in tree.heads.values()][-1] == head.id


def say(found: Mapping[Any, Message]) -> dict[Any, str]:
    return {key: str(message.langchain.text) for key, message in found.items()}


def test_a_fork_and_a_segment_have_their_questions(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    at = store.list_messages(thread_id)[1]  # the answer to "a"
    store.fork(thread_id, at.id)
    store.append(thread_id, new("other", "its answer"))
    head = store.list_messages(thread_id)[-1]
    tree = read(store, thread_id)
    assert say(tree.questions.first) == {at.segment: "a", head.segment: "other"}
    assert say(tree.questions.turns) == {(at.segment, at.depth): "a"}
    assert say(tree.questions.following) == {(at.segment, at.depth): "c"}
    new_ones = read_questions(store, thread_id, head.segment)
    assert say(new_ones.first) == {head.segment: "other"}
    assert (new_ones.turns, new_ones.following) == (tree.questions.turns, tree.questions.following)


def test_a_line_that_begins_with_an_answer_has_its_words(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    question = store.list_messages(thread_id)[2]
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    calling = [AIMessage("", tool_calls=[call]), ToolMessage("herons", tool_call_id="1"), AIMessage("three herons")]
    store.append(thread_id, [NewMessage(serde.to_body(each)) for each in calling], after=question.id)
    tree = read(store, thread_id)
    head = store.list_messages(thread_id)[-1]
    assert say(tree.questions.first)[head.segment] == "three herons"
    assert say(tree.questions.turns) == {(question.segment, question.depth): "c"}
    assert say(tree.questions.following) == {(question.segment, question.depth): "d"}
    store.fork(thread_id, question.id)
    store.append(thread_id, new("x" * 30_000))
    very_long = store.list_messages(thread_id)[-1].segment
    assert very_long not in read(store, thread_id).questions.first


def test_what_follows_the_end_of_a_branch_is_read_and_the_restore_that_named_one(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.save_message(thread_id, store.list_messages(thread_id)[1].id, name="Sea")
    sea = next(each for each in store.list_checkpoints(thread_id) if each.name == "Sea")
    store.restore(thread_id, sea.id, keep_future=True)
    tree, kept = read(store, thread_id), store.list_branches(thread_id)[-1][0]
    assert sea.node
    assert say(tree.questions.following) == {sea.node.place: "c"}
    assert [(branch, each.name) for branch, each in tree.restores.items()] == [(kept.id, "Sea")]
    store.rename_branch(thread_id, kept.id, "Mine")
    assert read(store, thread_id).restores == {}


def test_what_is_kept_after_a_restore_has_its_name_from_the_restore(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore_message(thread_id, store.list_messages(thread_id)[1].id)
    store.keep_removed_messages(thread_id)
    assert [each.depth for each in read(store, thread_id).restores.values()] == [1]


def test_a_move_is_read_with_its_note_until_it_is_undone(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    runs, after = Runs(store), store.list_messages(thread_id)[1].id
    run = runs.begin_run(thread_id, new("on")[0])
    detail = OperationDetail(depth=1, messages=3, tokens_before=90, tokens_after=20)
    runs.record_move(run, OperationKind.GOTO, new("note")[0], after=after, detail=detail)
    runs.end_run(run, RunState.DONE)
    [move] = read(store, thread_id).moves
    assert move.operation.detail.tokens_before == 90
    assert (move.node.id, move.replaced) == (store.list_messages(thread_id)[2].id, None)
    store.undo(thread_id, caller=Caller())
    assert read(store, thread_id).moves == []


def test_the_moves_on_a_path_that_a_summary_replaced_are_read_as_well(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    runs, after = Runs(store), store.list_messages(thread_id)[1].id
    run = runs.begin_run(thread_id, new("on")[0])
    runs.record_move(run, OperationKind.GOTO, new("note")[0], after=after, detail=OperationDetail(depth=1))
    runs.end_run(run, RunState.DONE)
    for text in ("short", "shorter"):
        runs.replace_with_summary(
            runs.begin_run(thread_id, None, compacts=True), new(text), after=None, detail=OperationDetail(messages=3)
        )
    moves = read(store, thread_id).moves
    assert [move.operation.kind for move in moves] == [OperationKind.GOTO, OperationKind.COMPACT, OperationKind.COMPACT]
    assert [move.replaced for move in moves] == [None, moves[0].node, moves[1].node]
    for count in (2, 1, 0):
        store.undo(thread_id, caller=Caller())
        assert len(read(store, thread_id).moves) == count


def test_what_an_edit_set_aside_is_an_alternative_until_a_branch_contains_it(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    old = store.list_messages(thread_id)[-1]
    store.append(thread_id, new("other"), after=store.list_messages(thread_id)[1].id)
    assert [node.id for node in read(store, thread_id).alternatives] == [old.id]
    store.choose(thread_id, old.id)
    assert [node.depth for node in read(store, thread_id).alternatives] == [2]
    store.undo(thread_id)
    store.undo(thread_id)
    assert read(store, thread_id).alternatives == []


def find_removed_texts(store: Store, thread_id: str, count: int = 2) -> list[object] | None:
    part = read_removed_part(store, thread_id, count)
    return part and [part.count, part.is_newest, *(message.langchain.text for message in part.messages)]


def test_a_restore_shows_the_first_messages_that_it_removed_until_the_next_one(store: Store) -> None:
    thread_id = talked(store, *"abcdefgh")
    second = store.list_messages(thread_id)[1].id
    store.restore_message(thread_id, second)
    assert find_removed_texts(store, thread_id) == [6, True, "c", "d"]
    store.save(thread_id, name="Again")
    assert find_removed_texts(store, thread_id) == [6, False, "c", "d"]
    store.append(thread_id, new("x"))
    assert find_removed_texts(store, thread_id) is None
    store.clear(thread_id)
    assert find_removed_texts(store, thread_id) is None


def test_a_kept_or_undone_end_is_not_shown_as_removed(store: Store) -> None:
    thread_id = talked(store, *"abcd")
    store.restore_message(thread_id, None, keep_future=True)
    assert find_removed_texts(store, thread_id) is None
    store.undo(thread_id)
    store.restore_message(thread_id, None)
    assert find_removed_texts(store, thread_id) == [4, True, "a", "b"]
    store.undo(thread_id)
    assert find_removed_texts(store, thread_id) is None


def test_marks_are_the_checkpoints_of_the_path_between_two_depths(store: Store) -> None:
    thread_id = talked(store, *"abcdef")
    path = store.list_messages(thread_id)
    for number in range(MAX_MESSAGE_MARKS + 5):
        store.save_message(thread_id, path[0].id, name=f"{number}")
    store.fork(thread_id, path[2].id)
    store.append(thread_id, new("", "other")[1:])
    store.save(thread_id, name="here", caller=Caller(actor="judge"))
    path = store.list_messages(thread_id)
    marks = read_marks(store, path)
    assert [mark.name for mark in marks] == [*map(str, range(MAX_MESSAGE_MARKS)), "after b", "here"]
    assert [(mark.depth, mark.count, mark.created_by) for mark in marks[-3:]] == [
        (0, MAX_MESSAGE_MARKS + 5, "user"),
        (1, 1, "user"),
        (3, 1, "judge"),
    ]
    assert [mark.name for mark in read_marks(store, path[1:3])] == ["after b"]
