"""What was done to a conversation, in words."""

from dataclasses import replace

import pytest

from checkpoints import Caller, Operation, OperationDetail, OperationKind, Removal, Runs, RunState, Store
from checkpoints.interchange import reading, transfer
from checkpoints.upkeep import erasure
from components.views import change_log, operations
from tests.checkpoints.conversations import new, talked

FULL_DETAIL = OperationDetail(
    subject="branch",
    name="Old",
    new_name="New",
    messages=2,
    checkpoints=1,
    branches=3,
    kept=1,
    future_kept=True,
    pinned=True,
    depth=0,
    tokens_before=2,
    tokens_after=1,
    settings={"model": "m"},
)
AGENT = Caller(actor="agent", undo_group="a run")


def _last(store: Store, thread_id: str) -> Operation:
    operation = store.get_last_operation(thread_id)
    assert operation is not None
    return operation


def _log(store: Store, thread_id: str) -> list[tuple[str, str, bool]]:
    return [
        (entry["who"], entry["text"], entry["undone"])
        for entry in change_log.build_log(store.list_operations(thread_id), {})
    ]


def test_the_banner_tells_what_a_restore_took_away_until_it_is_undone(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    assert operations.describe_notice(_last(store, thread_id)) is None
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    notice = operations.describe_notice(_last(store, thread_id))
    assert notice is not None
    assert notice["text"] == "Restored to after b. 2 messages and 1 checkpoint removed."
    assert (notice["place"], notice["keepable"]) == ("after b", True)
    store.undo(thread_id)
    assert operations.describe_notice(_last(store, thread_id)) is None


@pytest.mark.parametrize(
    ("removal", "words"),
    [
        (Removal(0, 0), "nothing"),
        (Removal(2, 1), "2 messages and 1 checkpoint"),
        (Removal(1, 0, ("planner", "writer")), "1 message, including the work of planner and writer,"),
    ],
)
def test_a_removal_is_described_by_its_numbers_and_agents(removal: Removal, words: str) -> None:
    assert operations.describe_removal(removal) == words


@pytest.mark.parametrize("kind", OperationKind)
def test_every_kind_of_change_can_be_said_in_words(store: Store, kind: OperationKind) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("a"))
    for detail in (OperationDetail(), FULL_DETAIL):
        for changes in ((), _last(store, thread_id).changes):
            operation = replace(_last(store, thread_id), kind=kind, detail=detail, changes=changes)
            sentences = [operations.describe_undo(operation), change_log.build_log([operation], {})[0]["text"]]
            if (notice := operations.describe_notice(operation)) is not None:
                sentences.append(notice["text"])
            for sentence in sentences:
                assert sentence == (sentence or "").strip() != ""
                assert "{" not in sentence
                assert not sentence.endswith(("·", " the"))
    assert operations.describe_undo(None) is None


def test_each_kind_of_edit_has_words_of_its_own(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    kinds = (OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE)
    last, detail = _last(store, thread_id), OperationDetail(kept=1)
    done = [replace(last, version=number, kind=kind, detail=detail) for number, kind in enumerate(kinds)]
    assert [entry["text"] for entry in change_log.build_log(done, {})] == [
        "Edited a message",
        "Asked for another answer",
        "Kept 1 later message and changed a message to",
    ]


def test_the_log_tells_the_story_newest_first(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    first, _ = store.list_checkpoints(thread_id)
    store.change_checkpoint(thread_id, first.id, name="Begin")
    store.change_checkpoint(thread_id, first.id, description="where it began")
    store.change_checkpoint(thread_id, first.id, pinned=True)
    store.restore(thread_id, first.id)
    store.undo(thread_id)
    assert _log(store, thread_id)[:5] == [
        ("user", "Undid restoring Begin · 2 messages and 1 checkpoint removed", False),
        ("user", "Restored Begin · 2 messages and 1 checkpoint removed", True),
        ("user", "Pinned checkpoint Begin", False),
        ("user", "Described checkpoint Begin", False),
        ("user", "Renamed checkpoint after b to Begin", False),
    ]


def test_the_log_tells_of_branches(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    main = store.get_thread(thread_id).branch_id
    made = store.fork(thread_id, store.list_messages(thread_id)[0].id, name="Other").result
    store.rename_branch(thread_id, made, "Else")
    store.switch(thread_id, main)
    store.delete_branch(thread_id, made)
    store.undo(thread_id)
    store.redo(thread_id)
    assert [text for _, text, _ in _log(store, thread_id)[:6]] == [
        "Redid deleting the branch Else",
        "Undid deleting the branch Else",
        "Deleted the branch Else",
        "Switched to branch main",
        "Renamed branch Other to Else",
        "Began branch Other",
    ]


def test_what_one_run_wrote_is_one_entry(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new("question"))
    store.append(thread_id, new("a call"), caller=AGENT)
    store.append(thread_id, new("an answer"), caller=AGENT)
    assert _log(store, thread_id) == [("agent", "Wrote 2 messages", False), ("user", "Asked", False)]


def test_what_the_user_asked_is_quoted(store: Store) -> None:
    thread_id = store.create_thread().id
    asked = store.append(thread_id, new("What is it?")).result
    (entry,) = change_log.build_log(store.list_operations(thread_id), {asked: "What is it?"})
    assert entry["text"] == "Asked “What is it?”"


def test_what_an_erasing_forgot_still_reads_sensibly(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.delete_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id)
    store.undo(thread_id)
    erasure.erase(store.database, keep_undo=False)
    assert [text for _, text, _ in _log(store, thread_id)] == [
        "Erased what only undo could bring back",
        "Undid an earlier change",
        "Deleted something",
        "Saved a checkpoint",
        "Asked",
    ]


def test_a_summary_is_told_with_what_it_saved(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    runs, detail = Runs(store), OperationDetail(messages=2, tokens_before=8_400, tokens_after=350)
    runs.replace_with_summary(runs.begin_run(thread_id, None, compacts=True), new("short"), after=None, detail=detail)
    notice = operations.describe_notice(_last(store, thread_id))
    assert notice is not None
    assert notice["text"] == "2 messages summarised · about 8,400 tokens became 350"
    assert _log(store, thread_id)[0] == ("agent", "Summarised 2 messages · about 8,400 tokens became 350", False)
    assert operations.describe_undo(store.find_undoable(thread_id)) == "the summary of 2 messages"


def test_the_banner_of_an_import_names_the_tags_that_were_left_out(store: Store) -> None:
    imported = transfer.import_thread(
        store, reading.read_document(transfer.export(store, talked(store, "a", "b")))
    ).operation
    notice = operations.describe_notice(imported)
    assert notice is not None
    assert "Left out" not in notice["text"]
    left_out = replace(imported, detail=replace(imported.detail, removed=["Work", *"abcde"]))
    notice = operations.describe_notice(left_out)
    assert notice is not None
    assert notice["text"].endswith("There are 200 tags already. Left out: “Work”, “a”, “b”, “c”, “d”, ….")


def test_branches_that_the_agent_opened_are_told_as_its_own(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    runs = Runs(store)
    runs.branch_off(runs.begin_run(thread_id, None), [("One", new("x")[0]), ("Two", new("y")[0])], after=None)
    notice = operations.describe_notice(_last(store, thread_id))
    assert notice is not None
    assert notice["text"] == "The agent opened 2 branches"


def test_another_answer_tells_which_checkpoints_leave(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    first = store.list_messages(thread_id)[0]
    Runs(store).begin_run(thread_id, None, after=first.id)
    notice = operations.describe_notice(_last(store, thread_id))
    assert notice is not None
    assert notice["text"] == "The earlier answer was removed · 2 checkpoints removed"
    assert _log(store, thread_id)[0][1] == "Asked for another answer"


def test_a_change_of_settings_leaves_the_text_of_the_instructions_out(store: Store) -> None:
    thread_id = store.create_thread().id
    store.change_settings(thread_id, {"model": "openai:old"})
    changed = store.change_settings(
        thread_id, {"time_travel": "allow", "model": "", "instructions": "Answer in French."}
    ).operation
    words = "the instructions and the model to the default and time travel to allow"
    assert operations.describe_settings(changed.detail.settings) == words
    assert _log(store, thread_id)[0][1] == f"Set {words}"
    assert "French" not in str(changed.detail)


def test_undoing_a_changed_text_is_not_called_undoing_an_answer(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.replace(thread_id, store.list_messages(thread_id)[0].id, new("A")[0])
    store.undo(thread_id)
    assert _log(store, thread_id)[0][1] == "Undid the change of a text"


def test_changes_of_tags_are_said_in_words(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.tag_thread(thread_id, add=["Work", "<b>"])
    assert operations.describe_undo(_last(store, thread_id)) == "adding the tags Work, <b>"
    store.tag_thread(thread_id, add=["Home"], remove=["work"])
    assert operations.describe_undo(_last(store, thread_id)) == "the change of tags"
    store.tag_thread(thread_id, remove=["Home"])
    store.undo(thread_id)
    assert [text for _, text, _ in _log(store, thread_id)[:4]] == [
        "Undid removing the tag Home",
        "Removed the tag Home",
        "Added the tag Home and removed the tag Work",
        "Added the tags Work, <b>",
    ]


def test_changes_of_the_list_and_a_title_of_the_model_are_said_in_words(store: Store) -> None:
    runs = Runs(store)
    run = runs.begin_run(None, new("a")[0], title="Talk")
    runs.end_run(run, RunState.DONE)
    assert runs.give_title(run, "Bread", model="m", usage={}) is not None
    for pinned in (True, False):
        store.pin_thread(run.thread_id, pinned=pinned)
        store.archive_thread(run.thread_id, archived=pinned)
    assert _log(store, run.thread_id)[:5] == [
        ("user", "Unarchived the conversation Bread", False),
        ("user", "Unpinned conversation Bread", False),
        ("user", "Archived the conversation Bread", False),
        ("user", "Pinned conversation Bread", False),
        ("system", "Gave the conversation the title Bread", False),
    ]


def test_an_answer_to_a_graph_is_named_in_the_log_and_at_undo(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    store.append(thread_id, new("go"))
    runs.record_answer(runs.begin_run(thread_id, None))
    assert _log(store, thread_id)[0] == ("user", "Answered a question of the graph", False)
    assert operations.describe_undo(_last(store, thread_id)) == "the answer to the graph's question"
    assert operations.describe_notice(_last(store, thread_id)) is None
