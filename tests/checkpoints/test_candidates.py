"""Candidates on disk: several models answer one question, each on a branch, and one undo takes the whole back."""

import pytest

from checkpoints import (
    Caller,
    CandidateEnd,
    CandidateKey,
    ConflictError,
    Draft,
    NewMessage,
    OperationKind,
    Run,
    RunActiveError,
    RunEnd,
    Runs,
    RunState,
    Store,
)
from checkpoints.changes.candidates import _name_branches
from checkpoints.values.errors import NothingToRetryError
from tests.checkpoints.conversations import new, picture, texts

MODELS = ["openai:one", "openai:other", "openai:one"]


def answer(text: str) -> NewMessage:
    return new("", text)[1]


def begin(store: Store, thread_id: str | None, request_id: str | None = None) -> Run:
    return Runs(store).begin_run(thread_id, new("which?")[0], models=MODELS, caller=Caller(request_id=request_id))


def commit(runs: Runs, run: Run, number: int, text: str) -> None:
    candidate = runs.list_candidates(run.id)[number - 1]
    runs.commit_message(run, answer(text), branch_id=candidate.branch_id, candidate=candidate.key)


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["openai:one", "ollama:two:8b", "demo"], ["one", "two:8b", "demo"]),
        (["openai:one", "openai-responses:one", "openai:one"], ["openai:one", "openai-responses:one", "openai:one · 2"]),
    ],
)
def test_branches_have_the_names_of_models_as_short_as_they_differ(models: list[str], names: list[str]) -> None:
    assert _name_branches(models) == names


def test_each_model_answers_on_a_branch_that_begins_with_the_question(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    for number, text in ((2, "b"), (1, "a"), (3, "c")):
        commit(runs, run, number, text)
    runs.end_run(run, RunState.DONE)
    assert texts(store, thread_id) == ["which?", "a"]
    assert [branch.name for branch, _ in store.list_branches(thread_id)] == ["main", "other", "one · 2"]
    question, first = store.list_messages(thread_id)
    assert len(store.find_alternatives(thread_id, [question, first])[first.id]) == len(MODELS)
    candidates = runs.list_candidates(run.id)
    assert [each.model for each in candidates] == MODELS
    assert {each.state for each in candidates} == {RunState.DONE}
    store.choose(thread_id, candidates[2].head_id or "")
    assert texts(store, thread_id) == ["which?", "c"]


def test_one_undo_takes_back_the_question_with_all_answers_and_branches(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    store.append(thread_id, new("a", "b"))
    before = picture(store, thread_id)
    run = begin(store, thread_id)
    for number in (1, 2, 3):
        commit(runs, run, number, f"answer {number}")
    runs.end_run(run, RunState.DONE)
    store.undo(thread_id)
    assert picture(store, thread_id) == before
    store.redo(thread_id)
    assert texts(store, thread_id) == ["a", "b", "which?", "answer 1"]
    assert len(store.list_branches(thread_id)) == len(MODELS)


def test_where_the_first_model_fails_the_conversation_goes_on_from_another_answer(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    first = runs.list_candidates(run.id)[0]
    runs.end_candidate(run, CandidateEnd(first, RunEnd(RunState.FAILED, "It failed.", "its words")))
    commit(runs, run, 2, "b")
    runs.end_run(run, RunState.DONE)
    assert texts(store, thread_id) == ["which?", "b"]
    latest = runs.get_latest_run(thread_id)
    assert latest is not None
    assert latest.id == run.id
    failed, *others = runs.list_candidates(run.id)
    assert (failed.state, failed.error, failed.error_details) == (RunState.FAILED, "It failed.", "its words")
    assert {each.state for each in others} == {RunState.DONE}
    [switch] = [each for each in store.list_operations(thread_id) if each.kind is OperationKind.SWITCH]
    assert switch.detail.name == "other"  # as the branch is named, without the provider
    store.undo(thread_id)
    assert texts(store, thread_id) == []


def test_the_conversation_goes_on_from_no_answer_whose_branch_was_deleted(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    main, run = store.get_thread(thread_id).branch_id, begin(store, thread_id)
    commit(runs, run, 2, "b")
    runs.end_run(run, RunState.FAILED)
    assert texts(store, thread_id) == ["which?", "b"]
    first, answered, _ = runs.list_candidates(run.id)
    store.switch(thread_id, main)
    store.delete_branch(thread_id, answered.branch_id)
    runs.retry_candidate(thread_id, first.key)
    runs.end_run(run, RunState.FAILED)
    assert texts(store, thread_id) == ["which?"]
    assert store.get_thread(thread_id).branch_id == main


def test_the_end_of_a_run_keeps_what_its_candidates_were_writing(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    commit(runs, run, 1, "a")
    ends = [
        CandidateEnd(each, RunEnd(RunState.STOPPED), [answer(f"half {each.number}")])
        for each in runs.list_candidates(run.id)[1:]
    ]
    runs.end_run(run, RunState.STOPPED, candidates=ends)
    heads = {branch.name: branch.head_id for branch, _ in store.list_branches(thread_id)}
    assert [each.head_id for each in runs.list_candidates(run.id)] == list(heads.values())
    assert [each.state for each in runs.list_candidates(run.id)] == [RunState.STOPPED] * 3
    other = store.list_messages_to(thread_id, heads["other"] or "")
    assert [message.body["data"]["content"] for message in other] == ["which?", "half 2"]


def test_a_crash_leaves_the_drafts_of_all_candidates_as_cut_off_answers(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    commit(runs, run, 1, "a")
    runs.save_drafts({}, {CandidateKey(run.id, 2): Draft("begun", "thought"), CandidateKey(run.id, 3): Draft("so far")})
    runs.interrupt_orphans()
    candidates = runs.list_candidates(run.id)
    assert [each.state for each in candidates] == [RunState.INTERRUPTED] * 3
    assert {each.draft for each in candidates} == {Draft()}
    last = [store.list_messages_to(thread_id, each.head_id or "")[-1] for each in candidates]
    assert [(message.body["data"]["content"], message.status.value) for message in last] == [
        ("a", "done"),
        ("begun", "partial"),
        ("so far", "partial"),
    ]


def test_a_candidate_of_a_run_that_has_ended_is_not_written(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    runs.end_run(run, RunState.STOPPED)
    with pytest.raises(ConflictError):
        commit(runs, run, 2, "late")
    with pytest.raises(ConflictError):
        runs.end_candidate(run, CandidateEnd(runs.list_candidates(run.id)[1], RunEnd(RunState.DONE)))


def test_the_same_request_begins_its_candidates_once(store: Store) -> None:
    run = begin(store, None, "0b6f2f6e-0000-4000-8000-000000000001")
    assert begin(store, None, "0b6f2f6e-0000-4000-8000-000000000001") == run
    assert len(store.list_branches(run.thread_id)) == len(MODELS)
    assert len(Runs(store).list_candidates(run.id)) == len(MODELS)


def failed_second(store: Store, thread_id: str) -> tuple[Run, CandidateKey]:
    """A run whose second model wrote half an answer and failed; its key."""
    runs, run = Runs(store), begin(store, thread_id)
    commit(runs, run, 1, "a")
    failed = runs.list_candidates(run.id)[1]
    runs.end_candidate(run, CandidateEnd(failed, RunEnd(RunState.FAILED, "It failed."), [answer("half")]))
    commit(runs, run, 3, "c")
    runs.end_run(run, RunState.DONE)
    return run, failed.key


def test_one_answer_is_tried_again_from_the_question_and_the_others_stay(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    store.append(thread_id, new("before"))
    before = picture(store, thread_id)
    run, key = failed_second(store, thread_id)
    assert runs.retry_candidate(thread_id, key).state is RunState.RUNNING
    assert runs.list_running_threads() == {thread_id}
    again = runs.list_candidates(run.id)[1]
    assert (again.state, again.error, again.head_id, again.draft) == (RunState.RUNNING, None, None, Draft())
    commit(runs, run, 2, "b")
    runs.end_candidate(run, CandidateEnd(again, RunEnd(RunState.DONE)))
    runs.end_run(run, RunState.DONE)
    assert [each.state for each in runs.list_candidates(run.id)] == [RunState.DONE] * 3
    assert texts(store, thread_id) == ["before", "which?", "a"]
    store.choose(thread_id, runs.list_candidates(run.id)[1].head_id or "")
    assert texts(store, thread_id) == ["before", "which?", "b"]
    store.undo(thread_id)
    store.undo(thread_id)
    assert picture(store, thread_id) == before


def test_the_conversation_stays_where_it_stands_when_another_answer_is_tried_again(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run = begin(store, thread_id)
    for number in (2, 3):
        commit(runs, run, number, f"answer {number}")
    first = runs.list_candidates(run.id)[0]
    runs.end_candidate(run, CandidateEnd(first, RunEnd(RunState.FAILED, "It failed.")))
    runs.end_run(run, RunState.DONE)
    store.choose(thread_id, runs.list_candidates(run.id)[2].head_id or "")
    runs.retry_candidate(thread_id, first.key)
    runs.end_run(run, RunState.FAILED)
    assert texts(store, thread_id) == ["which?", "answer 3"]


def test_an_answer_is_tried_again_once_beside_others_and_never_where_there_is_one(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    run, key = failed_second(store, thread_id)
    with pytest.raises(NothingToRetryError):
        runs.retry_candidate(thread_id, CandidateKey(run.id, 1))
    for other in (CandidateKey(run.id, 4), CandidateKey("no run", 1)):
        with pytest.raises(NothingToRetryError):
            runs.retry_candidate(thread_id, other)
    with pytest.raises(NothingToRetryError):
        runs.retry_candidate(store.create_thread().id, key)
    version = runs.retry_candidate(thread_id, key, caller=Caller(request_id="once")) and store.get_thread(thread_id).version
    for request in ("once", "twice"):  # a double click, as one request and as two
        runs.retry_candidate(thread_id, key, caller=Caller(request_id=request))
    assert store.get_thread(thread_id).version == version
    with pytest.raises(RunActiveError):
        runs.retry_candidate(thread_id, CandidateKey(run.id, 1))
    runs.end_run(run, RunState.STOPPED)
    Runs(store).begin_run(thread_id, new("and?")[0])
    with pytest.raises(RunActiveError):
        runs.retry_candidate(thread_id, key)


def test_where_the_conversation_has_gone_on_no_answer_is_tried_again(store: Store) -> None:
    thread_id, runs = store.create_thread().id, Runs(store)
    _, key = failed_second(store, thread_id)
    store.append(thread_id, new("on"))
    with pytest.raises(NothingToRetryError):
        runs.retry_candidate(thread_id, key)
    store.undo(thread_id)
    assert runs.retry_candidate(thread_id, key).state is RunState.RUNNING
    runs.interrupt_orphans()
    store.undo(thread_id)
    with pytest.raises(NothingToRetryError):
        runs.retry_candidate(thread_id, key)
